// Runs test files in processes under node's runner and returns the outcome. test/run.ts selects files and database.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import { spec, type TestEvent } from "node:test/reporters";
import { pathToFileURL } from "node:url";
import type { TogetherOptions } from "./together.ts";

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

/** Files that have a test of their own name: those of together.ts, and those that node reports as without tests or cut off. */
const isFile = (title: string): boolean => /\.test\.ts$/.test(title);

const preloaded = (fileTimeoutMs: number): readonly string[] => ["without-promise-hooks.ts", "own-imports.ts", `file-time.ts?ms=${fileTimeoutMs}`];

// More lose time at the end, when one process has files left; fewer load the server more often.
const filesTogether = 12;

/**
 * Files that measure their process or replace its timers, those with what recorded.ts does not record, and those that say
 * `In its own process:` with a reason.
 */
const needsOwnProcess = (path: string): boolean =>
  /\b(?:memoryUsage|cpuUsage|resourceUsage|mock\.timers)\b|\bdescribe\b.* from "node:test"|^\/\/ In its own process: /m.test(readFileSync(path, "utf8"));

/** Writes a file for each process. Neighbors in the list, which are often slow together, are in different ones. */
const writeGroups = (paths: readonly string[], folder: string, root: string, times: TogetherOptions): readonly string[] => {
  const count = Math.ceil(paths.length / filesTogether);
  return Array.from({ length: count }, (_, group) => {
    const files = paths
      .filter((__, index) => index % count === group)
      .map((path) => `[${JSON.stringify(relative(root, path))}, () => import(${JSON.stringify(pathToFileURL(path).href)})]`);
    const file = join(folder, `group-${group}.mjs`);
    const together = JSON.stringify(new URL("together.ts", import.meta.url));
    writeFileSync(file, `import { runTogether } from ${together};\nawait runTogether([${files.join()}], ${JSON.stringify(times)});\n`);
    return file;
  });
};

/** Runs the files concurrently, several in a process. Writes the output of node's runner. */
export const runFiles = async (paths: readonly string[], { testTimeoutMs, fileTimeoutMs, nodeOptions, signal, write }: RunFilesOptions): Promise<Outcome> => {
  let [ran, failed] = [0, false];
  const seconds = new Map<string, number>();
  const root = join(import.meta.dirname, "..");
  const folder = mkdtempSync(join(tmpdir(), "gantry-test-groups-"));
  // Options may select tests by name, which would leave out a file's test around them.
  const alone = paths.filter((path) => nodeOptions.length > 0 || paths.length < filesTogether || needsOwnProcess(path));
  const groups = writeGroups(
    paths.filter((path) => !alone.includes(path)),
    folder,
    root,
    { testTimeoutMs, fileTimeoutMs },
  );
  const failedFiles = new Set<string>();
  const events = run({
    // The slowest are among the first.
    files: [...alone, ...groups],
    // Half of the work is PostgreSQL's on the same cores; two files on two cores leave a third idle, waiting for timers and
    // disks.
    concurrency: Math.max(4, Math.floor(availableParallelism() / 2)),
    execArgv: [
      ...preloaded((groups.length > 0 ? filesTogether : 1) * fileTimeoutMs).map((name) => `--import=${new URL(name, import.meta.url)}`),
      `--test-timeout=${testTimeoutMs}`,
      ...nodeOptions,
    ],
    signal,
  });
  events.on("test:pass", ({ name, skip, todo }) => void (!skip && !todo && !isFile(name) && ran++));
  // Reported when a test ends; "test:fail" waits for earlier tests.
  events.on("test:complete", ({ name, todo, details }) => void (!todo && !details.passed && !(signal.aborted && isFile(name)) && (failed = true)));
  events.on("test:fail", ({ name, todo }) => void (!todo && !isFile(name) && ran++));
  events.on("test:summary", ({ file, duration_ms: ms }) => void (file !== undefined && alone.includes(file) && seconds.set(file, ms / 1000)));
  events.on("test:complete", ({ name, nesting, file = "", details }) => {
    if (nesting > 0) return;
    const path = alone.includes(file) ? file : join(root, name);
    if (path !== file && !isFile(name)) return;
    if (path !== file) seconds.set(path, details.duration_ms / 1000);
    if (!details.passed && !signal.aborted) failedFiles.add(relative(root, path));
  });
  async function* untilTheEnd(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
    for await (const event of source) if (!signal.aborted || (event.type === "test:fail" && !isFile(event.data.name))) yield event;
  }
  // Reads all output, even if the reader has closed (npm test | head).
  try {
    for await (const text of Readable.from(untilTheEnd(events)).compose(new spec())) write(text);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (failedFiles.size > 0) write(`\nAgain: npm test -- ${[...failedFiles].join(" ")}\n`);
  return { ran, failed, seconds };
};
