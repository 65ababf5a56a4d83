// Debian's security tracker: the status of each release, by source package and vulnerability. Without times, so events are dated
// 1970-01-01. A fixed version "0" means never affected. IDs such as TEMP-0000000-0A0B0C are the tracker's, and change.

import { isObject, type JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { AdvisoryEventData, AdvisoryRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";

const neverAffected = "0";

const numberForm = /^(?:CVE-\d{4}-\d+|TEMP-\w+-\w+)$/;

/** Returns undefined if the release sets no status. */
const releaseData = (release: Field): AdvisoryEventData | undefined => {
  const status = release.object().at("status");
  const note = ["nodsa_reason", "nodsa"].map((key) => release.at(key).name()).find((text) => text !== "") ?? "";
  switch (status.required()) {
    case "resolved": {
      const version = release.at("fixed_version").required();
      return version === neverAffected
        ? { falsePositiveDetermination: { type: "TYPE_VULNERABLE_CODE_VERSION_NOT_USED" } }
        : { fixed: { fixedVersion: version } };
    }
    case "open":
      return { truePositiveDetermination: note === "" ? {} : { note } };
    case "undetermined":
      return undefined;
    default:
      return status.refuse("must be resolved, open or undetermined");
  }
};

const sourceAdvisories = (source: string, vulnerabilities: Field, { author = "Debian" }: ReadOptions): AdvisoryRecord[] =>
  vulnerabilities.keys().flatMap((id) => {
    const releases = vulnerabilities.at(id).object().at("releases");
    return releases.keys().flatMap((codename): AdvisoryRecord[] => {
      const data = releaseData(releases.at(codename));
      if (data === undefined) return [];
      return [
        {
          kind: "advisory",
          key: `Debian ${codename} ${source} ${id}`,
          advisoryId: id,
          author,
          artifactName: source,
          artifactType: "deb",
          origin: source,
          namespace: codename,
          aliases: id.startsWith("CVE-") ? [id] : [],
          events: [{ time: timestamp(0), data }],
        },
      ];
    });
  });

const isTracker = (document: JsonObject): boolean => {
  const sources = Object.values(document);
  return (
    sources.length > 0 &&
    sources.every(
      (source) =>
        isObject(source) &&
        Object.entries(source).length > 0 &&
        Object.entries(source).every(([id, vulnerability]) => numberForm.test(id) && isObject(vulnerability) && isObject(vulnerability.releases)),
    )
  );
};

export const debian: Format = {
  name: "debian",
  title: "Debian's security tracker",
  kinds: ["advisories"],
  matches: isTracker,
  origin: (document) => originOf(`debian/${document.keys()[0] ?? ""}`),
  entries: (document) => Object.entries(document).map(([source, vulnerabilities]) => ({ [source]: vulnerabilities })),
  read: (document, options) => document.keys().flatMap((source) => sourceAdvisories(source, document.at(source), options)),
};
