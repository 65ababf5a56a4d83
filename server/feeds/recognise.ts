// What a file is, by its content and never by its name: first its notation, then the format of the document in it.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { artifactLines } from "./formats/artifact-lines.ts";
import { csaf } from "./formats/csaf.ts";
import { cve5 } from "./formats/cve5.ts";
import { distilled } from "./formats/distilled.ts";
import type { FeedKind, Format } from "./formats/format.ts";
import { imagePackages } from "./formats/image-packages.ts";
import { maven } from "./formats/maven.ts";
import { openvex } from "./formats/openvex.ts";
import { osPackages } from "./formats/os-packages.ts";
import { osv } from "./formats/osv.ts";
import { pypi } from "./formats/pypi.ts";
import { rustsec } from "./formats/rustsec.ts";
import { secdb } from "./formats/secdb.ts";
import { wolfi } from "./formats/wolfi.ts";
import { Refused } from "./refused.ts";

/** The more particular before the more general. */
export const formats: readonly Format[] = [cve5, csaf, openvex, secdb, wolfi, rustsec, maven, pypi, imagePackages, osPackages, artifactLines, distilled, osv];

export type Notation = "json" | "yaml" | "xml" | "toml" | "prose";

// A key at the margin that one of our formats begins with; prose has none of them.
const yamlMark =
  /^(?:schema-version|schema_version|advisories|package|affected|modified|published|aliases|details|statements|id|"?@context"?|format) *:(?:\s|$)/m;

// Nobody writes prose with anchors and aliases; a bomb need not look like one of our formats.
const yamlAnchor = /^\S+: *&\w+ [\s\S]*\*\w/m;

/** Of a text's beginning. */
export const notationOf = (head: string): Notation => {
  const start = head.replace(/^\uFEFF/, "").trimStart();
  if (/^(?:```toml\s*$|\[advisory\])/m.test(start.slice(0, 64)) && /^(?:```|\[a)/.test(start)) return "toml";
  if (start.startsWith("{") || start.startsWith("[")) return "json";
  if (/^<(?:\?xml|!|[A-Za-z])/.test(start)) return /^<(?:\?xml|!DOCTYPE metadata|metadata)/.test(start) ? "xml" : "prose";
  return yamlMark.test(start) || yamlAnchor.test(start) ? "yaml" : "prose";
};

/** JSON Lines: the first line is a whole object and not the only one, or the second begins another. */
export const hasLines = (head: string, isWhole: boolean): boolean => {
  const [first = "", second = "", ...more] = head
    .replace(/^\uFEFF/, "")
    .split("\n", 32)
    .filter((line) => line.trim() !== "");
  if (!first.startsWith("{")) return false;
  if (second === "" && isWhole) return false;
  if (second.startsWith("{")) return true;
  try {
    // A line that is cut off by the head's own end is not judged.
    return (more.length > 0 || isWhole) && isObject(JSON.parse(first) as Json);
  } catch {
    return false;
  }
};

/** The format of a document. Throws Refused where it is of none, or of one that this kind does not take. */
export const formatOf = (document: JsonObject, kind: FeedKind, only?: string): Format => {
  const found = formats.filter(({ fits }) => fits(document));
  const [first] = found;
  if (!first) throw new Refused([], `is of no format that import ${kind} knows`);
  const format = found.find(({ kinds, name }) => kinds.includes(kind) && (only === undefined || name === only));
  if (format) return format;
  if (!first.kinds.includes(kind)) throw new Refused([], `is ${first.title}, which import ${first.kinds.join(" or import ")} takes`);
  throw new Refused([], `is ${first.title}, not of the format ${only ?? ""}`);
};
