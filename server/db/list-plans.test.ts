// The cost of a list does not depend on other organizations' data. Measured in buffers, with a neighbor's rows below few and many parents.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { limits } from "#base/limits.ts";
import { freshDatabase } from "../../test/database.ts";
import { oneOrAll, shortOrLong } from "../../test/length.ts";
import { type Branch, columnsBehindParent, pageStatement, type Selection } from "./list.ts";
import { hasTrigram } from "./search-text.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: pg.Client;

before(async () => {
  database = await freshDatabase({ planted: true });
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  // As in pool.ts, and without triggers.
  await client.query("set plan_cache_mode = force_generic_plan; set jit = off");
  await client.query("set session_replication_role = replica");
});
after(async () => {
  await client.end();
  await database.drop();
});

const own = "a".repeat(40);
const neighbour = "b".repeat(40);
/** PostgreSQL 18 used a skip scan over 1,000 parents at 100,000 rows, but not at 60,000. */
const rowsOfNeighbour = 100_000;
const segment = (n: number): string => n.toString(16).padStart(16, "0");

/** Permissions in every second group of an organization. */
const scattered: Branch[] = Array.from({ length: 1000 }, (_, n) => {
  const low = `${own}/${segment(2 * n + 1)}`;
  return { low, high: `${low}0` };
});

/** Repo name and bound identity have the same position in the indexes. */
const rowsOf = {
  repos: "insert into repos (uid, name, create_time, update_time) select uid, 'repo-' || child, now(), now() from planted",
  role_bindings:
    "insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time) select uid, 'identity-' || child, 'role', now(), now() from planted",
};

const plant = async (table: keyof typeof rowsOf, root: string, parents: number, each: number): Promise<void> => {
  const uid = "$1 || '/' || lpad(to_hex(parent), 16, '0') || '/' || lpad(to_hex(child), 16, '0')";
  const planted = `select ${uid} as uid, child from generate_series(1, $2::int) as parent, generate_series(1, $3::int) as child`;
  await client.query(`with planted as (${planted}) ${rowsOf[table]}`, [root, parents, each]);
};

const textOf = (value: unknown): string => (Array.isArray(value) ? `{${value.map((each) => `"${each}"`).join(",")}}` : String(value));

interface Plan {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly Plans?: readonly Plan[];
}

interface Explained {
  readonly Plan: Plan;
}

const planOf = async (table: string, selection: Selection): Promise<Plan> => {
  const deleteTime = table === "advisories" ? ["delete_time"] : [];
  const columns = [...new Set(["uid", "create_time", "update_time", ...deleteTime, selection.order.column])];
  const { text, values } = pageStatement({ name: table, columns }, selection, undefined);
  await client.query(`prepare asked as ${text}`);
  try {
    const literals = values.map((value) => client.escapeLiteral(textOf(value))).join(", ");
    const { rows } = await client.query<{ "QUERY PLAN": readonly Explained[] }>(
      `explain (analyze, buffers, timing off, format json) execute asked(${literals})`,
    );
    const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
    assert.ok(plan);
    return plan;
  } finally {
    await client.query("deallocate asked");
  }
};

const buffersOf = async (table: string, selection: Selection): Promise<number> => {
  const plan = await planOf(table, selection);
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
};

const comparedPairs = (plan: Plan): number =>
  (plan["Rows Removed by Join Filter"] ?? 0) * plan["Actual Loops"] + (plan.Plans ?? []).reduce((sum, each) => sum + comparedPairs(each), 0);

const readRows = (plan: Plan): number =>
  (plan["Relation Name"] === undefined ? 0 : (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"]) +
  (plan.Plans ?? []).reduce((sum, each) => sum + readRows(each), 0);

/** An index descent and a row for each value and branch, for count and page. */
const buffersPerRangeMax = 15;

for (const [table, column, value] of oneOrAll([
  ["repos", "name", "repo-"],
  ["role_bindings", "identity_uid", "identity-"],
] as const))
  test(`${table} by ${column} in a thousand scattered groups read the same, however many parents the neighbor's rows have`, async () => {
    for (const parents of shortOrLong([10, 30_000], [10, 1000, 30_000])) {
      await client.query(`truncate ${table}`);
      await plant(table, neighbour, parents, Math.ceil(rowsOfNeighbour / parents));
      await plant(table, own, 2000, 5);
      await client.query(`vacuum analyze ${table}`);
      for (const order of oneOrAll(["uid", "create_time"]))
        for (const numbers of oneOrAll([[3], [2, 3, 4, 7]])) {
          const values = numbers.map((number) => `${value}${number}`);
          const [only = "", ...more] = values;
          const selection: Selection = {
            branches: scattered,
            conditions: [{ column, ...(more.length > 0 ? { comparison: "any", value: values } : { comparison: "equal", value: only }), indexed: true }],
            order: { column: order, descending: false },
            after: undefined,
            skip: 0,
            limit: 51,
            count: true,
            size: numbers.filter((number) => number <= 5).length * scattered.length,
          };
          const buffers = await buffersOf(table, selection);
          const asked = `${values.length} values, ${parents} parents, ordered by ${order}`;
          assert.ok(buffers <= buffersPerRangeMax * scattered.length * values.length, `${buffers} buffers: ${asked}`);
        }
    }
  });

test("recent rows that lie behind all older ones in the requested order are sorted, not reached by a scan", async () => {
  const older = 60_000;
  const newer = limits.sortRowsMax + 500;
  await client.query("truncate repos");
  await client.query(
    `insert into repos (uid, name, create_time, update_time)
     select $1 || '/' || lpad(to_hex(n), 16, '0'), 'repo-' || lpad(n::text, 9, '0'), time, time
     from generate_series(1, $2::int) as n, lateral (select timestamptz '2026-01-01Z' + n * interval '1 second' as time) as made`,
    [own, older + newer],
  );
  await client.query("vacuum analyze repos");
  const since = new Date(Date.parse("2026-01-01T00:00:00Z") + older * 1000).toISOString();
  const behind = { value: `repo-${String(older + 100).padStart(9, "0")}`, uid: `${own}/${(older + 100).toString(16).padStart(16, "0")}` };
  for (const column of ["uid", "name"])
    for (const after of [undefined, behind]) {
      const selection: Selection = {
        branches: [{ low: own, high: `${own}0` }],
        conditions: [{ column: "update_time", comparison: "after", value: since }],
        order: { column, descending: false },
        after,
        skip: 0,
        limit: 51,
        count: false,
        size: newer,
      };
      const rows = readRows(await planOf("repos", selection));
      assert.ok(rows <= limits.nearRowsMax + newer + 2 * 51, `${rows} rows by ${column}${after ? ", further on" : ""}`);
      const { text, values } = pageStatement({ name: "repos", columns: ["uid", "name"] }, selection, undefined);
      const page = await client.query<(string | null)[]>({ text, values: [...values], rowMode: "array" });
      const first = older + 1 + (after ? 100 : 0);
      assert.deepEqual(
        page.rows.slice(1).map((row) => row[3]),
        Array.from({ length: 51 }, (_, n) => `repo-${String(first + n).padStart(9, "0")}`),
      );
    }
});

// ---- substrings ------------------------------------------------------------------------------------------------------

const advisories = 30_000;

/** Inserts advisories in random order, half in the organization, half in groups below. */
const plantAdvisories = async (root: string, groups: number): Promise<void> => {
  await client.query(
    `insert into advisories (uid, advisory_id, create_time, update_time, author, artifact_name, artifact_type, artifact_architecture, component_name,
       component_location, component_type, aliases, events, legacy_advisory_id, origin, namespace, facet, search, public, feed, digest)
     select $1 || case when n % 2 = 0 then '/' || lpad(to_hex(1 + n / 2 % $3::int), 16, '0') else '' end || '/' || left(md5(n::text), 16), 'CGA-' || n,
       now() - n * interval '1 second', now(), 'somebody', 'package-' || n % 300, 'apk', '', '', '', '', '[]', jsonb_build_array(repeat(md5(n::text), 20)),
       '', '', '', '', 'package-' || n % 300 || E'\nopenssl\ncve-2026-' || n, false, 'feed', ''
     from generate_series(1, $2::int) as n`,
    [root, advisories, groups],
  );
};

let groupsPlanted = 0;

const plantOrganizations = async (groups: number): Promise<void> => {
  if (groupsPlanted === groups) return;
  await client.query("truncate advisories");
  await plantAdvisories(neighbour, groups);
  await plantAdvisories(own, groups);
  await client.query("vacuum analyze advisories");
  groupsPlanted = groups;
};

const organization: Branch = { low: own, high: `${own}0` };
const selections: readonly (readonly [string, readonly Branch[], Selection["conditions"]])[] = [
  ["in an organization", [organization], []],
  ["at a thousand scattered places", scattered, []],
  ["of the organization alone", [organization], [{ column: "parent", comparison: "equal", value: own }]],
];

const patterns = [
  ["%a%", advisories],
  ["%zq%", 0],
  ["%\\%%", 0],
  ["%\\_%", 0],
  ["%é%", 0],
  ["%---%", 0],
  ["%openssl%", advisories],
  [`%${"package-1".repeat(28)}%`, 0],
] as const;

for (const groups of shortOrLong([3], [2000, 3])) {
  test(`attack 95: a substring search reads each row at most once, with or without an index for it, in any groups, ${groups} groups`, async () => {
    await plantOrganizations(groups);
    const {
      rows: [size],
    } = await client.query<{ pages: number }>("select sum(relpages)::int as pages from pg_class where relname in ('advisories', 'advisories_by_search')");
    assert.ok(size);
    // Through the uid index every row would cost a page.
    assert.ok(size.pages < advisories / 2, `${size.pages} pages`);
    for (const [where, branches, narrowed] of selections)
      for (const [pattern, rows] of patterns)
        for (const order of oneOrAll([
          { column: "uid", descending: false },
          { column: "create_time", descending: false },
        ]))
          for (const count of oneOrAll([true, false])) {
            const plan = await planOf("advisories", {
              branches,
              conditions: [
                { column: "delete_time", comparison: "null", value: null },
                { column: "search", comparison: "contains", value: pattern, indexed: hasTrigram(pattern) },
                ...narrowed,
              ],
              order,
              after: undefined,
              skip: 0,
              limit: 51,
              count,
              size: narrowed.length > 0 ? rows / 2 : rows,
            });
            const asked = `${pattern.slice(0, 20)} ${where}, ordered by ${order.column}${count ? ", counted" : ""}`;
            const buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
            const most = (count ? 2 : 1) * (size.pages + branches.length * buffersPerRangeMax + 51 * (branches.length + 10));
            assert.ok(buffers <= most, `${buffers} buffers of ${most}: ${asked}`);
            assert.ok(comparedPairs(plan) <= advisories, `${comparedPairs(plan)} comparisons: ${asked}`);
          }
  });

  test(`a page of one parent's children by uid reads no rows of the groups below, on any page, ${groups} groups`, async () => {
    await plantOrganizations(groups);
    // In the middle of MD5 segments, and after all rows of the groups.
    for (const after of [undefined, { value: "", uid: `${own}/8000000000000000` }])
      for (const descending of [false, true]) {
        const conditions: Selection["conditions"] = [
          { column: "delete_time", comparison: "null", value: null },
          { column: "search", comparison: "contains", value: "%openssl%", indexed: true },
          { column: "parent", comparison: "equal", value: own },
        ];
        const order = { column: "uid", descending };
        const buffers = await buffersOf("advisories", {
          branches: [organization],
          conditions,
          order,
          after,
          skip: 0,
          limit: 51,
          count: false,
          size: advisories / 2,
        });
        assert.ok(
          buffers <= 2 * 51 + buffersPerRangeMax,
          `${buffers} buffers: ${groups} groups${descending ? ", descending" : ""}${after ? ", from the middle" : ""}`,
        );
      }
  });
}

test("a page of several values ordered by their own field reads nothing between them", async () => {
  await plantOrganizations(3);
  for (const descending of [false, true]) {
    const buffers = await buffersOf("advisories", {
      branches: [organization],
      conditions: [
        { column: "delete_time", comparison: "null", value: null },
        { column: "artifact_name", comparison: "any", value: ["package-150", "package-151"], indexed: true },
      ],
      order: { column: "artifact_name", descending },
      after: undefined,
      skip: 0,
      limit: 51,
      count: false,
      size: limits.sortRowsMax + 1,
    });
    assert.ok(buffers <= 51 * 2 + 2 * buffersPerRangeMax, `${buffers} buffers${descending ? ", descending" : ""}`);
  }
});

const changed = (column: string, descending: boolean, after: Selection["after"], branches: readonly Branch[] = [organization]): Selection => ({
  branches,
  conditions: [{ column: "update_time", comparison: "after", value: "2026-01-01" }],
  order: { column, descending },
  after,
  skip: 0,
  limit: 51,
  count: false,
  size: advisories,
});

for (const shareDeleted of oneOrAll([7, 2]))
  test(`a list since a time that includes deleted rows reads only its page's rows, on any page and in any order, one in ${shareDeleted} deleted`, async () => {
    await client.query("truncate advisories");
    await plantAdvisories(own, 3);
    await client.query("update advisories set delete_time = now() where hashtext(uid) % $1 = 0", [shareDeleted]);
    await client.query("vacuum analyze advisories");
    for (const column of ["artifact_name", "component_name", "component_location", "create_time", "advisory_id", "legacy_advisory_id"])
      for (const descending of oneOrAll([false, true])) {
        const { rows } = await client.query<{ uid: string; value: string }>(
          `select uid, ${column}::text as value from advisories order by ${column} ${descending ? "desc" : ""}, uid ${descending ? "desc" : ""}`,
        );
        for (const start of [0, 50, advisories / 2]) {
          const before = start === 0 ? undefined : rows[start - 1];
          const selection = changed(column, descending, before);
          const buffers = await buffersOf("advisories", selection);
          const asked = `row ${start} by ${column}${descending ? ", descending" : ""}`;
          assert.ok(buffers <= 2 * (51 * 2 + buffersPerRangeMax), `${buffers} buffers: ${asked}`);
          const { text, values } = pageStatement({ name: "advisories", columns: ["uid", "delete_time", column] }, selection, undefined);
          const page = await client.query<(string | null)[]>({ text, values: [...values], rowMode: "array" });
          assert.deepEqual(
            page.rows.slice(1).map((row) => row[2]),
            rows.slice(start, start + 51).map(({ uid }) => uid),
            asked,
          );
        }
      }
  });

test("an index by parent orders the children by uid if the table has no column behind the parent", async () => {
  const { rows } = await client.query<{ tablename: string; ordered: boolean }>(
    `select tablename, bool_or(indexdef like '%("left"(uid, ''-17''::integer), uid)') as ordered from pg_indexes
     where indexdef like '%("left"(uid, ''-17''::integer)%' and not exists (
       select from information_schema.columns where table_schema = schemaname and table_name = tablename and column_name = any($1))
     group by tablename`,
    [columnsBehindParent],
  );
  assert.ok(rows.some(({ tablename }) => tablename === "advisories"));
  for (const { tablename, ordered } of rows) assert.ok(ordered, tablename);
});
