// Output formats. Tables are for people and may change. The others are stable: json and yaml are one document as in REST, jsonl
// has one resource per line, csv a column for each field.

import { nearestOf } from "../nearest.ts";
import { wrongUsage } from "../exit-status.ts";

export const outputFormats = ["table", "wide", "json", "jsonl", "yaml", "csv", "uid", "name", "tree"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Parses a format; throws if it is unknown. `option` is its source: "--output", a variable or a context. */
export const readFormat = (option: string, value: string): OutputFormat => {
  const known = outputFormats.find((format) => format === (value === "id" ? "uid" : value));
  if (known !== undefined) return known;
  const nearest = nearestOf(value, outputFormats);
  throw wrongUsage(
    `${option} must be one of ${outputFormats.join(", ")}, not ${JSON.stringify(value)}${nearest === undefined ? "" : ` (did you mean ${nearest}?)`}`,
  );
};

/** Returns true if errors must be machine-readable too. */
export const isForPrograms = (format: OutputFormat | undefined): boolean => format === "json" || format === "jsonl";
