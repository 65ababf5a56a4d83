// Retention: invalid settings are refused, batches read no more rows than necessary, and needed rows are never deleted.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { readSettings, settingsInForce } from "#application";
import { retentions } from "../../server/application/retentions.ts";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { defaultPeriods, type RetentionPeriods } from "#base/retention-periods.ts";
import { openStore, type Param, type Store, type Write } from "#db";
import { periodSettings } from "../../server/application/retention-settings.ts";
import { settingTexts } from "../../server/application/setting-names.ts";
import { freshDatabase } from "../database.ts";

const dayMs = 24 * 60 * 60 * 1000;
const nowMs = Date.parse("2026-11-23T12:00:00Z");

let database: Awaited<ReturnType<typeof freshDatabase>>;
let owner: pg.Client;
let store: Store;

before(async () => {
  database = await freshDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  // Inserts rows as they would be after years, without events.
  await owner.query("set session_replication_role = replica");
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await owner.end();
  await database.drop();
});

const daysAgo = (days: number): string => new Date(nowMs - days * dayMs).toISOString();

const column = async (statement: string): Promise<string[]> =>
  (await owner.query<Record<string, unknown>>(statement)).rows.map((row) => String(Object.values(row)[0]));

const periodsOf = (change: Partial<RetentionPeriods>): RetentionPeriods => ({ ...defaultPeriods, ...change });

const sweep = async (periods: RetentionPeriods, at: Store = store): Promise<Map<string, number>> => {
  const pieces = new Map<string, number>();
  for (const retention of retentions)
    for (let more = true; more; pieces.set(retention.table, (pieces.get(retention.table) ?? 0) + 1))
      ({ more } = await retention.deleteExpired(at, nowMs, periods));
  return pieces;
};

// ---- settings ---------------------------------------------------------------------------------------------------

const refused = (environment: Readonly<Record<string, string>>): string => {
  try {
    readSettings(environment);
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
  return "";
};

test("an invalid setting is refused with the reason, and valid ones apply", () => {
  assert.match(refused({ GANTRY_EVENT_DAYS: "6" }), /^GANTRY_EVENT_DAYS must be 7 days or more: a failing webhook endpoint is disabled after 5 days/);
  assert.match(refused({ GANTRY_EVENT_DAYS: "forever" }), /^GANTRY_EVENT_DAYS must be a number of days from 7 to 3650, not "forever"$/);
  for (const value of ["0", "-1", "1.5", "3651", " 7", "1e3"]) assert.match(refused({ GANTRY_TAG_HISTORY_DAYS: value }), /^GANTRY_TAG_HISTORY_DAYS must be/);
  assert.match(refused({ GANTRY_REPORT_DAYS: "1" }), /^GANTRY_REPORT_DAYS must be 7 days or more: /);
  assert.match(refused({ GANTRY_DOCUMENT_DAYS: "29" }), /^GANTRY_DOCUMENT_DAYS must be 30 days or more: /);
  assert.match(refused({ GANTRY_EVENT_DAYS: "10", GANTRY_DELIVERY_DAYS: "11" }), /^GANTRY_DELIVERY_DAYS is 11 days, and GANTRY_EVENT_DAYS 10 days: /);
  assert.match(
    refused({ GANTRY_EVENT_DAYS: "10", GANTRY_DELIVERY_DELAYS: "0,604800,604800" }),
    /^GANTRY_DELIVERY_DELAYS may take 16\.8 days until the last attempt, and events are kept for 10 days \(GANTRY_EVENT_DAYS\)/,
  );
  const set = { GANTRY_EVENT_DAYS: "10", GANTRY_DELIVERY_DAYS: "10", GANTRY_TAG_HISTORY_DAYS: "1", GANTRY_REPORT_DAYS: "7", GANTRY_DOCUMENT_DAYS: "30" };
  assert.deepEqual(readSettings(set).periods, {
    eventMs: 10 * dayMs,
    deliveryMs: 10 * dayMs,
    tagHistoryMs: dayMs,
    reportMs: 7 * dayMs,
    documentMs: 30 * dayMs,
  });
});

test("without settings the defaults apply and are listed", () => {
  const settings = readSettings({});
  assert.deepEqual(settings.periods, defaultPeriods);
  const shown = new Map(settingsInForce(settings, {}).map(({ name, value }) => [name, value]));
  for (const { name, period } of periodSettings) {
    const keptMs = defaultPeriods[period];
    assert.equal(shown.get(name), keptMs === undefined ? "for good" : String(keptMs / dayMs), name);
  }
});

test("the guide's table lists each swept table with its retention and setting", () => {
  const guide = readFileSync(join(import.meta.dirname, "..", "..", "docs", "operate", "retention.md"), "utf8");
  const section = guide.slice(guide.indexOf("\n## Retention\n"));
  const told = [...section.matchAll(/^\| [^|]* \| `([^`|]+)` \| ([^|]*) \| ([^|]*) \|/gm)].map(([, table, kept, setting]) => [
    table,
    kept,
    setting?.split(",")[0],
  ]);
  const held = retentions.map(({ table, period }) => {
    const setting = periodSettings.find((each) => each.period === period);
    if (!setting) return [table, "until its own end", ""];
    const keptMs = defaultPeriods[setting.period];
    return [table, keptMs === undefined ? "for good" : `${keptMs / dayMs} days`, `\`${setting.name}\` (${setting.daysMin} or more)`];
  });
  held.push(["audit_entries", `${limits.auditMonths} months`, "`GANTRY_AUDIT_MONTHS` (1 or more)"]);
  assert.deepEqual(told.sort(), held.sort());
  assert.equal(settingTexts.GANTRY_AUDIT_MONTHS.byDefault, String(limits.auditMonths));
});

// ---- deleted and kept rows --------------------------------------------------------------------------------------

const root = "a".repeat(40);
const subscription = (name: string): string => `${root}/${name.padStart(16, "0")}`;

const plantSubscription = (name: string, enabled: boolean): Promise<unknown> =>
  owner.query("insert into subscriptions (uid, sink, enabled, create_time, update_time) values ($1, 'https://sink.example.test', $2, now(), now())", [
    subscription(name),
    enabled,
  ]);

/** Inserts events of that age at these positions, with the position as request ID. */
const plantEvents = (from: number, to: number, days: number): Promise<unknown> =>
  owner.query(
    `insert into outbox (event_id, uid, position, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
     select gen_random_uuid(), $1 || '/' || lpad(to_hex(n), 16, '0'), n, 'planted', '', $1, $1, 'customer', '{}', '', '{}', n::text,
       $4::timestamptz + n * interval '1 ms'
     from generate_series($2::bigint, $3::bigint) as n`,
    [root, from, to, daysAgo(days)],
  );

const plantDelivery = (position: number, to: string, state: string): Promise<unknown> =>
  owner.query(
    `insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
     select $2 || '/' || right(uid, 16), $2, event_id, type, subject, 'DELIVERY_STATE_' || $3, create_time, create_time, create_time
     from outbox where position = $1`,
    [position, subscription(to), state],
  );

const positions = (): Promise<string[]> => column("select position from outbox order by position");

test("an expired event is deleted unless a live subscription still needs it, it is not sealed, or it is the last one", async () => {
  await plantSubscription("on", true);
  await plantSubscription("off", false);
  await plantEvents(1, 8, 31);
  await plantEvents(9, 9, 29);
  await plantEvents(10, 11, 500);
  await plantEvents(12, 12, 31);
  await plantDelivery(1, "on", "PENDING");
  await plantDelivery(2, "on", "WAITING");
  await plantDelivery(3, "off", "PENDING");
  await plantDelivery(4, "on", "DELIVERED");
  await plantDelivery(5, "on", "DEAD");
  // Older than a year, so it no longer delays deletion.
  await plantDelivery(10, "on", "PENDING");
  await owner.query("update audit_progress set position = 11, set_aside = '{7}'");
  await sweep(defaultPeriods);
  assert.deepEqual(await positions(), ["1", "2", "7", "9", "12"]);
  assert.deepEqual(await column("select right(uid, 1) || ' ' || state from deliveries order by uid"), ["1 DELIVERY_STATE_PENDING", "2 DELIVERY_STATE_WAITING"]);
  await owner.query("update audit_progress set position = 12, set_aside = '{}'");
  await owner.query("update deliveries set state = 'DELIVERY_STATE_DELIVERED'");
  await sweep(defaultPeriods);
  assert.deepEqual(await positions(), ["9", "12"], "the last one stays");
  await sweep(periodsOf({ eventMs: 28 * dayMs }));
  assert.deepEqual(await positions(), ["12"]);
  await owner.query("truncate outbox, deliveries, subscriptions");
});

test("current tag digests, each scanner's latest report, affected images and asserted facts are kept at any age", async () => {
  const repo = `${root}/00000000000000aa`;
  await owner.query(
    `insert into tag_history (repo_uid, name, digest, start_time, end_time)
     values ($1, 'now', 'sha256:1', $2, null), ($1, 'before', 'sha256:1', $2, $3), ($1, 'later', 'sha256:1', $2, $4)`,
    [repo, daysAgo(3000), daysAgo(401), daysAgo(399)],
  );
  const plantReport = (digest: string, replaced: string | null): Promise<unknown> =>
    owner.query(
      `insert into vuln_reports (repo_uid, digest, scanner, tool, version, create_time, seen_time, document_digest, finding_count, severities, findings, raw,
         raw_bytes, manifest_digest, replace_time)
       values ($1, $2, 'GRYPE', 'grype', '1', $3, $3, 'sha256:' || $2, 0, '{}', '', '', 0, '', $4)`,
      [repo, digest, daysAgo(3000), replaced],
    );
  await plantReport("latest", null);
  await plantReport("long ago", daysAgo(401));
  await plantReport("lately", daysAgo(399));
  await owner.query(
    `insert into affected_images (uid, state, create_time, update_time, end_time)
     values ('still', 'AFFECTED', $1, $1, null), ('long ago', 'RESOLVED', $1, $1, $2), ('lately', 'RESOLVED', $1, $1, $3)`,
    [daysAgo(3000), daysAgo(401), daysAgo(399)],
  );
  await owner.query("insert into feeds (kind, group_uid, source, manner, settled) values ('advisories', $1, 'there', '', true)", [root]);
  const plantDocument = (name: string, told: boolean, days: number): Promise<unknown> =>
    owner.query(
      `insert into source_documents (feed_id, file, part, form, origin_id, ordinal, digest, license, public, left_out, told, import_time, change_time, body)
       select id, $1, 0, 'osv', $1, 0, '', '', false, '', $2, $3, $3, '' from feeds`,
      [name, told, daysAgo(days)],
    );
  await plantDocument("told", true, 3000);
  await plantDocument("gone long ago", false, 101);
  await plantDocument("gone lately", false, 99);
  await plantDocument("undecided", false, 3000);
  await owner.query("insert into document_records (document_id, record_key, told) select id, 'key', false from source_documents where file = 'undecided'");

  await sweep(defaultPeriods);
  assert.deepEqual(await column("select name from tag_history order by name"), ["later", "now"]);
  assert.deepEqual(await column("select digest from vuln_reports order by digest"), ["lately", "latest"]);
  assert.deepEqual(await column("select uid from affected_images order by uid"), ["lately", "still"]);
  assert.equal((await column("select file from source_documents")).length, 4, "documents are kept for good");
  await sweep(periodsOf({ tagHistoryMs: dayMs, reportMs: 7 * dayMs, documentMs: 100 * dayMs }));
  assert.deepEqual(await column("select name from tag_history"), ["now"]);
  assert.deepEqual(await column("select digest from vuln_reports"), ["latest"]);
  assert.deepEqual(await column("select uid from affected_images"), ["still"]);
  assert.deepEqual(await column("select file from source_documents order by file"), ["gone lately", "told", "undecided"]);
  await owner.query("truncate tag_history, vuln_reports, affected_images, source_documents, document_records, feeds cascade");
});

// ---- batches ----------------------------------------------------------------------------------------------------

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** Returns how many rows of a table a statement read, by its plan. */
const rowsSeen = (plan: PlanNode, table: string): number =>
  nodesOf(plan)
    .filter((node) => node["Relation Name"] === table && node["Node Type"] !== "ModifyTable")
    .reduce((sum, node) => sum + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"], 0);

/** Returns a store that explains each deleting statement. */
const explained = (note: (statement: string, plan: PlanNode) => void): Store => ({
  ...store,
  write: (work) =>
    store.write((rows) => {
      const query: Write["query"] = async (statement: string, values: readonly Param[] = []) => {
        if (!/\bdelete from\b/.test(statement)) return rows.query(statement, values);
        await rows.query("savepoint before_explained");
        const [row] = await rows.query(`explain (analyze, format json) ${statement}`, values);
        note(statement, (JSON.parse(row?.[0] ?? "[]") as { Plan: PlanNode }[])[0]?.Plan ?? { "Node Type": "", "Actual Rows": 0, "Actual Loops": 0 });
        await rows.query("rollback to savepoint before_explained");
        return rows.query(statement, values);
      };
      return work({ ...rows, query });
    }),
});

test("a batch reads no more rows than it may delete, whatever rows precede or follow them", async () => {
  const count = 6_000;
  await plantSubscription("on", true);
  // The oldest rows are still needed.
  await plantEvents(1, 3_000, 60);
  await plantEvents(3_001, count, 40);
  await plantEvents(count + 1, 2 * count, 1);
  await owner.query(
    `insert into deliveries (uid, subscription_uid, event_id, type, subject, state, next_attempt_time, create_time, update_time)
     select $1 || '/' || right(uid, 16), $1, event_id, type, subject,
       case when position <= 3000 then 'DELIVERY_STATE_WAITING' else 'DELIVERY_STATE_DELIVERED' end, create_time, create_time, create_time from outbox`,
    [subscription("on")],
  );
  await owner.query("update audit_progress set position = $1", [2 * count]);
  const repo = `${root}/00000000000000aa`;
  await owner.query(
    `insert into tag_history (repo_uid, name, digest, start_time, end_time)
     select $1, n::text, 'sha256:1', $2, case when n % 2 = 0 then $3::timestamptz + n * interval '1 ms' end from generate_series(1, $4::integer) as n`,
    [repo, daysAgo(3000), daysAgo(500), 2 * count],
  );
  await owner.query(
    `insert into vuln_reports (repo_uid, digest, scanner, tool, version, create_time, seen_time, document_digest, finding_count, severities, findings, raw,
       raw_bytes, manifest_digest, replace_time)
     select $1, n::text, 'GRYPE', 'grype', '1', $2, $2, n::text, 0, '{}', '', '', 0, '', case when n % 2 = 0 then $3::timestamptz + n * interval '1 ms' end
     from generate_series(1, $4::integer) as n`,
    [repo, daysAgo(3000), daysAgo(500), 2 * count],
  );
  await owner.query(
    `insert into affected_images (uid, state, create_time, update_time, end_time)
     select n::text, 'RESOLVED', $1, $1, case when n % 2 = 0 then $2::timestamptz + n * interval '1 ms' end from generate_series(1, $3::integer) as n`,
    [daysAgo(3000), daysAgo(500), 2 * count],
  );
  await owner.query("insert into feeds (kind, group_uid, source, manner, settled) values ('advisories', $1, 'there', '', true)", [root]);
  await owner.query(
    `insert into source_documents (feed_id, file, part, form, origin_id, ordinal, digest, license, public, left_out, told, import_time, change_time, body)
     select feeds.id, n::text, 0, 'osv', n::text, 0, '', '', false, '', n % 2 = 1, $1, $1::timestamptz + n * interval '1 ms', ''
     from feeds, generate_series(1, $2::integer) as n`,
    [daysAgo(3000), 2 * count],
  );
  await owner.query("analyze");

  const seenOf = new Map<string, number>();
  const pieces = await sweep(
    periodsOf({ documentMs: 100 * dayMs }),
    explained((statement, plan) => {
      const table = /\bdelete from (\w+)/.exec(statement)?.[1] ?? "";
      seenOf.set(table, Math.max(seenOf.get(table) ?? 0, rowsSeen(plan, table)));
    }),
  );
  for (const table of ["outbox", "deliveries", "tag_history", "vuln_reports", "affected_images", "source_documents"]) {
    const seen = seenOf.get(table) ?? 0;
    // Read once to find them, and once to delete them.
    assert.ok(seen > 0 && seen <= 2.1 * limits.retentionRowsMax, `${table}: ${seen} rows`);
  }
  assert.deepEqual(
    [pieces.get("outbox"), pieces.get("tag_history")],
    [count / limits.retentionRowsMax + 1, count / limits.retentionRowsMax + 1],
    "what is needed is walked over once",
  );
  assert.equal((await positions()).length, 3_000 + count);
  assert.equal(Number((await column("select count(*) from source_documents"))[0]), count);
});
