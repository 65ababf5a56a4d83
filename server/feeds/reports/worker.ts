// The thread that reads one report of a scanner, and ends with it (server/feeds/sbom/open-reader.ts).

import { parentPort, workerData } from "node:worker_threads";
import { isObject, type Json, texts } from "#base/json.ts";
import { unpack } from "../sbom/unpack.ts";
import { readReport } from "./read-report.ts";

const chunks: Uint8Array[] = [];

parentPort?.on("message", (chunk: Uint8Array | "end") => {
  if (chunk !== "end") {
    chunks.push(chunk);
    return;
  }
  const data = workerData as Json;
  void unpack(chunks)
    .then((unpacked) => ("problem" in unpacked ? unpacked : readReport(unpacked.bytes, isObject(data) ? texts(data, "about") : [])))
    .then((reading) => parentPort?.postMessage(reading));
});
