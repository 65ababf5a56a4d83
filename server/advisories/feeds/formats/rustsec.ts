// RustSec records: TOML front matter, and Markdown with the title as first heading.

import { timestamp } from "#base/time.ts";
import type { AdvisoryRecord, VulnerabilityRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { originOf, type Format } from "./format.ts";
import { distinctReferences, severityOfVector, timeMember } from "./reference.ts";

/** The oldest files have heading and text in the front matter. */
const readBody = (document: Field): { readonly title: string; readonly text: string } => {
  const body = document.at("body").prose();
  const start = body.trimStart();
  const lineEnd = start.indexOf("\n");
  const headingEnd = /^#[ \t]/.test(start) ? (lineEnd < 0 ? start.length : lineEnd) : 0;
  const advisory = document.at("advisory");
  return {
    title: start.slice(1, headingEnd).trim() || advisory.at("title").prose(),
    text: start.slice(headingEnd).trim() || advisory.at("description").prose().trim(),
  };
};

const rustsecVulnerability = (document: Field, id: string): VulnerabilityRecord => {
  const advisory = document.at("advisory");
  const { title, text } = readBody(document);
  const vector = advisory.at("cvss").name();
  const addresses = [advisory.at("url"), ...advisory.at("references").list()].filter((address) => !address.missing).map((address) => address.url());
  return {
    kind: "vulnerability",
    id,
    aliases: advisory
      .at("aliases")
      .ids()
      .filter((alias) => alias !== id),
    state: "PUBLISHED",
    summary: title,
    details: text,
    severities: vector === "" ? [] : [severityOfVector(vector)],
    references: distinctReferences(addresses.map((url) => ({ type: "TYPE_WEB", url }))),
    ...timeMember("publishTime", advisory.at("date")),
    ...timeMember("withdrawnTime", advisory.at("withdrawn")),
  };
};

const rustsecAdvisory = (document: Field, id: string, author: string | undefined): AdvisoryRecord => {
  const advisory = document.at("advisory");
  // In the oldest files, versions are members of the advisory.
  const patched = (document.at("versions").missing ? advisory.at("patched_versions") : document.at("versions").at("patched")).list();
  const versions = patched.map((version) => version.required());
  return {
    kind: "advisory",
    key: id,
    advisoryId: id,
    author: author ?? "RustSec",
    artifactName: advisory.at("package").required(),
    artifactType: "cargo",
    aliases: advisory
      .at("aliases")
      .ids()
      .filter((alias) => alias !== id),
    events: [
      {
        time: timestamp(advisory.at("date").requiredTime()),
        data: versions.length > 0 ? { patched: { patchedVersions: versions } } : { truePositiveDetermination: {} },
      },
    ],
    ...timeMember("withdrawnTime", advisory.at("withdrawn")),
  };
};

export const rustsec: Format = {
  name: "rustsec",
  title: "a RustSec record",
  kinds: ["vulnerabilities", "advisories"],
  matches: (document) => "advisory" in document && "body" in document,
  origin: (document) => originOf(document.at("advisory").at("id").id(), undefined, document.at("advisory").at("license").name()),
  read: (document, { kind, author }) => {
    const advisory = document.at("advisory").object();
    const id = advisory.at("id").id();
    advisory.at("date").requiredTime();
    advisory.at("package").required();
    return [kind === "vulnerabilities" ? rustsecVulnerability(document, id) : rustsecAdvisory(document, id, author)];
  },
};
