// Table outbox: every event, written in the transaction of its change. Lists of events, deliveries and the audit log are
// made of these rows.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { type Column, columns, expression, nullableObject, nullableText, number, text, time } from "./columns.ts";
import type { Param, Read, Write } from "./handle.ts";
import { deleteUnneededRows, findFirstTimeMs, type Retention } from "./retention.ts";
import { timeText } from "./time-text.ts";

/**
 * An event's position in the order of all, for whoever goes through them all: the index of that order is on this
 * expression, so that a list of one organization's events by position never takes it (list.ts). It did, where the
 * operator listed: for each organization it read the events of all.
 */
export const eventOrder = "position + 0";

/** SQL for the last part of the uid of what has this position. */
export const uidSegmentOf = (position: string): string => `lpad(to_hex(${position}), 16, '0')`;

/** A new event; its position comes later. */
export interface NewEvent {
  readonly eventId: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly group: string;
  /** The only subscription that receives it; undefined: those of its group and above. */
  readonly subscription: string | undefined;
  readonly audience: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly bodyType: string;
  /** What is sent, byte for byte. */
  readonly data: string;
  readonly requestId: string;
  /** RFC 3339. */
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

/** The same as one of the last statements of a transaction, which nothing waits for but the commit. */
export const sendEvent = (rows: Write, event: NewEvent): void => rows.send(insertEventText, eventValues(event));

/**
 * The id of a group's last event: where it is the same as before, nothing of which its events tell has changed since. (A position
 * would be given again after a fail-over that lost events.) Undefined where it has none, or one on its way without a position; and
 * where so many of others' are on their way that they are not looked through.
 */
export const findLastGroupEvent = async (rows: Read, group: string): Promise<string | undefined> => {
  const [row] = await rows.query(
    `select event_id from outbox
     where left(uid, -17) = $1 and uid is not null and not (
       select count(*) = $2 or coalesce(bool_or(group_uid = $1), false) from (select group_uid from outbox where position is null limit $2) as waiting)
     order by position desc limit 1`,
    [group, limits.lastPositionWaitingMax],
  );
  return row?.[0] ?? undefined;
};

/** A call that was refused or only tried, or several alike that were only counted. */
export interface NewRefusal {
  /** The event's. */
  readonly type: string;
  /** The identity's uid; "" where nobody could be made out. */
  readonly caller: string;
  /** True: the caller is a person, of whom an organization sees the uid alone until they have agreed to belong to it. */
  readonly isPerson: boolean;
  readonly operation: string;
  /** The uid that the call named; "" where it named none, or where several calls are counted. */
  readonly subject: string;
  /** The path that it is logged at if the call named none in an organization that exists, or nobody knows whose call it was. */
  readonly home: string;
  readonly code: string;
  readonly count: number;
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string;
  readonly time: string;
}

// Nobody may make paths up: a chain of its own for each would fill the disk. And a stranger, who may be anybody, writes
// into no organization's log. Of a person who has not agreed to belong to it an organization sees the uid alone.
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

/** One event for each. */
export const insertRefusals = async (rows: Write, source: string, refusals: readonly NewRefusal[]): Promise<void> => {
  await rows.query(insertRefusalsText, [source, JSON.stringify(refusals)]);
};

/** True where an event has no position yet. */
export const hasUnnumberedEvents = async (rows: Read): Promise<boolean> => (await rows.query("select 1 from outbox where position is null limit 1")).length > 0;

const unnumberedId = columns({ id: text });

/** The ids of events without a position, in their order, without `except`; `count` at most. Needs the lock "numbering". */
export const findUnnumberedEvents = async (rows: Write, count: number, except: readonly string[]): Promise<string[]> => {
  const statement = `select ${unnumberedId.list} from outbox where position is null and id <> all ($2::bigint[]) order by id limit $1`;
  return (await unnumberedId.find(rows, statement, [count, except])).map(({ id }) => id);
};

/** An event that has just got its position. */
export interface NumberedEvent {
  readonly position: number;
  /** The organization whose subscriptions receive it; "" for none. */
  readonly root: string;
  /** The only subscription that receives it. */
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

/** Gives these events the positions after the last one, in the order of their ids. Needs the lock "numbering". */
export const numberEvents = (rows: Write, ids: readonly string[]): Promise<NumberedEvent[]> => numberedEvent.find(rows, numberText, [ids]);

/** The last position that was given; 0 for none. */
export const findLastPosition = async (rows: Read): Promise<number> => {
  const [row] = await rows.query(`select coalesce(max(${eventOrder}), 0) from outbox`);
  return Number(row?.[0]);
};

/** When the last event was, RFC 3339; "" for none. */
export const findLastEventTime = async (rows: Read): Promise<string> => {
  const [row] = await rows.query(`select ${timeText("create_time")} from outbox order by id desc limit 1`);
  return row?.[0] ?? "";
};

/** A jsonb column that holds an object; anything else is an empty one. */
const object: Column<JsonObject> = { read: (value) => nullableObject.read(value) ?? {} };

/** What the audit log keeps of an event. */
export interface AuditedEvent {
  readonly position: number;
  readonly eventId: string;
  readonly type: string;
  readonly subject: string;
  readonly groupUid: string;
  readonly requestId: string;
  readonly createTime: string;
  /** As record.ts of the outbox module writes it. */
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

/** The events behind this position, `count` at most, in their order. */
export const findEventsAfter = (rows: Read, position: number, count: number): Promise<AuditedEvent[]> =>
  auditedEvent.find(rows, eventsAfterText, [position, count]);

// Not the last one: the next position follows from it, and one that was given before would be passed over by whoever has
// read so far. Not what the audit log has not sealed yet. And not what a subscription is still to be sent, unless it has
// been for longer than anybody may hold up the table ($2).
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
