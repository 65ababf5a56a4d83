// Digest events about findings, as the webhook endpoint of an organization's owner receives them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { FindingDecisionsExpiringSchema, FindingsAppearedSchema } from "#contract/gen/gantry/findings/v1/events_pb.js";
import { isObject, type JsonObject, objectList, text } from "#base/json.ts";
import type { Tenant } from "../authoring.ts";
import { asOwner } from "../database.ts";
import { critical, dayMs, type Deadlines, high, low, openDeadlines } from "../due-dates.ts";
import { readEvent } from "./receiver.ts";
import { openSink, type Sink } from "./sink.ts";

let stage: Deadlines;
let tenants = 0;
const sinks: Sink[] = [];

before(async () => {
  stage = await openDeadlines();
});
after(async () => {
  for (const sink of sinks) await sink.close();
  await stage?.close();
});

interface Listening {
  readonly own: Tenant;
  /** Of the subscription. */
  readonly uid: string;
  /** Returns the new events about findings as "TYPE GROUP COUNT exploited N fixable N", in any order, and their bodies. */
  received(): Promise<{ readonly lines: string[]; readonly bodies: JsonObject[] }>;
}

const nameOf = (type: string): string => type.replace(/^dev\.gantry\.findings\.(.*)\.v1$/, "$1");

/** A tenant whose owner subscribes to events. */
const listen = async (eventTypes: readonly string[] = []): Promise<Listening> => {
  const own = await stage.newTenant(`events-${++tenants}`);
  return subscribe(own, own.group, { eventTypes: [...eventTypes] });
};

const subscribe = async (own: Tenant, parent: string, subscription: JsonObject): Promise<Listening> => {
  const sink = await openSink();
  sinks.push(sink);
  const made = await stage.call(own, "events.SubscriptionsService/CreateSubscription", { parent, subscription: { sink: sink.url, ...subscription } });
  let read = 0;
  return {
    own,
    uid: text(made, "uid"),
    received: async () => {
      await stage.world.server.delivery.finish();
      const events = sink.got.slice(read).map(({ headers, body }) => readEvent(headers, body));
      read = sink.got.length;
      const found = events.filter(({ type }) => /^dev\.gantry\.findings\.(?:appeared|resolved|reopened|overdue|decisions_)/.test(type));
      const bodies = found.map(({ data }) => {
        const { body } = data ?? {};
        assert.ok(isObject(body));
        return body;
      });
      const lines = found.map(({ type, subject }, index) => {
        const { findingCount, exploitedCount, fixableCount, decisionCount, groupUid } = bodies[index] ?? {};
        assert.equal(groupUid, subject);
        return decisionCount === undefined
          ? `${nameOf(type)} ${subject} ${String(findingCount)} exploited ${String(exploitedCount)} fixable ${String(fixableCount)}`
          : `${nameOf(type)} ${subject} ${String(decisionCount)}`;
      });
      return { lines: lines.toSorted(), bodies };
    },
  };
};

/** Follows the URL of an event as the tenant's owner; returns the IDs of its findings. */
const follow = async ({ authorUid }: Tenant, url: unknown): Promise<string[]> => {
  assert.ok(typeof url === "string");
  const { pathname, search } = new URL(url);
  const headers = { authorization: `Bearer ${await stage.world.token(authorUid)}` };
  const response = await fetch(`${stage.world.url}${pathname}${search}`, { headers });
  assert.equal(response.status, 200, url);
  return objectList((await response.json()) as JsonObject, "findings").map((row) => `${text(row, "advisoryId")} ${text(row, "repo")}`);
};

test("an import tells each group once what appeared, with counts and a list, and never another organization", async () => {
  const { own, received } = await listen();
  const rival = await listen();
  const team = await stage.newGroup(own.group, "team");
  await stage.exploit({ "CVE-2026-3001": "2026-02-01" });
  for (let n = 0; n < 20; n++) await stage.importImage(team, `repo-${n}`, ["zlib=1.2.0-r0"]);
  await stage.importImage(own.group, "top", ["zlib=1.2.0-r0"]);
  await received();
  stage.world.clock.now += 1000;
  await stage.publish(own.group, "CVE-2026-3001", "zlib", critical, "2.0.0-r0");
  const { lines, bodies } = await received();
  assert.deepEqual(lines, [`appeared ${own.group} 1 exploited 1 fixable 1`, `appeared ${team} 20 exploited 20 fixable 20`].toSorted());
  for (const body of bodies) fromJson(FindingsAppearedSchema, body as JsonValue);
  const ofTeam = bodies.find(({ groupUid }) => groupUid === team) ?? {};
  assert.deepEqual(ofTeam.severityCounts, [{ severity: "FINDING_SEVERITY_CRITICAL", count: "20" }]);
  assert.equal((await follow(own, ofTeam.listUrl)).length, 20);
  assert.deepEqual(await follow(rival.own, ofTeam.listUrl), []);
  assert.deepEqual((await rival.received()).lines, []);
  // The same advisory again is no news.
  await stage.publish(own.group, "CVE-2026-3001", "zlib", critical, "2.0.0-r0");
  assert.deepEqual((await received()).lines, []);
});

test("a new image of a repo tells only what differs from the image before it", async () => {
  const { own, received } = await listen();
  await stage.publish(own.group, "CVE-2026-3011", "zlib", high);
  await stage.publish(own.group, "CVE-2026-3012", "curl", low, "9.0.0-r0");
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  assert.deepEqual((await received()).lines, [`appeared ${own.group} 1 exploited 0 fixable 0`]);
  stage.world.clock.now += dayMs;
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0", "curl=8.0.0-r0"]);
  await stage.match();
  assert.deepEqual((await received()).lines, [`appeared ${own.group} 1 exploited 0 fixable 1`]);
  stage.world.clock.now += dayMs;
  await stage.importImage(own.group, "web", ["curl=8.0.0-r0"]);
  await stage.match();
  const { lines, bodies } = await received();
  assert.deepEqual(lines, [`resolved ${own.group} 1 exploited 0 fixable 0`]);
  assert.ok((await follow(own, bodies[0]?.listUrl)).includes("CVE-2026-3011 web"));
  stage.world.clock.now += dayMs;
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0", "curl=8.0.0-r0"]);
  await stage.match();
  assert.deepEqual((await received()).lines, [`reopened ${own.group} 1 exploited 0 fixable 0`]);
});

test("findings that become overdue are told once, also if a policy makes them overdue", async () => {
  const { own, received } = await listen(["dev.gantry.findings.overdue.v1"]);
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  await stage.publish(own.group, "CVE-2026-3021", "zlib", critical);
  await stage.publish(own.group, "CVE-2026-3022", "zlib", low);
  await stage.setPolicy(own, { criticalDays: 2 });
  assert.deepEqual((await received()).lines, []);
  stage.world.clock.now += 3 * dayMs;
  await stage.match();
  const { lines, bodies } = await received();
  assert.deepEqual(lines, [`overdue ${own.group} 1 exploited 0 fixable 0`]);
  assert.deepEqual(await follow(own, bodies[0]?.listUrl), ["CVE-2026-3021 web"]);
  await stage.setPolicy(own, { lowDays: 1, criticalDays: 1 });
  assert.deepEqual((await received()).lines, [`overdue ${own.group} 1 exploited 0 fixable 0`]);
  await stage.match();
  assert.deepEqual((await received()).lines, []);
});

test("a decision that expires is told seven days before and at its expiry, with the findings that are open again", async () => {
  const { own, received } = await listen();
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
  await stage.publish(own.group, "CVE-2026-3031", "zlib", critical);
  const startMs = stage.world.clock.now;
  const decide = async (vulnerability: string, days: number): Promise<string> => {
    const expireTime = new Date(startMs + days * dayMs).toISOString();
    const findingDecision = { vulnerability, state: "FINDING_DECISION_STATE_ACCEPTED", reason: "Behind a proxy.", expireTime };
    const made = await stage.call(own, "gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent: own.group, findingDecision });
    await stage.match();
    return text(made, "uid");
  };
  const uid = await decide("CVE-2026-3031", 30);
  await decide("CVE-2026-3032", 5);
  await received();
  stage.world.clock.now = startMs + 24 * dayMs;
  await stage.match();
  const { lines, bodies } = await received();
  assert.deepEqual(lines, [`decisions_expired ${own.group} 1`, `decisions_expiring ${own.group} 1`]);
  const expiring = bodies.find(({ decisions }) => JSON.stringify(decisions).includes(uid)) ?? {};
  fromJson(FindingDecisionsExpiringSchema, expiring as JsonValue);
  assert.deepEqual(
    objectList(expiring, "decisions").map((each) => [each.uid, each.vulnerability, each.state]),
    [[uid, "CVE-2026-3031", "FINDING_DECISION_STATE_ACCEPTED"]],
  );
  stage.world.clock.now = startMs + 30 * dayMs;
  await stage.match();
  assert.deepEqual((await received()).lines, [`decisions_expired ${own.group} 1`, `reopened ${own.group} 1 exploited 0 fixable 0`]);
  await stage.match();
  assert.deepEqual((await received()).lines, []);
});

test("an organization whose due dates or events cannot be written delays no other, and has them once they can be", async () => {
  const both = [await listen(), await listen()].sort((one, other) => (one.own.group < other.own.group ? -1 : 1));
  const [failing, other] = both;
  assert.ok(failing && other);
  const startMs = stage.world.clock.now;
  for (const { own } of both) {
    await stage.importImage(own.group, "web", ["zlib=1.2.0-r0"]);
    await stage.publish(own.group, "CVE-2026-3041", "zlib", critical);
    const expireTime = new Date(startMs + 5 * dayMs).toISOString();
    const findingDecision = { vulnerability: "CVE-2026-3042", state: "FINDING_DECISION_STATE_ACCEPTED", reason: "Behind a proxy.", expireTime };
    await stage.call(own, "gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent: own.group, findingDecision });
  }
  const received = async (): Promise<string[][]> => [(await failing.received()).lines, (await other.received()).lines];
  const due = async (): Promise<string[][]> => Promise.all(both.map(({ own }) => stage.due(own, startMs)));
  const whileBroken = async (table: string, check: string, work: () => Promise<void>): Promise<void> => {
    await asOwner(stage.world.databaseUrl, `alter table ${table} add constraint broken check (${check}) not valid`);
    await work().finally(() => asOwner(stage.world.databaseUrl, `alter table ${table} drop constraint broken`));
  };
  await received();
  const own = `uid not like '${failing.own.group}%'`;
  await whileBroken("affected_images", `${own} or due_time > '9000-01-01'`, async () => {
    for (const each of both) await stage.setPolicy(each.own, { criticalDays: 2 });
    assert.deepEqual(await due(), [["CVE-2026-3041 web none"], ["CVE-2026-3041 web 2"]]);
  });
  await stage.match();
  assert.deepEqual(await due(), [["CVE-2026-3041 web 2"], ["CVE-2026-3041 web 2"]]);
  stage.world.clock.now = startMs + 6 * dayMs;
  const told = ({ own: { group } }: Listening): string[] => [`decisions_expired ${group} 1`, `overdue ${group} 1 exploited 0 fixable 0`];
  await whileBroken("affected_images", `${own} or not overdue_reported`, () =>
    whileBroken("outbox", `type <> 'dev.gantry.findings.decisions_expired.v1' or subject not like '${failing.own.group}%'`, async () => {
      await stage.match();
      assert.deepEqual(await received(), [[], told(other)]);
    }),
  );
  await stage.match();
  assert.deepEqual(await received(), [told(failing), []]);
});

test("a subscription with conditions receives exactly the events that count a finding of its severity or an exploited one, and all other events", async () => {
  const severities = ["LOW", "HIGH", "CRITICAL"] as const;
  const vectors = { LOW: low, HIGH: high, CRITICAL: critical };
  const conditions = ["", "UNKNOWN", ...severities].flatMap((min) => [false, true].map((exploited) => ({ min, exploited })));
  const own = await stage.newTenant(`events-${++tenants}`);
  const team = await stage.newGroup(own.group, "team");
  const all = await subscribe(own, own.group, {});
  const ofTeam = await subscribe(own, team, { minFindingSeverity: "FINDING_SEVERITY_HIGH" });
  const conditional: { readonly min: string; readonly exploited: boolean; readonly listening: Listening }[] = [];
  for (const { min, exploited } of conditions)
    conditional.push({
      min,
      exploited,
      listening: await subscribe(own, own.group, {
        ...(min === "" ? {} : { minFindingSeverity: `FINDING_SEVERITY_${min}` }),
        ...(exploited ? { exploitedFindings: true } : {}),
      }),
    });
  const isExpected = (body: JsonObject, min: string, exploited: boolean): boolean => {
    const counted = objectList(body, "severityCounts").map((each) => text(each, "severity").replace("FINDING_SEVERITY_", ""));
    if (counted.length === 0 || (min === "" && !exploited)) return true;
    const order = ["UNKNOWN", ...severities] as readonly string[];
    return (exploited && body.exploitedCount !== "0") || (min !== "" && counted.some((each) => order.indexOf(each) >= order.indexOf(min)));
  };
  await stage.exploit({ "CVE-2026-3042": "2026-02-01" });
  await stage.importImage(own.group, "web", ["zlib=1.2.0-r0", "curl=8.0.0-r0"]);
  await stage.importImage(team, "api", ["curl=8.0.0-r0"]);
  const seen: JsonObject[] = [];
  const check = async (): Promise<void> => {
    const { bodies } = await all.received();
    seen.push(...bodies);
    for (const { min, exploited, listening } of conditional) {
      const { bodies: got } = await listening.received();
      const key = (body: JsonObject): string => JSON.stringify(body);
      const expected = bodies.filter((body) => isExpected(body, min, exploited));
      assert.deepEqual(got.map(key).toSorted(), expected.map(key).toSorted(), `${min} ${String(exploited)}`);
    }
  };
  await check();
  for (const [id, name, severity] of [
    ["CVE-2026-3041", "zlib", "LOW"],
    ["CVE-2026-3042", "zlib", "LOW"],
    ["CVE-2026-3043", "curl", "HIGH"],
    ["CVE-2026-3044", "zlib", "CRITICAL"],
    ["CVE-2026-3045", "curl", "LOW"],
  ] as const) {
    stage.world.clock.now += 1000;
    await stage.publish(own.group, id, name, vectors[severity]);
    await check();
  }
  const expireTime = new Date(stage.world.clock.now + dayMs).toISOString();
  const findingDecision = { vulnerability: "CVE-2026-3044", state: "FINDING_DECISION_STATE_ACCEPTED", reason: "Behind a proxy.", expireTime };
  await stage.call(own, "gantry.decisions.v1.DecisionsService/CreateFindingDecision", { parent: own.group, findingDecision });
  await stage.match();
  stage.world.clock.now += 2 * dayMs;
  await stage.match();
  await check();
  assert.ok(
    seen.some(({ decisionCount }) => decisionCount !== undefined),
    "an event without counts of findings",
  );
  assert.deepEqual((await ofTeam.received()).lines, [`appeared ${team} 1 exploited 0 fixable 0`]);
  const [first] = conditional.filter(({ min, exploited }) => min === "CRITICAL" && !exploited);
  assert.ok(first);
  const replayed = await stage.call(own, "gantry.events.v1.DeliveriesService/ReplaySubscription", {
    subscriptionUid: first.listening.uid,
    since: new Date(stage.world.clock.now - 5 * dayMs).toISOString(),
  });
  assert.ok(isObject(replayed));
  const { bodies } = await first.listening.received();
  assert.ok(
    bodies.every((body) => isExpected(body, "CRITICAL", false)),
    "a replay keeps the conditions",
  );
  assert.ok(bodies.length > 0);
});
