// The sources that imports read, and how the last run of each ended (docs/decisions/0071). Written by server/advisories/feeds.

import { resource } from "#kernel";

export const feed = resource({
  service: "gantry.feeds.v1.FeedsService",
  message: "gantry.feeds.v1.Feed",
  table: "feeds",
});
