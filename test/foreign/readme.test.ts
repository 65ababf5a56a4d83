// The README's five minutes, done by a shell: every command of it runs, and what it prints is what the README shows.
// Once as curl does it by itself (HTTP/1.1), once with HTTP/2 from the first byte.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { openInstallation } from "../story/installation.ts";
import { gantryFile } from "../story/processes.ts";

const root = join(import.meta.dirname, "..", "..");
const curl = spawnSync("curl", ["--version"], { encoding: "utf8" });
const hasCurl = curl.status === 0;
const hasHttp2 = hasCurl && /\bHTTP2\b/.test(curl.stdout);

interface Step {
  readonly commands: string;
  /** What the README shows behind the commands. */
  readonly shown: string | undefined;
}

/** The commands of "Five minutes", each with the output that is shown behind it. */
const stepsOf = (readme: string): Step[] => {
  const [, section = ""] = /^## Five minutes$([\s\S]*?)^## /m.exec(readme) ?? [];
  const blocks = [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind, content = ""]) => ({ kind, content }));
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

const run = (script: string, environment: Readonly<Record<string, string>>): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile("/bin/sh", ["-e"], { cwd: root, env: environment, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stderr}\n${stdout.slice(-2000)}`)) : resolve(stdout),
    );
    child.stdin?.end(script);
  });

for (const [how, possible, settings] of [
  ["HTTP/1.1", hasCurl, ""],
  ["HTTP/2 with prior knowledge", hasHttp2, "http2-prior-knowledge\n"],
] as const)
  test(`every command of the README's five minutes prints what the README shows, over ${how}`, {
    skip: !possible && "this machine's curl cannot",
  }, async (t) => {
    const installation = await openInstallation({ GANTRY_SERVICE_DOMAIN: "gantry.local" });
    const home = await mkdtemp(join(tmpdir(), "gantry-home-"));
    t.after(async () => {
      await installation.close();
      await rm(home, { recursive: true, force: true });
    });
    // npx as a reader has it, without its look at the registry of npm.
    await mkdir(join(home, "bin"));
    const buf = join(root, "node_modules", ".bin", "buf");
    await writeFile(
      join(home, "bin", "npx"),
      `#!/bin/sh\ntool=$1; shift\n[ "$tool" = buf ] && exec "${buf}" "$@"\nexec "${process.execPath}" "${gantryFile}" "$@"\n`,
      { mode: 0o755 },
    );
    await writeFile(join(home, ".curlrc"), settings);
    const steps = stepsOf(await readFile(join(root, "README.md"), "utf8"));
    assert.ok(steps.length > 5, "the README has its five minutes");
    const mark = "=====";
    const port = new URL(installation.world.url).port;
    const script = steps.map(({ commands }) => `${commands.replaceAll("8080", port)}\nprintf '${mark}'\n`).join("");
    const environment = { ...installation.environment, PATH: `${join(home, "bin")}:${process.env.PATH ?? ""}:${dirname(process.execPath)}`, HOME: home };
    const printed = (await run(script, environment)).split(mark);
    assert.equal(printed.length, steps.length + 1);
    for (const [index, { commands, shown }] of steps.entries()) {
      if (shown === undefined) continue;
      const said = (printed[index] ?? "").trimEnd().replaceAll(port, "8080");
      assert.match(said, patternOf(shown), `behind\n${commands}`);
    }
  });
