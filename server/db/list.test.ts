// Every strategy returns the same rows as filtering and sorting all rows.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { type Branch, type Condition, countRows, countRowsBy, countRowsByDay, listRows, needsSize, type Selection, wholeTable } from "./list.ts";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { asOwner, freshDatabase } from "../../test/database.ts";

interface GroupRow {
  readonly uid: string;
  readonly name: string;
  readonly status: string;
  readonly create_time: string;
}

const table = { name: "groups", columns: ["uid", "name", "status", "create_time"] };
const roots = ["a", "b", "c"].map((digit) => digit.repeat(40));
const segment = (n: number): string => n.toString(16).padStart(16, "0");

/** Few names and times, so that both often tie. */
const groups: GroupRow[] = [];
const add = (uid: string): void => {
  const n = groups.length;
  const minute = String((n * 11) % 13).padStart(2, "0");
  groups.push({ uid, name: `name ${(n * 7) % 5}`, status: n % 3 === 0 ? "ORG_STATUS_READY" : "OTHER", create_time: `2026-01-01 00:${minute}:00+00` });
};
for (const root of roots) {
  add(root);
  for (let child = 1; child <= 3; child++) {
    add(`${root}/${segment(child)}`);
    for (let leaf = 1; leaf <= 6; leaf++) add(`${root}/${segment(child)}/${segment(leaf * 16)}`);
  }
}

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.url, log: silent });
  await asOwner(database.url, "alter table groups disable trigger groups_named");
  await store.write(async (rows) => {
    for (const { uid, name, status, create_time } of groups) {
      await rows.query(
        "insert into groups (uid, name, status, create_time, update_time, resource_limits) values ($1, $2, $3, $4, $4, jsonb_build_array($2::text))",
        [uid, name, status, create_time],
      );
    }
  });
});
after(async () => {
  await store.close();
  await database.drop();
});

const tree = (uid: string): Branch => ({ low: uid, high: `${uid}0` });
const below = (uid: string): Branch => ({ low: `${uid}/`, high: `${uid}0` });
const [one = "", two = "", three = ""] = roots;
const team = `${one}/${segment(2)}`;

const scopes: Readonly<Record<string, readonly Branch[]>> = {
  everywhere: [wholeTable],
  "a root": [tree(one)],
  "below a root": [below(one)],
  "a branch": [tree(team)],
  "below a branch": [below(team)],
  "two branches of a root": [tree(`${one}/${segment(1)}`), tree(team)],
  "two roots": [tree(one), tree(three)],
  "a branch and a root": [tree(team), tree(two)],
  nothing: [{ low: "f".repeat(40), high: `${"f".repeat(40)}0` }],
};

const equal = (column: string, value: string | number, indexed = false): Condition => ({ column, comparison: "equal", value, indexed });
const any = (column: string, value: readonly string[]): Condition => ({ column, comparison: "any", value });
const anyIndexed = (column: string, value: readonly string[]): Condition => ({ column, comparison: "any", value, indexed: true });
const containing: Condition = { column: "name", comparison: "contains", value: "%e 3%", indexed: true };
const unknown: Condition = { ...containing, indexed: false };
const absent: Condition = { column: "kind", comparison: "null", value: null };
const later: Condition = { column: "create_time", comparison: "after", value: "2026-01-01 00:06:00+00" };
const earlier: Condition = { column: "create_time", comparison: "before", value: "2026-01-01 00:06:00+00" };
const matching: Condition = { column: "resource_limits", comparison: "matches", value: ["%3", "na%1", "none"] };

const filters: Readonly<Record<string, readonly Condition[]>> = {
  none: [],
  name: [equal("name", "name 3", true)],
  status: [equal("status", "OTHER")],
  "name and status": [equal("name", "name 1", true), equal("status", "OTHER")],
  parent: [equal("parent", team)],
  "parent, a root": [equal("parent", one)],
  "parent and name": [equal("parent", team), equal("name", "name 2", true)],
  parents: [any("parent", [one, team])],
  uids: [any("uid", [one, team, `${team}/${segment(16)}`, `${two}/${segment(1)}`])],
  "uids and name": [any("uid", [one, team, two]), equal("name", "name 0", true)],
  roots: [equal("depth", 0)],
  later: [later],
  between: [
    { ...later, value: "2026-01-01 00:02:00+00" },
    { ...earlier, value: "2026-01-01 00:08:00+00", indexed: true },
  ],
  "later, by name": [later, equal("name", "name 4", true)],
  "later, by parent": [later, equal("parent", team)],
  names: [anyIndexed("name", ["name 1", "name 4", "name 9"])],
  "names and status": [anyIndexed("name", ["name 0", "name 4"]), equal("status", "OTHER")],
  "names of none": [anyIndexed("name", [])],
  "names and parent": [anyIndexed("name", ["name 0", "name 4"]), equal("parent", team)],
  "part of a name": [containing, absent],
  "part of a name, later": [containing, later],
  "names, later": [anyIndexed("name", ["name 2", "name 3"]), later],
  "part of a name without an index": [unknown],
  "part of a name without an index, by parent": [unknown, equal("parent", team)],
  "part of a name without an index, later": [unknown, later],
  "part of a name without an index, roots": [unknown, equal("depth", 0)],
  "many names": [anyIndexed("name", ["name 1", "name 4", "name 2", ...Array.from({ length: 30 }, (_, n) => `nobody ${n}`)])],
  earlier: [earlier],
  "earlier and later, by name": [earlier, { ...later, value: "2026-01-01 00:02:00+00" }, equal("name", "name 4", true)],
  "earlier, by parent": [earlier, equal("parent", team)],
  matches: [matching],
  "matches, later": [matching, later],
  has: [{ column: "resource_limits", comparison: "has", value: ["x", "name 3"], indexed: true }],
};

const parentOf = (uid: string): string => (uid.length === 40 ? "" : uid.slice(0, -17));
const fieldOf = (group: GroupRow, column: string): string | number => {
  if (column === "parent") return parentOf(group.uid);
  if (column === "depth") return (group.uid.length - 40) / 17;
  return group[column as keyof GroupRow];
};

const holds = (group: GroupRow, { column, comparison, value }: Condition): boolean => {
  const field = fieldOf(group, column);
  switch (comparison) {
    case "equal":
      return field === value;
    case "any":
      return Array.isArray(value) && value.includes(field);
    case "after":
      return field > String(value);
    case "before":
      return field < String(value);
    case "matches":
      return Array.isArray(value) && value.some((pattern) => new RegExp(`^${pattern.replaceAll("%", ".*")}$`).test(group.name));
    case "false":
    case "set":
      return false;
    case "null":
      return true;
    case "has":
      return Array.isArray(value) && value.includes(group.name);
    case "contains":
      return String(field).includes(String(value).slice(1, -1));
  }
};

const expected = (branches: readonly Branch[], conditions: readonly Condition[], { column, descending }: Selection["order"]): string[] => {
  const sign = descending ? -1 : 1;
  const compare = (left: GroupRow, right: GroupRow): number => {
    const [first, second] = [fieldOf(left, column), fieldOf(right, column)];
    if (first !== second) return first < second ? -sign : sign;
    return left.uid < right.uid ? -sign : sign;
  };
  return groups
    .filter((group) => branches.some(({ low, high }) => group.uid >= low && group.uid < high) && conditions.every((condition) => holds(group, condition)))
    .sort(compare)
    .map(({ uid }) => uid);
};

const readPages = async (selection: Selection): Promise<string[]> => {
  const found: string[] = [];
  let position: Selection["after"];
  for (;;) {
    const { rows, offset } = await listRows(store.read, table, { ...selection, after: position, count: false });
    found.push(...rows.map((row) => row[offset] ?? ""));
    const last = rows.at(-1);
    if (!last || rows.length < selection.limit) return found;
    const column = table.columns.indexOf(selection.order.column);
    position = { value: last[offset + column] ?? "", uid: last[offset] ?? "" };
  }
};

const orders = ["uid", "name", "create_time"].flatMap((column) => [
  { column, descending: false },
  { column, descending: true },
]);

for (const [scope, branches] of Object.entries(scopes)) {
  for (const [filter, conditions] of Object.entries(filters)) {
    test(`${scope}, filtered by ${filter}: complete, in order, page by page, counted`, async () => {
      for (const order of orders) {
        const selection: Selection = { branches, conditions, order, after: undefined, skip: 0, limit: 5, count: true, size: undefined };
        const all = expected(branches, conditions, order);
        // If the size matters, both sorting and scanning are tried.
        for (const size of needsSize(selection) ? [1, 1_000_000] : [undefined]) {
          const label = `${order.column}${order.descending ? " desc" : ""}, size ${size}`;
          assert.deepEqual(await readPages({ ...selection, size }), all, label);
          const { rows, offset, total } = await listRows(store.read, table, { ...selection, size, skip: 2 });
          assert.equal(total, all.length, label);
          assert.deepEqual(
            rows.map((row) => row[offset]),
            all.slice(2, 7),
            label,
          );
        }
        assert.equal(await countRows(store.read, table, selection), all.length);
        const byStatus = Map.groupBy(
          groups.filter(({ uid }) => all.includes(uid)),
          ({ status }) => status,
        );
        assert.deepEqual(await countRowsBy(store.read, table, selection, "status"), new Map([...byStatus].map(([status, { length }]) => [status, length])));
        const inRoot = groups.filter(({ uid }) => uid.startsWith(one));
        const newest = inRoot.sort((left, right) =>
          left.create_time === right.create_time ? (left.uid < right.uid ? 1 : -1) : left.create_time < right.create_time ? 1 : -1,
        );
        for (const rowsMax of [5, 1000]) {
          const read = newest.slice(0, rowsMax);
          const counted = await countRowsByDay(store.read, table, selection, one, { since: "2026-01-01 00:00:00+00", rowsMax, daysMax: 10 });
          if (counted.length === 0) assert.deepEqual(all, []);
          else assert.deepEqual(counted, [{ day: "2026-01-01", count: read.filter(({ uid }) => all.includes(uid)).length, read: read.length }]);
        }
      }
    });
  }
}
