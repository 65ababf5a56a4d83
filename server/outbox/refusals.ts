// Calls that changed nothing, as events: those that were refused, and those that were only tried (validateOnly) and whose
// answer shows what is there all the same. They are internal: no subscription receives them.

import type { Fault } from "#base/fault.ts";
import { insertRefusals, type NewRefusal, type Write } from "#db";

/** A call that was refused or only tried, or several alike that were only counted. */
export type Refusal = NewRefusal;

export const refusedType = "dev.gantry.auth.refused.v1";
export const validatedOnlyType = "dev.gantry.call.validated_only.v1";

/** True for a refusal that the log keeps: who the caller is, or what it may do, was the reason (RFC 6749, 5.2 calls it invalid_grant). */
export const isRefusal = ({ code, details }: Fault): boolean =>
  code === "PERMISSION_DENIED" || code === "UNAUTHENTICATED" || details.some((detail) => detail.kind === "reason" && detail.reason === "invalid_grant");

/** Writes an event for each. */
export const recordRefusals = async (rows: Write, source: string, refusals: readonly Refusal[]): Promise<void> => {
  if (refusals.length > 0) await insertRefusals(rows, source, refusals);
};
