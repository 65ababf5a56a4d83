// Runs test files in processes under node's runner and returns the outcome. test/run.ts selects files and database.

import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import { spec, type TestEvent } from "node:test/reporters";

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

/** node reports a file without tests, or one cut off, as a test with its path. */
const isFile = (title: string): boolean => /\.test\.ts$/.test(title);

const preloaded = (fileTimeoutMs: number): readonly string[] => ["without-promise-hooks.ts", "own-imports.ts", `file-time.ts?ms=${fileTimeoutMs}`];

/** Runs the files concurrently. Writes the output of node's runner. */
export const runFiles = async (paths: readonly string[], { testTimeoutMs, fileTimeoutMs, nodeOptions, signal, write }: RunFilesOptions): Promise<Outcome> => {
  let [ran, failed] = [0, false];
  const seconds = new Map<string, number>();
  const failedFiles = new Set<string>();
  const events = run({
    files: [...paths],
    // Half of the work is PostgreSQL's on the same cores; two files on two cores leave a third idle, waiting for timers and
    // disks.
    concurrency: Math.max(4, Math.floor(availableParallelism() / 2)),
    execArgv: [...preloaded(fileTimeoutMs).map((name) => `--import=${new URL(name, import.meta.url)}`), `--test-timeout=${testTimeoutMs}`, ...nodeOptions],
    signal,
  });
  events.on("test:pass", ({ name, skip, todo }) => void (!skip && !todo && !isFile(name) && ran++));
  // Reported when a test ends; "test:fail" waits for earlier tests.
  events.on("test:complete", ({ name, todo, details }) => void (!todo && !details.passed && !(signal.aborted && isFile(name)) && (failed = true)));
  events.on("test:complete", ({ file, todo, details }) => void (!todo && !details.passed && file !== undefined && failedFiles.add(relative(root, file))));
  events.on("test:fail", ({ name, todo }) => void (!todo && !isFile(name) && ran++));
  events.on("test:summary", ({ file, duration_ms: ms }) => void (file !== undefined && seconds.set(file, ms / 1000)));
  async function* untilTheEnd(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
    for await (const event of source) if (!signal.aborted || (event.type === "test:fail" && !isFile(event.data.name))) yield event;
  }
  // Reads all output, even if the reader has closed (npm test | head).
  for await (const text of Readable.from(untilTheEnd(events)).compose(new spec())) write(text);
  if (failedFiles.size > 0 && !signal.aborted) write(`\nAgain: npm test -- ${[...failedFiles].filter(isFile).join(" ")}\n`);
  return { ran, failed, seconds };
};
