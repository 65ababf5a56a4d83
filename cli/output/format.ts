// The forms of output. A table is for people and may change; the rest is a contract: json and yaml are one document in REST's
// shape, jsonl is a resource a line, csv has the columns of a wide table.

import { nearestOf } from "../nearest.ts";
import { wrongUsage } from "../exit-status.ts";

export const outputFormats = ["table", "wide", "json", "jsonl", "yaml", "csv", "uid", "name", "tree"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Throws for what is none. `option` is what said it: "--output", or the variable or context. */
export const readFormat = (option: string, value: string): OutputFormat => {
  const known = outputFormats.find((format) => format === (value === "id" ? "uid" : value));
  if (known !== undefined) return known;
  const nearest = nearestOf(value, outputFormats);
  throw wrongUsage(
    `${option} must be one of ${outputFormats.join(", ")}, not ${JSON.stringify(value)}${nearest === undefined ? "" : ` (did you mean ${nearest}?)`}`,
  );
};

/** True where an error, too, is for a program. */
export const isForPrograms = (format: OutputFormat | undefined): boolean => format === "json" || format === "jsonl";
