// From a finished write to what shall be told of it: type, subject, group and body as the contract declares them. Pure.

import type { MessageFact, MethodFact } from "#contract/facts.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { EVERYWHERE, parentOf, rootOf } from "#base/uid.ts";
import { timestamp } from "#base/time.ts";
import type { OutboxEvent } from "#outbox";
import type { ChangeContext } from "./context.ts";
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

const groupOf = (uid: string, group: "parent" | "self" | "root"): string => {
  if (group === "self" || uid === "") return uid;
  if (group === "root") return rootOf(uid);
  const parent = parentOf(uid);
  return parent === EVERYWHERE ? "/" : parent;
};

/**
 * The event that the contract declares for an operation; undefined where it declares none. What an answer without
 * content is about stands in its request (deletes).
 */
export const eventOf = ({ services, cause }: ChangeContext, method: MethodFact, request: JsonObject, reply: JsonObject): OutboxEvent | undefined => {
  const { event } = method;
  if (!event) return undefined;
  const message = method.output.fields.length === 0 ? method.input : method.output;
  const content = message === method.input ? request : reply;
  const subject = find(content, event.subject) || find(request, event.subject);
  const from = event.groupFrom ? find(content, event.groupFrom) : subject;
  const group = event.extensions.includes("group") ? groupOf(from, event.group) : "";
  // A batch names its provider as the parent of all.
  const identityProvider = find(content, ["identityProviderUid"]) || find(content, ["parent"]) || parentOf(subject);
  return {
    type: event.type,
    source: `${services.publicUrl.replace(/\/$/, "")}${collection(method.http[0]?.template ?? "")}`,
    subject,
    group,
    audience: event.audience,
    extensions: {
      ...(group ? { group } : {}),
      ...(event.extensions.includes("identityprovider") ? { identityprovider: identityProvider } : {}),
    },
    actor: cause.actor,
    bodyType: message.name,
    body: publicPart(message, content),
    requestId: cause.requestId,
    time: timestamp(services.clock()),
    auditContext: { operation: cause.operation, bindings: cause.bindings(), origin: cause.origin() },
  };
};

/** The event of one row that was made, changed or removed beside an operation's own: that of its resource's standard method. */
export const rowEventOf = (context: ChangeContext, resource: Resource, verb: "Create" | "Update" | "Delete", record: JsonObject): OutboxEvent | undefined => {
  const method = resource.operations.find(({ rpc }) => rpc === `${verb}${resource.fact.short}`);
  return method && eventOf(context, method, record, record);
};
