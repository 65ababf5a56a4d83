// From a finished write to what shall be told of it: type, subject, group and body as the contract declares them. Pure.

import { messageByName } from "#contract/catalog.ts";
import { type MessageFact, type MethodFact, toldEventOf } from "#contract/facts.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { EVERYWHERE, isUid, parentOf, rootOf } from "#base/uid.ts";
import { timestamp } from "#base/time.ts";
import type { OutboxEvent } from "#outbox";
import type { Cause, ChangeContext, Services } from "./context.ts";
import type { Resource } from "./resource.ts";

/** The public fields of a message: without our additive ones (clients' decoders may be strict) and without secrets. */
export const publicPart = (message: MessageFact, value: JsonObject): JsonObject => {
  const out: JsonObject = {};
  for (const field of message.fields) {
    const held = value[field.json];
    if (held === undefined || field.additive || field.redacted) continue;
    const inner = field.message;
    const show = (entry: Json): Json => (inner && isObject(entry) ? publicPart(inner, entry) : entry);
    if (!inner) out[field.json] = held;
    else if (field.shape === "map" && isObject(held)) out[field.json] = Object.fromEntries(Object.entries(held).map(([key, entry]) => [key, show(entry)]));
    else out[field.json] = Array.isArray(held) ? held.map(show) : show(held);
  }
  return out;
};

const find = (value: JsonObject, path: readonly string[]): string => {
  let held: Json | undefined = value;
  for (const key of path) held = isObject(held) ? held[key] : undefined;
  return typeof held === "string" ? held : "";
};

/** "/iam/v2/groups/{uid=**}" to "/iam/v2/groups"; a verb on the collection stays. */
const collection = (template: string): string => template.split("/{", 1)[0] ?? "";

/** The operation's collection; of the registry its host (events: 9). */
const eventSourceOf = (method: MethodFact, publicUrl: string): string =>
  method.distribution ? new URL(publicUrl).host : `${publicUrl.replace(/\/$/, "")}${collection(method.http[0]?.template ?? "")}`;

const groupOf = (uid: string, group: "parent" | "self" | "root"): string => {
  if (group === "self" || uid === "") return uid;
  if (group === "root") return rootOf(uid);
  const parent = parentOf(uid);
  return parent === EVERYWHERE ? "/" : parent;
};

const unseen: Origin = { address: "", userAgent: "" };

/**
 * Who did it and from where, as the organization may see it in which the event is kept. An operation that asks for no right
 * is the person's own act towards it (RequestGroupAccess, AcceptMembership); what goes along with it elsewhere is not.
 */
const shownCause = ({ cause }: ChangeContext, method: MethodFact, place: string): Pick<Cause, "actor" | "origin"> => {
  const ownAct = method.name === cause.operation && method.capabilities.length === 0;
  if (ownAct || !cause.strangerIn?.includes(rootOf(place))) return cause;
  return { actor: { subject: find(cause.actor ?? {}, ["subject"]) }, origin: () => unseen };
};

/**
 * The event that the contract declares for an operation; undefined where it declares none. What an answer without
 * content is about stands in its request (deletes).
 */
export const eventOf = (context: ChangeContext, method: MethodFact, request: JsonObject, reply: JsonObject): OutboxEvent | undefined => {
  const { services, cause } = context;
  const { event } = method;
  if (!event) return undefined;
  const message = method.output.fields.length === 0 ? method.input : method.output;
  const content = message === method.input ? request : reply;
  const subject = find(content, event.subject) || find(request, event.subject);
  const from = event.groupFrom ? find(content, event.groupFrom) : subject;
  const group = event.extensions.includes("group") ? groupOf(from, event.group) : "";
  const { actor, origin } = shownCause(context, method, isUid(group) ? group : subject);
  // A batch names its provider as the parent of all.
  const identityProvider = find(content, ["identityProviderUid"]) || find(content, ["parent"]) || parentOf(subject);
  return {
    type: event.type,
    source: eventSourceOf(method, services.publicUrl),
    subject,
    group,
    audience: event.audience,
    extensions: {
      ...(group ? { group } : {}),
      ...(event.extensions.includes("identityprovider") ? { identityprovider: identityProvider } : {}),
    },
    actor,
    bodyType: message.name,
    body: publicPart(message, content),
    requestId: cause.requestId,
    time: timestamp(services.clock()),
    auditContext: { operation: cause.operation, bindings: cause.bindings(), origin: origin() },
  };
};

/** The event whose body is this message, of what the server did by itself. `count`: of how many things it tells. */
export const toldEvent = ({ publicUrl, clock }: Services, name: string, body: JsonObject, cause: Cause, count: number): OutboxEvent => {
  const message = messageByName(name);
  const event = message && toldEventOf(message);
  if (!event) throw new Error(`${name} is the body of no event`);
  const subject = find(body, event.subject);
  const group = groupOf(event.groupFrom ? find(body, event.groupFrom) : subject, event.group);
  return {
    type: event.type,
    source: publicUrl,
    subject,
    group,
    audience: event.audience,
    extensions: event.extensions.includes("group") ? { group } : {},
    actor: cause.actor,
    bodyType: message.name,
    body: publicPart(message, body),
    requestId: cause.requestId,
    time: timestamp(clock()),
    auditContext: { operation: cause.operation, bindings: cause.bindings(), origin: cause.origin(), count },
  };
};

/** The event of one row that was made, changed or removed beside an operation's own: that of its resource's standard method. */
export const rowEventOf = (context: ChangeContext, resource: Resource, verb: "Create" | "Update" | "Delete", record: JsonObject): OutboxEvent | undefined => {
  const method = resource.operations.find(({ rpc }) => rpc === `${verb}${resource.fact.short}`);
  return method && eventOf(context, method, record, record);
};
