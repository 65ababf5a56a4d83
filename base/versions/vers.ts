// Version ranges of the package URL specification, "vers:npm/>=1.0.0|<2.0.0" (CSAF 2.0, 3.1.2.3), in the order of each type's
// ecosystem.

import { limits } from "../limits.ts";
import { compareVersions } from "./ecosystem.ts";

const ecosystems: ReadonlyMap<string, string> = new Map([
  ["alpine", "Alpine"],
  ["apk", "Alpine"],
  ["cargo", "crates.io"],
  ["composer", "Packagist"],
  ["cran", "CRAN"],
  ["deb", "Debian"],
  ["gem", "RubyGems"],
  ["golang", "Go"],
  ["hackage", "Hackage"],
  ["hex", "Hex"],
  ["maven", "Maven"],
  ["npm", "npm"],
  ["nuget", "NuGet"],
  ["pub", "Pub"],
  ["pypi", "PyPI"],
  ["rpm", "Red Hat"],
  ["semver", "npm"],
]);

/** Returns the OSV ecosystem that orders versions of this package URL type, or undefined. */
export const ecosystemOfPurlType = (type: string): string | undefined => ecosystems.get(type);

interface Constraint {
  readonly comparator: "=" | "!=" | "<" | "<=" | ">" | ">=";
  readonly version: string;
}

export interface VersionRange {
  readonly ecosystem: string;
  /** Ordered by version; empty for every version. */
  readonly constraints: readonly Constraint[];
}

const form = /^vers:([a-z.+-][a-z0-9.+-]*)\/(.+)$/;
const constraintForm = /^(!=|<=|>=|<|>|=)?(.+)$/;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Parses a range. Returns undefined if it is invalid, its type has no known order, or a bound is not a version. */
export const readVersionRange = (text: string): VersionRange | undefined => {
  const [, type = "", list = ""] = form.exec(text.trim()) ?? [];
  const ecosystem = ecosystems.get(type);
  if (ecosystem === undefined) return undefined;
  if (list.trim() === "*") return { ecosystem, constraints: [] };
  const parts = list.split("|").map((part) => part.replaceAll(/\s/g, ""));
  if (parts.length > limits.rangeEventsMax) return undefined;
  const constraints: Constraint[] = [];
  for (const part of parts) {
    const [, comparator = "=", version = ""] = constraintForm.exec(part) ?? [];
    const bound = decoded(version);
    if (bound === "" || bound === "*" || compareVersions(ecosystem, bound, bound) === undefined) return undefined;
    constraints.push({ comparator: comparator as Constraint["comparator"], version: bound });
  }
  constraints.sort((one, other) => compareVersions(ecosystem, one.version, other.version) ?? 0);
  return { ecosystem, constraints };
};

const holds = ({ comparator }: Constraint, order: number): boolean => {
  switch (comparator) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
};

const isUpper = ({ comparator }: Constraint): boolean => comparator === "<" || comparator === "<=";

/** Returns whether the range contains the version; undefined if it is not a version of the ecosystem. */
export const isInRange = ({ ecosystem, constraints }: VersionRange, version: string): boolean | undefined => {
  if (compareVersions(ecosystem, version, version) === undefined) return undefined;
  if (constraints.length === 0) return true;
  const orders = constraints.map((constraint) => ({ constraint, order: compareVersions(ecosystem, version, constraint.version) ?? 0 }));
  const single = orders.find(({ constraint, order }) => order === 0 && (constraint.comparator === "=" || constraint.comparator === "!="));
  if (single) return single.constraint.comparator === "=";
  const bounds = orders.filter(({ constraint }) => constraint.comparator !== "=" && constraint.comparator !== "!=");
  // Without bounds, only "!=" constraints match everything else.
  if (bounds.length === 0) return !constraints.some(({ comparator }) => comparator === "=");
  return bounds.some(({ constraint, order }, index) => {
    if (!holds(constraint, order)) return false;
    const [before, after] = [bounds[index - 1], bounds[index + 1]];
    if (isUpper(constraint)) return before === undefined || (!isUpper(before.constraint) && holds(before.constraint, before.order));
    return after === undefined || (isUpper(after.constraint) && holds(after.constraint, after.order));
  });
};
