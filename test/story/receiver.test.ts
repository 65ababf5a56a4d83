// Every event type, triggered and received by a client that knows only the public rules: `cloudevents` reads it, `jose` verifies it, and its content
// follows the rules (events: 2 to 6).

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import { parseAllDocuments } from "yaml";
import { builtInRoleUid } from "#authz";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { messageByName, methods } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import type { MethodFact } from "#contract/facts.ts";
import { everyCapabilityBut, folder, openStage } from "../conformance/stage.ts";
import { nonEmpty, valueAt } from "../samples.ts";
import { registerPerson } from "../../server/application/person.ts";
import { realData } from "./import.ts";
import { startIssuer } from "./processes.ts";
import { type Accepted, openReceiver, readEvent } from "./receiver.ts";
import { openSink } from "./sink.ts";

const stage = await openStage({ GANTRY_DELIVERY_DELAYS: "0,5" });
const { world } = stage;
const receiver = await openReceiver({ issuer: world.url, group: world.organization, now: () => new Date(world.clock.now) });
after(async () => {
  await stage.close();
  await receiver.close();
});
const subscription = text(
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink: receiver.url } }),
  "uid",
);
const place = await folder(stage);
const owner = await stage.holder(everyCapabilityBut(""), world.organization);

const told = nonEmpty(
  methods.filter((method) => stage.answers(method) && method.event?.audience === "customer"),
  "operation that subscribers are told of",
);

// A new user joins by invite, with a token of a known issuer.
const issuer = await startIssuer();
after(() => issuer.close());
await registerPerson(world.server.application.kernel, { issuer: issuer.url, subject: "known", email: "known@example.com", name: "" });
const newcomer = async (): Promise<{ request: JsonObject; token: string }> => {
  const invite = await world.ok("iam.GroupInvitesService/CreateGroupInvite", {
    parent: world.organization,
    groupInvite: { roleUid: builtInRoleUid("viewer"), ttl: "3600s" },
  });
  return { request: { code: text(invite, "code") }, token: await issuer.token({ sub: `newcomer-${stage.next()}`, aud: world.url }) };
};

const parent = (uid: string): string => uid.slice(0, -17);
const root = (uid: string): string => uid.slice(0, 40);
const self = (uid: string): string => uid;

// events: 5. The group of an event by its subject; by default the subject's parent.
const groupOf: readonly (readonly [RegExp, (subject: string) => string])[] = [
  [/\.iam\.group\.(created|updated|access_requested)\./, self],
  [/\.iam\.account_associations\./, self],
  [/\.iam\.external_group_role_mappings\./, root],
  [/\.iam\.rolebindings\.created\.batch\./, self],
  [/\.iam\.terms\.accepted\./, self],
  [/\.registry\.(?:tag|push|manifest|blob|image)\./, root],
  [/\.registry\.in_use\./, self],
];

/** events: 3. The only fields of these events that leave the server. */
const shown: Readonly<Record<string, readonly string[]>> = {
  "chainguard.platform.iam.v2.GroupInvite": ["uid", "expirationTime"],
  "chainguard.platform.iam.v2.IdentityProvider": ["uid", "name", "description", "defaultRole", "defaultRoleUid", "oidc"],
  "chainguard.platform.events.v2.Subscription": ["uid", "sink"],
};

const everyKey = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap(everyKey)
    : isObject(value as JsonObject)
      ? Object.entries(value as JsonObject).flatMap(([key, inner]) => [key, ...everyKey(inner)])
      : [];

const received = async (work: () => Promise<unknown>): Promise<Accepted[]> => {
  await world.server.delivery.finish();
  receiver.accepted.length = 0;
  await work();
  await world.server.delivery.finish();
  assert.deepEqual(receiver.refused, []);
  return [...receiver.accepted];
};

const assertEnvelope = ({ event, headers }: Accepted, type: string): JsonObject => {
  assert.equal(event.specversion, "1.0");
  assert.match(event.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(event.type, type);
  assert.equal(event.datacontenttype, "application/json");
  assert.equal(event.audience, "customer");
  assert.match(String(headers["user-agent"]), /^gantry\/\d/);
  assert.match(String(headers["webhook-signature"]), /^v1,[A-Za-z0-9+/]{43}=$/);
  assert.equal(headers["webhook-id"], event.id);
  const { body, ...more } = event.data ?? {};
  assert.ok(isObject(body) && Object.keys(body).length > 0, "there is a body, and something in it");
  assert.deepEqual(
    Object.keys(more).filter((key) => key !== "actor"),
    [],
  );
  return body;
};

const assertBody = (bodyType: string, body: JsonObject): void => {
  const message = messageByName(bodyType) ?? assert.fail(`${bodyType} is no message of the contract`);
  fromJson(messageDescriptor(message), body, { registry });
  for (const key of Object.keys(body)) assert.ok((message.fields.find(({ json }) => json === key)?.number ?? 1000) < 1000, `${key} is ours alone`);
  const fields = shown[bodyType];
  if (fields)
    assert.deepEqual(
      Object.keys(body).filter((key) => !fields.includes(key)),
      [],
    );
  for (const key of everyKey(body)) assert.doesNotMatch(key, /secret|token$|^code$|^key$/i);
};

const deaf = { sink: receiver.url, eventTypes: ["none"] };

/** Returns the request that the receiver gets an event for, without a subscription that sends to the contract's example address. */
const requestOf = async (method: MethodFact): Promise<JsonObject> => {
  if (method.rpc === "TestSubscription") return { subscriptionUid: subscription };
  if (method.rpc === "CreateSubscription") return { parent: place, subscription: deaf };
  if (method.rpc === "DeleteSubscription")
    return { uid: text(await world.ok("events.SubscriptionsService/CreateSubscription", { parent: place, subscription: deaf }), "uid") };
  return stage.request(method, { place });
};

for (const method of told) {
  const { event } = method;
  test(`${event?.type ?? ""} (${method.rpc}) is received, verified and understood`, async () => {
    const joins = method.rpc === "Register" ? await newcomer() : undefined;
    const request = joins?.request ?? (await requestOf(method));
    const { token } = joins ?? (await stage.callerOf(method, { uid: owner.uid, token: await world.token(owner.uid) }));
    let reply: JsonObject = {};
    const got = await received(async () => {
      const answer = await stage.call("rest", method, request, { token });
      assert.equal(answer.code, 0, answer.message);
      ({ reply } = answer);
    });
    const besides = got.filter(({ event: { type } }) => type !== event?.type).map(({ event: { type } }) => type);
    // Joining also binds, and an undelete also creates; these have events too.
    const wanted = { UndeleteDeletion: ["dev.chainguard.api.platform.registry.repo.created.v1"] }[method.rpc] ?? [];
    assert.deepEqual(besides, joins ? ["dev.chainguard.api.iam.rolebindings.created.v1"] : wanted);
    const [only, ...again] = got.filter(({ event: { type } }) => type === event?.type);
    assert.equal(again.length, 0);
    assert.ok(only);
    const body = assertEnvelope(only, event?.type ?? "");
    const { source, subject = "", group, bodytype, data } = only.event;
    const template = method.http[0]?.template ?? "";
    const collection = template.slice(0, template.includes("/{") ? template.indexOf("/{") : undefined);
    assert.equal(source, method.distribution ? `//${new URL(world.url).host}` : `${world.url}${collection}`);
    const [, place_ = parent] = groupOf.find(([pattern]) => pattern.test(only.event.type)) ?? [];
    assert.match(subject, /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/);
    // A session's event belongs to the group of its identity provider.
    if (only.event.type.includes(".sessions.session."))
      assert.ok(group !== "" && subject.startsWith(`${String(group)}/`), `${subject} is below ${String(group)}`);
    else if (joins || event?.groupFrom) assert.equal(group, world.organization);
    else assert.equal(group, place_(subject));
    const about = JSON.stringify([request, reply]);
    assert.ok(about.includes(subject), "the subject is what was asked for");
    assert.equal(String(bodytype), method.output.fields.length === 0 ? method.input.name : method.output.name);
    assertBody(String(bodytype), body);
    if (/external_group_role_mappings/.test(only.event.type)) {
      const provider = valueAt(reply, ["identityProviderUid"]) ?? valueAt(request, ["parent"]) ?? parent(subject);
      assert.equal(only.event.identityprovider, provider);
    }
    const actor = (data as JsonObject | undefined)?.actor;
    if (isObject(actor)) assert.match(text(actor, "subject"), /^[0-9a-f]{40}/);
  });
}

test("the event of a disabled sink, which no operation emits, is received like any other", async () => {
  const dead = await openSink();
  dead.answer = () => ({ status: 500 });
  const group = await folder(stage);
  const tired = text(await world.ok("events.SubscriptionsService/CreateSubscription", { parent: group, subscription: { sink: dead.url } }), "uid");
  await world.server.delivery.finish();
  const got = await received(async () => {
    world.clock.now += 5 * 24 * 3600 * 1000 + 1000;
    await world.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "last-straw" } });
  });
  await dead.close();
  const off = got.find(({ event }) => event.subject === tired) ?? assert.fail("nothing was said of the switched-off sink");
  assertBody(String(off.event.bodytype), assertEnvelope(off, "dev.gantry.events.subscription.disabled.v1"));
  assert.equal(off.event.group, group);
});

test("the receiver refuses a request without event or token, a changed body, and another group's token", async () => {
  const url = receiver.url;
  const headers = { "ce-specversion": "1.0", "ce-id": "1", "ce-type": "t", "ce-source": "/s", "content-type": "application/json" };
  const token = await world.server.application.services.authn.deliveryToken(world.organization, "sha256:00");
  const others = await world.server.application.services.authn.deliveryToken(place, "sha256:00");
  const status = async (more: Record<string, string>): Promise<number> =>
    (await fetch(url, { method: "POST", headers: { ...headers, ...more }, body: "{}" })).status;
  assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 400);
  assert.equal(await status({}), 401);
  for (const forged of ["x", token, others, await world.token()]) assert.equal(await status({ authorization: `Bearer ${forged}` }), 403);
});

const conformance = join(realData, "conformance", "cloudevents", "yaml");

interface Sample {
  readonly Mode?: string;
  readonly ContextAttributes: Readonly<Record<string, unknown>>;
  readonly Data?: string;
}

test("the receiver parses the public conformance files of CloudEvents", { skip: !existsSync(conformance) && "shared/data is not here" }, () => {
  let read = 0;
  for (const file of globSync("**/*.yaml", { cwd: conformance })) {
    for (const document of parseAllDocuments(readFileSync(join(conformance, file), "utf8"), { schema: "failsafe" })) {
      const sample = document.toJS() as Sample;
      const { Extensions: extensions = {}, datacontenttype = "application/json", ...rest } = sample.ContextAttributes;
      const attributes: Record<string, string> = Object.fromEntries(
        Object.entries({ ...rest, ...(extensions as Record<string, string>) }).map(([name, value]) => [name, String(value).trim()]),
      );
      const data = (sample.Data ?? "").trim();
      const structured = sample.Mode === "structured";
      const headers = structured
        ? { "content-type": "application/cloudevents+json" }
        : { "content-type": String(datacontenttype), ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])) };
      const event = readEvent(headers, structured ? JSON.stringify({ ...attributes, datacontenttype, data: JSON.parse(data) as unknown }) : data);
      for (const [name, value] of Object.entries(attributes)) {
        assert.equal(
          name === "time" ? new Date(String(event[name])).getTime() : event[name],
          name === "time" ? new Date(value).getTime() : value,
          `${file}: ${name}`,
        );
      }
      assert.deepEqual(event.data, String(datacontenttype).startsWith("application/json") ? JSON.parse(data) : data, file);
      read++;
    }
  }
  assert.ok(read >= 9, `${read} read`);
});
