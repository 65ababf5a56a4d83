// Calls that were refused, as they are told. Kept inside: no subscription hears them.

import type { Fault } from "#base/fault.ts";
import type { Write } from "#store";

/** A refused call, or several alike that were only counted. */
export interface Refusal {
  /** The identity's uid; "" where nobody could be made out. */
  readonly caller: string;
  readonly operation: string;
  /** The uid that the call named; "" where it named none, or where several calls are counted. */
  readonly subject: string;
  /** Where it is told if the call named no place in an organization that exists, or nobody knows whose call it was. */
  readonly home: string;
  readonly code: string;
  readonly count: number;
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string;
  readonly time: string;
}

/** True for a refusal that the log keeps: who the caller is, or what it may do, was the reason (RFC 6749, 5.2 calls it invalid_grant). */
export const isRefusal = ({ code, details }: Fault): boolean =>
  code === "PERMISSION_DENIED" || code === "UNAUTHENTICATED" || details.some((detail) => detail.kind === "reason" && detail.reason === "invalid_grant");

export const refusedType = "dev.gantry.auth.refused.v1";

// Nobody may make places up: a chain of its own for each would fill the disk. And a stranger, who may be anybody, writes
// into no organization's log.
const insert = `
  insert into outbox (event_id, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time, audit_context)
  select gen_random_uuid(), $1, $2, refused.subject,
    case when refused.caller <> '' and exists (select from groups where uid = left(refused.subject, 40)) then refused.subject else refused.home end,
    'internal', '{}', '', '{}', refused."requestId", refused.time,
    jsonb_build_object('actor', jsonb_build_object('subject', refused.caller), 'operation', refused.operation, 'bindings', '[]'::jsonb,
      'address', refused.address, 'userAgent', refused."userAgent", 'code', refused.code, 'count', refused.count)
  from jsonb_to_recordset($3::jsonb) as refused(caller text, operation text, subject text, home text, code text, count bigint, address text, "userAgent" text, "requestId" text, time timestamptz)`;

/** Writes them down. */
export const recordRefusals = async (rows: Write, source: string, refusals: readonly Refusal[]): Promise<void> => {
  if (refusals.length > 0) await rows.query(insert, [refusedType, source, JSON.stringify(refusals)]);
};
