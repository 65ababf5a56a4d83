// Subscriptions: what their rows keep besides the contract's fields.

import type { Read } from "./handle.ts";

/** The sealed secret of a subscription; the empty text where there is none. */
export const findSubscriptionSecret = async (rows: Read, uid: string): Promise<string> => {
  const [row] = await rows.query("select secret_sealed from subscriptions where uid = $1", [uid]);
  return row?.[0] ?? "";
};
