// The worker thread's side of open-reader.ts: receives one document in pieces, unpacks it, and responds.

import { parentPort, workerData } from "node:worker_threads";
import { isObject, type Json, objectList, text, texts } from "#base/json.ts";
import type { TrustedKey } from "#advisories/store";
import { unpack } from "./unpack.ts";

const keysOf = (data: Json): TrustedKey[] =>
  isObject(data) ? objectList(data, "keys").map((key) => ({ uid: text(key, "uid"), publicKey: text(key, "publicKey") })) : [];

/** @param read receives the bytes, the digests that the document may be about, and the keys that may have signed it */
export const answerDocument = (read: (bytes: Uint8Array, about: readonly string[], keys: readonly TrustedKey[]) => Promise<object>): void => {
  const chunks: Uint8Array[] = [];
  parentPort?.on("message", (chunk: Uint8Array | "end") => {
    if (chunk !== "end") {
      chunks.push(chunk);
      return;
    }
    const data = workerData as Json;
    void unpack(chunks)
      .then((unpacked) => ("problem" in unpacked ? unpacked : read(unpacked.bytes, isObject(data) ? texts(data, "about") : [], keysOf(data))))
      .then((reading) => parentPort?.postMessage(reading));
  });
};
