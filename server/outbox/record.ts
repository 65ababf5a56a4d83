// Appends events to the outbox in the transaction of their change. Delivery and the audit log read these rows in separate loops.

import { randomUUID } from "node:crypto";
import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { insertEvent, type NewEvent, sendEvent, type Write } from "#db";

/** One of several audit log locations of an event. */
export interface LoggedAt {
  readonly path: string;
  readonly bindings: readonly string[];
  /** Whether that organization sees only the actor's UID, without claims and address. */
  readonly uidAlone: boolean;
}

/** Additional facts for the audit log. */
export interface AuditContext {
  /** Full name of the operation, a path or command; "" for background work. */
  readonly operation: string;
  /** Role bindings or group mappings that granted the permission; empty for the operator and for public operations. */
  readonly bindings: readonly string[];
  readonly origin: Origin;
  /** Number of records represented; default: one. */
  readonly count?: number;
  /** UIDs of the rows that a batch created or deleted; other events have their subject. */
  readonly resources?: readonly string[];
  /** Log locations; default: derived from the event's subject and group. */
  readonly loggedAt?: readonly LoggedAt[];
}

/** An event in CloudEvents terms (events). */
export interface OutboxEvent {
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  /** Group of the receiving subscriptions; "/" above the roots, "" for none. */
  readonly group: string;
  readonly audience: "customer" | "internal";
  readonly extensions: Readonly<Record<string, string>>;
  /** The actor, {subject, act}; undefined if unauthenticated. */
  readonly actor: JsonObject | undefined;
  readonly bodyType: string;
  readonly body: JsonObject;
  readonly requestId: string;
  readonly time: string;
  readonly auditContext: AuditContext;
}

export const newEventId = (): string => randomUUID();

/** The only subscription that receives an event, with a predetermined ID. */
export interface OnlyRecipient {
  readonly subscription: string;
  readonly eventId: string;
}

const auditContextJson = (actor: JsonObject | undefined, { operation, bindings, origin, count, resources = [], loggedAt = [] }: AuditContext): JsonObject => ({
  ...(actor ? { actor } : {}),
  operation,
  bindings: [...bindings],
  ...(count === undefined ? {} : { count }),
  ...(resources.length > 0 ? { resources: [...resources] } : {}),
  ...(loggedAt.length > 0 ? { loggedAt: loggedAt.map(({ path, bindings: there, uidAlone }) => ({ path, bindings: [...there], uidAlone })) } : {}),
  address: origin.address,
  userAgent: origin.userAgent,
});

const newEvent = (event: OutboxEvent, recipient: OnlyRecipient | undefined): NewEvent => {
  const { actor, body, type, source, subject, group, audience, extensions, bodyType, requestId, time, auditContext } = event;
  return {
    eventId: recipient?.eventId ?? newEventId(),
    type,
    source,
    subject,
    group,
    subscription: recipient?.subscription,
    audience,
    extensions,
    bodyType,
    data: JSON.stringify(actor ? { actor, body } : { body }),
    requestId,
    time,
    auditContext: auditContextJson(actor, auditContext),
  };
};

export const record = (rows: Write, event: OutboxEvent, recipient?: OnlyRecipient): Promise<void> => insertEvent(rows, newEvent(event, recipient));

/** Writes the last event of a complete change without waiting; the commit waits for it. */
export const recordLast = (rows: Write, event: OutboxEvent, recipient?: OnlyRecipient): void => sendEvent(rows, newEvent(event, recipient));
