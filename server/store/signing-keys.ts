// The keys that sign our tokens (authn/keys.ts).

import { timestamp } from "#base/time.ts";
import type { Read } from "./handle.ts";

/** True where there are keys and all of them were made before `timeMs`. */
export const areSigningKeysOlder = async (rows: Read, timeMs: number): Promise<boolean> =>
  (await rows.query("select 1 from signing_keys having max(create_time) < $1", [timestamp(timeMs)])).length > 0;
