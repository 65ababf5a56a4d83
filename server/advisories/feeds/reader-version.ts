// What formats read of a file, by a number: a source that was read by an earlier one is read again by its next import,
// whatever its files or its host say, and what came with the new one is missing until then.

import { countFeedsReadOtherwise } from "#advisories/store";
import type { Store } from "#db";

/** Raised whenever formats read something differently. */
export const readerVersion = "4";

/** How many sources of advisories and vulnerability records an earlier version has read last. */
export const countOutdatedFeeds = ({ read }: Store): Promise<number> => countFeedsReadOtherwise(read, `["${readerVersion}",`);
