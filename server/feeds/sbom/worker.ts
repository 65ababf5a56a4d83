// The thread that reads one SBOM, and ends with it (open-reader.ts).

import { parentPort, workerData } from "node:worker_threads";
import { isObject, type Json, texts } from "#base/json.ts";
import { readSbom } from "./read-sbom.ts";
import { unpack } from "./unpack.ts";

const chunks: Uint8Array[] = [];

parentPort?.on("message", (chunk: Uint8Array | "end") => {
  if (chunk !== "end") {
    chunks.push(chunk);
    return;
  }
  const data = workerData as Json;
  void unpack(chunks)
    .then((unpacked) => ("problem" in unpacked ? unpacked : readSbom(unpacked.bytes, isObject(data) ? texts(data, "about") : [])))
    .then((reading) => parentPort?.postMessage(reading));
});
