// Lists of logs since a time or a number are complete and in order, even if clocks differ.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { type Branch, type Condition, countRows, listRows, type Selection, wholeTable } from "./list.ts";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { asOwner, freshDatabase } from "../../test/database.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

const digits = (n: number): string => n.toString(16).padStart(16, "0");
const [one, two] = ["a", "b"].map((digit) => digit.repeat(40)) as [string, string];
/** Some uids look like numbers, so that their rows are between those of the parent. */
const places = [one, `${one}/${digits(20)}`, `${one}/${digits(20)}/${digits(7)}`, `${one}/${"f".repeat(16)}`, two, `${two}/${digits(1)}`];
const count = 240;
const day = 24 * 60 * 60 * 1000;
const start = Date.parse("2026-01-01T00:00:00Z");

interface Entry {
  readonly uid: string;
  readonly number: number;
  readonly createMs: number;
  readonly sealMs: number;
}

/** Some creation times are weeks off the sealing server's clock. */
const entries: Entry[] = Array.from({ length: count }, (_, index) => {
  const number = index + 1;
  const sealMs = start + Math.floor((number * 89 * day) / count);
  const createMs = sealMs + (number % 11 === 3 ? 40 : number % 13 === 5 ? -45 : 0) * day;
  return { uid: `${places[(number * 7) % places.length]}/${digits(number)}`, number, createMs, sealMs };
});

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.url, log: silent });
  await asOwner(database.url, "insert into access_versions (root) select root from unnest($1::text[]) as each(root) on conflict do nothing", [
    `{${one},${two}}`,
  ]);
  for (const month of ["2026-01", "2026-02", "2026-03"]) await asOwner(database.url, "select create_audit_month($1)", [month]);
  const list = JSON.stringify(entries.map(({ createMs, sealMs, ...rest }) => ({ ...rest, made: new Date(createMs), sealed: new Date(sealMs) })));
  const rows = "json_to_recordset($1) as each(uid text, number bigint, made timestamptz, sealed timestamptz)";
  await asOwner(
    database.url,
    `insert into audit_entries (uid, sequence, create_time, seal_time, caller_uid, act, operation, subject, type, code, count, binding_uids, remote_address,
       user_agent, request_id, event_id, hash)
     select uid, number, made, sealed, '', '{}', '', '', '', 'OK', 1, '[]', '', '', '', uid, '' from ${rows}`,
    [list],
  );
  await asOwner(
    database.url,
    `insert into outbox (event_id, uid, position, type, source, subject, group_uid, audience, extensions, body_type, data, request_id, create_time)
     select gen_random_uuid(), uid, number, 'type', '', uid, left(uid, -17), 'customer', '{}', '', '{}', '', made from ${rows}`,
    [list],
  );
});
after(async () => {
  await store.close();
  await database.drop();
});

const subtree = (place: string): Branch => ({ low: place, high: `${place}0` });
const scopes: Readonly<Record<string, readonly Branch[]>> = {
  everything: [wholeTable],
  "an organization": [subtree(one)],
  "below an organization": [{ low: `${one}/`, high: `${one}0` }],
  "a group": [subtree(`${one}/${digits(20)}`)],
  "two groups": [subtree(`${one}/${digits(20)}`), subtree(`${one}/${"f".repeat(16)}`)],
  "two organizations": [subtree(one), subtree(two)],
};

const since = (time: string): Condition => ({ column: "create_time", comparison: "after", value: time });
const times = ["2025-11-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-14T00:00:00Z", "2026-04-15T00:00:00Z", "2027-01-01T00:00:00Z"];

const holds = ({ createMs, number }: Entry, { column, value }: Condition): boolean =>
  column === "create_time" ? createMs > Date.parse(String(value)) : number > Number(value);

for (const [name, number, conditions] of [
  ["audit_entries", "sequence", [...times.map(since), { column: "sequence", comparison: "after", value: "100" } as const]],
  ["outbox", "position", ["0", "19", "20", "100", "240"].map((value): Condition => ({ column: "position", comparison: "after", value }))],
] as const)
  for (const [scope, branches] of Object.entries(scopes))
    test(`${name} after a time or a number, ${scope}: all rows, in order, on pages of any length`, async () => {
      const table = { name, columns: ["uid", number] };
      for (const condition of conditions)
        for (const column of ["uid", number])
          for (const descending of [false, true]) {
            const expected = entries
              .filter((entry) => branches.some(({ low, high }) => entry.uid >= low && entry.uid < high) && holds(entry, condition))
              .sort((left, right) => (column === "uid" ? (left.uid < right.uid ? -1 : 1) : left.number - right.number))
              .map(({ uid }) => uid);
            if (descending) expected.reverse();
            const selection: Selection = {
              branches,
              conditions: [condition],
              order: { column, descending },
              after: undefined,
              skip: 0,
              limit: 7,
              count: false,
              size: 1_000_000,
              large: true,
            };
            const asked = `${condition.column} ${String(condition.value)}, by ${column}${descending ? " desc" : ""}`;
            const found: string[] = [];
            for (let last: Selection["after"]; ; ) {
              const { rows, offset } = await listRows(store.read, table, { ...selection, after: last });
              found.push(...rows.map((row) => row[offset] ?? ""));
              const end = rows.at(-1);
              if (!end || rows.length < 7) break;
              last = { value: end[offset + table.columns.indexOf(column)] ?? "", uid: end[offset] ?? "" };
            }
            assert.deepEqual(found, expected, asked);
            const { rows, offset } = await listRows(store.read, table, { ...selection, skip: 10 });
            assert.deepEqual(
              rows.map((row) => row[offset]),
              expected.slice(10, 17),
              asked,
            );
            assert.equal(await countRows(store.read, table, selection), expected.length, asked);
          }
    });
