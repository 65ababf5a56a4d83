// Runs the commands of a page in order in a shell and compares their output with the page.

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
  /** The output that the page shows. */
  readonly shown: string | undefined;
}

/** Returns the commands of a page or a part of it, each with its shown output. */
export const stepsOf = (markdown: string): Step[] => {
  const blocks = blocksOf(markdown);
  return blocks.flatMap(({ kind, content }, index) => {
    const next = blocks[index + 1];
    return kind === "sh" ? [{ commands: content, shown: next?.kind === "" ? next.content : undefined }] : [];
  });
};

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Returns a pattern for shown output: "…" matches anything, and uids and current times may differ. */
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
    // A command that hangs must not outlive the test.
    const options = { cwd, env: environment, maxBuffer: 16 * 1024 * 1024, timeout: 150_000 };
    const child = execFile("/bin/sh", ["-e"], options, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stderr}\n${stdout.slice(-2000)}`)) : resolve(stdout),
    );
    child.stdin?.end(script);
  });

/**
 * Creates a home for a reader below the temporary directory, with npx that skips the npm registry, and with gantry. It is removed with the test, or by the
 * caller.
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
  await writeFile(join(home, "bin", "gantry"), `#!/bin/sh\nexec "${process.execPath}" "${gantryFile}" "$@"\n`, { mode: 0o755 });
  return home;
};

/** Runs the steps against a server on `port`, with these environment variables, in `cwd` (default: the project's directory). */
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
    // A terminal shows CSV's line ends (RFC 4180) as any other.
    const said = (printed[index] ?? "").trimEnd().replaceAll("\r\n", "\n").replaceAll(port, "8080");
    assert.match(said, patternOf(shown), `behind\n${commands}`);
  }
};
