// The thread that reads one SBOM to show it, and ends with it (open-reader.ts).

import { parentPort, workerData } from "node:worker_threads";
import { isObject, type Json, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { graphOf } from "./graph.ts";
import { readSbomDocument } from "./read-sbom.ts";
import { unpack } from "./unpack.ts";

const chunks: Uint8Array[] = [];

const read = async (about: readonly string[]): Promise<object> => {
  const unpacked = await unpack(chunks);
  if ("problem" in unpacked) return unpacked;
  return readSbomDocument(unpacked.bytes, about, (document, text) => {
    const sizeBytes = Buffer.byteLength(text);
    return sizeBytes > limits.shownSbomBytesMax ? { sizeBytes } : { text, sbom: graphOf(document) };
  });
};

parentPort?.on("message", (chunk: Uint8Array | "end") => {
  if (chunk !== "end") {
    chunks.push(chunk);
    return;
  }
  const data = workerData as Json;
  void read(isObject(data) ? texts(data, "about") : []).then((reading) => parentPort?.postMessage(reading));
});
