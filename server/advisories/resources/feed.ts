// The sources of imports, and the result of each one's last run (docs/decisions/0073). Written by server/advisories/feeds.

import { resource } from "#kernel";

export const feed = resource({
  service: "gantry.feeds.v1.FeedsService",
  message: "gantry.feeds.v1.Feed",
  table: "feeds",
});
