// Texts of the administration page.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  adminText: "Sources of advisories, how well they cover images, and storage, as far as you may see them.",
  feeds: "Feeds",
  feedsText: "Imported sources with the result of the last run. A run that holds something back keeps the earlier records.",
  feedCount: (number: number): string => counted(number, "feed", "feeds"),
  noFeedsTitle: "No feeds",
  noFeedsText: "Nothing was imported in the groups that you see. On the server's machine:",
  source: "Source",
  sources: "Sources",
  records: "Records",
  lastSuccess: "Last success",
  lastChange: "Last change",
  feedStates: { FEED_STATE_UNSPECIFIED: "Unknown", FEED_STATE_OK: "Imported", FEED_STATE_HELD: "Held back", FEED_STATE_FAILED: "Failed" },
  holdReasons: {
    FEED_HOLD_REASON_UNSPECIFIED: "",
    FEED_HOLD_REASON_EMPTY: "The source is empty and had records before.",
    FEED_HOLD_REASON_UNREADABLE: "The source cannot be read.",
    FEED_HOLD_REASON_SHRUNK: "Too many records are missing.",
    FEED_HOLD_REASON_OLDER: "Records are older than the stored ones.",
  },
  heldRecords: (number: number): string => `${counted(number, "record is", "records are")} held back.`,
  absentFiles: "No longer in the source:",
  coverage: "Coverage",
  coverageText: "Ecosystems and releases of the images, with the sources that judge them.",
  ecosystem: "Ecosystem",
  ecosystemCount: (number: number): string => counted(number, "ecosystem", "ecosystems"),
  coverageStates: {
    COVERAGE_STATE_UNSPECIFIED: "Unknown",
    COVERAGE_STATE_MATCHED: "Covered",
    COVERAGE_STATE_NO_SOURCE: "No source",
    COVERAGE_STATE_STALE: "Out of date",
    COVERAGE_STATE_OS_UNSUPPORTED: "Not supported",
  },
  noCoverageTitle: "No packages known",
  noCoverageText: "No image has packages that Gantry knows.",
  storageOf: (name: string): string => `Storage of ${name}`,
  quota: "Quota",
  organizationCount: (number: number): string => counted(number, "organization", "organizations"),
  noOrganizationsText: "You see no organization as a whole.",
  health: "Health",
  healthText: "The server tells its health without a token. On its machine, npx gantry doctor checks settings and dependencies.",
  healthGuide: "Check settings and health",
} as const;
