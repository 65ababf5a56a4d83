// Runs the command line in this process, with the test's own streams.

import { PassThrough } from "node:stream";
import { jsonLog } from "#base/log.ts";
import { runToStatus } from "../cli/run-to-status.ts";

export interface Run {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Makes the streams a terminal of this width. */
  readonly columns?: number;
  /** Current time in milliseconds since 1970; default: the system clock. */
  readonly nowMs?: number;
}

interface Sink {
  readonly stream: NodeJS.WriteStream;
  readonly text: () => string;
}

/** Returns a stream that records its output; it is a terminal if it has columns. */
const openSink = (columns: number | undefined): Sink => {
  const pieces: Buffer[] = [];
  const stream = new PassThrough();
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  Object.assign(stream, { isTTY: columns !== undefined, columns });
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => Buffer.concat(pieces).toString("utf8") };
};

/** Runs `gantry`. Errors are printed as by a process (cli/run-to-status.ts). */
export const runGantry = async (args: readonly string[], { environment = {}, input = "", columns, nowMs }: RunOptions = {}): Promise<Run> => {
  const [out, err] = [openSink(columns), openSink(columns)];
  const typed = Object.assign(new PassThrough(), { isTTY: columns !== undefined });
  typed.end(input);
  const status = await runToStatus(args, {
    environment,
    log: jsonLog((line) => err.stream.write(line)),
    out: out.stream,
    err: err.stream,
    input: typed,
    ...(nowMs === undefined ? {} : { now: () => nowMs }),
    status: 0,
  });
  return { status, out: out.text(), err: err.text() };
};
