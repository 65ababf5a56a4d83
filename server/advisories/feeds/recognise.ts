// Recognizes a file by content, never by name: first its notation, then its format.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { artifactLines } from "./formats/artifact-lines.ts";
import { csaf } from "./formats/csaf.ts";
import { cve5 } from "./formats/cve5.ts";
import { cyclonedx } from "./formats/cyclonedx.ts";
import { debian } from "./formats/debian.ts";
import { distilled } from "./formats/distilled.ts";
import { epss } from "./formats/epss.ts";
import type { FeedKind, Format } from "./formats/format.ts";
import { github } from "./formats/github.ts";
import { imagePackages } from "./formats/image-packages.ts";
import { kev } from "./formats/kev.ts";
import { lifecycle } from "./formats/lifecycle.ts";
import { maven } from "./formats/maven.ts";
import { nvd } from "./formats/nvd.ts";
import { openvex } from "./formats/openvex.ts";
import { osPackages } from "./formats/os-packages.ts";
import { osv } from "./formats/osv.ts";
import { pypi } from "./formats/pypi.ts";
import { rustsec } from "./formats/rustsec.ts";
import { secdb } from "./formats/secdb.ts";
import { wolfi } from "./formats/wolfi.ts";
import { FieldError } from "./invalid.ts";

/** Specific formats first. */
export const formats: readonly Format[] = [
  cve5,
  csaf,
  cyclonedx,
  openvex,
  secdb,
  wolfi,
  rustsec,
  nvd,
  kev,
  epss,
  github,
  maven,
  pypi,
  lifecycle,
  imagePackages,
  osPackages,
  artifactLines,
  distilled,
  osv,
  debian,
];

export type Notation = "json" | "yaml" | "front-matter" | "xml" | "toml" | "prose";

// Unindented keys of our formats.
const yamlMark =
  /^(?:schema-version|schema_version|advisories|package|affected|modified|published|aliases|details|statements|id|"?@context"?|format) *:(?:\s|$)/m;
const lifecycleMark = /^(?:permalink|product|releases) *:(?:\s|$)/m;

// Prose has no anchors, and a YAML bomb need not resemble our formats.
const yamlAnchor = /^\S+: *&\w+ /m;
const hasAlias = (text: string): boolean => {
  const anchor = yamlAnchor.exec(text);
  return anchor !== null && /\*\w/.test(text.slice(anchor.index + anchor[0].length));
};

/** Only for product lifecycles. */
const isFrontMatter = (start: string): boolean => /^---[ \t]*\r?\n/.test(start) && lifecycleMark.test(start);

/** Recognizes the notation by the start of a text. */
export const recogniseNotation = (head: string): Notation => {
  const start = head.replace(/^\uFEFF/, "").trimStart();
  if (/^(?:```toml\s*$|\[advisory\])/m.test(start.slice(0, 64)) && /^(?:```|\[a)/.test(start)) return "toml";
  if (start.startsWith("{") || start.startsWith("[")) return "json";
  if (/^<(?:\?xml|!|[A-Za-z])/.test(start)) return /^<(?:\?xml|!DOCTYPE metadata|metadata)/.test(start) ? "xml" : "prose";
  if (isFrontMatter(start)) return "front-matter";
  return yamlMark.test(start) || lifecycleMark.test(start) || hasAlias(start) ? "yaml" : "prose";
};

/** Returns true if the first line is a complete object with another line after it, or the second starts one. */
export const isJsonLines = (head: string, isComplete: boolean): boolean => {
  const [first = "", second = "", ...more] = head
    .replace(/^\uFEFF/, "")
    .split("\n", 32)
    .filter((line) => line.trim() !== "");
  if (!first.startsWith("{")) return false;
  if (second === "" && isComplete) return false;
  if (second.startsWith("{")) return true;
  try {
    // A truncated line cannot be parsed.
    return (more.length > 0 || isComplete) && isObject(JSON.parse(first) as Json);
  } catch {
    return false;
  }
};

/** Throws FieldError if it has none, or one that the kind does not accept. */
export const recogniseFormat = (document: JsonObject, kind: FeedKind, only?: string): Format => {
  const format = formats.find(({ kinds, name, matches }) => kinds.includes(kind) && (only === undefined || name === only) && matches(document));
  if (format) return format;
  const first = formats.find(({ matches }) => matches(document));
  if (!first) throw new FieldError([], `is of no format that import ${kind} knows`);
  if (!first.kinds.includes(kind)) throw new FieldError([], `is ${first.title}, which import ${first.kinds.join(" or import ")} takes`);
  throw new FieldError([], `is ${first.title}, not of the format ${only ?? ""}`);
};
