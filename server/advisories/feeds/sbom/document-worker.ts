// Worker thread that reads one SBOM for display.

import { limits } from "#base/limits.ts";
import { answerDocument } from "./answer-document.ts";
import { graphOf } from "./graph.ts";
import { readSbomDocument } from "./read-sbom.ts";

answerDocument((bytes, about) =>
  readSbomDocument(bytes, about, (document, text) => {
    const sizeBytes = Buffer.byteLength(text);
    return sizeBytes > limits.shownSbomBytesMax ? { sizeBytes } : { text, sbom: graphOf(document) };
  }),
);
