// The sources that imports read, and how the last run of each ended (docs/decisions/0071). Written by server/feeds.

import { FeedSchema, FeedsService } from "#contract/gen/gantry/feeds/v1/feeds_pb.js";
import { resource } from "#kernel";

export const feed = resource({
  service: FeedsService,
  message: FeedSchema,
  table: "feeds",
});
