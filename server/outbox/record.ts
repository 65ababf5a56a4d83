// Appends an event to the outbox in the transaction of its change: the event is there if and only if the change is.
// Delivery is a separate loop over these rows, and the audit log another.

import { randomUUID } from "node:crypto";
import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { insertEvent, type NewEvent, sendEvent, type Write } from "#db";

/** One of several places at which the audit log has an entry of the same event. */
export interface LoggedAt {
  readonly path: string;
  /** The role bindings of that organization. */
  readonly bindings: readonly string[];
  /** True: of who did it that organization sees the uid, and neither what their token said nor where they were. */
  readonly uidAlone: boolean;
}

/** By which call and right, and from where: what the audit log keeps besides. */
export interface AuditContext {
  /** Full name of the operation; the path or command of what is none; "" for what the server does by itself. */
  readonly operation: string;
  /** The role bindings (or mappings of groups to roles) that allowed it; none of the operator's and of what is open. */
  readonly bindings: readonly string[];
  readonly origin: Origin;
  /** How many records it stands for, where that is not one. */
  readonly count?: number;
  /** The uids of the rows that a batch made or removed; of any other event its subject says it. */
  readonly resources?: readonly string[];
  /** Where it is logged, in the place of the event's subject and group; absent or empty: there. */
  readonly loggedAt?: readonly LoggedAt[];
}

/** What happened, in the terms of CloudEvents (events). */
export interface OutboxEvent {
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  /** The group whose subscriptions receive it; "/" above the roots, "" for none. */
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

export const newEventId = (): string => randomUUID();

/** The only subscription that receives an event, under an id that is known before. */
export interface OnlyRecipient {
  readonly subscription: string;
  readonly eventId: string;
}

/** As the row keeps it (column audit_context); read by the audit log. */
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

/** Writes the event. */
export const record = (rows: Write, event: OutboxEvent, recipient?: OnlyRecipient): Promise<void> => insertEvent(rows, newEvent(event, recipient));

/** Writes the event of a change that is complete: the transaction is committed only with it, and only the commit waits for it. */
export const recordLast = (rows: Write, event: OutboxEvent, recipient?: OnlyRecipient): void => sendEvent(rows, newEvent(event, recipient));
