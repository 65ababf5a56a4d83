// Runs test files in processes under node's runner and returns the outcome. test/run.ts selects files and database.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import { spec, type TestEvent } from "node:test/reporters";
import { pathToFileURL } from "node:url";
import { substituteEnd } from "./group.ts";

export interface Outcome {
  /** Tests that ran, without those skipped by name and files without tests. */
  readonly ran: number;
  readonly failed: boolean;
  /** By file. */
  readonly seconds: ReadonlyMap<string, number>;
}

export interface RunFilesOptions {
  /** A slower test fails by name instead of hanging the run. */
  readonly testTimeoutMs: number;
  /** A slower file is stopped and fails: something may be open although its tests have ended. */
  readonly fileTimeoutMs: number;
  readonly nodeOptions: readonly string[];
  /** Stops the run. A file cut off by it is not reported as failed; earlier failures are. */
  readonly signal: AbortSignal;
  readonly write: (text: string) => void;
}

const root = join(import.meta.dirname, "..");

/** node reports a file without tests, or one cut off, as a test with its path; group.ts gives each file such a test. */
const isFile = (title: string): boolean => /\.test\.m?[tj]s$/.test(title);

const preloaded = (fileTimeoutMs: number): readonly string[] => ["without-promise-hooks.ts", "own-imports.ts", `file-time.ts?ms=${fileTimeoutMs}`];

/** Writes the program of each group of several files. */
const programsOf = (groups: readonly (readonly string[])[], folder: string, limits: Pick<RunFilesOptions, "testTimeoutMs" | "fileTimeoutMs">): string[] =>
  groups.flatMap((paths, index) => {
    if (paths.length < 2) return paths;
    const program = join(folder, `group-${index + 1}.test.mjs`);
    const members = paths.map((path) => JSON.stringify(pathToFileURL(path).href)).map((url) => `${url}: () => import(${url})`);
    writeFileSync(
      program,
      `import { runGroup } from ${JSON.stringify(new URL("group.ts", import.meta.url).href)};
      await runGroup({ ${members.join(", ")} }, ${JSON.stringify({ root, ...limits })});`,
    );
    return [program];
  });

/**
 * Runs groups of files concurrently, the files of a group in one process, one after another. Writes the output of node's runner.
 * `fileTimeoutMs` holds for a file; a process has that time for each of its files.
 */
export const runFiles = async (
  groups: readonly (readonly string[])[],
  { testTimeoutMs, fileTimeoutMs, nodeOptions, signal, write }: RunFilesOptions,
): Promise<Outcome> => {
  let [ran, failed] = [0, false];
  const seconds = new Map<string, number>();
  const failedFiles = new Set<string>();
  const folder = mkdtempSync(join(tmpdir(), "gantry-groups-"));
  /** Of files in groups. */
  const titles = new Set(groups.flatMap((paths) => (paths.length > 1 ? paths.map((path) => relative(root, path)) : [])));
  const longest = Math.max(...groups.map((paths) => paths.length));
  const events = run({
    files: programsOf(groups, folder, { testTimeoutMs, fileTimeoutMs }),
    // Half of the work is PostgreSQL's on the same cores; two files on two cores leave a third idle, waiting for timers and
    // disks.
    concurrency: Math.max(4, Math.floor(availableParallelism() / 2)),
    execArgv: [
      ...preloaded(longest * fileTimeoutMs).map((name) => `--import=${new URL(name, import.meta.url)}`),
      `--test-timeout=${testTimeoutMs}`,
      ...nodeOptions,
    ],
    signal,
  });
  events.on("test:pass", ({ name, skip, todo }) => void (!skip && !todo && !isFile(name) && ran++));
  // Reported when a test ends; "test:fail" waits for earlier tests.
  events.on("test:complete", ({ name, todo, details }) => void (!todo && !details.passed && !(signal.aborted && isFile(name)) && (failed = true)));
  events.on("test:complete", ({ name, file = "", todo, details }) => {
    const path = titles.has(name) ? name : relative(root, file.replace(substituteEnd, ""));
    if (!todo && !details.passed && isFile(path) && !file.startsWith(folder)) failedFiles.add(path);
  });
  events.on("test:fail", ({ name, todo }) => void (!todo && !isFile(name) && ran++));
  events.on("test:summary", ({ file, duration_ms: ms }) => void (file !== undefined && !file.startsWith(folder) && seconds.set(file, ms / 1000)));
  events.on(
    "test:complete",
    ({ name, nesting, details }) => void (nesting === 0 && titles.has(name) && seconds.set(join(root, name), details.duration_ms / 1000)),
  );
  async function* untilTheEnd(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
    for await (const event of source) if (!signal.aborted || (event.type === "test:fail" && !isFile(event.data.name))) yield event;
  }
  try {
    // Reads all output, even if the reader has closed (npm test | head).
    for await (const text of Readable.from(untilTheEnd(events)).compose(new spec())) write(text);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (failedFiles.size > 0 && !signal.aborted) write(`\nAgain: npm test -- ${[...failedFiles].join(" ")}\n`);
  return { ran, failed, seconds };
};
