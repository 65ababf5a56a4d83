// From a finished write to what shall be told of it: type, subject, group and body as the contract declares them. Pure.

import { bindingsGiving } from "#authz";
import type { MessageFact } from "#contract/facts.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { EVERYWHERE, parentOf, rootOf } from "#base/uid.ts";
import { timestamp } from "#base/time.ts";
import type { OutboxEvent } from "#outbox";
import type { Read } from "#store";
import type { Context } from "./context.ts";

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
const collection = (template: string): string => template.replace(/\/\{.*$/, "");

const groupOf = (uid: string, group: "parent" | "self" | "root"): string => {
  if (group === "self" || uid === "") return uid;
  if (group === "root") return rootOf(uid);
  const parent = parentOf(uid);
  return parent === EVERYWHERE ? "/" : parent;
};

/** The event of a write. A reply without content is told by its request (deletes). */
export const eventOf = (
  { services, method, call, request, caller, rights, permitted }: Omit<Context<Read>, "rows">,
  reply: JsonObject,
): OutboxEvent | undefined => {
  const { event } = method;
  if (!event) return undefined;
  const message = method.output.fields.length === 0 ? method.input : method.output;
  const whole = message === method.input ? request : reply;
  const subject = find(whole, event.subject) || find(request, event.subject);
  const from = event.groupFrom ? find(whole, event.groupFrom) : subject;
  const group = event.extensions.includes("group") ? groupOf(from, event.group) : "";
  // A batch names its provider as the parent of all.
  const identityProvider = find(whole, ["identityProviderUid"]) || find(whole, ["parent"]) || parentOf(subject);
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
    actor: caller && { subject: caller.uid, ...(caller.act ? { act: { ...caller.act } } : {}) },
    bodyType: message.name,
    body: publicPart(message, whole),
    requestId: call.requestId,
    time: timestamp(services.clock()),
    auditContext: {
      operation: method.name,
      bindings: [...new Set(permitted.flatMap(({ capabilities, path: place }) => bindingsGiving(rights, capabilities, place)))],
      origin: call.origin(),
      resources: [],
    },
  };
};
