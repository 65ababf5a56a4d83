// Every table has one owner among the store's files. modules.json lists owners, other tables each file reads, and tables of each
// module; `npm run golden` updates it.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { files, isTest } from "./project-files.ts";
import { planTables, type Sources, type TablePlan, tablesOf } from "./tables.ts";

interface ModulesFile {
  readonly modules: Readonly<Record<string, { readonly tables?: readonly string[] }>>;
  readonly tables?: TablePlan["files"];
}

const path = join(import.meta.dirname, "..", "modules.json");
const read = (): ModulesFile => JSON.parse(readFileSync(path, "utf8"));

const columnsMax = 160;

/** Formats as in modules.json: object entries on their own lines, lists on one line if they fit. */
const written = (value: unknown, indent = ""): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (!Array.isArray(value)) {
    const entries = Object.entries(value).map(([key, each]) => `${inner}${JSON.stringify(key)}: ${written(each, inner)}`);
    return entries.length === 0 ? "{}" : `{\n${entries.join(",\n")}\n${indent}}`;
  }
  const items = value.map((each) => JSON.stringify(each));
  const lines = [""];
  for (const item of items) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && `${inner}${last} ${item},`.length > columnsMax) lines.push(`${item},`);
    else lines[lines.length - 1] = last === "" ? `${item},` : `${last} ${item},`;
  }
  const list = items.join(", ");
  return indent.length + list.length < columnsMax - 20
    ? `[${list}]`
    : `[\n${lines
        .map((line) => inner + line)
        .join("\n")
        .replace(/,$/, "")}\n${indent}]`;
};

const withTables = ({ tables: _before, ...file }: ModulesFile, plan: TablePlan): ModulesFile => {
  const modules = Object.entries(file.modules).map(([module, { tables: _, ...facts }]) => {
    const tables = plan.modules[module];
    return [module, tables ? { ...facts, tables } : facts] as const;
  });
  return { ...file, modules: Object.fromEntries(modules), tables: plan.files };
};

const sources: Sources = Object.fromEntries([...files].filter(([each]) => /\.(?:ts|sql)$/.test(each) && !isTest(each)));
const before = read();
const { plan, violations } = planTables(sources, Object.keys(before.modules), before.tables);

test("each table is written by one file of the store", () => {
  assert.ok(tablesOf(sources).size > 30, `only ${tablesOf(sources).size} tables were seen`);
  assert.equal(violations.length, 0, `\n${violations.join("\n")}`);
});

test("modules.json names the tables of each file of the store and of each module", () => {
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(path, `${written(withTables(before, plan))}\n`);
  const { tables = {}, modules } = read();
  const said = Object.fromEntries(Object.entries(modules).flatMap(([module, { tables: names }]) => (names ? [[module, names]] : [])));
  assert.deepEqual({ files: tables, modules: said }, plan, "Who uses which tables has changed. If that is meant:  npm run golden");
});

const store: Sources = {
  "server/db/migrations/0001_x.sql":
    "-- create table none ();\ncreate table sessions (id text);\ncreate table people (id text);\ncreate table groups (uid text);",
  "server/db/index.ts": 'export { findPerson as personOf } from "./people.ts";\nexport { insertRow } from "./rows.ts";',
  "server/iam/store/index.ts": 'export { type Session, findSession } from "./sessions.ts";',
  "server/iam/store/sessions.ts":
    'const findSession = (rows: Read) => rows.query(`select ${list} from sessions as s join people as p on p.id = s.id`);\nrows.query("delete from sessions");',
  "server/db/people.ts": 'rows.query("update people as p set name = $1"); rows.query(`insert into people (id) select id from sessions`);',
  "server/db/rows.ts": "rows.query(`insert into ${table} (uid)`);",
  "server/iam/resources/group.ts": 'export const group = resource({\n  table: "groups",\n});',
  "server/iam/signin/x.ts": 'import { findSession, type Session } from "#iam/store";',
  "server/kernel/x.ts": 'import { insertRow } from "#db";',
  "server/authn/x.ts": 'import type { Session } from "#iam/store";',
};
const moduleNames = ["server/db", "server/iam/signin", "server/kernel", "server/authn", "server/iam/resources"];
const planted = (more: Sources, declared?: TablePlan["files"]) => planTables({ ...store, ...more }, moduleNames, declared);

test("planted owners, joins and modules are found", () => {
  const found = planted({});
  assert.deepEqual(found.violations, []);
  assert.deepEqual(found.plan.files, {
    "server/db/people.ts": { owns: ["people"], reads: ["sessions"] },
    "server/db/rows.ts": { owns: ["groups"], anyTable: true },
    "server/iam/store/sessions.ts": { owns: ["sessions"], reads: ["people"] },
  });
  assert.deepEqual(found.plan.modules, { "server/iam/signin": ["sessions"], "server/kernel": ["*"] });
});

test("a planted table written by two files, or by none, is refused for any kind of statement", () => {
  for (const statement of [
    "insert into people (id) values ($1)",
    "update people set id = $1",
    "update only people as p set id = $1",
    "delete from people using sessions",
    "with gone as (delete from people returning 1) select 1",
    "truncate people",
    "copy people (id) from stdin",
    "lock table people in exclusive mode",
  ]) {
    const { violations: refused } = planted({ "server/db/other.ts": `rows.query(\`${statement}\`);` });
    assert.deepEqual(refused.length, 1, statement);
    assert.match(refused[0] ?? "", /^people is written by .*(?:other\.ts and .*people\.ts|people\.ts and .*other\.ts)/);
  }
  assert.match(planted({ "server/db/migrations/0002_y.sql": "create table lost (id text);" }).violations.join(), /^lost is owned by no file/);
});

test("every way to read another file's table is found, and look-alikes are not", () => {
  const readsOf = (statement: string): readonly string[] =>
    planted({ "server/db/other.ts": `rows.query(\`${statement}\`);` }).plan.files["server/db/other.ts"]?.reads ?? [];
  for (const statement of [
    "select 1 from people",
    "select 1 from sessions s, people p",
    "select 1 from ${x} as t\n  left join people using (id)",
    "select 1 where exists (select 1 from only people)",
    "people",
  ])
    assert.ok(readsOf(statement).includes("people"), statement);
  for (const statement of ["select people from x", "select 1 from unnest($1) as people", "for update of people", "the people", "extract(epoch from peoples)"])
    assert.deepEqual(readsOf(statement), [], statement);
});

test("a planted resource table belongs to the file named in modules.json, otherwise to the generic one", () => {
  const groups = { "server/db/hierarchy.ts": "rows.query(`select uid from groups`);" };
  assert.deepEqual(planted(groups).plan.files["server/db/rows.ts"]?.owns, ["groups"]);
  const declared = { "server/db/hierarchy.ts": { owns: ["groups"] } };
  assert.deepEqual(planted(groups, declared).plan.files["server/db/hierarchy.ts"], { owns: ["groups"] });
  assert.deepEqual(planted({}, declared).plan.files["server/db/rows.ts"]?.owns, ["groups"]);
  assert.deepEqual(planted({ "server/iam/store/groups.ts": "rows.query(`select uid from groups`);" }).plan.files["server/iam/store/groups.ts"], {
    owns: ["groups"],
  });
});

test("dropped and renamed tables and partitions are not counted", () => {
  const sql = "drop table people; alter table sessions rename to visits; create table part_1 partition of visits for values from (1) to (2);";
  assert.deepEqual([...tablesOf({ ...store, "server/db/migrations/0002_y.sql": sql })].sort(), ["groups", "visits"]);
});
