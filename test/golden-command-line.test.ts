// Output of the command line: all formats except tables are stable, and tables are reviewed too. Compared with
// test/golden/command-line.txt; uids are numbered.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { outputFormats } from "../cli/output/format.ts";
import { runGantry } from "./command-line.ts";
import { openWorld, type World } from "./world.ts";

const goldenPath = join(import.meta.dirname, "golden", "command-line.txt");

let world: World;
let folder: string;
let environment: Record<string, string>;

before(async () => {
  world = await openWorld({}, silent, Date.parse("2026-11-23T08:00:00Z"));
  folder = await mkdtemp(join(tmpdir(), "gantry-golden-"));
  environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await world.token(), XDG_CONFIG_HOME: folder };
});
after(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

/** Replaces uid segments with numbers of the same length by first appearance, and zeroes request IDs. */
const numbered = (() => {
  const known = new Map<string, string>();
  return (text: string): string =>
    text
      .replaceAll(/"requestId":"[0-9a-f]+"|request [0-9a-f]{24}/g, (found) => found.replace(/[0-9a-f]{16,}/, "0".repeat(24)))
      .replaceAll(world.url, "http://gantry.example.com")
      .replaceAll(/\b(?:[0-9a-f]{40}|[0-9a-f]{16})\b/g, (part) => {
        if (!known.has(part)) known.set(part, String(known.size + 1).padStart(part.length, "0"));
        return known.get(part) ?? part;
      });
})();

/** Removes progress output, which appears only after a second. */
const withoutProgress = (err: string): string => err.replaceAll(/\r\u001b\[2K(?:\[[# ]*\] [^\r]*)?/g, "");

test("command output equals test/golden/command-line.txt", async () => {
  const told: string[] = [];
  const tell = async (line: string, columns?: number): Promise<void> => {
    const args = line.split(" ").map((word) => word.replaceAll("_", " "));
    const { status, out, err } = await runGantry(args, {
      environment: { ...environment, NO_COLOR: "1" },
      nowMs: world.clock.now + 300_000,
      ...(columns === undefined ? {} : { columns }),
    });
    const shown = numbered(`${out}${withoutProgress(err).replaceAll(/^(?=.)/gm, "2> ")}`);
    told.push(
      `$ gantry ${line}${columns === undefined ? "" : `    (a terminal of ${columns} columns)`}\n${shown}${status === 0 ? "" : `[status ${status}]\n`}`,
    );
  };
  await tell("iam groups create --name acme");
  await tell("iam groups create --parent acme --name team --description The_team_that_builds");
  await tell("iam groups create --parent acme/team --name app -o uid");
  for (const format of outputFormats) {
    await tell(`iam groups list --descendants-of acme -o ${format}`);
    await tell(`iam groups get acme/team -o ${format}`);
  }
  await tell("iam groups list --columns name,description --in-root --order-by name");
  await tell("iam groups list --limit 2 --order-by name -o jsonl");
  await tell("iam groups list --descendants-of acme", 90);
  await tell("iam groups list --name nobody", 90);
  await tell("iam groups list --name nobody -o json");
  await tell("iam groups update acme/team --description Another_text --dry-run");
  await tell("iam groups update acme/team --name NO! --kind customer");
  await tell("iam groups update acme/team --name NO! -o json");
  await tell("iam groups get acme/nothing");
  await tell("iam groups delete acme");
  await tell("iam groups delete acme --yes");
  await tell("iam groups delete acme/team/app --yes");
  await tell("iam groups lst");
  await tell("iam groups --help");
  await tell("iam groups update --help");
  const content = told.join("\n");
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(goldenPath, content);
  let held = "";
  try {
    held = readFileSync(goldenPath, "utf8");
  } catch {
    // Missing: everything is new.
  }
  assert.equal(held, content, "test/golden/command-line.txt is not what the code makes now. If that is meant:  npm run golden");
});
