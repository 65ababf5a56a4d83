// Test files in processes of their own, under node's own runner, and what came of them. test/run.ts says which, and on what database.

import { availableParallelism } from "node:os";
import { Readable } from "node:stream";
import { run } from "node:test";
import { spec, type TestEvent } from "node:test/reporters";

export interface Outcome {
  /** Tests that ran: those left out by name, and files without a test, aside. */
  readonly ran: number;
  readonly failed: boolean;
  /** By file. */
  readonly seconds: ReadonlyMap<string, number>;
}

export interface RunFilesOptions {
  /** A test that takes longer fails by name instead of hanging the run. */
  readonly testTimeoutMs: number;
  /** A file that takes longer is ended and fails: its tests may be over, and something in it still open. */
  readonly fileTimeoutMs: number;
  /** For node, as they were given. */
  readonly nodeOptions: readonly string[];
  /**
   * Ends what runs. That a file was cut off is then no failure of it, and is not shown as one; what failed before is.
   */
  readonly signal: AbortSignal;
  readonly write: (text: string) => void;
}

/** A file in which there is no test counts as one with node, under its own path. So does one that was cut off. */
const isFile = (title: string): boolean => /\.test\.ts$/.test(title);

/** Before each file. */
const preloaded = (fileTimeoutMs: number): readonly string[] => ["without-promise-hooks.ts", "own-imports.ts", `file-time.ts?ms=${fileTimeoutMs}`];

/** Runs these files, several at once. Tells what node's runner tells in its words. */
export const runFiles = async (paths: readonly string[], { testTimeoutMs, fileTimeoutMs, nodeOptions, signal, write }: RunFilesOptions): Promise<Outcome> => {
  let [ran, failed] = [0, false];
  const seconds = new Map<string, number>();
  const events = run({
    files: [...paths],
    // Half of the work is PostgreSQL's, on the same cores; of two cores two files leave a third idle, waiting for timers and disks.
    concurrency: Math.max(4, Math.floor(availableParallelism() / 2)),
    execArgv: [...preloaded(fileTimeoutMs).map((name) => `--import=${new URL(name, import.meta.url)}`), `--test-timeout=${testTimeoutMs}`, ...nodeOptions],
    signal,
  });
  events.on("test:pass", ({ name, skip, todo }) => void (!skip && !todo && !isFile(name) && ran++));
  // Told as soon as a test has ended; "test:fail" waits for the tests that began before.
  events.on("test:complete", ({ name, todo, details }) => void (!todo && !details.passed && !(signal.aborted && isFile(name)) && (failed = true)));
  events.on("test:fail", ({ name, todo }) => void (!todo && !isFile(name) && ran++));
  events.on("test:summary", ({ file, duration_ms: ms }) => void (file !== undefined && seconds.set(file, ms / 1000)));
  async function* untilTheEnd(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
    for await (const event of source) if (!signal.aborted || (event.type === "test:fail" && !isFile(event.data.name))) yield event;
  }
  // What the runner says is read to its end, also where nobody does any more (npm test | head).
  for await (const text of Readable.from(untilTheEnd(events)).compose(new spec())) write(text);
  return { ran, failed, seconds };
};
