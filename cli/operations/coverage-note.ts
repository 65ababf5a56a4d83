// Renders the coverage of a response as one line: a count of zero means little without coverage (docs/decisions/0074).

import { onOneLine } from "../output/escape.ts";
import { isObject, type JsonObject, objectList, text } from "#base/json.ts";

const count = (statement: JsonObject, key: string): number => Number(statement[key] ?? 0);

const stateText = (state: string): string =>
  state
    .replace(/^COVERAGE_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", " ");

const ecosystemText = (each: JsonObject): string =>
  onOneLine(`${[text(each, "ecosystem"), text(each, "release")].filter((word) => word !== "").join(" ")} (${stateText(text(each, "state"))})`);

const namedMax = 8;

/** Returns the line; undefined if the response has no coverage. */
export const coverageNote = (answer: JsonObject): string | undefined => {
  const { coverage: statement } = answer;
  if (!isObject(statement)) return undefined;
  const [images, unjudged] = [count(statement, "imageCount"), count(statement, "unjudgedImageCount")];
  if (images === 0) return "coverage: no images";
  if (unjudged === 0) return images === 1 ? "coverage: sources cover the image" : `coverage: sources cover all ${images} images`;
  const ecosystems = objectList(statement, "ecosystems");
  const further = ecosystems.length - namedMax + count(statement, "furtherEcosystemCount");
  const unread = objectList(statement, "images").some((image) => text(image, "reason") !== "UNJUDGED_REASON_ECOSYSTEMS");
  const what = [
    ...ecosystems.slice(0, namedMax).map(ecosystemText),
    ...(further > 0 ? [`${further} more`] : []),
    ...(unread ? ["images without known packages"] : []),
  ];
  return `coverage: sources do not fully cover ${unjudged} of ${images} images: ${what.join(", ")}. Run gantry vulnerabilities coverage for details`;
};
