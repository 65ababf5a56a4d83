// Time when a foreign token or AWS request last acted as an identity.

import type { Log } from "#base/log.ts";
import type { Store } from "#db";
import { updateLastSeen } from "#iam/store";

/** Stores the time. Never waits for a concurrent update, and never throws. */
export const recordLastSeen = async (store: Store, log: Log, uid: string, nowMs: number): Promise<void> => {
  try {
    await store.write((rows) => updateLastSeen(rows, uid, nowMs));
  } catch (cause) {
    log("authn.seen.failed", { uid, cause });
  }
};
