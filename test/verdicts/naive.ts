// A second implementation of OSV's evaluation for tests: slow, straight from the schema's text, with independent orders: semver, pep440 and
// ruby-semver, or the hand-written order of versions (told.ts).

import * as pep440 from "@renovatebot/pep440";
import * as rubygems from "@renovatebot/ruby-semver";
import semver from "semver";
import { isObject, type Json, type JsonObject, text, texts } from "#base/json.ts";

export type Sign = "+" | "-" | "?" | "w";

type Compare = (one: string, other: string) => number | undefined;

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const libraries: Readonly<Record<string, { readonly reads: (version: string) => boolean; readonly compare: (one: string, other: string) => number }>> = {
  PyPI: { reads: (version) => pep440.valid(version) !== null, compare: pep440.compare },
  RubyGems: {
    reads: (version) => rubygems.valid(version) !== null,
    compare: (one, other) => Number(rubygems.gt(one, other)) - Number(rubygems.lt(one, other)),
  },
  semver: { reads: (version) => semver.valid(version) !== null, compare: semver.compare },
};
const ofSemver = ["npm", "Go", "crates.io", "Hex", "Julia"];
const withoutOrder = ["OSS-Fuzz"];

/** Returns an order from a library, or from a line of ascending versions that contains every bound. */
const orderFor = (ecosystem: string, line: readonly string[]): Compare => {
  const name = ecosystem.split(":")[0] ?? "";
  const library = libraries[ofSemver.includes(name) ? "semver" : name];
  if (withoutOrder.includes(name)) return () => undefined;
  if (library) return (one, other) => (library.reads(one) && library.reads(other) ? library.compare(one, other) : undefined);
  return (one, other) => {
    const [left, right] = [line.indexOf(one), line.indexOf(other)];
    return left < 0 || right < 0 ? undefined : left - right;
  };
};

const turns = ["introduced", "last_affected", "fixed", "limit"];

const evaluateRange = (range: JsonObject, version: string, compare: Compare): Sign => {
  const events = objects(range.events).flatMap((event) => Object.entries(event).map(([kind, bound]) => ({ kind, bound: String(bound) })));
  if (events.every(({ kind, bound }) => kind === "introduced" && bound === "0")) return "+";
  const place = (bound: string): number | undefined => compare(version, bound);
  for (const { kind, bound } of events) if (!(kind === "introduced" && bound === "0") && bound !== "*" && place(bound) === undefined) return "?";
  const before = (kind: string, bound: string): number => (kind === "introduced" && bound === "0" ? 1 : bound === "*" ? -1 : (place(bound) ?? 0));
  const limits = events.filter(({ kind }) => kind === "limit");
  if (limits.length > 0 && !limits.some(({ kind, bound }) => before(kind, bound) < 0)) return "-";
  const isZero = ({ kind, bound }: (typeof events)[number]): boolean => kind === "introduced" && bound === "0";
  const sorted = events
    .filter(({ kind }) => kind !== "limit")
    .sort((one, other) =>
      isZero(one) || isZero(other)
        ? Number(isZero(other)) - Number(isZero(one))
        : (compare(one.bound, other.bound) ?? 0) || turns.indexOf(one.kind) - turns.indexOf(other.kind),
    );
  let isAffected = false;
  for (const { kind, bound } of sorted) {
    if (kind === "introduced" && before(kind, bound) >= 0) isAffected = true;
    if (kind === "fixed" && before(kind, bound) >= 0) isAffected = false;
    if (kind === "last_affected" && before(kind, bound) > 0) isAffected = false;
  }
  return isAffected ? "+" : "-";
};

const nameOf = (ecosystem: string, name: string): string => (ecosystem === "PyPI" ? name.toLowerCase().replace(/[-_.]+/g, "-") : name);

/** Returns an OSV record's verdict on a version of "ecosystem name". */
export const evaluate = (record: JsonObject, named: string, version: string, line: readonly string[]): Sign => {
  if (record.withdrawn !== undefined) return "w";
  const entries = objects(record.affected).filter(({ package: each }) => {
    if (!isObject(each)) return false;
    const ecosystem = text(each, "ecosystem");
    return `${ecosystem} ${nameOf(ecosystem, text(each, "name"))}` === named;
  });
  const ecosystem = named.slice(0, named.lastIndexOf(" "));
  const compare = orderFor(ecosystem, line);
  const signs = entries.flatMap((entry) => [
    ...(texts(entry, "versions").some((each) => each === version || compare(each, version) === 0) ? (["+"] as const) : []),
    ...objects(entry.ranges)
      .filter(({ type }) => type !== "GIT")
      .map((range) => evaluateRange(range, version, compare)),
  ]);
  return signs.includes("+") ? "+" : signs.includes("?") ? "?" : "-";
};
