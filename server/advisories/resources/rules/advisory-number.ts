// The public ID of an authored advisory (docs/decisions/0089): the organization's prefix and a counter.

import { type Fault, missing } from "#base/fault.ts";
import { nextAdvisoryNumber, reservePrefix, findOrganizationName } from "#advisories/store";
import type { Write } from "#db";

/** Prefixes of vulnerability databases, which IDs must not imitate. */
const foreignPrefixes = new Set(
  `A ALBA ALEA ALPINE ALSA ASB BDSA BELL BIT BREW CAPEC CGA CLEANSTART CPE CURL CVE CWE DEBIAN DHI DLA DRUPAL DSA DTSA ECHO EDB EEF ELA
   ELSA ESSA EUVD FEDORA GHSA GLSA GO GSD HSEC ICSA JLSEC JSA JVNDB KB KEV KUBE LBSEC LSN MAL MFSA MGASA MINI MS NCSC OESA OPENSUSE OSEC OSV
   PHSA PSF PUB PYSEC RHBA RHEA RHSA RLSA ROOT RSEC RUSTSEC RXSA SNYK SSA SUSE TALOS TEMP UBUNTU USN UVI V8 VDE VU X ZDI`.split(/\s+/),
);

const lengthMax = 16;

/** Returns prefixes to try in order; the last ones are long enough to be unique. */
const prefixesOf = (root: string, name: string): string[] => {
  const plain = name
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "")
    .slice(0, lengthMax);
  const usable = plain !== "" && !foreignPrefixes.has(plain);
  const lengths = [6, 12, root.length];
  return [...(usable ? [plain] : []), ...lengths.map((length) => `${usable ? plain : "ORG"}${root.slice(0, length).toUpperCase()}`)];
};

const gone = (root: string): Fault => missing("iam", "Group", root);

/** Allocates the organization's next number; a rolled-back one is allocated again. */
export const allocateNumber = async (rows: Write, root: string): Promise<string> => {
  let allocated = await nextAdvisoryNumber(rows, root);
  if (!allocated) {
    const name = await findOrganizationName(rows, root);
    if (name === undefined) throw gone(root);
    for (const prefix of prefixesOf(root, name)) if (await reservePrefix(rows, root, prefix)) break;
    allocated = await nextAdvisoryNumber(rows, root);
  }
  if (!allocated) throw gone(root);
  return `${allocated.prefix}-ADV-${allocated.last.padStart(6, "0")}`;
};
