// Worker thread that parses the `images` annotations of several charts, passed as a JSON list of texts.

import { isObject, type Json, texts } from "#base/json.ts";
import { answerDocument } from "../sbom/answer-document.ts";
import { readChartImages } from "./read-chart.ts";

answerDocument(async (bytes) => {
  const asked = JSON.parse(Buffer.from(bytes).toString("utf8")) as Json;
  const lists = [];
  for (const annotation of isObject(asked) ? texts(asked, "annotations") : []) lists.push(await readChartImages(annotation));
  return { lists };
});
