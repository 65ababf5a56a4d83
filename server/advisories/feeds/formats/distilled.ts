// CVE records reduced to the fields of the API, one per line:
//
//   {"id": "CVE-2024-1", "state": "PUBLISHED", "summary": null, "details": "…", "references": [{"url": "…", "tags": ["patch"]}],
//     "severities": [{"type": "CVSS_V3", "score": "CVSS:3.1/…"}], "datePublished": "…", "dateUpdated": "…"}

import type { VulnerabilityRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format } from "./format.ts";
import { cveReferenceType, distinctReferences, distinctSeverities, scoreOf, severityType, timeMember } from "./reference.ts";

const distilledRecord = (line: Field): VulnerabilityRecord => {
  const state = line.at("state").required();
  if (state !== "PUBLISHED" && state !== "REJECTED") return line.at("state").refuse("must be PUBLISHED or REJECTED");
  return {
    kind: "vulnerability",
    id: line.at("id").id(),
    aliases: line.at("aliases").ids(),
    state,
    summary: line.at("summary").prose(),
    details: line.at("details").prose(),
    severities: distinctSeverities(
      line
        .at("severities")
        .list()
        .map((severity) => ({ type: severityType(severity.at("type").name()), score: scoreOf(severity, "score") || severity.at("score").required() })),
    ),
    references: distinctReferences(
      line
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
        })),
    ),
    ...timeMember("publishTime", line.at("datePublished")),
    ...timeMember("modifyTime", line.at("dateUpdated")),
  };
};

export const distilled: Format = {
  name: "distilled",
  title: "a distilled CVE record",
  kinds: ["vulnerabilities"],
  matches: (document) => "id" in document && "state" in document && ("severities" in document || "dateUpdated" in document),
  origin: (document) => originOf(document.at("id").id(), document.at("dateUpdated")),
  read: (line) => [distilledRecord(line)],
};
