// What the open documents leave out, and why: a record goes out under its origin's number only if every version gets the
// same verdict as at its origin (docs/decisions/0022). Pure.

import type { JsonObject } from "#base/json.ts";
import { osvForms, osvValueOf } from "./osv-value.ts";
import { UnsaidError } from "./rustsec-osv.ts";

export const documentKinds = ["osv", "openvex", "csaf", "secdb"] as const;
export type DocumentKind = (typeof documentKinds)[number];

/** Why OSV does not say what a document of another form does. */
const osvReasons: Readonly<Record<string, string>> = {
  // Its advisories are our own, and go out one by one.
  wolfi: "",
  secdb: "a secdb has no advisory IDs, and a fix of one package under a CVE ID would replace the CVE's record",
  cve5: "a CVE record's versions are in no order that its record names",
  distilled: "it names no versions",
  openvex: "it lists single versions, and OSV would include the versions between them",
  // Facts of KEV and EPSS are kept without their documents, so they are no records that could go out.
  nvd: "the NVD's bounds are for CPE names, not for package versions",
  debian: "Debian's tracker has no advisory IDs, and a fix of one package under a CVE ID would replace the CVE's record",
  cyclonedx: "it lists single versions, and OSV would include the versions between them",
  csaf: "it lists single product versions, and OSV would include the versions between them",
};

/** Why OSV cannot say what this document does; "" where it can. */
export const leftOutOfOsv = (form: string, document: JsonObject): string => {
  if (form === "osv") return "";
  if (!osvForms.includes(form)) return osvReasons[form] ?? `OSV cannot express ${form}`;
  try {
    osvValueOf(form, document);
    return "";
  } catch (thrown) {
    if (thrown instanceof UnsaidError) return thrown.message;
    throw thrown;
  }
};

/** Why a secdb does not say what a document of another form does. */
const leftOutOfSecdb = "a secdb contains only fixes of apk packages, and this record came in another format";

/** Why OpenVEX, CSAF and secdb do not say what a document of another form does: the first two name single versions. */
export const leftOutOfForm = (kind: Exclude<DocumentKind, "osv">): string => {
  if (kind === "secdb") return leftOutOfSecdb;
  return `${kind === "openvex" ? "OpenVEX" : "CSAF"} names single versions here, and this record has others: its verdicts would not be the same`;
};
