// CVEs of the NVD: API 2.0 and yearly files. Its CPE bounds are not package versions, so they are not read.

import { isObject } from "#base/json.ts";
import type { ReferenceRecord, SeverityRecord, VulnerabilityRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format } from "./format.ts";
import { cveForm, distinctReferences, distinctSeverities, englishText, scoreOf, severityType, timeMember } from "./reference.ts";

const metricKeys = [
  ["cvssMetricV40", "CVSS_V4"],
  ["cvssMetricV31", "CVSS_V3"],
  ["cvssMetricV30", "CVSS_V3"],
  ["cvssMetricV2", "CVSS_V2"],
] as const;

const nvdSeverities = (metrics: Field): SeverityRecord[] =>
  metricKeys.flatMap(([key, type]) =>
    metrics
      .at(key)
      .list()
      .flatMap((metric) => {
        const score = scoreOf(metric.at("cvssData").object(), "vectorString");
        return score === "" ? [] : [{ type: severityType(type), score }];
      }),
  );

/** By tag; the first match counts. */
const nvdTags: readonly (readonly [tag: string, type: ReferenceRecord["type"]])[] = [
  ["Patch", "TYPE_FIX"],
  ["Exploit", "TYPE_EVIDENCE"],
  ["Vendor Advisory", "TYPE_ADVISORY"],
  ["Third FairnessKey Advisory", "TYPE_ADVISORY"],
  ["US Government Resource", "TYPE_ADVISORY"],
  ["Issue Tracking", "TYPE_REPORT"],
  ["Mailing List", "TYPE_DISCUSSION"],
  ["Technical Description", "TYPE_ARTICLE"],
  ["Press/Media Coverage", "TYPE_ARTICLE"],
  ["Product", "TYPE_PACKAGE"],
];

const nvdReference = (reference: Field): ReferenceRecord => {
  const tags = reference
    .at("tags")
    .list()
    .map((tag) => tag.name());
  return { type: nvdTags.find(([tag]) => tags.includes(tag))?.[1] ?? "TYPE_WEB", url: reference.at("url").url() };
};

const nvdRecord = (entry: Field): VulnerabilityRecord => {
  const cve = entry.object().at("cve").object();
  const id = cve.at("id").id();
  if (!cveForm.test(id)) return cve.at("id").refuse("must be a number such as CVE-2024-12345");
  return {
    kind: "vulnerability",
    id,
    aliases: [],
    state: cve.at("vulnStatus").name() === "Rejected" ? "REJECTED" : "PUBLISHED",
    summary: "",
    details: englishText(cve.at("descriptions")),
    severities: distinctSeverities(nvdSeverities(cve.at("metrics"))),
    references: distinctReferences(cve.at("references").list().map(nvdReference)),
    ...timeMember("publishTime", cve.at("published")),
    ...timeMember("modifyTime", cve.at("lastModified")),
  };
};

export const nvd: Format = {
  name: "nvd",
  title: "a page of the NVD",
  kinds: ["vulnerabilities"],
  matches: ({ format, vulnerabilities }) =>
    Array.isArray(vulnerabilities) && (format === "NVD_CVE" || vulnerabilities.some((entry) => isObject(entry) && isObject(entry.cve))),
  origin: (document) => {
    const [entry] = document.at("vulnerabilities").list();
    return entry ? originOf(entry.at("cve").at("id").id(), entry.at("cve").at("lastModified")) : originOf("");
  },
  entries: ({ vulnerabilities }) => (Array.isArray(vulnerabilities) ? vulnerabilities.map((entry) => ({ format: "NVD_CVE", vulnerabilities: [entry] })) : []),
  read: (document) => document.at("vulnerabilities").list().map(nvdRecord),
};
