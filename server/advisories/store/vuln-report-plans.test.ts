// The cost of reading reports depends neither on their number nor on other organizations. Measured in buffers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { freshDatabase } from "../../../test/database.ts";
import type { Read } from "#db";
import { findRawVulnReport, findReposNamed, findVulnCounts, findVulnReport, findVulnReportIds, readVulnReports } from "./vuln-reports.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: pg.Client;

const organizations = 500;
/** On 40 images of each repo and one shared image. */
const plant = [
  `insert into repos (uid, name, create_time, update_time)
   select lpad(n::text, 40, '0') || '/00000000000000aa', 'app', now(), now() from generate_series(1, ${organizations}) as n`,
  `insert into vuln_reports (repo_uid, digest, scanner, tool, version, create_time, seen_time, document_digest, finding_count, severities, findings, raw,
     raw_bytes, manifest_digest)
   select lpad(n::text, 40, '0') || '/00000000000000aa', case when image = 0 then 'sha256:everybody' else 'sha256:' || n || '-' || image end,
     'GRYPE', 'grype', '1',
     now() - image * interval '1 day', now(), 'sha256:' || n || '-' || image, 1, '{"CVE-2026-0001": "HIGH"}', 'x', 'x', 1, ''
   from generate_series(1, ${organizations}) as n, generate_series(0, 40) as image`,
  "analyze",
];

before(async () => {
  database = await freshDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  // As in pool.ts, and without triggers.
  await client.query("set plan_cache_mode = force_generic_plan; set jit = off");
  await client.query("set session_replication_role = replica");
  for (const statement of plant) await client.query(statement);
});
after(async () => {
  await client.end();
  await database.drop();
});

interface Explained {
  readonly Plan: { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number };
}

const buffersOf = async (look: (rows: Read) => Promise<unknown>): Promise<number> => {
  let buffers = 0;
  await look({
    query: async (text, values = []) => {
      await client.query(`prepare asked as ${text}`);
      const literals = values.map((value) =>
        value === null
          ? "null"
          : typeof value === "number"
            ? String(value)
            : pg.escapeLiteral(Array.isArray(value) ? `{${value.map((each) => JSON.stringify(each)).join(",")}}` : String(value)),
      );
      const { rows } = await client.query<{ "QUERY PLAN": Explained[] }>(`explain (analyze, buffers, format json) execute asked(${literals.join(",")})`);
      const [explained] = rows[0]?.["QUERY PLAN"] ?? [];
      buffers += explained ? explained.Plan["Shared Hit Blocks"] + explained.Plan["Shared Read Blocks"] : Number.POSITIVE_INFINITY;
      await client.query("deallocate asked");
      return [];
    },
  });
  return buffers;
};

const root = "7".padStart(40, "0");
const repo = `${root}/00000000000000aa`;
const any = { repoUid: "", scanner: "", version: "", databaseTime: "", createdSince: "" };

const looks: Readonly<Record<string, (rows: Read) => Promise<unknown>>> = {
  "reports on an image that everybody has, for one organization": (rows) =>
    findVulnReportIds(rows, { ...any, places: [root], digests: ["sha256:everybody"] }, 100),
  "reports of a repo": (rows) => findVulnReportIds(rows, { ...any, places: [root], repoUid: repo, digests: undefined }, 100),
  "the operator's look at a repo": (rows) => findVulnReportIds(rows, { ...any, places: [""], repoUid: repo, digests: undefined }, 100),
  "reports by their numbers": (rows) => readVulnReports(rows, ["7", "9"]),
  "the report of an image": (rows) => findVulnReport(rows, repo, "sha256:everybody"),
  "a raw report": (rows) => findRawVulnReport(rows, { places: [root], digest: "sha256:everybody", scanner: "GRYPE", createTime: "" }),
  "counts of some images": (rows) => findVulnCounts(rows, repo, ["sha256:everybody", "sha256:7-1", "sha256:7-2"], "", 1_000_000),
  "a repo by its name": (rows) => findReposNamed(rows, [root], "app"),
};

for (const [what, look] of Object.entries(looks)) {
  test(`${what}: read without searching other organizations' reports`, async () => {
    const buffers = await buffersOf(look);
    assert.ok(buffers <= 150, `${buffers} buffers`);
  });
}
