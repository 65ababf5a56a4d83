// Decides by SPDX license whether records may be published. Only reviewed licenses are listed. Without a license, the operator's
// --public decides. Documents are served unchanged, which satisfies share-alike and attribution; converted documents name their
// origin.

/** Licenses for redistribution and any use, with reason and sources. */
const publishable: ReadonlyMap<string, string> = new Map([
  ["CC0-1.0", "no rights reserved: RustSec, Haskell, OCaml, KEV, Vulnrichment"],
  ["CC-BY-4.0", "with attribution: GitHub, PyPA, PSF, Go, OSS-Fuzz, Red Hat"],
  ["CC-BY-3.0", "with attribution"],
  ["CC-BY-SA-4.0", "with attribution, under the same licence: Ubuntu"],
  ["CC-BY-SA-3.0", "with attribution, under the same licence"],
  ["MIT", "with its notice: AlmaLinux, Drupal"],
  ["MIT-0", "without conditions"],
  ["ISC", "with its notice"],
  ["Apache-2.0", "with its notice: R, malicious-packages, Bitnami, Wolfi to 2025-05-07"],
  ["BSD-2-Clause", "with its notice"],
  ["BSD-3-Clause", "with its notice: Rocky Linux"],
  ["0BSD", "without conditions"],
  ["Unlicense", "public domain"],
  ["ODC-By-1.0", "with attribution"],
  ["PDDL-1.0", "public domain"],
  ["CDLA-Permissive-2.0", "with its text"],
  ["cve-tou", "terms of the CVE program, named in the references of its records"],
  ["NIST-PD", "public domain: NVD"],
]);

/** Returns undefined if publication is allowed. "" is an unknown license. */
export const withheldReason = (license: string): string | undefined => {
  if (license === "" || publishable.has(license)) return undefined;
  if (/-NC|-ND/.test(license)) return `its licence ${license} does not allow to publish it: no ${/-ND/.test(license) ? "derivatives" : "commercial use"}`;
  return `its licence ${license} is not known to allow publishing it`;
};

export const isPublishable = (license: string): boolean => withheldReason(license) === undefined;

/** SPDX 3, Annex D. */
export const isLicenseName = (name: string): boolean => /^[A-Za-z0-9.+-]{1,64}$/.test(name);
