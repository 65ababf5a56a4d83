// Reads each layer in a process of its own: a layer is hostile, and no parser bounds its time and its native memory. The process has
// no environment of the server, no other descriptors, and may write to its temporary folder only. It ends with its layer.

import { fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { limits } from "#base/limits.ts";
import { emptyContents, type LayerContents } from "./read-layer.ts";

/** Throws the reason of `signal`. */
export type LayerReading = (pieces: AsyncIterable<Uint8Array>, signal?: AbortSignal) => Promise<LayerContents>;

export interface LayerReaderOptions {
  readonly script?: URL;
  readonly longestMs?: number;
  readonly memoryBytesMax?: number;
}

const isContents = (message: unknown): message is LayerContents =>
  typeof message === "object" && message !== null && "databases" in message && "paths" in message && message.paths instanceof Float64Array;

/** Requests come first. */
const yieldProcessor = (pid: number): void => {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended, or the system does not permit it.
  }
};

/** Returns a reader of layers. It throws the errors of `pieces`, and if its process is ended; what is wrong with the layer is in its contents. */
export const openLayerReader =
  ({
    script = new URL("./worker.ts", import.meta.url),
    longestMs = limits.layerReadMs,
    memoryBytesMax = limits.layerMemoryBytesMax,
  }: LayerReaderOptions = {}): LayerReading =>
  async (pieces, signal) => {
    signal?.throwIfAborted();
    const folder = await mkdtemp(join(tmpdir(), "gantry-layers-"));
    const child = fork(fileURLToPath(script), [String(memoryBytesMax)], {
      execArgv: [
        `--max-old-space-size=${limits.layerHeapMb}`,
        `--max-semi-space-size=${limits.layerYoungMb}`,
        "--expose-gc",
        "--disable-warning=ExperimentalWarning",
        "--permission",
        "--allow-fs-read=*",
        `--allow-fs-write=${folder}`,
      ],
      // One arena of glibc: threads that unpack return memory to others.
      env: { TMPDIR: folder, MALLOC_ARENA_MAX: "1" },
      serialization: "advanced",
      stdio: ["pipe", "ignore", "ignore", "ipc"],
    });
    if (child.pid !== undefined) yieldProcessor(child.pid);
    const ended = Promise.withResolvers<LayerContents>();
    const closed = Promise.withResolvers<void>();
    const abort = (): void => ended.reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    const timer = setTimeout(() => {
      ended.resolve(emptyContents("LAYER_TOO_SLOW", `takes more than ${longestMs / 1000} s to read`));
      child.kill("SIGKILL");
    }, longestMs);
    child.once("message", (message) => ended.resolve(isContents(message) ? message : emptyContents("LAYER_UNREADABLE", "cannot be read")));
    child.once("error", (cause) => ended.reject(cause));
    child.once("close", (code, endedBy) => {
      closed.resolve();
      // Ended from outside, such as by the system when the machine has no memory left: no property of the layer.
      if (endedBy === "SIGKILL" || endedBy === "SIGTERM") ended.reject(new Error(`the process that reads a layer was ended by ${endedBy}`));
      // Without a result: ended by a signal, since it has no memory left, or by an error that no reader expects.
      const isOutOfMemory = code === null;
      const detail = isOutOfMemory ? `takes more than ${Math.round(memoryBytesMax / 1024 / 1024)} MiB of memory to read` : "cannot be read";
      ended.resolve(emptyContents(isOutOfMemory ? "LAYER_TOO_LARGE" : "LAYER_UNREADABLE", detail));
    });
    let failure: unknown;
    const copies = async function* (): AsyncGenerator<Buffer> {
      try {
        // The memory of a piece is reused.
        for await (const piece of pieces) yield Buffer.from(piece);
      } catch (cause) {
        failure = cause;
        throw cause;
      }
    };
    const feeding = new AbortController();
    try {
      if (!child.stdin) throw new Error("a process without standard input");
      // A child that has its result, or was killed, reads no further; without all bytes there is no result.
      const fed = pipeline(copies(), child.stdin, { signal: feeding.signal }).catch(() => {
        if (failure !== undefined) ended.reject(failure);
      });
      const contents = await ended.promise;
      feeding.abort();
      await Promise.race([fed, closed.promise]);
      return contents;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      feeding.abort();
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    }
  };
