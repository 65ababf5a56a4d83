// Builds the event of a finished write as the contract declares it: type, subject, group and body. Pure.

import { messageByName, viewOf } from "#contract/catalog.ts";
import type { MessageFact, MethodFact, ViewedMethodFact } from "#contract/facts.ts";
import { replyInView, requestInView } from "#contract/views.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { EVERYWHERE, isUid, parentOf, rootOf } from "#base/uid.ts";
import { timestamp } from "#base/time.ts";
import type { OutboxEvent } from "#outbox";
import type { Cause, ChangeContext, Services } from "./context.ts";
import { resourceField } from "./field-behavior.ts";
import type { Resource } from "./resource.ts";

/** Returns the public fields of a message: without additive ones (decoders of clients may be strict) and without secrets. */
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

/** Converts "/iam/v2/groups/{uid=**}" to "/iam/v2/groups"; a verb on the collection stays. */
const collection = (template: string): string => template.split("/{", 1)[0] ?? "";

/**
 * Returns the host of the registry as a URI reference (events: 9). With a colon, as in `127.0.0.1:8080` or `[::1]`, it needs `//`
 * (RFC 3986, 4.2).
 */
export const registrySource = (publicUrl: string): string => {
  const { host } = new URL(publicUrl);
  return host.includes(":") ? `//${host}` : host;
};

const eventSourceOf = (method: MethodFact, template: string, publicUrl: string): string =>
  method.distribution ? registrySource(publicUrl) : `${publicUrl.replace(/\/$/, "")}${collection(template)}`;

const groupOf = (uid: string, group: "parent" | "self" | "root"): string => {
  if (group === "self" || uid === "") return uid;
  if (group === "root") return rootOf(uid);
  const parent = parentOf(uid);
  return parent === EVERYWHERE ? "/" : parent;
};

const unseen: Origin = { address: "", userAgent: "" };

/**
 * Returns actor and origin as visible to the organization that keeps the event. An operation without capabilities is the user's own
 * act towards that organization (RequestGroupAccess, AcceptMembership); its side effects elsewhere are not.
 */
const shownCause = ({ cause }: ChangeContext, method: MethodFact, place: string): Pick<Cause, "actor" | "origin"> => {
  const ownAct = method.name === (cause.view?.view.of.name ?? cause.operation) && method.capabilities.length === 0;
  if (ownAct || !cause.strangerIn?.includes(rootOf(place))) return cause;
  return { actor: { subject: find(cause.actor ?? {}, ["subject"]) }, origin: () => unseen };
};

/** Converts keys to proto names, as in events of version 1. */
const withProtoNames = (message: MessageFact, value: JsonObject): JsonObject =>
  Object.fromEntries(
    message.fields.flatMap((field): [string, Json][] => {
      const held = value[field.json];
      const inner = field.message;
      const one = (entry: Json): Json => (inner && isObject(entry) ? withProtoNames(inner, entry) : entry);
      if (held === undefined) return [];
      if (field.shape === "map" && isObject(held)) return [[field.name, Object.fromEntries(Object.entries(held).map(([key, entry]) => [key, one(entry)]))]];
      return [[field.name, Array.isArray(held) ? held.map(one) : one(held)]];
    }),
  );

interface Told {
  readonly message: MessageFact;
  readonly body: JsonObject;
  readonly template: string;
}

/** Converts the body to the version of the call (events, 3). `content` is redacted already, so redaction is the same in both. */
const toldIn = (view: ViewedMethodFact | undefined, method: MethodFact, message: MessageFact, request: JsonObject, content: JsonObject): Told => {
  if (!view) return { message, body: content, template: method.http[0]?.template ?? method.scim?.template ?? "" };
  const template = view.http[0]?.template ?? "";
  // An update of version 1 has one message for request and response.
  const tellsRequest = view.view.tellsRequest || message === method.input;
  const told = tellsRequest ? view.input : view.output;
  const resource = resourceField(method);
  const asked = view.view.tellsRequest && resource ? { ...publicPart(method.input, request), [resource.json]: content } : content;
  const body = tellsRequest ? requestInView(view, asked) : replyInView(view, content);
  return { message: told, body: withProtoNames(told, body), template };
};

/** Returns the operation's event; undefined if it declares none. If the response is empty (deletes), the request is the body. */
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
  const view = cause.view?.view.of === method ? cause.view : cause.view && viewOf(method);
  const told = toldIn(view, method, message, request, publicPart(message, content));
  // A batch names its provider as the common parent.
  const identityProvider = find(content, ["identityProviderUid"]) || find(content, ["parent"]) || parentOf(subject);
  return {
    type: event.type,
    source: eventSourceOf(method, told.template, services.publicUrl),
    subject,
    group,
    audience: event.audience,
    extensions: {
      ...(group ? { group } : {}),
      ...(event.extensions.includes("identityprovider") ? { identityprovider: identityProvider } : {}),
    },
    actor,
    bodyType: told.message.name,
    body: told.body,
    requestId: cause.requestId,
    time: timestamp(services.clock()),
    auditContext: { operation: cause.operation, bindings: cause.bindings(), origin: origin() },
  };
};

/** Returns the event with this message as body, for an act of the server itself. `count`: the number of things it reports. */
export const toldEvent = ({ publicUrl, clock }: Services, name: string, body: JsonObject, cause: Cause, count: number): OutboxEvent => {
  const message = messageByName(name);
  const event = message?.told;
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

/** Returns the event of a row changed as a side effect: the event of its resource's standard method. */
export const rowEventOf = (context: ChangeContext, resource: Resource, verb: "Create" | "Update" | "Delete", record: JsonObject): OutboxEvent | undefined => {
  const method = resource.operations.find(({ rpc }) => rpc === `${verb}${resource.fact.short}`);
  return method && eventOf(context, method, record, record);
};
