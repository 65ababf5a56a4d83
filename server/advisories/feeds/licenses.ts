// What the licence of a source allows us: to pass on what it says, in the open operations and the open documents. Names
// are SPDX's. Only what somebody has read stands here as allowed: a name that is not in the list is not published, and no
// name at all is the word of the operator who says --public. We pass documents on whole and unchanged, so that share-alike
// and attribution (which the documents carry themselves) are met by that; what is made of them names its origin.

/** Licences that allow to pass data on, for any use, and why they stand here. */
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

/** Why it must not be published; undefined where it may. "" is an unknown licence. */
export const withheldReason = (license: string): string | undefined => {
  if (license === "" || publishable.has(license)) return undefined;
  if (/-NC|-ND/.test(license)) return `its licence ${license} does not allow to publish it: no ${/-ND/.test(license) ? "derivatives" : "commercial use"}`;
  return `its licence ${license} is not known to allow publishing it`;
};

export const isPublishable = (license: string): boolean => withheldReason(license) === undefined;

/** The form of an SPDX licence's identifier (SPDX 3, Annex D). */
export const isLicenseName = (name: string): boolean => /^[A-Za-z0-9.+-]{1,64}$/.test(name);
