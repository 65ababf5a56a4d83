// Adds severities to advisories; they are not columns.

import { type JsonObject, text, texts } from "#base/json.ts";
import { rootOf } from "#base/uid.ts";
import type { Read } from "#db";
import { readSeverities, severitiesOf } from "#advisories/store";

const advisoryNumbers = (advisory: JsonObject): string[] => [text(advisory, "advisoryId"), ...texts(advisory, "aliases")];

export const withSeverities = async (rows: Read, advisories: readonly JsonObject[]): Promise<JsonObject[]> => {
  const known = await readSeverities(
    rows,
    advisories.map((advisory) => rootOf(text(advisory, "uid"))),
    advisories.flatMap(advisoryNumbers),
  );
  if (known.size === 0) return [...advisories];
  return advisories.map((advisory) => {
    const severities = severitiesOf(known, rootOf(text(advisory, "uid")), advisoryNumbers(advisory));
    return severities.length > 0 ? { ...advisory, severities } : advisory;
  });
};
