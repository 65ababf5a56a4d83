// Index data of a stored OSV document: its ecosystems, and ranges by package. Pure.

import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import { affectedCommits } from "#base/versions/affected.ts";
import type { AffectedPackage, OsvFacts } from "#advisories/store";
import { osvForms, osvValueOf } from "../documents/osv-value.ts";
import { nameKey, withoutRelease } from "./ecosystems.ts";

const nothing: OsvFacts = { modified: "", ecosystems: [], packages: [], withdrawn: "" };

const ecosystemsOf = (affected: readonly JsonObject[]): string[] => {
  const found = new Set<string>();
  for (const entry of affected) {
    const ecosystem = withoutRelease(text(part(entry, "package"), "ecosystem"));
    if (ecosystem !== "") found.add(ecosystem);
    if (objectList(entry, "ranges").some((range) => text(range, "type") === "GIT")) found.add("GIT");
  }
  return found.size === 0 ? ["[EMPTY]"] : [...found].sort();
};

export const ecosystemsOfRecord = (record: JsonObject): string[] => ecosystemsOf(objectList(record, "affected"));

const packagesOf = (affected: readonly JsonObject[]): AffectedPackage[] => {
  const found = new Map<string, { ecosystem: string; name: string; entries: JsonObject[] }>();
  const add = (ecosystem: string, name: string, entry: JsonObject | undefined): void => {
    // The index has a maximum key length.
    if (name === "" || name.includes("\0") || Buffer.byteLength(ecosystem + name) > limits.packageKeyBytesMax) return;
    const key = JSON.stringify([ecosystem, name]);
    const known = found.get(key) ?? { ecosystem, name, entries: [] };
    if (entry) known.entries.push(entry);
    found.set(key, known);
  };
  for (const entry of affected) {
    const of = part(entry, "package");
    const [ecosystem, name] = [text(of, "ecosystem"), nameKey(text(of, "ecosystem"), text(of, "name"))];
    const { ranges, versions } = entry;
    const list = versions === undefined ? {} : { versions };
    if (ecosystem !== "") {
      const said = { ...list, ...(ranges === undefined ? {} : { ranges }) };
      add(ecosystem, name, said);
      const base = withoutRelease(ecosystem);
      // With the release, so that queries for one can skip others.
      if (base !== ecosystem) add(base, name, { ecosystem, ...said });
    }
    for (const range of objectList(entry, "ranges").filter((each) => text(each, "type") === "GIT")) {
      add("GIT", nameKey("GIT", text(range, "repo")), list);
      for (const commit of affectedCommits(range)) add("GIT", commit, undefined);
    }
  }
  return [...found.values()].map(({ ecosystem, name, entries }) => ({ ecosystem, name, entries: JSON.stringify(entries) }));
};

/** @param leftOut why the document has no OSV form; "" if it has one */
export const osvFactsOf = (form: string, document: JsonObject, leftOut: string): OsvFacts => {
  if (leftOut !== "" || !osvForms.includes(form)) return nothing;
  const record = osvValueOf(form, document);
  const affected = objectList(record, "affected");
  const isWithdrawn = text(record, "withdrawn") !== "";
  const withdrawnMs = readTimestamp(text(record, "withdrawn"));
  return {
    modified: text(record, "modified"),
    ecosystems: ecosystemsOf(affected),
    packages: isWithdrawn ? [] : packagesOf(affected),
    withdrawn: withdrawnMs === undefined ? "" : timestamp(withdrawnMs),
  };
};
