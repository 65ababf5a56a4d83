// An expired decision of a finding that is still to be matched.

import { type JsonObject, part, text } from "#base/json.ts";

/** Returns the finding without its decision if that has expired. */
export const withoutExpiredDecision = (record: JsonObject, nowMs: number): JsonObject => {
  const { decision, undecidedState, ...undecided } = record;
  const expireTime = text(part(record, "decision"), "expireTime");
  if (decision === undefined || expireTime === "" || Date.parse(expireTime) > nowMs) return record;
  return { ...undecided, ...(undecidedState === undefined ? {} : { state: undecidedState }) };
};
