// Who acts for themselves alone: a person, with a token of ours that is not narrowed.

import { operatorUid } from "#authz";
import { denied, type Fault, unauthenticated } from "#base/fault.ts";
import { isRoot } from "#base/uid.ts";
import type { ReadContext } from "#kernel";

export const anonymous = (): Fault => unauthenticated("authentication required: send Authorization: Bearer <token>");

/** The person of a token of ours. What was narrowed may not bring new rights, nor end its bearer. */
export const personally = ({ caller }: Pick<ReadContext, "caller">, what: string): NonNullable<ReadContext["caller"]> => {
  if (!caller) throw anonymous();
  if (!isRoot(caller.uid) || caller.uid === operatorUid) throw denied(`Permission denied: only users can ${what}`);
  if (caller.capabilities || caller.scopes) throw denied(`Permission denied: a narrowed token cannot ${what}`);
  return caller;
};
