// Pages that show commands and what they print, walked through by a shell: every command runs, in order, and what it prints is what
// the page shows behind it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { gantryFile } from "../story/processes.ts";
import { blocksOf } from "./page.ts";

const root = join(import.meta.dirname, "..", "..");

export interface Step {
  readonly commands: string;
  /** What the page shows behind the commands. */
  readonly shown: string | undefined;
}

/** The commands of a page or a part of it, each with the output that is shown behind it. */
export const stepsOf = (markdown: string): Step[] => {
  const blocks = blocksOf(markdown);
  return blocks.flatMap(({ kind, content }, index) => {
    const next = blocks[index + 1];
    return kind === "sh" ? [{ commands: content, shown: next?.kind === "" ? next.content : undefined }] : [];
  });
};

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** What is shown, as a pattern: "…" stands for anything; uids and the times of today are others each time. */
const patternOf = (shown: string): RegExp => {
  const parts = shown
    .trimEnd()
    .split("…")
    .map((part) => {
      const free = quoted(part).replace(/\b(?:[0-9a-f]{40}|[0-9a-f]{16}|[0-9a-f]{4}$)/g, "[0-9a-f]+");
      return free.replace(/20(?:2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(?:\\\.\d+)?Z/g, "[-0-9T:.]+Z").replace(/(nextPageToken":\s*")[\w-]+/g, "$1[\\w-]+");
    });
  return new RegExp(`^${parts.join("[^]*?")}$`);
};

const run = (script: string, environment: Readonly<Record<string, string>>, cwd: string): Promise<string> =>
  new Promise((resolve, reject) => {
    // What waits for what never comes must not outlive the test.
    const options = { cwd, env: environment, maxBuffer: 16 * 1024 * 1024, timeout: 150_000 };
    const child = execFile("/bin/sh", ["-e"], options, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stderr}\n${stdout.slice(-2000)}`)) : resolve(stdout),
    );
    child.stdin?.end(script);
  });

/**
 * A home of its own for a reader, below the temporary directory, with npx as one has it, without its look at the registry of npm.
 * It goes with the test, or is its maker's to remove.
 */
export const makeReaderHome = async (t?: TestContext): Promise<string> => {
  const home = await mkdtemp(join(tmpdir(), "gantry-home-"));
  t?.after(() => rm(home, { recursive: true, force: true }));
  await mkdir(join(home, "bin"));
  const buf = join(root, "node_modules", ".bin", "buf");
  await writeFile(
    join(home, "bin", "npx"),
    `#!/bin/sh\ntool=$1; shift\n[ "$tool" = buf ] && exec "${buf}" "$@"\nexec "${process.execPath}" "${gantryFile}" "$@"\n`,
    { mode: 0o755 },
  );
  return home;
};

/**
 * Walks through the steps, at a server that listens on `port`. `environment`: what its commands find; `cwd`: the project's folder
 * where it is not said.
 */
export const walk = async (
  steps: readonly Step[],
  {
    port,
    home,
    environment,
    cwd = root,
  }: { readonly port: string; readonly home: string; readonly environment: Readonly<Record<string, string>>; readonly cwd?: string },
): Promise<void> => {
  const mark = "=====";
  const script = steps.map(({ commands }) => `${commands.replaceAll("8080", port)}\nprintf '${mark}'\n`).join("");
  const path = `${join(home, "bin")}:${process.env.PATH ?? ""}:${dirname(process.execPath)}`;
  const printed = (await run(script, { ...environment, PATH: path, HOME: home }, cwd)).split(mark);
  assert.equal(printed.length, steps.length + 1);
  for (const [index, { commands, shown }] of steps.entries()) {
    if (shown === undefined) continue;
    // A terminal shows the line ends of CSV (RFC 4180) as any other.
    const said = (printed[index] ?? "").trimEnd().replaceAll("\r\n", "\n").replaceAll(port, "8080");
    assert.match(said, patternOf(shown), `behind\n${commands}`);
  }
};
