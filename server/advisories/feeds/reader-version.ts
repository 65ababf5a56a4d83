// The version of the formats' readers. After an upgrade, the next import of a source reads all files again; until then, newly
// supported data is missing.

import { countFeedsReadOtherwise } from "#advisories/store";
import type { Store } from "#db";

/** Increase it when formats read something differently. */
export const readerVersion = "4";

/** Counts sources of advisories and vulnerabilities last read by an earlier version. */
export const countOutdatedFeeds = ({ read }: Store): Promise<number> => countFeedsReadOtherwise(read, `["${readerVersion}",`);
