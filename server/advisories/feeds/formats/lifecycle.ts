// A product's release and end dates in the format of endoflife.date: YAML front matter, one product per file.
//
//   permalink: /nodejs
//   alternate_urls: [/node]
//   identifiers: [{purl: pkg:docker/library/node}, {repology: nodejs}]
//   releases:
//     - {releaseCycle: "18", releaseDate: 2022-04-19, lts: 2022-10-25, eol: 2025-04-30, latest: "18.20.8"}
//
// An operator's file has `product` and `names` instead of the first three. It may set months of maintenance after the end
// (`gracePeriodMonths`), and mark releases that can no longer be built (`eolBroken`).

import { limits } from "#base/limits.ts";
import { readTimestamp } from "#base/time.ts";
import type { LifecycleRecord, LifecycleRelease } from "../record.ts";
import type { Field } from "../field.ts";
import type { Format } from "./format.ts";
import { readPurl } from "./purl.ts";

/** As on the public platform. */
const defaultGraceMonths = 6;

const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && readTimestamp(`${text}T00:00:00Z`) !== undefined;

const readDay = (field: Field): string => {
  const day = field.required();
  return isDay(day) ? day : field.refuse("must be a day such as 2026-04-30");
};

/** Returns a date, "true" for yes without a date, or "". */
const readDayOrFlag = (field: Field): string => {
  if (field.missing || field.value === false) return "";
  if (field.value === true) return "true";
  const said = field.required();
  if (said === "true" || said === "false") return said === "true" ? said : "";
  return isDay(said) ? said : field.refuse("must be a day such as 2026-04-30, or true or false");
};

const readYes = (field: Field): boolean => field.value === true || (field.value !== "false" && field.value !== "true" ? field.flag() : field.value === "true");

const readRelease = (release: Field): LifecycleRelease => ({
  version: release.object().at("releaseCycle").id(),
  releaseDate: readDay(release.at("releaseDate")),
  end: readDayOrFlag(release.at("eol")),
  lts: readDayOrFlag(release.at("lts")),
  latest: release.at("latest").name(limits.feedIdLengthMax),
  broken: readYes(release.at("eolBroken")),
});

const readReleases = (document: Field): LifecycleRelease[] => {
  const entries = document.at("releases").entries();
  if (entries.length > limits.lifecycleReleasesMax) return document.at("releases").refuse(`must be at most ${limits.lifecycleReleasesMax} releases`);
  const seen = new Set<string>();
  return entries.map((entry) => {
    const release = readRelease(entry);
    if (seen.has(release.version)) entry.at("releaseCycle").refuse("is a duplicate");
    seen.add(release.version);
    return release;
  });
};

const nameOfPath = (field: Field): string => {
  const name = field
    .id()
    .split("/")
    .filter((step) => step !== "")
    .join("/");
  return name === "" ? field.refuse("must be a name") : name;
};

/** Elsewhere the last part of the name does not identify the product. */
const namingTypes = new Set(["docker", "oci", "generic", "apk", "deb", "rpm"]);

const namesOfIdentifier = (identifier: Field): string[] => {
  identifier.object();
  if (!identifier.at("repology").missing) return [identifier.at("repology").id()];
  if (identifier.at("purl").missing) return [];
  const purl = readPurl(identifier.at("purl").required());
  return purl && namingTypes.has(purl.type) ? [purl.name] : [];
};

const readNames = (document: Field, product: string): string[] => {
  const names = [
    product,
    ...document
      .at("names")
      .list()
      .map((name) => name.id()),
    ...document.at("alternate_urls").list().map(nameOfPath),
    ...document.at("identifiers").list().flatMap(namesOfIdentifier),
  ];
  const distinct = [...new Set(names.map((name) => name.toLowerCase()))];
  if (distinct.length > limits.lifecycleNamesMax) return document.refuse(`must have at most ${limits.lifecycleNamesMax} names`);
  return distinct;
};

const readMonths = (field: Field): number => {
  const months = field.count() ?? defaultGraceMonths;
  return months <= limits.lifecycleGraceMonthsMax ? months : field.refuse(`must be at most ${limits.lifecycleGraceMonthsMax}`);
};

export const lifecycle: Format = {
  name: "lifecycle",
  title: "the lifecycle of a product",
  kinds: ["lifecycle"],
  matches: (document) => "releases" in document && ("permalink" in document || "product" in document),
  read: (document) => {
    const product = document.at("product").missing ? nameOfPath(document.at("permalink")) : document.at("product").id();
    const record: LifecycleRecord = {
      kind: "lifecycle",
      product,
      names: readNames(document, product),
      graceMonths: readMonths(document.at("gracePeriodMonths")),
      releases: readReleases(document),
    };
    return [record];
  },
};
