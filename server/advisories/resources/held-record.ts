// The records that the last run of each source held back (docs/decisions/0073). Written by server/advisories/feeds.

import { resource } from "#kernel";

export const heldRecord = resource({
  service: "gantry.feeds.v1.HeldRecordsService",
  message: "gantry.feeds.v1.HeldRecord",
  table: "held_records",
});
