// What a thread does that reads one document and ends with it (open-reader.ts): it takes the pieces, unpacks them together, and
// answers what was read, or what is wrong.

import { parentPort, workerData } from "node:worker_threads";
import { isObject, type Json, texts } from "#base/json.ts";
import { unpack } from "./unpack.ts";

/** @param read of the unpacked bytes, with the digests that the document may be about */
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
