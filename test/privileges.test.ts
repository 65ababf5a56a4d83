// What the server's role may do is what the statements of the store do: no less, and no more. And what the owner's
// connection grants is that, whatever somebody has granted before.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { resources } from "../server/application/resources.ts";
import { asOwner, freshDatabase, type TestDatabase } from "./database.ts";
import { files, isTest } from "./project-files.ts";
import { literalsOf } from "./source.ts";
import { storeForm, tablesOf } from "./tables.ts";
import { migrate } from "../server/db/migrate.ts";
import { everythingWithRows, narrowPrivileges, type Privilege } from "../server/db/privileges.ts";

// ---- what statements use ----------------------------------------------------------------------------------------

const lockForm = /\b(?:from|join)\s+(\w+)\b(?:(?!\bfrom\b|[()])[\s\S])*?\bfor (?:update|share|no key update|key share)\b/g;
const forms: readonly (readonly [form: RegExp, uses: readonly Privilege[]])[] = [
  [/\binsert into\s+(\w+)/g, ["insert"]],
  // Which row is in the way is read.
  [/\binsert into\s+(\w+)\b[^;]*\bon conflict\b/g, ["select"]],
  [/\binsert into\s+(\w+)\b[^;]*\bdo update\b/g, ["update"]],
  [/\bupdate\s+(\w+)\s+(?:as \w+\s+)?set\b/g, ["update", "select"]],
  [/\bdelete from\s+(\w+)/g, ["delete", "select"]],
  [/\b(?:from|join)\s+(\w+)|,\s*(\w+)(?= as )/g, ["select"]],
  [lockForm, ["update"]],
  [/\block table\s+(\w+)/g, ["update"]],
];

type Uses = Map<string, Set<Privilege>>;

const addUses = (uses: Uses, table: string, privileges: readonly Privilege[]): void =>
  void uses.set(table, new Set([...(uses.get(table) ?? []), ...privileges]));

const addUsesOf = (uses: Uses, statement: string): void => {
  for (const [form, privileges] of forms) for (const [, name, other] of statement.matchAll(form)) addUses(uses, name ?? other ?? "", privileges);
};

/** Bodies of functions that do the caller's work: what they do, the caller must be allowed to. */
const callersFunctions = (sql: string): string[] =>
  [...sql.matchAll(/create (?:or replace )?function ([^$]*)\$\$([\s\S]*?)\$\$/g)].flatMap(([, head = "", body = ""]) =>
    head.includes("security definer") ? [] : [body],
  );

/** What is done through statements for any table (rows.ts), by a resource that has no operation of its own for it. */
const throughRows: Readonly<Record<string, readonly Privilege[]>> = {
  // TermsService/AcceptTerms makes one.
  terms_acceptances: ["insert"],
};

/**
 * What is done with the owner's connection: migrations run, of which the server sees whether they have; the operator sets quotas and records
 * restores, which it reads.
 */
const ownersFiles = ["/migrate.ts", "/quotas.ts", "/restores.ts"];

const sources = Object.fromEntries([...files].filter(([path]) => storeForm.test(path) && /\.(?:ts|sql)$/.test(path) && !isTest(path)));
const tables = tablesOf(sources);

const usedPrivileges = (): Uses => {
  const uses: Uses = new Map();
  for (const [path, content] of Object.entries(sources)) {
    if (path.endsWith(".sql")) for (const body of callersFunctions(content)) addUsesOf(uses, body);
    else {
      const inFile: Uses = new Map();
      for (const { value } of literalsOf(content)) addUsesOf(inFile, value);
      // What retention.ts deletes for an owner of a table.
      for (const [, table = ""] of content.matchAll(/\btable: "(\w+)", where: /g)) addUses(inFile, table, ["delete", "select"]);
      for (const [table, privileges] of inFile) addUses(uses, table, ownersFiles.some((name) => path.endsWith(name)) ? ["select"] : [...privileges]);
    }
  }
  for (const { table, operations, sideTables = [] } of resources) {
    if (table === undefined) continue;
    // A create locks its parent's row, and an update and a deletion lock their own.
    addUses(uses, table, operations.some(({ rpc }) => /^(?:Create|Update|Delete)/.test(rpc)) ? everythingWithRows : ["select"]);
    for (const side of sideTables) addUses(uses, side.table, ["select", "delete"]);
  }
  for (const [table, privileges] of Object.entries(throughRows)) addUses(uses, table, privileges);
  return uses;
};

test("the server's role may do with each table what the store's statements do, and nothing else", () => {
  const uses = usedPrivileges();
  assert.ok(tables.size > 40, `only ${tables.size} tables were seen`);
  const listOf = (privilegesOf: (table: string) => readonly Privilege[]): string[] =>
    [...tables].sort().map((table) => `${table}: ${[...privilegesOf(table)].sort().join(" ")}`);
  assert.deepEqual(
    listOf((table) => narrowPrivileges[table] ?? everythingWithRows),
    listOf((table) => [...(uses.get(table) ?? [])]),
    "server/db/privileges.ts says what is granted (above, as actual), and the statements use what is expected",
  );
  for (const table of Object.keys(narrowPrivileges)) assert.ok(tables.has(table), `there is no table ${table}`);
});

test("planted: each kind of statement is seen, and functions of the owner are not the caller's", () => {
  const seen = (statement: string): string[] => {
    const uses: Uses = new Map();
    addUsesOf(uses, statement);
    return [...uses].flatMap(([table, privileges]) => [...privileges].map((privilege) => `${privilege} ${table}`)).sort();
  };
  assert.deepEqual(seen("insert into a (b) values ($1)"), ["insert a"]);
  assert.deepEqual(seen("insert into a (b) values ($1) on conflict (b) do update set b = 1"), ["insert a", "select a", "update a"]);
  assert.deepEqual(seen("insert into a (b) values ($1) on conflict do nothing"), ["insert a", "select a"]);
  assert.deepEqual(seen("update a as held set b = 1"), ["select a", "update a"]);
  assert.deepEqual(seen("delete from a where b = 1"), ["delete a", "select a"]);
  assert.deepEqual(seen("select 1 from a where b = 1 for key share"), ["select a", "update a"]);
  assert.deepEqual(seen("lock table a in share mode"), ["update a"]);
  assert.deepEqual(
    callersFunctions("create function a() returns void language sql as $$ one $$;\ncreate function b() returns void security definer as $$ two $$;"),
    [" one "],
  );
});

// ---- what is granted --------------------------------------------------------------------------------------------

let database: TestDatabase;
before(async () => {
  database = await freshDatabase();
});
after(() => database.drop());

const role = (): string => new URL(database.url).searchParams.get("user") ?? "";

/** What each table's list says of the role, as PostgreSQL keeps it; partitions along. */
const heldGrants = async (): Promise<ReadonlyMap<string, string>> => {
  const rows = await asOwner(
    database.url,
    `select relname, xmin::text, coalesce((select string_agg(lower(privilege_type), ' ' order by lower(privilege_type) collate "C")
       from aclexplode(relacl) where grantee = $1::regrole), '')
     from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and relname not in ('told_rows')`,
    [role()],
  );
  return new Map(rows.map(([name, , privileges]) => [name ?? "", privileges ?? ""]));
};

const expected = (): ReadonlyMap<string, string> =>
  new Map([...tables].sort().map((table) => [table, [...(narrowPrivileges[table] ?? everythingWithRows)].sort().join(" ")]));

const migrateAgain = (): Promise<unknown> => migrate(database.ownerUrl, { progress: () => {}, serverUrl: database.url });

const sorted = (grants: ReadonlyMap<string, string>): string[] => [...grants].map(([name, privileges]) => `${name}: ${privileges}`).sort();

test("a migrated database has exactly these grants", async () => {
  assert.deepEqual(sorted(await heldGrants()), sorted(expected()));
});

test("what somebody granted besides is taken away with the next migration, and what was taken away is given again", async () => {
  await asOwner(database.url, `select create_audit_month('2020-01')`);
  await asOwner(database.url, `grant all on audit_entries, audit_entries_2020_01, audit_retention, schema_migrations to ${role()}`);
  await asOwner(database.url, `revoke insert on groups from ${role()}`);
  await asOwner(database.url, `revoke execute on function create_audit_month(text) from ${role()}`);
  await asOwner(database.url, `grant create on schema public to ${role()}`);
  await migrateAgain();
  assert.deepEqual(sorted(await heldGrants()), sorted(new Map([...expected(), ["audit_entries_2020_01", ""]])));
  const [[makes, calls] = []] = await asOwner(
    database.url,
    "select has_schema_privilege($1, 'public', 'create'), has_function_privilege($1, 'create_audit_month(text)', 'execute')",
    [role()],
  );
  assert.deepEqual([makes, calls], ["f", "t"]);
});

test("where the grants are right, a start writes nothing", async () => {
  const versions = (): Promise<unknown> => asOwner(database.url, "select relname, xmin::text from pg_class where relkind in ('r', 'p') order by 1");
  await migrateAgain();
  const known = await versions();
  await migrateAgain();
  assert.deepEqual(await versions(), known);
});
