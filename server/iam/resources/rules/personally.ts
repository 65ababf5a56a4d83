// Checks for operations that users call for themselves, with an unnarrowed token of this server.

import { operatorUid } from "#base/operator.ts";
import { denied, type Fault, unauthenticated } from "#base/fault.ts";
import { isRoot } from "#base/uid.ts";
import type { ReadContext } from "#kernel";

export const anonymous = (): Fault => unauthenticated("authentication required: send Authorization: Bearer <token>");

/** Returns the user of the token. A narrowed token can neither add permissions nor delete its user. */
export const personally = ({ caller }: Pick<ReadContext, "caller">, what: string): NonNullable<ReadContext["caller"]> => {
  if (!caller) throw anonymous();
  if (!isRoot(caller.uid) || caller.uid === operatorUid) throw denied(`Permission denied: only users can ${what}`);
  if (caller.capabilities || caller.scopes) throw denied(`Permission denied: a narrowed token cannot ${what}`);
  return caller;
};
