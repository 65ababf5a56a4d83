// The cost of a page of findings, and of its counts by severity, does not depend on rows that the request does not select. Measured in
// buffers; with FINDINGS=250000 it prints times.

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { freshDatabase } from "../../../test/database.ts";
import { type Branch, type Condition, countRowsBy, listRows, type Read, type Selection } from "#db";
import { countOpenFindings } from "./finding-counts.ts";
import { findFindingGroups, findFoundPackages, type FindingGroupBy } from "./finding-groups.ts";
import { type BaseScope, findImagesOnBases, findImagesWithLayers, findLayeredPlatforms } from "./image-layers.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: pg.Client;

const findings = Number(process.env.FINDINGS ?? 40_000);
/** A multiple of the number of repos. */
const imageCount = Number(process.env.IMAGES ?? 5_000);
const root = "a".repeat(40);
const other = "b".repeat(40);

const plant = [
  `insert into affected_images (uid, repo, repo_uid, tags, digest, architectures, package_name, installed_version, fixed_version, advisory_id, aliases,
     advisory_ids, advisory_uid, state, start_time, end_time, create_time, update_time, severity, severity_rank, epss_score, exploit_added_date,
     exploit_due_date, due_time)
   select owner || '/' || left(encode(sha256(n::text::bytea), 'hex'), 16), 'repo-' || n % 500, owner || '/' || lpad(to_hex(n % 500), 16, '0'),
     jsonb_build_array('v' || n % 50), 'sha256:' || encode(sha256((n % ${imageCount})::text::bytea), 'hex'), '["amd64"]', 'package-' || n % 997, '1',
     case when n % 3 > 0 then '2' else '' end, 'CVE-' || n % 4001, '[]', jsonb_build_array('CVE-' || n % 4001), owner || '/advisory',
     case when n % 5 = 0 then 'AFFECTED_IMAGE_STATE_RESOLVED' else 'AFFECTED_IMAGE_STATE_AFFECTED' end, time, case when n % 5 = 0 then time end, time, time,
     'FINDING_SEVERITY_UNKNOWN', n % 6, (n * 7919::bigint % 10007) / 10007.0, case when n % 301 = 0 then '2026-01-01' else '' end,
     case when n % 301 = 0 then '2026-02-' || lpad((1 + n % 28)::text, 2, '0') else '' end,
     case when n % 4 = 0 then time + interval '30 days' else '9999-12-31T00:00:00Z' end
   from generate_series(1, ${findings}) as n cross join (values ('${root}'), ('${other}')) as given(owner)
   cross join lateral (select '2026-01-01'::timestamptz + n * interval '1 second' as time) as at where owner = '${root}' or n % 10 = 0`,
  `insert into finding_counts (owner, severity_rank, fixable, exploited, row_count)
   select left(uid, -17), severity_rank, fixed_version <> '', exploited, count(*) from affected_images where not closed group by 1, 2, 3, 4`,
  // Each image has eight layers above the four of one of 50 base images.
  `insert into image_layers (uid, repo_uid, digest, platform, layers, chains, chain, packages, complete, claimed_name, claimed_digest, create_time)
   select repo || '/' || lpad(to_hex(n), 16, '0'), repo, 'sha256:' || encode(sha256(n::text::bytea), 'hex'), 'linux/amd64', chains, chains,
     chains[cardinality(chains)], packages, true, '', '', '2026-01-01'
   from generate_series(0, ${imageCount} + 49) as n
   cross join lateral (
     select '${root}/' || lpad(to_hex(case when n < ${imageCount} then n % 500 else 1000 end), 16, '0') as repo, array(
       select case when position <= 4 then 'base ' || n % 50 else 'image ' || n end || ' ' || position
       from generate_series(1, case when n < ${imageCount} then 12 else 4 end) as position) as chains) as image
   cross join (
     select jsonb_object_agg('package-' || number, '{"1": [5, 5]}'::jsonb) as packages
     from generate_series(0, ${imageCount > 5_000 ? 9 : 996}) as number) as named`,
  "vacuum analyze affected_images, finding_counts, image_layers",
];

before(async () => {
  database = await freshDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  // As in pool.ts, and without triggers.
  await client.query("set plan_cache_mode = force_generic_plan; set jit = off");
  // Vacuum marks pages as visible to all only after their commit is on the disk.
  await client.query("set session_replication_role = replica; set synchronous_commit = on");
  for (const statement of plant) await client.query(statement);
});
after(async () => {
  await client.end();
  await database.drop();
});

interface Explained {
  readonly Plan: { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number };
  readonly "Execution Time": number;
}

const explaining = (): Read & { buffers: number; ms: number } => {
  const read = {
    buffers: 0,
    ms: 0,
    query: async (text: string, values: readonly unknown[] = []): Promise<(string | null)[][]> => {
      await client.query(`prepare asked as ${text}`);
      const literals = values.map((value) =>
        typeof value === "number" ? String(value) : pg.escapeLiteral(Array.isArray(value) ? `{${value.join(",")}}` : String(value)),
      );
      const { rows } = await client.query<{ "QUERY PLAN": Explained[] }>(
        `explain (analyze, buffers, format json) execute asked${literals.length > 0 ? `(${literals.join(", ")})` : ""}`,
      );
      await client.query("deallocate asked");
      const explained = rows[0]?.["QUERY PLAN"][0];
      read.buffers += (explained?.Plan["Shared Hit Blocks"] ?? 0) + (explained?.Plan["Shared Read Blocks"] ?? 0);
      read.ms += explained?.["Execution Time"] ?? 0;
      if (process.env.EXPLAINED) process.stdout.write(`${JSON.stringify(rows[0]?.["QUERY PLAN"][0]?.Plan, undefined, 1).slice(0, 6000)}\n`);
      return [];
    },
  };
  return read;
};

const table = {
  name: "affected_images",
  columns: [
    "uid",
    "repo",
    "tags",
    "digest",
    "package_name",
    "advisory_id",
    "state",
    "create_time",
    "severity_rank",
    "epss_score",
    "exploit_due_date",
    "due_time",
  ],
};
const whole: Branch = { low: root, high: `${root}0` };
const open: Condition = { column: "closed", comparison: "false", value: null };
const exploited: Condition = { column: "exploit_due_date", comparison: "after", value: "" };
const overdueAt = (value: string): Condition => ({ column: "due_time", comparison: "before", value, indexed: true });
const [overdue, longOverdue] = [overdueAt("2026-03-01T00:00:00Z"), overdueAt("2026-01-31T00:05:00Z")];
const fixable: Condition = { column: "fix_state", comparison: "equal", value: "FINDING_FIX_STATE_FIXABLE" };
const severe: Condition = { column: "severity_rank", comparison: "after", value: 4 };
const images: Condition = {
  column: "image",
  comparison: "any",
  indexed: true,
  value: [`${root}/${"0".repeat(16)}@sha256:5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9`],
};

/** `share`: of all findings, those that the conditions select, for the strategy. */
const requests: readonly (readonly [name: string, conditions: readonly Condition[], column: string, share: number, page: number, count: number])[] = [
  ["open, by uid", [open], "uid", 0.8, 400, 1_000],
  ["open, worst first", [open], "severity_rank", 0.8, 400, 1_000],
  ["open, by EPSS", [open], "epss_score", 0.8, 400, 1_000],
  ["critical and fixable, worst first", [severe, open, fixable], "severity_rank", 0.1, 1_000, 1_000],
  ["exploited, by due date", [exploited, open], "exploit_due_date", 0.003, 1_000, 1_000],
  ["exploited and fixable, worst first", [exploited, open, fixable], "severity_rank", 0.002, 1_500, 1_000],
  ["open, by due date", [open], "due_time", 0.8, 400, 1_000],
  ["overdue, by due date", [overdue, open], "due_time", 0.2, 400, 1_000],
  ["long overdue, by due date", [longOverdue, open], "due_time", 0.001, 400, 100],
  ["long overdue, worst first", [longOverdue, open], "severity_rank", 0.001, 800, 100],
  ["long overdue and fixable, by uid", [longOverdue, open, fixable], "uid", 0.001, 800, 400],
  ["of one image, worst first", [images, open], "severity_rank", 0.0002, 100, 100],
];

for (const [name, conditions, column, share, page, count] of requests)
  test(`a page and its counts by severity read the selected rows only: ${name}`, async () => {
    for (const descending of [false, true]) {
      const selection: Selection = {
        branches: [whole],
        conditions,
        order: { column, descending },
        after: undefined,
        skip: 0,
        limit: 51,
        count: false,
        size: Math.ceil(findings * share),
      };
      const listed = explaining();
      await listRows(listed, table, selection);
      const counted = explaining();
      await countRowsBy(counted, table, { ...selection, count: true }, "severity_rank");
      if (process.env.FINDINGS)
        process.stdout.write(`${name}${descending ? " desc" : ""}: page ${listed.ms} ms, ${listed.buffers}; count ${counted.ms} ms, ${counted.buffers}\n`);
      else {
        assert.ok(listed.buffers < page, `${listed.buffers} buffers for a page`);
        assert.ok(counted.buffers < count, `${counted.buffers} buffers for counts`);
      }
    }
  });

test("the counts of a list without other filters than severity, fix and exploitation do not depend on the number of findings", async () => {
  const counted = explaining();
  await countOpenFindings(counted, [{ low: root, high: `${root}0`, end: `${root}0` }], { minSeverityRank: -1, fixable: false, exploited: false });
  if (process.env.FINDINGS) process.stdout.write(`kept counts: ${counted.ms} ms, ${counted.buffers}\n`);
  assert.ok(counted.buffers < 20, `${counted.buffers} buffers`);
});

const scope: BaseScope = { visible: [whole], host: "registry.example.com" };

test("the layers and base images of a page are read by image, regardless of the number of images", async () => {
  const read = explaining();
  const page = Array.from({ length: 200 }, (_, index) => ({
    repoUid: `${root}/${(index % 500).toString(16).padStart(16, "0")}`,
    digest: `sha256:${hash("sha256", String(index), "hex")}`,
    packageName: `package-${index}`,
  }));
  await findLayeredPlatforms(read, page, scope);
  if (process.env.FINDINGS) process.stdout.write(`layers of 200 images: ${read.ms} ms, ${read.buffers}\n`);
  else assert.ok(read.buffers < 12_000, `${read.buffers} buffers`);
});

for (const by of ["VULNERABILITY", "PACKAGE", "IMAGE", "GROUP", "BASE_IMAGE"].map((name) => `FINDING_GROUP_BY_${name}` as FindingGroupBy))
  test(`a page of groups reads the selected rows only: ${by}`, async () => {
    for (const conditions of [[open], [exploited, open], [images, open]]) {
      const order = { column: "severity_rank", descending: true };
      const selection: Selection = { branches: [whole], conditions, order, after: undefined, skip: 0, limit: 51, count: false, size: undefined };
      const grouped = explaining();
      await findFindingGroups(grouped, table, selection, { by, scope, nowMs: 0, order, after: ["4", "x"], skip: 0, limit: 51 });
      if (process.env.FINDINGS) process.stdout.write(`${by}, ${conditions.map(({ column }) => column).join(" and ")}: ${grouped.ms} ms, ${grouped.buffers}\n`);
      else if (conditions.length > 1) assert.ok(grouped.buffers < (by === "FINDING_GROUP_BY_BASE_IMAGE" ? 6_000 : 1_500), `${grouped.buffers} buffers`);
    }
  });

test("filters by base image and layer read each image of the places once, and no findings of others", async () => {
  const based = explaining();
  const digest = `sha256:${hash("sha256", String(imageCount), "hex")}`;
  await findImagesOnBases(based, { images: [{ repoUid: `${root}/${(1000).toString(16).padStart(16, "0")}`, digest }], claims: [] }, scope, [whole]);
  const layered = explaining();
  await findImagesWithLayers(layered, ["image 7 5"], [whole]);
  const selected = explaining();
  const order = { column: "uid", descending: false };
  const selection: Selection = {
    branches: [whole],
    conditions: [images, open],
    order,
    after: undefined,
    skip: 0,
    limit: 50_000,
    count: false,
    size: undefined,
  };
  await findFoundPackages(selected, table, selection, 50_001);
  if (process.env.FINDINGS)
    process.stdout.write(`on a base: ${based.ms} ms, ${based.buffers}; with a layer: ${layered.ms} ms, ${layered.buffers}; selected ${selected.buffers}\n`);
  else {
    assert.ok(based.buffers < 10_000, `${based.buffers} buffers for a base image`);
    assert.ok(layered.buffers < 8_000, `${layered.buffers} buffers for a layer`);
    assert.ok(selected.buffers < 100, `${selected.buffers} buffers for findings`);
  }
});

if (process.env.FINDINGS)
  test("layers of as many findings as a filter compares", async () => {
    const read = explaining();
    const found = Array.from({ length: 50_000 }, (_, index) => ({
      repoUid: `${root}/${((index % imageCount) % 500).toString(16).padStart(16, "0")}`,
      digest: `sha256:${hash("sha256", String(index % imageCount), "hex")}`,
      packageName: `package-${index % 10}`,
    }));
    await findLayeredPlatforms(read, found, scope);
    process.stdout.write(`layers of 50,000 findings: ${read.ms} ms, ${read.buffers}\n`);
  });
