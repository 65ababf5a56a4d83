// Attacks through webhook addresses: the server as a scanner, proxy or open protocol. The webhook endpoints are real servers on loopback,
// which the operator allows in some of these worlds.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { jsonLog } from "#base/log.ts";
import { methods } from "#contract/catalog.ts";
import { attributeHeaders, signatureHeaders, signingKeyOf } from "../../server/events/delivery/envelope.ts";
import { everyRow } from "../database.ts";
import { bodyField } from "../samples.ts";
import { bind, createIdentity, openInstallation, type Installation } from "../story/installation.ts";
import { type ReceivedEvent, openSink, type Sink } from "../story/sink.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";

// One attempt and two retries, all at once: each is refused.
const attempts = 3;
const settings = { GANTRY_DELIVERY_DELAYS: "0,0,0" };

let installation: Installation;
/** Allows webhook endpoints on loopback. */
let open: World;
/** The same database with default settings. */
let guarded: World;
let sink: Sink;
const logged: string[] = [];
const log = jsonLog((line) => void logged.push(line));

before(async () => {
  [installation, sink] = await Promise.all([openInstallation(settings, log), openSink()]);
  open = installation.world;
  const { DATABASE_URL = "", GANTRY_SECRET_KEY_FILE = "", GANTRY_PUBLIC_URL = "" } = installation.environment;
  guarded = await openWorld({ ...settings, DATABASE_URL, GANTRY_SECRET_KEY_FILE, GANTRY_PUBLIC_URL, GANTRY_EGRESS_ALLOW: "" }, log);
});
after(async () => {
  await guarded.close();
  await installation.close();
  await sink.close();
});

const create = "events.SubscriptionsService/CreateSubscription";
const deliveries = "gantry.events.v1.DeliveriesService";

const folder = async (name: string): Promise<string> =>
  text(await open.ok("iam.GroupsService/CreateGroup", { parent: open.organization, group: { name } }), "uid");
const subscribe = async (world: World, parent: string, address: string, more: JsonObject = {}): Promise<string> =>
  text(await world.ok(create, { parent, subscription: { sink: address, ...more } }), "uid");
const quiet = { eventTypes: ["dev.gantry.events.subscription.test.v1"] };

const deliveriesOf = async (subscription: string): Promise<JsonObject[]> => {
  const { deliveries: rows } = await open.ok(`${deliveries}/ListDeliveries`, { uidp: { childrenOf: subscription } });
  return Array.isArray(rows) ? rows.filter(isObject) : [];
};

/** Returns what a subscriber sees of a test event that this world sends. */
const tried = async (world: World, subscription: string): Promise<JsonObject> => {
  const { eventId } = await world.ok(`${deliveries}/TestSubscription`, { subscriptionUid: subscription });
  await world.server.delivery.finish();
  return (await deliveriesOf(subscription)).find((each) => each.eventId === eventId) ?? assert.fail("there is no delivery");
};

/** Opens a server that counts connections over any protocol. */
const listen = async (): Promise<{ readonly port: number; readonly touched: () => number; readonly close: () => void }> => {
  let touched = 0;
  const server: Server = createServer((socket) => {
    touched++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => void server.listen(0, "::", resolve));
  return { port: (server.address() as AddressInfo).port, touched: () => touched, close: () => void server.close() };
};

/** Returns the parts of a delivery that do not depend on its webhook endpoint. */
const seen = ({ state, attempts: many, statusClass, latencyMs }: JsonObject): JsonObject => ({
  state: state ?? null,
  attempts: many ?? null,
  statusClass: statusClass ?? null,
  latencyMs: latencyMs ?? null,
});
const refused = { state: "DELIVERY_STATE_DEAD", attempts, statusClass: "unreachable", latencyMs: null };

test("attack 19: a loopback, private, link-local, metadata, mapped or translated address is never connected to, in any spelling", async () => {
  const here = await listen();
  const group = await folder("local");
  const hosts = [
    "127.0.0.1",
    "localhost",
    "LOCALHOST",
    "127.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0.0.0.0",
    "0",
    "127.0.0.1.",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[::127.0.0.1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.1.1",
    "169.254.169.254",
    "[fe80::1]",
    "[fd00::1]",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b::10.0.0.1]",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[ff02::1]",
    "192.0.2.1",
  ];
  const made = new Map<string, string>();
  for (const host of hosts) made.set(host, await subscribe(guarded, group, `https://${host}:${here.port}/latest/meta-data`, quiet));
  for (const subscription of made.values()) await guarded.ok(`${deliveries}/TestSubscription`, { subscriptionUid: subscription });
  await guarded.server.delivery.finish();
  for (const [host, subscription] of made) {
    const rows = await deliveriesOf(subscription);
    assert.ok(rows.length > 0);
    for (const each of rows) assert.deepEqual(seen(each), refused, host);
    await open.ok("events.SubscriptionsService/DeleteSubscription", { uid: subscription });
  }
  assert.equal(here.touched(), 0);
  here.close();
});

test("attacks 20 and 22: every attempt checks the address again, for events, tests, redeliveries and replays alike", async () => {
  const group = await folder("rebound");
  const subscription = await subscribe(open, group, sink.url);
  sink.answer = () => ({ status: 200 });
  assert.equal(text(await tried(open, subscription), "state"), "DELIVERY_STATE_DELIVERED");
  const since = new Date(open.clock.now - 1000).toISOString();
  await open.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "app" } });
  await open.server.delivery.finish();
  sink.got.length = 0;
  // The same endpoint from a server that cannot reach it, as after a DNS change.
  const [delivery] = await deliveriesOf(subscription);
  assert.deepEqual(seen(await tried(guarded, subscription)), refused, "a test");
  await guarded.ok(`${deliveries}/RedeliverDelivery`, { uid: text(delivery ?? {}, "uid") });
  await guarded.server.delivery.finish();
  assert.deepEqual(seen(await guarded.ok(`${deliveries}/GetDelivery`, { uid: text(delivery ?? {}, "uid") })), refused, "a redelivery");
  await guarded.ok(`${deliveries}/ReplaySubscription`, { subscriptionUid: subscription, since });
  await guarded.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "other" } });
  await guarded.server.delivery.finish();
  for (const each of await deliveriesOf(subscription))
    if (each.type !== "dev.gantry.events.subscription.test.v1") assert.deepEqual(seen(each), refused, text(each, "type"));
  assert.equal(sink.got.length, 0);
});

test("attack 20: a redirect counts as a failure and is not followed", async () => {
  const here = await listen();
  const group = await folder("led");
  const subscription = await subscribe(open, group, sink.url);
  for (const status of [301, 302, 303, 307, 308]) {
    sink.answer = () => ({ status, headers: { location: `http://127.0.0.1:${here.port}/latest` } });
    const { state, statusClass } = await tried(open, subscription);
    assert.deepEqual([state, statusClass], ["DELIVERY_STATE_DEAD", "3xx"], String(status));
  }
  assert.equal(here.touched(), 0);
  here.close();
});

const wrongSinks = [
  "",
  "sink",
  "//host/hook",
  "ftp://host/hook",
  "file:///etc/passwd",
  "gopher://host/_x",
  "javascript:alert(1)",
  "data:,x",
  "https://",
  "https:///hook",
  "https://user@host/hook",
  "https://user:password@host/hook",
  "https://:password@host/",
  "https://host/hook#part",
  "https://host\r\nx-injected: 1/",
  "https://ho st/hook",
  "https://host/a\nb",
  "https://host/\tb",
  " https://host/",
  "https:host/hook",
  "https:\\\\host/hook",
];

test("attacks 20 and 22: each operation with a webhook address requires HTTPS over both protocols unless the operator allows HTTP", async () => {
  const writers = methods.filter(
    (method) => method.writes && bodyField(method)?.message?.fields.some(({ name, outputOnly }) => name === "sink" && !outputOnly),
  );
  assert.deepEqual(
    writers.map(({ rpc }) => rpc),
    ["CreateSubscription"],
    "a further writer gets the same table here",
  );
  const subscriptions = async (): Promise<unknown> => (await open.ok("events.SubscriptionsService/ListSubscriptions", {})).totalCount;
  const before = await subscriptions();
  for (const protocol of ["rest", "grpc"] as const) {
    for (const address of [...wrongSinks, "http://example.com/hook", "http://127.0.0.1/hook"]) {
      const { code, details } = await guarded.call(create, { parent: open.organization, subscription: { sink: address } }, { protocol });
      assert.equal(code, codes.INVALID_ARGUMENT, JSON.stringify(address));
      assert.match(JSON.stringify(details), /"(?:subscription\.)?sink"/, JSON.stringify(address));
    }
    for (const address of wrongSinks)
      assert.equal(
        (await open.call(create, { parent: open.organization, subscription: { sink: address } }, { protocol })).code,
        codes.INVALID_ARGUMENT,
        JSON.stringify(address),
      );
  }
  assert.equal(await subscriptions(), before);
});

test("attack 20: allowing HTTP for private addresses still requires HTTPS for public ones", async () => {
  const subscription = await subscribe(open, await folder("plain"), "http://1.1.1.1/hook");
  assert.deepEqual(seen(await tried(open, subscription)), refused);
});

test("attack 21: only the status class of a response is kept, in lists, database and log", async () => {
  const secret = "internal-page-of-somebody";
  const subscription = await subscribe(open, await folder("seen"), sink.url);
  sink.answer = () => ({ status: 418, headers: { "x-secret": secret, "set-cookie": secret, "www-authenticate": secret }, body: secret });
  const delivery = await tried(open, subscription);
  assert.deepEqual([delivery.state, delivery.statusClass], ["DELIVERY_STATE_DEAD", "4xx"]);
  const { read } = open.server.application.services.store;
  for (const [table, rows] of await everyRow(open.databaseUrl)) assert.ok(!rows.some((each) => each.includes(secret)), `${table} keeps it`);
  const [row] = await read.query("select t::text from deliveries as t where uid = $1", [text(delivery, "uid")]);
  assert.doesNotMatch(row?.[0] ?? "", /[,(]418[,)]/);
  assert.doesNotMatch(logged.join(), new RegExp(secret));
});

test("attack 21: a refused address, a closed port and an unknown name look alike, without latency", async () => {
  const group = await folder("alike");
  const closed = await listen();
  closed.close();
  for (const address of [`https://127.0.0.1:${closed.port}/`, "https://10.0.0.1/", "https://no-such-name.invalid/", "https://[fd00::1]/"]) {
    assert.deepEqual(seen(await tried(guarded, await subscribe(guarded, group, address))), refused, address);
  }
  assert.deepEqual(seen(await tried(open, await subscribe(open, group, `https://127.0.0.1:${closed.port}/`))), refused);
});

test("attack 23: a malformed or unexpected response is a failure", async () => {
  const group = await folder("odd");
  for (const status of [300, 304, 400, 404, 410, 429, 500, 503, 599]) {
    sink.answer = () => ({ status });
    assert.equal(text(await tried(open, await subscribe(open, group, sink.url)), "state"), "DELIVERY_STATE_DEAD", String(status));
  }
  for (const spoken of ["hello\r\n\r\n", "HTTP/1.1 200", "HTTP/1.1 2000 OK\r\n\r\n", "\0\0\0", ""]) {
    const server = createServer((socket) => void socket.on("error", () => {}).end(spoken));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { state, statusClass } = await tried(open, await subscribe(open, group, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
    assert.deepEqual([state, statusClass], ["DELIVERY_STATE_DEAD", "unreachable"], JSON.stringify(spoken));
    server.close();
  }
});

test("attack 23: an event that cannot be signed is not sent", async () => {
  const subscription = await subscribe(open, await folder("unsealed"), sink.url);
  await open.server.delivery.finish();
  sink.got.length = 0;
  sink.answer = () => ({ status: 200 });
  await open.server.application.services.store.write(async (rows) =>
    (await plant(rows)).query("update subscriptions set secret_sealed = 'broken' where uid = $1", [subscription]),
  );
  const { state } = await tried(open, subscription);
  assert.equal(state, "DELIVERY_STATE_PENDING");
  assert.equal(sink.got.length, 0);
  await open.ok("events.SubscriptionsService/DeleteSubscription", { uid: subscription });
});

test("attack 26: a pending event is dropped once its creator is unbound, expired or deleted, or its role or subscription is", async () => {
  const lose: Readonly<Record<string, (of: { group: string; identity: string; binding: string; subscription: string }) => Promise<unknown>>> = {
    unbound: ({ binding }) => open.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding }),
    "identity deleted": ({ identity }) => open.ok("iam.IdentitiesService/DeleteIdentity", { uid: identity }),
    "subscription deleted": ({ subscription }) => open.ok("events.SubscriptionsService/DeleteSubscription", { uid: subscription }),
    "role shrunk": async ({ binding }) => {
      const viewer = (await open.ok("iam.RolesService/ListRoles", { name: "viewer" })).roles as JsonObject[];
      await open.ok("iam.RoleBindingsService/UpdateRoleBinding", {
        roleBinding: { uid: binding, roleUid: text(viewer[0] ?? {}, "uid") },
        updateMask: "role_uid",
      });
    },
  };
  for (const [how, take] of Object.entries(lose)) {
    const group = await folder(how);
    const identity = await createIdentity(open, group, how, { issuer: "https://issuer.example", subject: how });
    const binding = await bind(open, group, identity, "editor");
    const token = await open.token(identity);
    const subscription = text(await open.ok(create, { parent: group, subscription: { sink: sink.url } }, { token }), "uid");
    sink.answer = () => ({ status: 503, headers: { "retry-after": "0" } });
    await open.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "app" } });
    await open.server.delivery.finish();
    for (const each of await deliveriesOf(subscription)) await open.ok(`${deliveries}/RedeliverDelivery`, { uid: text(each, "uid") });
    await take({ group, identity, binding, subscription });
    sink.got.length = 0;
    sink.answer = () => ({ status: 200 });
    await open.server.delivery.finish();
    assert.deepEqual(
      sink.got.map(({ headers }: ReceivedEvent) => headers["ce-type"]),
      [],
      how,
    );
    for (const { state } of await deliveriesOf(subscription)) assert.equal(state, "DELIVERY_STATE_DROPPED", how);
  }
});

test("attack 28: headers of any event are printable ASCII, limited to the contract's, and decode to the original", () => {
  const hostile = [
    ...(JSON.parse(readFileSync(new URL("../fixtures/hostile-strings.json", import.meta.url), "utf8")) as string[]),
    "a\r\nx-injected: 1",
    "a\nb",
    "a\u0000b",
    "\u2028",
    "\ud800",
    "\u00e9\u4e2d\u{1f600}",
    '"quoted" 100%',
  ].filter((each) => each !== "");
  const plain = { eventId: "4bf8bd6a-6f3c-4b0a-9a39-5a3a4f3f6a10", bodyType: "a.B", audience: "customer", time: "2026-11-20T00:00:00.000Z", data: "{}" };
  const names = Object.keys(attributeHeaders({ ...plain, type: "t", source: "s", subject: "s", extensions: { group: "g" } })).sort();
  for (const evil of hostile) {
    const headers = attributeHeaders({ ...plain, type: evil, source: evil, subject: evil, extensions: { group: evil } });
    assert.deepEqual(Object.keys(headers).sort(), names);
    for (const value of Object.values(headers)) assert.match(value, /^[\x21-\x7e]+$/);
    for (const name of ["ce-type", "ce-source", "ce-subject", "ce-group"]) assert.equal(decodeURIComponent(headers[name] ?? ""), evil.toWellFormed());
    const signed = signatureHeaders(
      [signingKeyOf(`whsec_${btoa("key")}`)],
      { ...plain, type: evil, source: evil, subject: evil, extensions: {}, data: evil },
      0,
    );
    for (const value of Object.values(signed)) assert.match(value, /^[\x20-\x7e]+$/);
  }
});

test("attack 28: names and descriptions travel in an event's body, never in its headers", async () => {
  const group = await folder("named");
  await subscribe(open, group, sink.url);
  sink.answer = () => ({ status: 200 });
  await open.server.delivery.finish();
  sink.got.length = 0;
  const description = '"é", 100% %0d%0ax-injected: 1 \u{1f600}';
  await open.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "app", description } });
  await open.server.delivery.finish();
  const [got] = sink.got;
  assert.equal(((JSON.parse(got?.body ?? "{}") as JsonObject).body as JsonObject).description, description);
  // A signature can contain any digits.
  assert.doesNotMatch(JSON.stringify(got?.headers), /injected|100%|%0d/);
});
