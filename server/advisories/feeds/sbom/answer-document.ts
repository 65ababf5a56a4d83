// The worker thread's side of open-reader.ts: receives one document in pieces, unpacks it, and responds.

import { parentPort, workerData } from "node:worker_threads";
import { isObject, type Json, texts } from "#base/json.ts";
import { unpack } from "./unpack.ts";

/** @param read receives the bytes, and the digests that the document may be about */
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
