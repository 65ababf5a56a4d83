// Texts of vulnerabilities and advisories.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  vulnerabilitiesText: "Findings in the images of all groups that you see, worst first.",
  vulnerabilitySearch: "Vulnerability or package",
  vulnerabilitySearchHint: "An ID such as CVE-2021-44228 or a GHSA ID, or the exact name of a package, such as lodash or deb/debian/libssl3.",
  findingsIn: (name: string): string => `Findings in ${name}`,
  aboutVulnerability: "About the vulnerability",
  affectedImages: "Affected images",
  notAffectedTitle: "None of your images is known to be affected",
  showPast: "Show resolved",
  hidePast: "Hide resolved",
  findingStates: {
    AFFECTED_IMAGE_STATE_UNSPECIFIED: "Unknown",
    AFFECTED_IMAGE_STATE_AFFECTED: "Affected",
    AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION: "Under investigation",
    AFFECTED_IMAGE_STATE_RESOLVED: "Resolved",
    AFFECTED_IMAGE_STATE_SUPPRESSED: "Suppressed",
  },
  aliases: "Also known as",
  exploitation: "Exploitation",
  notExploited: "Not in a catalog of known exploited vulnerabilities",
  ransomware: "Used in ransomware",
  percentile: (share: number): string => `as likely as or likelier than ${(share * 100).toFixed(1)} % of all`,
  cvss: (score: number): string => `CVSS ${score.toFixed(1)}`,
  references: "References",
  moreReferences: (number: number): string => `${counted(number, "further reference", "further references")} in the record`,
  noRecord: "No record of this vulnerability is published on this server. Severity and exploitation are known from findings only.",
  advisory: "Advisory",
  advisories: "Advisories",
  advisoryCount: (number: number): string => counted(number, "advisory", "advisories"),
  noAdvisories: "No advisory that you can see has this ID.",
  author: "Source",
} as const;
