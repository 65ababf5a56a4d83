// List totals equal the rows found by paging, after any changes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { type Branch, countRows, listRows, type Selection, wholeTable } from "./list.ts";
import { migrate } from "./migrate.ts";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { asOwner, emptyDatabase, freshDatabase } from "../../test/database.ts";
import { fc, runs } from "../../test/property.ts";

const segment = (n: number): string => n.toString(16).padStart(16, "0");
const roots = ["a", "b"].map((digit) => digit.repeat(40));
/** On three levels. */
const groups = roots.flatMap((root) => [1, 2].flatMap((one) => [`${root}/${segment(one)}`, ...[1, 2].map((two) => `${root}/${segment(one)}/${segment(two)}`)]));
const parents = [...roots, ...groups];
const listText = (uids: readonly string[]): string => `{${uids.join(",")}}`;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.url, log: silent });
  await asOwner(database.url, "insert into groups (uid, name, create_time, update_time) select uid, uid, now(), now() from unnest($1::text[]) as each(uid)", [
    listText(roots),
  ]);
});
after(async () => {
  await store.close();
  await database.drop();
});

type Change =
  | { readonly kind: "make" | "abandon"; readonly rows: readonly { readonly parent: number; readonly n: number }[] }
  | { readonly kind: "delete"; readonly parent: number; readonly n: number }
  | { readonly kind: "clear"; readonly parent: number };

const row = fc.record({ parent: fc.nat(parents.length - 1), n: fc.nat(7) });
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("make" as const), rows: fc.array(row, { minLength: 1, maxLength: 12 }) }) },
  fc.record({ kind: fc.constant("abandon" as const), rows: fc.array(row, { minLength: 1, maxLength: 3 }) }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), parent: fc.nat(parents.length - 1), n: fc.nat(7) }) },
  fc.record({ kind: fc.constant("clear" as const), parent: fc.nat(parents.length - 1) }),
);

const uidOf = ({ parent, n }: { readonly parent: number; readonly n: number }): string => `${parents[parent]}/${segment(16 + n)}`;

const make = async (change: Change & { readonly kind: "make" | "abandon" }): Promise<void> => {
  const insert =
    "insert into repos (uid, name, create_time, update_time) " +
    "select uid, right(uid, 16), now(), now() from unnest($1::text[]) as each(uid) on conflict do nothing";
  await store.write(async (rows) => {
    await rows.query(insert, [[...new Set(change.rows.map(uidOf))]]);
    if (change.kind === "abandon") throw new Error("abandoned");
  });
};

const apply = async (change: Change): Promise<void> => {
  switch (change.kind) {
    case "make":
      return make(change);
    case "abandon":
      return assert.rejects(make(change), /abandoned/);
    case "delete":
      return store.write((rows) => rows.query("delete from repos where uid = $1", [uidOf(change)])).then(() => {});
    case "clear": {
      const place = parents[change.parent] ?? "";
      return store.write((rows) => rows.query("delete from repos where uid >= $1 and uid < $2", [place, `${place}0`])).then(() => {});
    }
  }
};

const table = { name: "repos", columns: ["uid", "name", "create_time"], uniqueNames: true };
const subtree = (place: string): Branch => ({ low: place, high: `${place}0` });
const below = (place: string): Branch => ({ low: `${place}/`, high: `${place}0` });

const apart = (places: readonly string[]): string[] => {
  const ordered = [...new Set(places)].sort();
  return ordered.filter((place) => !ordered.some((other) => place.startsWith(`${other}/`)));
};

const orders = ["uid", "name", "create_time"].flatMap((column) => [false, true].map((descending) => ({ column, descending })));

const pageThrough = async (selection: Selection): Promise<string[]> => {
  const found: string[] = [];
  for (let after: Selection["after"]; ; ) {
    const { rows, offset } = await listRows(store.read, table, { ...selection, after, count: false });
    found.push(...rows.map((each) => each[offset] ?? ""));
    const last = rows.at(-1);
    if (!last || rows.length < selection.limit) return found;
    after = { value: last[offset + table.columns.indexOf(selection.order.column)] ?? "", uid: last[offset] ?? "" };
  }
};

test("a list's total is the number of rows on its pages, and a skip ends at the same row, for any grants after any changes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 1, maxLength: 12 }),
      fc.uniqueArray(fc.nat(parents.length - 1), { minLength: 1, maxLength: 6 }),
      fc.nat(parents.length - 1),
      fc.constantFrom(...orders),
      fc.nat(20),
      async (changes, granted, narrowed, order, skip) => {
        for (let from = 0; from < changes.length; from += 3) await Promise.all(changes.slice(from, from + 3).map(apply));
        const place = parents[narrowed] ?? "";
        const scopes: readonly (readonly [readonly Branch[], Selection["conditions"]])[] = [
          [apart(granted.map((index) => parents[index] ?? "")).map(subtree), []],
          [[below(place)], []],
          [[below(place)], [{ column: "parent", comparison: "equal", value: place }]],
          [[wholeTable], []],
        ];
        for (const [branches, conditions] of scopes)
          for (const size of [1, 1_000_000]) {
            const selection: Selection = { branches, conditions, order, after: undefined, skip: 0, limit: 5, count: true, size };
            const all = await pageThrough(selection);
            const { rows, offset, total } = await listRows(store.read, table, { ...selection, skip });
            const asked = JSON.stringify([branches, conditions, order, size]);
            assert.equal(total, all.length, asked);
            assert.equal(await countRows(store.read, table, selection), all.length, asked);
            assert.deepEqual(
              rows.map((each) => each[offset]),
              all.slice(skip, skip + 5),
              asked,
            );
          }
      },
    ),
    { numRuns: runs(40) },
  );
});

const countsOf = (url: string): ReturnType<typeof asOwner> =>
  asOwner(url, "select place, resource, sum(children), sum(below) from place_counts group by 1, 2 having sum(children) <> 0 or sum(below) <> 0 order by 1, 2");

const countedAnew = (url: string, tables: readonly string[]): ReturnType<typeof asOwner> =>
  asOwner(
    url,
    `select place, resource, count(*) filter (where length(uid) = length(place) + 17), count(*) filter (where length(place) > 40)
     from (${tables.map((name) => `select '${name}' as resource, uid from ${name}`).join(" union all ")}) as rows
     cross join lateral (select left(uid, size) as place from generate_series(40, length(uid) - 17, 17) as size) as places
     group by 1, 2 having count(*) filter (where length(uid) = length(place) + 17) > 0 or length(place) > 40 order by 1, 2`,
  );

test("deleting a group removes its counts; deleting it before its contents leaves counts of zero", async () => {
  const root = "c".repeat(40);
  const [one, other] = [`${root}/${segment(1)}`, `${root}/${segment(2)}`];
  await store.write(async (rows) => {
    await rows.query("insert into groups (uid, name, create_time, update_time) select uid, uid, now(), now() from unnest($1::text[]) as each(uid)", [
      [root, one, other],
    ]);
    await rows.query("insert into repos (uid, name, create_time, update_time) select uid, uid, now(), now() from unnest($1::text[]) as each(uid)", [
      [one, other].map((group) => `${group}/${segment(3)}`),
    ]);
  });
  await store.write(async (rows) => {
    await rows.query("delete from repos where uid >= $1 and uid < $2", [one, `${one}0`]);
    await rows.query("delete from groups where uid = $1", [one]);
    await rows.query("delete from groups where uid = $1", [other]);
    await rows.query("delete from repos where uid >= $1 and uid < $2", [other, `${other}0`]);
  });
  const left = await asOwner(database.url, "select place, sum(children), sum(below) from place_counts where place = any($1) group by 1", [
    listText([one, other]),
  ]);
  assert.deepEqual(left, [[other, "0", "0"]]);
});

test("the migration counts rows that existed before", async () => {
  const old = await emptyDatabase();
  try {
    await migrate(old.ownerUrl, { progress: () => {}, until: 43 });
    const root = roots[0] ?? "";
    await asOwner(
      old.url,
      `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
       select place || '/' || lpad(to_hex(16 + n), 16, '0'), 'identity-' || n, 'role', now(), now()
       from unnest($1::text[]) as each(place), generate_series(1, 3) as n`,
      [listText(parents)],
    );
    await asOwner(
      old.url,
      `insert into repos (uid, name, create_time, update_time)
       select place || '/00000000000000ff', 'repo', now(), now() from unnest($1::text[]) as each(place)`,
      [listText(groups)],
    );
    await migrate(old.ownerUrl, { progress: () => {} });
    const tables = ["repos", "role_bindings"];
    assert.deepEqual(await countsOf(old.url), await countedAnew(old.url, tables));
    await asOwner(old.url, "delete from role_bindings where uid > $1 and uid < $2", [`${root}/`, `${root}0`]);
    assert.deepEqual(await countsOf(old.url), await countedAnew(old.url, tables));
  } finally {
    await old.drop();
  }
});
