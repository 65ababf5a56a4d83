// Appends an event to the outbox in the transaction of the change: told if and only if done. Delivery is a separate
// loop over these rows, and the audit log another.

import { randomUUID } from "node:crypto";
import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import type { Write } from "#store";

/** By which call and right, and from where: what the audit log keeps besides. */
export interface AuditContext {
  /** Full name of the operation; the path or command of what is none; "" for what the server does by itself. */
  readonly operation: string;
  /** The role bindings (or mappings of groups to roles) that allowed it; none of the operator's and of what is open. */
  readonly bindings: readonly string[];
  readonly origin: Origin;
  /** Further rows that the event tells of: those of a batch. */
  readonly resources?: readonly string[];
}

/** What happened, in the terms of CloudEvents (events). */
export interface OutboxEvent {
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  /** The group whose subscriptions hear it; "/" above the roots, "" for none. */
  readonly group: string;
  readonly audience: "customer" | "internal";
  readonly extensions: Readonly<Record<string, string>>;
  /** Who did it: {subject, act}; undefined where nobody was signed in. */
  readonly actor: JsonObject | undefined;
  /** Full name of the message that `body` is. */
  readonly bodyType: string;
  readonly body: JsonObject;
  readonly requestId: string;
  readonly time: string;
  readonly auditContext: AuditContext;
}

/**
 * An event's place in the order of all, for whoever goes through them all: the index of that order is on this
 * expression, so that a list of one organization's events by position never takes it (store/list.ts). It did, where
 * the operator asked: for each organization it read the events of all.
 */
export const eventOrder = "position + 0";

export const newEventId = (): string => randomUUID();

/** One subscription that alone is told, under an id that is known before. */
export interface Only {
  readonly subscription: string;
  readonly eventId: string;
}

/** As the row keeps it (migrations: outbox.audit_context). */
const auditContextText = (actor: JsonObject | undefined, { operation, bindings, origin, resources }: AuditContext): string =>
  JSON.stringify({
    ...(actor ? { actor } : {}),
    operation,
    bindings: [...bindings],
    address: origin.address,
    userAgent: origin.userAgent,
    ...(resources ? { resources: [...resources] } : {}),
  });

/** Writes the event. */
export const record = async (rows: Write, event: OutboxEvent, only?: Only): Promise<void> => {
  const { actor, body } = event;
  await rows.query(
    `insert into outbox (event_id, type, source, subject, group_uid, subscription_uid, audience, extensions, body_type, data, request_id, create_time, audit_context)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      only?.eventId ?? newEventId(),
      event.type,
      event.source,
      event.subject,
      event.group,
      only?.subscription ?? null,
      event.audience,
      JSON.stringify(event.extensions),
      event.bodyType,
      JSON.stringify(actor ? { actor, body } : { body }),
      event.requestId,
      event.time,
      auditContextText(actor, event.auditContext),
    ],
  );
};
