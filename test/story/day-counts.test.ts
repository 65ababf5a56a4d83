// Counts of audit entries, events and deliveries by day, and the lists of a range of days.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { everyPage, sealAudit } from "../audit.ts";
import { openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";
import { openSink, type Sink } from "./sink.ts";

const dayMs = 24 * 60 * 60 * 1000;

const logs = {
  "audit entries": {
    history: "gantry.audit.v1.AuditService/GetAuditEntryHistory",
    list: "gantry.audit.v1.AuditService/ListAuditEntries",
    field: "auditEntries",
    count: "entryCount",
  },
  events: {
    history: "gantry.events.v1.EventsService/GetEventHistory",
    list: "gantry.events.v1.EventsService/ListEvents",
    field: "events",
    count: "eventCount",
  },
  deliveries: {
    history: "gantry.events.v1.DeliveriesService/GetDeliveryHistory",
    list: "gantry.events.v1.DeliveriesService/ListDeliveries",
    field: "deliveries",
    count: "deliveryCount",
  },
} as const;
type Log = (typeof logs)[keyof typeof logs];

let world: World;
let owned: World;
let sink: Sink;
let team = "";
let other = "";
let owner = "";

const dayOf = (ms: number): string => timestamp(ms).slice(0, 10);

const makeRepo = async (parent: string, name: string, by = owned): Promise<void> => {
  await by.ok("registry.ReposService/CreateRepo", { parent, repo: { name } });
  await by.server.delivery.finish();
  await sealAudit(world);
};

const daysOf = async ({ history, count }: Log, request: JsonObject, options: Parameters<World["ok"]>[2] = {}): Promise<Map<string, number>> => {
  const reply = await owned.ok(history, request, options);
  return new Map(objectList(reply, "days").map((each) => [text(each, "day"), Number(each[count] ?? 0)]));
};

/** Days with rows as the list shows them. */
const listedDays = async ({ list, field }: Log, request: JsonObject): Promise<Map<string, number>> => {
  const found = await everyPage(owned, list, field, request);
  return new Map([...Map.groupBy(found, (each) => text(each, "createTime").slice(0, 10))].map(([day, { length }]) => [day, length]));
};

const counted = (days: ReadonlyMap<string, number>): Map<string, number> => new Map([...days].filter(([, count]) => count > 0).sort());

before(async () => {
  const nowMs = Date.parse(`${dayOf(Date.now())}T12:00:00.000Z`);
  world = await openWorld({}, undefined, nowMs - 3 * dayMs);
  sink = await openSink();
  const owners = openOwners(world);
  owned = owners.world();
  team = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "payments" } }), "uid");
  other = text(await owned.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "shipping" } }), "uid");
  await owned.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink: sink.url } });
  await makeRepo(team, "first");
  world.clock.now += 2 * dayMs;
  for (const name of ["second", "third"]) await makeRepo(team, name);
  await makeRepo(other, "elsewhere");
  world.clock.now += dayMs;
  owner = await owners.token();
  await makeRepo(team, "fourth");
});
after(async () => {
  await world?.close();
  await sink?.close();
});

for (const [what, log] of Object.entries(logs)) {
  for (const protocol of ["rest", "grpc"] as const) {
    test(`${what} are counted by day as the list shows them, for each place and filter, with days without any, over ${protocol}`, async () => {
      const all = await daysOf(log, {}, { protocol });
      assert.deepEqual(
        [...all.keys()].slice(0, 5),
        Array.from({ length: 5 }, (_, index) => dayOf(world.clock.now - index * dayMs)),
      );
      assert.equal(all.size, 90);
      assert.ok(counted(all).size >= 3);
      const filters: readonly JsonObject[] = [
        {},
        { uidp: { descendantsOf: world.organization } },
        { uidp: { descendantsOf: team } },
        { uidp: { childrenOf: team } },
        ...(what === "audit entries"
          ? [{ codes: ["OK"], operations: ["chainguard.platform.registry.v2.ReposService/CreateRepo"] }, { codes: ["NOT_FOUND"] }]
          : []),
        ...(what === "events" ? [{ types: ["dev.chainguard.api.platform.registry.repo.created.v1"], uidp: { descendantsOf: team } }] : []),
        ...(what === "deliveries" ? [{ states: ["DELIVERY_STATE_DELIVERED"] }, { states: ["DELIVERY_STATE_DEAD"] }] : []),
      ];
      for (const filter of filters)
        assert.deepEqual(counted(await daysOf(log, filter, { protocol })), new Map([...(await listedDays(log, filter))].sort()), JSON.stringify(filter));
      assert.deepEqual([...(await daysOf(log, { dayCount: 2 }, { protocol })).keys()], [dayOf(world.clock.now), dayOf(world.clock.now - dayMs)]);
    });
  }

  test(`a list of ${what} is narrowed to a range of days, in every order`, async () => {
    const busy = dayOf(world.clock.now - dayMs);
    const range = { since: timestamp(Date.parse(busy) - 1), until: timestamp(Date.parse(busy) + dayMs) };
    const expected = (await daysOf(log, {})).get(busy);
    assert.ok(expected);
    for (const orderBy of ["create_time desc", "create_time", "uid", "uid desc"]) {
      for (const uidp of [{}, { descendantsOf: world.organization }]) {
        const found = await everyPage(owned, log.list, log.field, { ...range, orderBy, uidp, pageSize: 2 });
        assert.deepEqual(new Set(found.map((each) => text(each, "createTime").slice(0, 10))), new Set([busy]));
        assert.equal(found.length, expected, orderBy);
        assert.equal(new Set(found.map(({ uid }) => uid)).size, expected, orderBy);
      }
    }
    assert.deepEqual(await everyPage(owned, log.list, log.field, { until: "2001-01-01T00:00:00.000Z" }), []);
  });

  test(`counts of ${what} by day refuse a caller with several organizations who names none, and more than 400 days`, async () => {
    const { code, message } = await world.call(log.history, {});
    assert.deepEqual([code, /uidp.*several organizations/.test(message)], [codes.INVALID_ARGUMENT, true], message);
    for (const dayCount of [-1, 401]) assert.equal((await owned.call(log.history, { dayCount }, { token: owner })).code, codes.INVALID_ARGUMENT);
  });

  test(`counts of ${what} by day show a caller only the groups that they may read`, async () => {
    const place = what === "deliveries" ? world.organization : other;
    const reader = await createIdentity(world, other, `reader of ${what}`, { issuer: "https://issuer.example.com", subject: `reader of ${what}` });
    await bind(world, other, reader, "owner");
    const token = await world.token(reader);
    const seen = await daysOf(log, {}, { token });
    const expected = what === "deliveries" ? new Map() : counted(await daysOf(log, { uidp: { descendantsOf: place } }));
    assert.deepEqual(counted(seen), expected);
    assert.deepEqual(counted(await daysOf(log, { uidp: { descendantsOf: team } }, { token })), new Map());
  });
}
