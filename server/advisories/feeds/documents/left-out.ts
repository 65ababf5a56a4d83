// Decides which records the open documents omit, and why. A record keeps its ID only if every version gets the origin's verdict
// (docs/decisions/0022). Pure.

import type { JsonObject } from "#base/json.ts";
import { osvForms, osvValueOf } from "./osv-value.ts";
import { UnsaidError } from "./rustsec-osv.ts";

export const documentKinds = ["osv", "openvex", "csaf", "secdb"] as const;
export type DocumentKind = (typeof documentKinds)[number];

const osvReasons: Readonly<Record<string, string>> = {
  // Its advisories become ours and are served individually.
  wolfi: "",
  secdb: "a secdb has no advisory IDs, and a fix of one package under a CVE ID would replace the CVE's record",
  cve5: "a CVE record's versions are in no order that its record names",
  distilled: "it names no versions",
  openvex: "it lists single versions, and OSV would include the versions between them",
  // Documents of KEV and EPSS are not stored.
  nvd: "the NVD's bounds are for CPE names, not for package versions",
  debian: "Debian's tracker has no advisory IDs, and a fix of one package under a CVE ID would replace the CVE's record",
  cyclonedx: "it lists single versions, and OSV would include the versions between them",
  csaf: "it lists single product versions, and OSV would include the versions between them",
};

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

const leftOutOfSecdb = "a secdb contains only fixes of apk packages, and this record came in another format";

/** OpenVEX and CSAF name single versions. */
export const leftOutOfForm = (kind: Exclude<DocumentKind, "osv">): string => {
  if (kind === "secdb") return leftOutOfSecdb;
  return `${kind === "openvex" ? "OpenVEX" : "CSAF"} names single versions here, and this record has others: its verdicts would not be the same`;
};
