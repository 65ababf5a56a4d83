// Events of refused calls, and of validate-only calls with data in their response. Internal: no subscription receives them.

import type { Fault } from "#base/fault.ts";
import { insertRefusals, type NewRefusal, type Write } from "#db";

/** A refused or validate-only call, or a count of similar ones. */
export type Refusal = NewRefusal;

export const refusedType = "dev.gantry.auth.refused.v1";
export const validatedOnlyType = "dev.gantry.call.validated_only.v1";

/** Returns whether the log keeps a refusal: the caller's identity or permissions were the reason (invalid_grant in RFC 6749 §5.2). */
export const isRefusal = ({ code, details }: Fault): boolean =>
  code === "PERMISSION_DENIED" || code === "UNAUTHENTICATED" || details.some((detail) => detail.kind === "reason" && detail.reason === "invalid_grant");

export const recordRefusals = async (rows: Write, source: string, refusals: readonly Refusal[]): Promise<void> => {
  if (refusals.length > 0) await insertRefusals(rows, source, refusals);
};
