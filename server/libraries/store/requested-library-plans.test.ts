// The cost of lists over an organization's request groups, measured in buffers: few requests with many items, and many with few.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { limits } from "#base/limits.ts";
import type { PageRequest } from "#base/page.ts";
import { freshDatabase } from "../../../test/database.ts";
import type { Param, Read, Row } from "#db";
import {
  countRequestedLibraries,
  countRequestedVersions,
  findContributions,
  findLibraryRequests,
  findRequestedLibraries,
  findRequestedVersions,
  type RequestedPlace,
} from "./request-group-items.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: pg.Client;

before(async () => {
  database = await freshDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  // As in pool.ts, and without triggers.
  await client.query("set plan_cache_mode = force_generic_plan; set jit = off; set statement_timeout = '60s'");
  await client.query("set session_replication_role = replica");
  // Otherwise there would be no index-only scans after VACUUM.
  await client.query("set synchronous_commit = on");
});
after(async () => {
  await client.end();
  await database.drop();
});

const own = "a".repeat(40);
const neighbour = "b".repeat(40);
const branch = `${own}/${"c".repeat(16)}`;
const items = 15_000;

/** One request in ten is a draft, one item in fifty removed. */
const plant = async (organization: string, requests: number): Promise<void> => {
  const segment = (n: string): string => `'/' || lpad(to_hex(${n}), 16, '0')`;
  const place = `case when request % 3 = 0 then $1::text || '/${"c".repeat(16)}' else $1::text end`;
  await client.query(
    `insert into request_groups (uid, parent_id, name, status, ecosystem, source, for_cve_remediation, submit_time, create_time, update_time, items_update_time,
       created_by, submitted_by, input, availability_summary, org_upstream_enabled)
     select ${place} || ${segment("request")}, ${place}, 'request ' || request, 'REQUEST_GROUP_STATUS_PROCESSING', 'ECOSYSTEM_PYTHON',
       'REQUEST_SOURCE_API', false, case when request % 10 <> 9 then time end, time, time, time, $1, $1, '{}', '{}', false
     from generate_series(1, $2::int) as request, lateral (select timestamptz '2026-01-01 00:00:00Z' + request * interval '1 minute' as time) as made`,
    [organization, requests],
  );
  await client.query(
    `insert into request_group_items (uid, requirement, package_name, version, ecosystem, sort_key, availability, availability_reason, closest_version,
       latest_version, removed, create_time, update_time)
     select ${place} || ${segment("request")} || ${segment("item")}, 'r', 'library-' || n * 7919 % 1500, '1.' || n / 1500 % 5,
       case when n % 4 = 0 then 'ECOSYSTEM_JAVA' else 'ECOSYSTEM_PYTHON' end, '1',
       'AVAILABILITY_' || case when n / 7 % 100 = 9 then 'INVALID_REQUIREMENT'
         when (n + n / 1500) % 3 = 0 then 'BUILT' else 'CAN_BE_REQUESTED' end, '', '', '', n / 11 % 50 = 7,
       now(), now()
     from generate_series(1, $2::int) as request, generate_series(1, $3::int / $2::int) as item,
       lateral (select request * ($3::int / $2::int) + item as n) as of_all`,
    [organization, requests, items],
  );
};

const literal = (value: unknown): string => {
  if (typeof value === "number") return String(value);
  return client.escapeLiteral(Array.isArray(value) ? `{${value.join(",")}}` : String(value));
};

const explained = async (text: string, values: readonly unknown[]): Promise<number> => {
  await client.query(`prepare asked as ${text}`);
  const { rows } = await client.query<{ "QUERY PLAN": { Plan: Record<"Shared Hit Blocks" | "Shared Read Blocks", number> }[] }>(
    `explain (analyze, buffers, timing off, format json) execute asked(${values.map(literal).join(", ")})`,
  );
  await client.query("deallocate asked");
  const plan = rows[0]?.["QUERY PLAN"][0]?.Plan ?? assert.fail("no plan");
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
};

const plain: Read = {
  query: async (text, values = []) => {
    const types = { getTypeParser: () => (value: string | Buffer) => value };
    const { rows } = await client.query<(string | null)[]>({ text, values: [...values], rowMode: "array", types });
    return rows;
  },
};

const counting = (): Read & { buffers: number } => {
  const read = {
    buffers: 0,
    query: async (text: string, values: readonly Param[] = []): Promise<Row[]> => {
      read.buffers += await explained(text, values);
      return plain.query(text, values);
    },
  };
  return read;
};

const pageOf = (column: string, descending = false, from?: readonly string[], limit: number = limits.pageSizeMax): PageRequest => ({
  order: { column, descending },
  after: from,
  skip: 0,
  limit,
  total: undefined,
});

const places: readonly (readonly [string, RequestedPlace])[] = [
  ["the organization", { below: own, directlyIn: "" }],
  ["a branch", { below: branch, directlyIn: "" }],
  ["the organization without what lies below", { below: own, directlyIn: own }],
];

const everything = (place: RequestedPlace): Parameters<typeof findRequestedLibraries>[1] => ({ place, ecosystem: "", query: "", buildStatus: "" });

const sizeOf = async (): Promise<number> => {
  const { rows } = await client.query<{ pages: number }>("select sum(relpages)::int as pages from pg_class where relname ~ '^request_group'");
  return rows[0]?.pages ?? 0;
};

for (const requests of [15, 750]) {
  test(`lists of the libraries of ${requests} requests read each item once, and pages or lookups by name read less`, async () => {
    await client.query("truncate request_groups, request_group_items");
    for (const organization of [own, neighbour]) await plant(organization, requests);
    await client.query("vacuum analyze request_groups");
    await client.query("vacuum analyze request_group_items");
    // And a few index descents for each request.
    const all = (await sizeOf()) + 6 * requests;
    for (const [where, place] of places) {
      const within = async (most: number, what: string, ask: (read: Read) => Promise<unknown>): Promise<void> => {
        const read = counting();
        await ask(read);
        assert.ok(read.buffers <= most, `${what} of ${where}, ${requests} requests: ${read.buffers} pages of ${most}`);
      };
      const filter = everything(place);
      await within(all, "the number", (read) => countRequestedLibraries(read, filter));
      await within(all, "the number of those to build", (read) =>
        countRequestedLibraries(read, { ...filter, buildStatus: "REQUESTED_LIBRARY_BUILD_STATUS_REVIEWING" }),
      );
      for (const column of ["requested_version_count", "last_request_time", "create_time", "update_time"])
        await within(all, `a page by ${column}`, (read) => findRequestedLibraries(read, filter, pageOf(column, true, undefined, 51)));
      // About ten items with the same name, each with its request.
      const page = 51 * 10 * 5 + 2 * requests + 500;
      for (const descending of [false, true])
        for (const from of [undefined, ["library-900", "ECOSYSTEM_PYTHON"]])
          await within(page, `a page of names${descending ? " descending" : ""}${from ? " from the middle" : ""}`, (read) =>
            findRequestedLibraries(read, filter, pageOf("name", descending, from, 51)),
          );
      const names = Array.from({ length: 50 }, (_, n) => `library-${n * 30}`);
      await within(page, "requests of fifty libraries", (read) => findLibraryRequests(read, place, names));
      await within(page, "who asks for fifty libraries", (read) => findContributions(read, place, names, limits.contributingGroupsMax, false));
      const one = { place, ecosystem: "ECOSYSTEM_PYTHON", name: "library-60", availability: "" };
      await within(page / 20, "versions of a library", (read) => findRequestedVersions(read, one, pageOf("version", false, undefined, 51)));
      await within(page / 20, "the number of its versions", (read) => countRequestedVersions(read, one));
    }
  });

  test(`both ways of finding the libraries of ${requests} requests have the same result with every filter`, async () => {
    for (const [where, place] of places)
      for (const narrowed of [{}, { ecosystem: "ECOSYSTEM_JAVA" }, { query: "y-29" }, { buildStatus: "REQUESTED_LIBRARY_BUILD_STATUS_IN_PROGRESS" }]) {
        const filter = { ...everything(place), ...narrowed };
        const byTime = await findRequestedLibraries(plain, filter, pageOf("create_time", false, undefined, 2 * items));
        const expected = byTime
          .map(({ key, ...library }) => library)
          .sort((one, other) => (`${one.name} ${one.ecosystem}` < `${other.name} ${other.ecosystem}` ? -1 : 1));
        const found: typeof expected = [];
        for (let from: readonly string[] | undefined; ; ) {
          const page = await findRequestedLibraries(plain, filter, pageOf("name", false, from, 1200));
          found.push(...page.map(({ key, ...library }) => library));
          from = page.at(-1)?.key;
          if (page.length < 1200) break;
        }
        const asked = `${where}, ${JSON.stringify(narrowed)}`;
        assert.ok(expected.length > 0, asked);
        assert.deepEqual(found, expected, asked);
        assert.equal(await countRequestedLibraries(plain, filter), expected.length, asked);
      }
  });
}
