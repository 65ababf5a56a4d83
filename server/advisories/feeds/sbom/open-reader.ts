// Reads documents about images (SBOMs, scanner reports), each in a worker thread. Parsers do not bound time and memory, so a
// thread beyond its limits is terminated.

import { Worker } from "node:worker_threads";
import { limits } from "#base/limits.ts";
import type { TrustedKey } from "#advisories/store";
import type { SbomReading } from "./read-sbom.ts";
import type { Unreadable } from "./statement.ts";

/** @throws the errors of the stream */
export type ReadDocumentStream<Reading> = (
  bytes: AsyncIterable<Uint8Array>,
  about: readonly string[],
  keys?: readonly TrustedKey[],
) => Promise<Reading | Unreadable>;
export type ReadSbomStream = ReadDocumentStream<SbomReading>;

export interface DocumentReaderOptions {
  readonly script: URL;
  readonly longestMs?: number;
  readonly memoryMb?: number;
}

/** Returns false if there are too many. */
const sendBytes = async (worker: Worker, bytes: AsyncIterable<Uint8Array>): Promise<boolean> => {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > limits.sbomBytesMax) return false;
    // Transferring a view would transfer its whole buffer.
    const copy = new Uint8Array(chunk);
    worker.postMessage(copy, [copy.buffer]);
  }
  worker.postMessage("end");
  return true;
};

export const openDocumentReader = <Reading>({
  script,
  longestMs = limits.sbomReadMs,
  memoryMb = limits.sbomMemoryMb,
}: DocumentReaderOptions): ReadDocumentStream<Reading> => {
  const readInThread = async (bytes: AsyncIterable<Uint8Array>, about: readonly string[], keys: readonly TrustedKey[]): Promise<Reading | Unreadable> => {
    const worker = new Worker(script, { workerData: { about: [...about], keys: [...keys] }, resourceLimits: { maxOldGenerationSizeMb: memoryMb } });
    let timer: NodeJS.Timeout | undefined;
    // Registered before sending, so that no event is missed.
    const answered = new Promise<Reading | Unreadable>((resolve) => {
      worker.once("message", (reading: Reading) => resolve(reading));
      worker.once("error", (error: NodeJS.ErrnoException) =>
        resolve({ problem: error.code === "ERR_WORKER_OUT_OF_MEMORY" ? `takes more than ${memoryMb} MiB to read` : "cannot be read" }),
      );
      worker.once("exit", () => resolve({ problem: "cannot be read" }));
    });
    try {
      if (!(await sendBytes(worker, bytes))) return { problem: `has more than ${limits.sbomBytesMax} bytes` };
      const late = new Promise<Unreadable>((resolve) => {
        timer = setTimeout(() => resolve({ problem: `takes more than ${longestMs / 1000} s to read` }), longestMs);
      });
      return await Promise.race([answered, late]);
    } finally {
      clearTimeout(timer);
      await worker.terminate();
    }
  };

  let last: Promise<unknown> = Promise.resolve();
  return (bytes, about, keys = []) => {
    const reading = last.then(() => readInThread(bytes, about, keys));
    last = reading.catch(() => undefined);
    return reading;
  };
};

export const openSbomReader = (options: Partial<DocumentReaderOptions> = {}): ReadSbomStream =>
  openDocumentReader<SbomReading>({ script: new URL("./worker.ts", import.meta.url), ...options });
