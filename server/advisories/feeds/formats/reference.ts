// References, severities and texts shared by the formats of vulnerability records.

import type { ReferenceRecord, SeverityRecord } from "../record.ts";
import type { Field } from "../field.ts";

type ReferenceType = ReferenceRecord["type"];
type SeverityType = SeverityRecord["type"];

/** The contract uses OSV's reference types. */
const osvTypes: ReadonlyMap<string, ReferenceType> = new Map([
  ["ADVISORY", "TYPE_ADVISORY"],
  ["ARTICLE", "TYPE_ARTICLE"],
  ["DETECTION", "TYPE_DETECTION"],
  ["DISCUSSION", "TYPE_DISCUSSION"],
  ["REPORT", "TYPE_REPORT"],
  ["FIX", "TYPE_FIX"],
  ["INTRODUCED", "TYPE_INTRODUCED"],
  ["PACKAGE", "TYPE_PACKAGE"],
  ["EVIDENCE", "TYPE_EVIDENCE"],
  ["WEB", "TYPE_WEB"],
]);

export const osvReferenceType = (value: string): ReferenceType => osvTypes.get(value.toUpperCase()) ?? "TYPE_UNSPECIFIED";

/** By tag; the first match counts. */
const cveTags: readonly (readonly [RegExp, ReferenceType])[] = [
  [/^patch$/, "TYPE_FIX"],
  [/^exploit$|EXPLOIT-DB$/, "TYPE_EVIDENCE"],
  [/advisory$|^x_csaf$|^government-resource$/, "TYPE_ADVISORY"],
  [/^issue-tracking$/, "TYPE_REPORT"],
  [/^mailing-list$|_(?:MLIST|BUGTRAQ|FULLDISC)$/, "TYPE_DISCUSSION"],
  [/^(?:technical-description|media-coverage|press-release)$/, "TYPE_ARTICLE"],
  [/^signature$/, "TYPE_DETECTION"],
  [/^product$/, "TYPE_PACKAGE"],
];

export const cveReferenceType = (tags: readonly string[]): ReferenceType => cveTags.find(([form]) => tags.some((tag) => form.test(tag)))?.[1] ?? "TYPE_WEB";

const severityTypes: ReadonlyMap<string, SeverityType> = new Map([
  ["CVSS_V2", "TYPE_CVSS_V2"],
  ["CVSS_V3", "TYPE_CVSS_V3"],
  ["CVSS_V4", "TYPE_CVSS_V4"],
]);

export const severityType = (value: string): SeverityType => severityTypes.get(value) ?? "TYPE_UNSPECIFIED";

export const cveForm = /^CVE-\d{4}-\d{4,19}$/;

/** Returns the English text, else the first one. */
export const englishText = (texts: Field): string => {
  const entries = texts.list();
  const found = entries.find((entry) => /^en(?:-|$)/i.test(entry.at("lang").name())) ?? entries[0];
  return found ? found.at("value").prose() : "";
};

/** Returns the severity by prefix: "CVSS:3.1/AV:N/…"; without one it is version 2. */
export const severityOfVector = (vector: string): SeverityRecord => {
  const [, major] = /^CVSS:(\d)\.\d\//.exec(vector) ?? [];
  const type = major === "3" || major === "4" ? severityType(`CVSS_V${major}`) : /^\(?AV:[LAN]\/AC:/.test(vector) ? "TYPE_CVSS_V2" : "TYPE_UNSPECIFIED";
  return { type, score: vector };
};

/** Returns the vector, else the base score. */
export const scoreOf = (severity: Field, key: string): string => {
  const vector = severity.at(key).name();
  const score = severity.at("baseScore").value;
  return vector === "" && typeof score === "number" && score >= 0 && score <= 10 ? String(score) : vector;
};

export const distinctSeverities = (severities: readonly SeverityRecord[]): SeverityRecord[] => [
  ...new Map(severities.map((severity) => [`${severity.type} ${severity.score}`, severity])).values(),
];

/** The first one of each URL wins. */
export const distinctReferences = (references: readonly ReferenceRecord[]): ReferenceRecord[] => {
  const found = new Map<string, ReferenceRecord>();
  for (const reference of references) if (!found.has(reference.url)) found.set(reference.url, reference);
  return [...found.values()];
};

// Go's database uses Go's zero time for "unknown".
const noTime = "0001-01-01T00:00:00.000Z";

/** Returns no member if the source has no time. */
export const timeMember = <Key extends string>(key: Key, at: Field): Partial<Record<Key, string>> => {
  const found: Partial<Record<Key, string>> = {};
  const value = at.timeText();
  if (value !== undefined && value !== noTime) found[key] = value;
  return found;
};
