// When an identity was last seen: whenever somebody else's token or AWS request acted as it.

import type { Log } from "#base/log.ts";
import type { Store } from "#db";
import { updateLastSeen } from "#iam/store";

/** Notes that the identity was assumed. Never waits for another who does the same, and never fails its caller. */
export const recordLastSeen = async (store: Store, log: Log, uid: string, nowMs: number): Promise<void> => {
  try {
    await store.write((rows) => updateLastSeen(rows, uid, nowMs));
  } catch (cause) {
    log("authn.seen.failed", { uid, cause });
  }
};
