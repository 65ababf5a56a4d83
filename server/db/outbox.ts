// Table outbox: every event, written in the transaction of its change. Event lists, deliveries and the audit log derive from it.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { type Column, columns, expression, nullableObject, nullableText, number, text, time } from "./columns.ts";
import type { Param, Read, Write } from "./handle.ts";
import { deleteUnneededRows, findFirstTimeMs, type Retention } from "./retention.ts";
import { timeText } from "./time-text.ts";

/**
 * Order of all events. The index is on this expression, so that lists within one organization do not use it (list.ts). When they did, the
 * operator's list read all events once for each organization.
 */
export const eventOrder = "position + 0";

export const uidSegmentOf = (position: string): string => `lpad(to_hex(${position}), 16, '0')`;

export interface NewEvent {
  readonly eventId: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly group: string;
  /** The only recipient; undefined for all of the group and above. */
  readonly subscription: string | undefined;
  readonly audience: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly bodyType: string;
  /** The exact body. */
  readonly data: string;
  readonly requestId: string;
  readonly time: string;
  readonly auditContext: JsonObject;
}

const insertEventText = `
  insert into outbox
    (event_id, type, source, subject, group_uid, subscription_uid, audience, extensions, body_type, data, request_id, create_time, audit_context)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;

const eventValues = (event: NewEvent): Param[] => [
  event.eventId,
  event.type,
  event.source,
  event.subject,
  event.group,
  event.subscription ?? null,
  event.audience,
  JSON.stringify(event.extensions),
  event.bodyType,
  event.data,
  event.requestId,
  event.time,
  JSON.stringify(event.auditContext),
];

export const insertEvent = async (rows: Write, event: NewEvent): Promise<void> => {
  await rows.query(insertEventText, eventValues(event));
};

/** Sends an event with the commit, without waiting. */
export const sendEvent = (rows: Write, event: NewEvent): void => rows.send(insertEventText, eventValues(event));

const lastEvent = columns({ eventId: text });

/**
 * Returns the ID of a group's last event. If it is unchanged, so are the resources of the group's events. (Positions may repeat after a
 * failover.) Returns undefined if there is none, or while events without a position may be of this group.
 */
export const findLastGroupEvent = async (rows: Read, group: string): Promise<string | undefined> =>
  // Shared, because many clients poll the list of tags that depends on it.
  (
    await lastEvent.findShared(
      rows,
      `select ${lastEvent.list} from outbox
       where left(uid, -17) = $1 and uid is not null and not (
         select count(*) = $2 or coalesce(bool_or(group_uid = $1), false) from (select group_uid from outbox where position is null limit $2) as waiting)
       order by position desc limit 1`,
      [group, limits.lastPositionWaitingMax],
    )
  )?.eventId;

/** A refused or dry-run request, or a count of similar ones. */
export interface NewRefusal {
  readonly type: string;
  /** "" if unauthenticated. */
  readonly caller: string;
  /** Before membership is accepted, an organization sees only the uid. */
  readonly isPerson: boolean;
  readonly operation: string;
  /** "" if it named none or several requests are counted. */
  readonly subject: string;
  /** The path to log at if the request names no existing organization or the caller is unknown. */
  readonly home: string;
  readonly code: string;
  readonly count: number;
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string;
  readonly time: string;
}

// Only an existing organization gets a log entry: otherwise callers could fill the disk with chains for invented paths. Anonymous callers
// write to no organization's log.
const insertRefusalsText = `
  insert into outbox (event_id, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time, audit_context)
  select gen_random_uuid(), refused.type, $1, refused.subject, case when organization.uid is null then refused.home else refused.subject end,
    'internal', '{}', '', '{}', refused."requestId", refused.time,
    jsonb_build_object('actor', jsonb_build_object('subject', refused.caller), 'operation', refused.operation, 'bindings', '[]'::jsonb,
      'address', case when shown.everything then refused.address else '' end,
      'userAgent', case when shown.everything then refused."userAgent" else '' end, 'code', refused.code, 'count', refused.count)
  from jsonb_to_recordset($2::jsonb) as refused(
    type text, caller text, "isPerson" boolean, operation text, subject text, home text, code text, count bigint, address text,
    "userAgent" text, "requestId" text, time timestamptz)
  left join groups as organization on refused.caller <> '' and organization.uid = left(refused.subject, 40)
  cross join lateral (select organization.uid is null or not refused."isPerson" or exists (
    select from memberships where identity_uid = refused.caller and organization_uid = organization.uid) as everything) as shown`;

export const insertRefusals = async (rows: Write, source: string, refusals: readonly NewRefusal[]): Promise<void> => {
  await rows.query(insertRefusalsText, [source, JSON.stringify(refusals)]);
};

export const hasUnnumberedEvents = async (rows: Read): Promise<boolean> => (await rows.query("select 1 from outbox where position is null limit 1")).length > 0;

const unnumberedId = columns({ id: text });

/** Returns up to `count` IDs of events without a position, in order. Requires the lock "numbering". */
export const findUnnumberedEvents = async (rows: Write, count: number, except: readonly string[]): Promise<string[]> => {
  const statement = `select ${unnumberedId.list} from outbox where position is null and id <> all ($2::bigint[]) order by id limit $1`;
  return (await unnumberedId.find(rows, statement, [count, except])).map(({ id }) => id);
};

export interface NumberedEvent {
  readonly position: number;
  /** "" for none. */
  readonly root: string;
  readonly subscription: string | undefined;
}

const numberedEvent = columns<NumberedEvent>({
  position: expression("event.position", number),
  root: expression("left(event.uid, 40)", text),
  subscription: expression("event.subscription_uid", nullableText),
});

const numberText = `
  with waiting as (
    select id, row_number() over (order by id) as step from unnest($1::bigint[]) as next(id)
  ), last as (
    -- A database that was restored goes on behind every position that was ever given (server/audit/log/restores.ts).
    select greatest(coalesce(max(${eventOrder}), 0), (select max(base) from restores)) as position from outbox
  )
  update outbox as event
  set position = last.position + waiting.step,
      uid = case when length(event.group_uid) >= 40 and event.audience = 'customer' and event.subscription_uid is null
        then event.group_uid || '/' || ${uidSegmentOf("last.position + waiting.step")} end
  from waiting, last
  where event.id = waiting.id
  returning ${numberedEvent.list}`;

/** Assigns the next positions in the order of IDs. Requires the lock "numbering". */
export const numberEvents = (rows: Write, ids: readonly string[]): Promise<NumberedEvent[]> => numberedEvent.find(rows, numberText, [ids]);

export const findLastPosition = async (rows: Read): Promise<number> => {
  const [row] = await rows.query(`select coalesce(max(${eventOrder}), 0) from outbox`);
  return Number(row?.[0]);
};

/** Returns RFC 3339; "" if there is no event. */
export const findLastEventTime = async (rows: Read): Promise<string> => {
  const [row] = await rows.query(`select ${timeText("create_time")} from outbox order by id desc limit 1`);
  return row?.[0] ?? "";
};

const object: Column<JsonObject> = { read: (value) => nullableObject.read(value) ?? {} };

export interface AuditedEvent {
  readonly position: number;
  readonly eventId: string;
  readonly type: string;
  readonly subject: string;
  readonly groupUid: string;
  readonly requestId: string;
  readonly createTime: string;
  /** Written by record.ts of the outbox module. */
  readonly auditContext: JsonObject;
}

const auditedEvent = columns<AuditedEvent>({
  position: number,
  eventId: text,
  type: text,
  subject: text,
  groupUid: text,
  requestId: text,
  createTime: time("create_time"),
  auditContext: object,
});

const eventsAfterText = `select ${auditedEvent.list} from outbox where ${eventOrder} > $1 order by ${eventOrder} limit $2`;

export const findEventsAfter = (rows: Read, position: number, count: number): Promise<AuditedEvent[]> =>
  auditedEvent.find(rows, eventsAfterText, [position, count]);

// Keep the last event: readers would miss a position that is assigned twice. Keep unsealed events, and events with pending deliveries
// that are not too old ($2).
const isNeeded = `
  (old.position < (select max(${eventOrder}) from outbox) and old.position <= (select position from audit_progress)
    and old.position <> all (select unnest(set_aside) from audit_progress)) is not true
  or old.create_time >= $2 and exists (
    select from deliveries as delivery join subscriptions as subscription on subscription.uid = delivery.subscription_uid
    where delivery.event_id = old.event_id and delivery.state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING') and subscription.enabled)`;

export const outboxRetention: Retention = {
  table: "outbox",
  period: "eventMs",
  deleteExpired: (store, nowMs, { eventMs }) =>
    deleteUnneededRows(store, { table: "outbox", where: "create_time < $1", order: "create_time", needed: isNeeded }, [
      timestamp(nowMs - eventMs),
      timestamp(nowMs - Math.max(eventMs, limits.undeliveredKeptMs)),
    ]),
  findOldestMs: (store) => findFirstTimeMs(store, { table: "outbox", where: "create_time < $1", order: "create_time" }),
};
