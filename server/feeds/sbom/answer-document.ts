// Runs in a worker thread for one document (open-reader.ts): receives its pieces, unpacks them, and responds with the result or
// problem.

import { parentPort, workerData } from "node:worker_threads";
import { isObject, type Json, texts } from "#base/json.ts";
import { unpack } from "./unpack.ts";

/** @param read receives the unpacked bytes, and the digests that the document may be about */
export const answerDocument = (read: (bytes: Uint8Array, about: readonly string[]) => Promise<object>): void => {
  const chunks: Uint8Array[] = [];
  parentPort?.on("message", (chunk: Uint8Array | "end") => {
    if (chunk !== "end") {
      chunks.push(chunk);
      return;
    }
    const data = workerData as Json;
    void unpack(chunks)
      .then((unpacked) => ("problem" in unpacked ? unpacked : read(unpacked.bytes, isObject(data) ? texts(data, "about") : [])))
      .then((reading) => parentPort?.postMessage(reading));
  });
};
