// The command line in this process: the same tree and the same commands as a terminal's, with streams of the test's own.

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
  /** What is piped in, or typed. */
  readonly input?: string;
  /** Streams are a terminal of so many columns. */
  readonly columns?: number;
  /** Milliseconds since 1970, from which times are told; the machine's clock without it. */
  readonly nowMs?: number;
}

interface Sink {
  readonly stream: NodeJS.WriteStream;
  readonly text: () => string;
}

/** A stream that keeps what is written, and says that it is a terminal where it has columns. */
const openSink = (columns: number | undefined): Sink => {
  const pieces: Buffer[] = [];
  const stream = new PassThrough();
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  // As far as commands look at a stream of the process.
  Object.assign(stream, { isTTY: columns !== undefined, columns });
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => Buffer.concat(pieces).toString("utf8") };
};

/** Runs `gantry` with these arguments. What it throws is told as to a process (cli/run-to-status.ts). */
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
