// The version of the formats' readers. After an upgrade, the next import of a source reads all its files again, even if they are
// unchanged; until then, newly supported data is missing.

import { countFeedsReadOtherwise, type Store } from "#store";

/** Increase it with every change of what formats read. */
export const readerVersion = "4";

/** Returns how many sources of advisories and vulnerabilities were last read by an earlier version. */
export const countOutdatedFeeds = ({ read }: Store): Promise<number> => countFeedsReadOtherwise(read, `["${readerVersion}",`);
