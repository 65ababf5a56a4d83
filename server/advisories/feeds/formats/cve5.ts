// CVE records, JSON 5.x. The CNA takes precedence over ADPs.

import { isObject } from "#base/json.ts";
import type { ReferenceRecord, SeverityRecord, VulnerabilityRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format } from "./format.ts";
import { cveForm, cveReferenceType, distinctReferences, distinctSeverities, englishText, scoreOf, severityType, timeMember } from "./reference.ts";

const metricKeys = [
  ["cvssV4_0", "CVSS_V4"],
  ["cvssV3_1", "CVSS_V3"],
  ["cvssV3_0", "CVSS_V3"],
  ["cvssV2_0", "CVSS_V2"],
] as const;

const cveSeverities = (container: Field): SeverityRecord[] =>
  container
    .at("metrics")
    .list()
    .flatMap((metric) =>
      metricKeys.flatMap(([key, type]) => {
        const cvss = metric.at(key);
        const score = cvss.missing ? "" : scoreOf(cvss, "vectorString");
        return score === "" ? [] : [{ type: severityType(type), score }];
      }),
    );

const cveReferences = (container: Field): ReferenceRecord[] =>
  container
    .at("references")
    .list()
    .map((reference) => ({
      type: cveReferenceType(
        reference
          .at("tags")
          .list()
          .map((tag) => tag.name()),
      ),
      url: reference.at("url").url(),
    }));

const cveRecord = (document: Field): VulnerabilityRecord => {
  const metadata = document.at("cveMetadata").object();
  const id = metadata.at("cveId").id();
  if (!cveForm.test(id)) return metadata.at("cveId").refuse("must be a number such as CVE-2024-12345");
  const state = metadata.at("state").required();
  if (state !== "PUBLISHED" && state !== "REJECTED") return metadata.at("state").refuse("must be PUBLISHED or REJECTED");
  const cna = document.at("containers").object().at("cna").object();
  const containers = [cna, ...document.at("containers").at("adp").list()];
  return {
    kind: "vulnerability",
    id,
    aliases: [],
    state,
    summary: cna.at("title").prose(),
    details: englishText(cna.at(state === "REJECTED" ? "rejectedReasons" : "descriptions")),
    severities: distinctSeverities(containers.flatMap(cveSeverities)),
    references: distinctReferences(containers.flatMap(cveReferences)),
    ...timeMember("publishTime", metadata.at("datePublished")),
    ...timeMember("modifyTime", metadata.at("dateUpdated")),
  };
};

export const cve5: Format = {
  name: "cve5",
  title: "a CVE record of JSON 5",
  kinds: ["vulnerabilities"],
  matches: (document) => document.dataType === "CVE_RECORD" || "cveMetadata" in document || (isObject(document.containers) && "cna" in document.containers),
  origin: (document) => originOf(document.at("cveMetadata").at("cveId").id(), document.at("cveMetadata").at("dateUpdated")),
  read: (document) => [cveRecord(document)],
};
