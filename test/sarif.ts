// SARIF against the schema of its standard, and its indexes, which the schema cannot check.

import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type JsonObject, objectList, part, text } from "#base/json.ts";

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
const isValid = ajv.compile(JSON.parse(readFileSync(new URL("fixtures/report-schemas/sarif-2.1.0.json", import.meta.url), "utf8")) as JsonObject);

const wrongIndexes = (run: JsonObject): string[] => {
  const rules = objectList(part(part(run, "tool"), "driver"), "rules");
  return objectList(run, "results").flatMap((result, index) =>
    text(rules[Number(result.ruleIndex)] ?? {}, "id") === text(result, "ruleId") ? [] : [`/results/${index}/ruleIndex names another rule`],
  );
};

/** Returns the problems of a SARIF 2.1.0 log; none if it is valid. */
export const sarifProblems = (log: JsonObject): string[] =>
  isValid(log)
    ? objectList(log, "runs").flatMap(wrongIndexes)
    : (isValid.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? "is not valid"}`);
