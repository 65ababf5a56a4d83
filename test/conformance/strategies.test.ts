// A list has several strategies (store/list.ts): sort a small branch, walk the order's index, merge branches. Each returns the rows, order and
// total of a plain filter and sort over all rows.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { covers, parentOf, rootOf } from "#base/uid.ts";
import { type Branch, type Condition, countRows, listRows, needsSize, openStore, type Selection, type Store, wholeTable } from "#db";
import { freshDatabase } from "../database.ts";
import { fc, runs } from "../property.ts";

interface Plain {
  readonly uid: string;
  readonly name: string;
  readonly digest: string;
  readonly deprecated: boolean;
  readonly time: string;
}

const root = (digit: string): string => digit.repeat(40);
const child = (parent: string, number: number): string => `${parent}/${number.toString(16).padStart(16, "0")}`;

// Three organizations, nested groups, parents with many and with no rows.
const roots = ["1", "2", "3"].map(root);
const folders = roots.flatMap((each) => [child(each, 1), child(each, 2), child(child(each, 2), 1)]);
const parents = [...roots, ...folders];
const rows: Plain[] = [];
for (let index = 0; index < 240; index++) {
  const parent = parents[(index * 7) % (parents.length - 2)] ?? "";
  rows.push({
    uid: child(parent, 1000 + ((index * 37) % 240)),
    name: `${["a", "a b", "a-b", "B", "é", "z"][index % 6]}${index % 5 === 0 ? "" : index}-${index}`,
    digest: `sha256:${(index % 4).toString(16).repeat(64)}`,
    deprecated: index % 3 === 0,
    // Groups of five ties.
    time: new Date(Date.UTC(2026, 0, 1) + Math.floor(index / 5) * 250).toISOString(),
  });
}

const table = { name: "tags", columns: ["uid", "name", "digest", "deprecated", "create_time"] };
const keys = { uid: "uid", name: "name", digest: "digest", create_time: "time" } as const;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;
before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.url, log: silent });
  await store.write(async (write) => {
    const column = (of: (row: Plain) => string): string[] => rows.map(of);
    await write.query(
      `insert into tags (uid, name, digest, deprecated, create_time, update_time)
       select uid, name, digest, deprecated::boolean, time::timestamptz, time::timestamptz
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as row(uid, name, digest, deprecated, time)`,
      [
        column(({ uid }) => uid),
        column(({ name }) => name),
        column(({ digest }) => digest),
        column(({ deprecated }) => String(deprecated)),
        column(({ time }) => time),
      ],
    );
    await write.query("insert into access_versions (root) select unnest($1::text[])", [roots]);
  });
  await store.read.query("analyze tags");
});
after(async () => {
  await store.close();
  await database.drop();
});

const bytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

const meets = (row: Plain, { column, comparison, value }: Condition): boolean => {
  const held =
    column === "parent"
      ? parentOf(row.uid)
      : column === "depth"
        ? (row.uid.length - 40) / 17
        : column === "create_time"
          ? row.time
          : column === "deprecated"
            ? row.deprecated
            : row[column as "uid" | "name" | "digest"];
  if (comparison === "any") return Array.isArray(value) && value.includes(String(held));
  if (comparison === "after") return String(held) > String(value);
  return comparison === "false" ? held === false : held === value;
};

const inside = (row: Plain, { low, high }: Branch): boolean => bytes(row.uid, low) >= 0 && bytes(row.uid, high) < 0;

/** Returns the expected total and page of a selection. */
const plainly = (selection: Selection): { total: number; page: string[]; all: string[] } => {
  const { column, descending } = selection.order;
  const key = keys[column as keyof typeof keys];
  const direction = descending ? -1 : 1;
  const order = (one: { readonly value: string; readonly uid: string }, other: { readonly value: string; readonly uid: string }): number =>
    (bytes(one.value, other.value) || bytes(one.uid, other.uid)) * direction;
  const selected = rows
    .filter((row) => selection.branches.some((branch) => inside(row, branch)) && selection.conditions.every((condition) => meets(row, condition)))
    .map((row) => ({ uid: row.uid, value: row[key] }))
    .sort(order);
  const { after: last } = selection;
  const rest = last ? selected.filter((row) => order(row, column === "uid" ? { uid: last.uid, value: last.uid } : last) > 0) : selected;
  return {
    total: selected.length,
    all: selected.map(({ uid }) => uid),
    page: rest.slice(selection.skip, selection.skip + selection.limit).map(({ uid }) => uid),
  };
};

// Branches as the kernel makes them: a group with or without its own row; nested prefixes are merged before.
const place = fc.constantFrom(...parents, ...rows.slice(0, 3).map(({ uid }) => uid));
const branch = fc.tuple(place, fc.boolean()).map(([at, whole]): Branch => ({ low: whole ? at : `${at}/`, high: `${at}0` }));
const branches = fc.oneof(
  { weight: 3, arbitrary: branch.map((each) => [each]) },
  { weight: 1, arbitrary: fc.constant([wholeTable]) },
  {
    weight: 3,
    arbitrary: fc.uniqueArray(place, { minLength: 2, maxLength: 5 }).map((places) =>
      places
        .filter((at) => !places.some((above) => above !== at && covers(above, at)))
        .sort()
        .map((at): Branch => ({ low: at, high: `${at}0` })),
    ),
  },
);
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.constantFrom(...parents).map((value): Condition => ({ column: "parent", comparison: "equal", value })),
  fc.constantFrom(...rows.slice(0, 8)).map(({ name }): Condition => ({ column: "name", comparison: "equal", value: name, indexed: true })),
  fc.constantFrom("0", "3").map((digit): Condition => ({ column: "digest", comparison: "equal", value: `sha256:${digit.repeat(64)}`, indexed: true })),
  fc
    .uniqueArray(fc.constantFrom("0", "1", "3", "f"), { minLength: 2 })
    .map((digits): Condition => ({ column: "digest", comparison: "any", value: digits.map((digit) => `sha256:${digit.repeat(64)}`), indexed: true })),
  fc
    .uniqueArray(fc.constantFrom(...rows), { maxLength: 6 })
    .map((some): Condition => ({ column: "uid", comparison: "any", value: some.map(({ uid }) => uid) })),
  fc.constantFrom(...folders).map((at): Condition => ({ column: "parent", comparison: "any", value: [at, parentOf(at), rootOf(at)] })),
  fc.constantFrom(1, 2, 3).map((value): Condition => ({ column: "depth", comparison: "equal", value })),
  fc.constantFrom(...rows).map(({ time }): Condition => ({ column: "create_time", comparison: "after", value: time })),
  fc.constant<Condition>({ column: "deprecated", comparison: "false", value: null }),
);
const selection = fc.record({
  branches,
  conditions: fc
    .array(condition, { maxLength: 2 })
    .filter((each) => each.filter(({ column, comparison }) => column === "parent" && comparison === "equal").length < 2),
  order: fc.record({ column: fc.constantFrom("uid", "name", "digest", "create_time"), descending: fc.boolean() }),
  /** The index of the previous page's last row among the selected ones, since a cursor belongs to its own query. */
  after: fc.option(fc.nat(), { nil: undefined }),
  skip: fc.constantFrom(0, 0, 1, 7, 300),
  limit: fc.constantFrom(1, 5, 51, 201),
  large: fc.boolean(),
});

const few = { numRuns: runs(250) };

test("every strategy returns the rows of a plain filter and sort, whatever the branches, conditions, order and position", async () => {
  const kinds = new Set<string>();
  await fc.assert(
    fc.asyncProperty(selection, async ({ after: nth, ...chosen }) => {
      const { column } = chosen.order;
      const key = keys[column as keyof typeof keys];
      const { all } = plainly({ ...chosen, after: undefined, count: false, size: undefined });
      const last = nth === undefined ? undefined : rows.find(({ uid }) => uid === all[nth % all.length]);
      const start = { ...chosen, after: last && { value: last[key], uid: last.uid }, count: last === undefined };
      for (const size of [undefined, 0, limits.sortRowsMax + 1]) {
        const asked: Selection = { ...start, size };
        const { total, page } = plainly(asked);
        const found = await listRows(store.read, table, asked);
        assert.deepEqual(
          found.rows.map((row) => row[found.offset]),
          page,
          JSON.stringify(asked),
        );
        if (asked.count || found.total !== undefined) assert.equal(found.total, total);
        assert.equal(await countRows(store.read, table, asked), total);
        assert.equal(await countRows(store.read, table, { ...asked, countMax: 20 }), Math.min(total, 20));
        kinds.add(`${needsSize(asked)} ${asked.branches.length > 1} ${size}`);
      }
    }),
    few,
  );
  assert.ok(kinds.size >= 6, "several strategies were taken");
});

test("a walk by cursors visits each row once in order with every strategy", async () => {
  await fc.assert(
    fc.asyncProperty(selection, fc.constantFrom(undefined, limits.sortRowsMax + 1), fc.constantFrom(3, 17), async (chosen, size, limit) => {
      const whole = { ...chosen, after: undefined, skip: 0, count: false, size };
      const key = keys[chosen.order.column as keyof typeof keys];
      const seen: string[] = [];
      let last: Plain | undefined;
      for (;;) {
        const found = await listRows(store.read, table, { ...whole, limit, after: last && { value: last[key], uid: last.uid } });
        const uids = found.rows.map((row) => row[found.offset] ?? "");
        seen.push(...uids);
        last = rows.find(({ uid }) => uid === uids.at(-1));
        if (uids.length < limit) break;
      }
      assert.deepEqual(seen, plainly({ ...whole, limit: rows.length }).page);
    }),
    { numRuns: runs(60) },
  );
});

test("a selection without branches has no rows", async () => {
  const nothing: Selection = {
    branches: [],
    conditions: [],
    order: { column: "uid", descending: false },
    after: undefined,
    skip: 0,
    limit: 50,
    count: true,
    size: undefined,
  };
  assert.deepEqual(await listRows(store.read, table, nothing), { rows: [], offset: 0, total: 0 });
});
