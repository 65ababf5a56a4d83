// Event delivery: each change reaches each sink, signed, at least once, in order per subject, never lost.
// The sinks are real servers on loopback.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CloudEvent, HTTP } from "cloudevents";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { createHash, createHmac } from "node:crypto";
import type { JsonObject } from "#base/json.ts";
import { openWorld, type World } from "../world.ts";
import { type ReceivedEvent, openSink, type Sink } from "./sink.ts";

let world: World;
let sink: Sink;

before(async () => {
  [world, sink] = await Promise.all([openWorld({ GANTRY_DELIVERY_DELAYS: "0,5,60" }), openSink()]);
});
after(async () => {
  await world.close();
  await sink.close();
});

const subscribe = (parent: string, more: JsonObject = {}): Promise<JsonObject> =>
  world.ok("events.SubscriptionsService/CreateSubscription", { parent, subscription: { sink: sink.url, ...more } });

const makeGroup = async (parent: string, name: string): Promise<string> =>
  String((await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } })).uid);

const makeRepo = async (parent: string, name: string): Promise<string> =>
  String((await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } })).uid);

/** Empties the sink, runs `work`, and returns the events that the sink then receives. */
const receive = async (work: () => Promise<unknown>): Promise<ReceivedEvent[]> => {
  await world.server.delivery.finish();
  sink.got.length = 0;
  await work();
  await world.server.delivery.finish();
  return [...sink.got];
};

/** Sorted, because the order across subjects is not guaranteed. */
const receiveAfter = (milliseconds: number): Promise<ReceivedEvent[]> =>
  receive(async () => {
    world.clock.now += milliseconds;
  });

const subjects = (got: readonly ReceivedEvent[]): string[] => got.map(({ headers }) => String(headers["ce-subject"])).sort();

test("a change arrives as a CloudEvent that the public SDK reads, signed by the issuer and with the subscription's secret", async () => {
  const group = await makeGroup(world.organization, "told");
  const { secret } = await subscribe(group);
  let repo = "";
  const [got, ...more] = await receive(async () => {
    repo = await makeRepo(group, "app");
  });
  assert.ok(got);
  assert.equal(more.length, 0);
  const event = HTTP.toEvent<JsonObject>({ headers: { ...got.headers }, body: got.body });
  assert.ok(!Array.isArray(event));
  assert.equal(new CloudEvent<JsonObject>(event).validate(), true);
  assert.deepEqual(
    { type: event.type, source: event.source, subject: event.subject, group: event.group, audience: event.audience, bodytype: event.bodytype },
    {
      type: "dev.chainguard.api.platform.registry.repo.created.v1",
      source: `${world.url}/registry/v2/repos`,
      subject: repo,
      group,
      audience: "customer",
      bodytype: "chainguard.platform.registry.v2.Repo",
    },
  );
  const told = JSON.parse(got.body) as { actor: JsonObject; body: JsonObject };
  assert.equal(told.body.uid, repo);
  assert.match(String(told.actor.subject), /^[0-9a-f]{40}$/);

  const keys = createRemoteJWKSet(new URL(`${world.url}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(String(got.headers.authorization).replace("Bearer ", ""), keys, {
    issuer: world.url,
    audience: "customer",
    currentDate: new Date(world.clock.now),
  });
  assert.equal(payload.sub, `webhook:${group}`);
  assert.deepEqual(payload.webhook, { digest: `sha256:${createHash("sha256").update(got.body).digest("hex")}` });

  const key = Buffer.from(String(secret).replace("whsec_", ""), "base64");
  const signed = `${String(got.headers["webhook-id"])}.${String(got.headers["webhook-timestamp"])}.${got.body}`;
  assert.equal(got.headers["webhook-signature"], `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  assert.equal(got.headers["webhook-id"], event.id);
});

test("a subscription receives events of its group and subgroups only", async () => {
  const above = await makeGroup(world.organization, "above");
  const group = await makeGroup(above, "here");
  const below = await makeGroup(group, "below");
  const beside = await makeGroup(above, "beside");
  await subscribe(group);
  const made: string[] = [];
  const got = await receive(async () => {
    for (const place of [above, group, below, beside]) made.push(await makeRepo(place, "app"));
  });
  assert.deepEqual(subjects(got), made.slice(1, 3).sort());
});

test("a subscription with event types receives these types only", async () => {
  const group = await makeGroup(world.organization, "types");
  await subscribe(group, { eventTypes: ["dev.chainguard.api.platform.registry.repo.deleted.v1"] });
  const got = await receive(async () => {
    const repo = await makeRepo(group, "app");
    await world.ok("registry.ReposService/DeleteRepo", { uid: repo });
  });
  assert.deepEqual(
    got.map(({ headers }) => headers["ce-type"]),
    ["dev.chainguard.api.platform.registry.repo.deleted.v1"],
  );
});

test("a failing event is retried with the same ID after each delay, is then dead, and is sent once more on request", async () => {
  const group = await makeGroup(world.organization, "failing");
  const { uid: subscription } = await subscribe(group);
  await world.server.delivery.finish();
  sink.answer = () => ({ status: 503, body: "secret of the sink" });
  const first = await receive(() => makeRepo(group, "app"));
  assert.equal(first.length, 1);
  const [pending] = (
    await world.ok("gantry.events.v1.DeliveriesService/ListDeliveries", { uidp: { childrenOf: String(subscription) }, states: ["DELIVERY_STATE_PENDING"] })
  ).deliveries as JsonObject[];
  assert.equal(pending?.statusClass, "5xx");
  assert.equal(pending?.attempts, 1);
  assert.ok(!JSON.stringify(pending).includes("secret of the sink"), "an answer's body was kept");
  assert.deepEqual(await receive(async () => {}), [], "sent before its time");
  const ids = [String(first[0]?.headers["ce-id"])];
  for (const seconds of [6.5, 80]) {
    const [again, ...more] = await receiveAfter(seconds * 1000);
    assert.equal(more.length, 0);
    ids.push(String(again?.headers["ce-id"]));
  }
  assert.equal(new Set(ids).size, 1);
  assert.deepEqual(await receiveAfter(100 * 3600 * 1000), []);
  const uid = String(pending?.uid);
  assert.equal((await world.ok("gantry.events.v1.DeliveriesService/GetDelivery", { uid })).state, "DELIVERY_STATE_DEAD");
  sink.answer = () => ({ status: 200 });
  const [redelivered] = await receive(() => world.ok("gantry.events.v1.DeliveriesService/RedeliverDelivery", { uid }));
  assert.equal(redelivered?.headers["ce-id"], ids[0]);
  assert.equal((await world.ok("gantry.events.v1.DeliveriesService/GetDelivery", { uid })).state, "DELIVERY_STATE_DELIVERED");
});

test("events of a subject arrive in order even if the first fails, and other subjects do not wait", async () => {
  const group = await makeGroup(world.organization, "order");
  await subscribe(group);
  const [one, other] = [await makeRepo(group, "one"), await makeRepo(group, "other")];
  await world.server.delivery.finish();
  let refused = 0;
  sink.answer = ({ headers }) => ({ status: headers["ce-subject"] === one && refused++ === 0 ? 500 : 200 });
  const describe = (uid: string, description: string): Promise<JsonObject> =>
    world.ok("registry.ReposService/UpdateRepo", { repo: { uid, description }, updateMask: "description" });
  const got = await receive(async () => {
    await describe(one, "first");
    await describe(one, "second");
    await describe(other, "first");
    await describe(one, "third");
  });
  const said = (each: ReceivedEvent): string => String(((JSON.parse(each.body) as JsonObject).body as JsonObject).description);
  assert.deepEqual(got.filter(({ headers }) => headers["ce-subject"] === one).map(said), ["first"]);
  assert.deepEqual(got.filter(({ headers }) => headers["ce-subject"] === other).map(said), ["first"]);
  assert.deepEqual((await receiveAfter(10_000)).map(said), ["first", "second", "third"]);
  sink.answer = () => ({ status: 200 });
});

test("the Retry-After header is honored", async () => {
  const group = await makeGroup(world.organization, "patience");
  await subscribe(group);
  await world.server.delivery.finish();
  sink.answer = () => ({ status: 429, headers: { "retry-after": "50" } });
  assert.equal((await receive(() => makeRepo(group, "app"))).length, 1);
  sink.answer = () => ({ status: 200 });
  assert.equal((await receiveAfter(45_000)).length, 0);
  assert.equal((await receiveAfter(6_000)).length, 1);
});

test("a subscription receives nothing after its creator loses the permission or it is deleted (attack 26)", async () => {
  const group = await makeGroup(world.organization, "lost");
  const identity = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: world.organization,
    identity: { name: "maker", claimMatch: { issuer: "https://issuer.example", subject: "maker" } },
  });
  const roles = (await world.ok("iam.RolesService/ListRoles", { name: "editor" })).roles as JsonObject[];
  const binding = await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: group,
    roleBinding: { identityUid: String(identity.uid), roleUid: String(roles[0]?.uid) },
  });
  const token = await world.token(String(identity.uid));
  const made = await world.ok("events.SubscriptionsService/CreateSubscription", { parent: group, subscription: { sink: sink.url } }, { token });
  assert.equal((await receive(() => makeRepo(group, "before"))).length, 1);
  const got = await receive(async () => {
    await makeRepo(group, "after");
    await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: String(binding.uid) });
  });
  assert.deepEqual(got, [], "told although the right was gone when it was sent");
  const { deliveries } = await world.ok("gantry.events.v1.DeliveriesService/ListDeliveries", { uidp: { childrenOf: String(made.uid) } });
  assert.equal((deliveries as JsonObject[])[0]?.state, "DELIVERY_STATE_DROPPED");
  const { uid } = await subscribe(group);
  assert.equal((await receive(() => makeRepo(group, "heard"))).length, 1);
  assert.deepEqual(
    await receive(async () => {
      await makeRepo(group, "unheard");
      await world.ok("events.SubscriptionsService/DeleteSubscription", { uid: String(uid) });
    }),
    [],
  );
  const left = await world.ok("gantry.events.v1.DeliveriesService/ListDeliveries", { uidp: { childrenOf: String(uid) } });
  assert.equal(left.totalCount, "0", "its deliveries go with it");
});

test("a sink that fails for five days is disabled with an event, and receives its missed events when re-enabled", async () => {
  const group = await makeGroup(world.organization, "tired");
  const { uid } = await subscribe(group);
  await world.server.delivery.finish();
  sink.answer = () => ({ status: 500 });
  await receive(() => makeRepo(group, "app"));
  world.clock.now += 5 * 24 * 3600 * 1000 + 1000;
  await receive(() => makeRepo(group, "later"));
  const { enabled } = await world.ok("events.SubscriptionsService/GetSubscription", { uid: String(uid) });
  assert.equal(enabled, undefined);
  const told = (await world.events()).filter(({ type }) => type === "dev.gantry.events.subscription.disabled.v1");
  assert.deepEqual(
    told.map(({ subject, group: place }) => [subject, place]),
    [[uid, group]],
  );
  sink.answer = () => ({ status: 200 });
  world.clock.now += 3600 * 1000;
  assert.deepEqual(await receive(() => makeRepo(group, "off")), []);
  const got = await receive(() => world.ok("gantry.events.v1.DeliveriesService/EnableSubscription", { subscriptionUid: String(uid) }));
  assert.ok(got.length >= 3, `${got.length} of what was missed`);
});

test("after a rotation both secrets sign until the old one expires", async () => {
  const group = await makeGroup(world.organization, "rotation");
  const { uid, secret: old } = await subscribe(group);
  const { secret } = await world.ok("gantry.events.v1.DeliveriesService/RotateSubscriptionSecret", { subscriptionUid: String(uid), overlap: "3600s" });
  const mac = (key: unknown, { headers, body }: ReceivedEvent): string =>
    `v1,${createHmac("sha256", Buffer.from(String(key).replace("whsec_", ""), "base64"))
      .update(`${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`)
      .digest("base64")}`;
  const [both] = await receive(() => makeRepo(group, "both"));
  assert.ok(both);
  assert.equal(both.headers["webhook-signature"], `${mac(secret, both)} ${mac(old, both)}`);
  world.clock.now += 3_601_000;
  const [one] = await receive(() => makeRepo(group, "one"));
  assert.ok(one);
  assert.equal(one.headers["webhook-signature"], mac(secret, one));
});

test("a test event reaches only its subscription, and a replay sends past events again", async () => {
  const group = await makeGroup(world.organization, "again");
  const { uid } = await subscribe(group);
  await subscribe(group);
  const [tried, ...others] = await receive(() => world.ok("gantry.events.v1.DeliveriesService/TestSubscription", { subscriptionUid: String(uid) }));
  assert.equal(tried?.headers["ce-type"], "dev.gantry.events.subscription.test.v1");
  assert.equal(others.length, 0);
  world.clock.now += 1000;
  const since = new Date(world.clock.now).toISOString();
  const once = await receive(async () => {
    for (const name of ["a", "b", "c"]) await makeRepo(group, name);
  });
  assert.equal(once.length, 6);
  const again = await receive(async () => {
    assert.equal((await world.ok("gantry.events.v1.DeliveriesService/ReplaySubscription", { subscriptionUid: String(uid), since })).deliveries, "3");
  });
  assert.deepEqual(again.map(({ headers }) => headers["ce-id"]).sort(), [...new Set(once.map(({ headers }) => headers["ce-id"]))].sort());
});

test("a client that polls the event list at its own pace misses nothing", async () => {
  const group = await makeGroup(world.organization, "reader");
  await world.server.delivery.finish();
  const made: string[] = [];
  for (let index = 0; index < 5; index++) made.push(await makeRepo(group, `app-${index}`));
  await world.server.delivery.finish();
  const seen: unknown[] = [];
  let position = "0";
  for (;;) {
    const { events } = await world.ok("gantry.events.v1.EventsService/ListEvents", { uidp: { descendantsOf: group }, afterPosition: position, pageSize: 2 });
    const page = events as JsonObject[];
    if (page.length === 0) break;
    seen.push(...page.filter(({ subject }) => made.includes(String(subject))).map(({ subject }) => subject));
    position = String(page.at(-1)?.position);
  }
  assert.deepEqual(seen, made);
});
