// Texts of findings.

import { count, counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  minSeverity: "At least",
  anySeverity: "Any severity",
  vulnerabilityHint: "A CVE, GHSA or advisory ID, exactly.",
  fixedIn: "Fixed in",
  noFix: "No fix",
  wontFix: "No fix planned",
  inUse: "In use",
  onlyFixable: "With a fix",
  onlyInUse: "In images in use",
  firstSeen: "First seen",
  order: "Order",
  orders: { severity: "Severity", epss: "EPSS", newest: "Newest first", due: "Due date of the exploit" },
  allCovered: (images: number): string => `Sources cover every package of ${counted(images, "image", "images")}.`,
  noImages: "No tagged image of this group has packages that Gantry knows.",
  uncovered: "Not covered",
  bySeverity: "Findings by severity",
  groupBy: "Group by",
  notGrouped: "Nothing",
  groupings: { vulnerability: "Vulnerability", package: "Package", image: "Image", base: "Base image" },
  groupedBy: {
    vulnerability: "Findings by vulnerability",
    package: "Findings by package",
    image: "Findings by image",
    base: "Findings by base image",
  },
  unknownBase: "Unknown",
  claimed: "Claimed",
  layer: "Layer",
  layerNumber: (position: number): string => `Layer ${count.format(position)}`,
  fromBase: "from the base image",
  ownLayers: "from its own layers",
  byDay: "Findings by day",
  onDay: (number: number, day: string): string => `${day}: ${counted(number, "finding", "findings")}`,
  trendOf: (before: number, since: string, now: number, until: string): string => `${count.format(before)} on ${since}, ${count.format(now)} on ${until}`,
  vexStates: (status: string): string => `VEX: ${status.toLowerCase()}`,
  decideOn: (vulnerability: string, packageName: string): string => `Decide about ${vulnerability} in ${packageName}`,
} as const;
