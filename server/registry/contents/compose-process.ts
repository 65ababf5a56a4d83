// Composes large images in a process of its own: hostile layers with deep paths take minutes, and the server goes on meanwhile.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { limits } from "#base/limits.ts";
import { composeLayers, type ImageContents, type ImageLayer } from "./compose.ts";

/** Throws the reason of `signal`. */
export type ImageComposition = (layers: readonly ImageLayer[], signal?: AbortSignal) => Promise<ImageContents>;

/** Grows with the time of composeLayers. */
const workOf = (layers: readonly ImageLayer[]): number =>
  layers.reduce((sum, { contents }) => sum + contents.databases.reduce((steps, { path }) => steps + path.split("/").length, 0), 0) * layers.length;

const isImageContents = (message: unknown): message is ImageContents =>
  typeof message === "object" && message !== null && "state" in message && "packages" in message;

const failed = (detail: string): ImageContents => ({
  ...composeLayers([]),
  state: "FAILED",
  problems: [{ reason: "IMAGE_TOO_LARGE", detail, path: "", layer: "" }],
  problemCount: 1,
});

export interface ComposerOptions {
  /** Images with less work are composed at once. */
  readonly workMax?: number;
  readonly longestMs?: number;
}

/** Returns a composer of images. An image that takes too long is FAILED. It throws if its process is ended from outside. */
export const openComposer =
  ({ workMax = limits.composedAtOnceMax, longestMs = limits.composeMs }: ComposerOptions = {}): ImageComposition =>
  async (layers, signal) => {
    signal?.throwIfAborted();
    if (workOf(layers) <= workMax) return composeLayers(layers);
    const child = fork(fileURLToPath(new URL("./compose-worker.ts", import.meta.url)), [], {
      execArgv: [`--max-old-space-size=${limits.composeHeapMb}`, "--disable-warning=ExperimentalWarning", "--permission", "--allow-fs-read=*"],
      env: {},
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const ended = Promise.withResolvers<ImageContents>();
    const abort = (): void => ended.reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    const timer = setTimeout(() => ended.resolve(failed(`takes more than ${longestMs / 1000} s to compose`)), longestMs);
    child.once("message", (message) => ended.resolve(isImageContents(message) ? message : failed("cannot be composed")));
    child.once("error", (cause) => ended.reject(cause));
    child.once("close", (_code, endedBy) => {
      if (endedBy === "SIGKILL" || endedBy === "SIGTERM") ended.reject(new Error(`the process that composes an image was ended by ${endedBy}`));
      ended.resolve(failed("takes too much memory to compose"));
    });
    try {
      // A child that has ended already is reported by its events.
      child.send([...layers], () => {});
      return await ended.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      child.kill("SIGKILL");
    }
  };
