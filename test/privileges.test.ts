// The server's role has exactly the privileges that the store's statements use, and migrations grant exactly these, whatever was
// granted before.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { resources } from "../server/application/resources.ts";
import { asOwner, freshDatabase, type TestDatabase } from "./database.ts";
import { files, isTest } from "./project-files.ts";
import { literalsOf } from "./source.ts";
import { storeForm, tablesOf } from "./tables.ts";
import { migrate } from "../server/db/migrate.ts";
import { everythingWithRows, narrowPrivileges, type Privilege } from "../server/db/privileges.ts";

const lockForm = /\b(?:from|join)\s+(\w+)\b(?:(?!\bfrom\b|[()])[\s\S])*?\bfor (?:update|share|no key update|key share)\b/g;
const forms: readonly (readonly [form: RegExp, uses: readonly Privilege[]])[] = [
  [/\binsert into\s+(\w+)/g, ["insert"]],
  // The conflicting row is read.
  [/\binsert into\s+(\w+)\b[^;]*?\bon conflict\b/g, ["select"]],
  [/\binsert into\s+(\w+)\b[^;]*?\bdo update\b/g, ["update"]],
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

/** Returns bodies of functions that run with the caller's privileges. */
const callersFunctions = (sql: string): string[] =>
  [...sql.matchAll(/create (?:or replace )?function ([^$]*)\$\$([\s\S]*?)\$\$/g)].flatMap(([, head = "", body = ""]) =>
    head.includes("security definer") ? [] : [body],
  );

/** Privileges of generic statements (rows.ts) for resources without their own operation. */
const throughRows: Readonly<Record<string, readonly Privilege[]>> = {
  // TermsService/AcceptTerms inserts one.
  terms_acceptances: ["insert"],
};

/**
 * Files that use the owner's connection: migrations, whose state the server reads, and the operator's quotas and restores, which
 * it reads too.
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
      // Deletions that retention.ts runs for the owner of a table.
      for (const [, table = ""] of content.matchAll(/\btable: "(\w+)", where: /g)) addUses(inFile, table, ["delete", "select"]);
      for (const [table, privileges] of inFile) addUses(uses, table, ownersFiles.some((name) => path.endsWith(name)) ? ["select"] : [...privileges]);
    }
  }
  for (const { table, operations, sideTables = [] } of resources) {
    if (table === undefined) continue;
    // A create locks its parent's row; an update and a deletion lock their own.
    addUses(uses, table, operations.some(({ rpc }) => /^(?:Create|Update|Delete)/.test(rpc)) ? everythingWithRows : ["select"]);
    for (const side of sideTables) addUses(uses, side.table, ["select", "delete"]);
  }
  for (const [table, privileges] of Object.entries(throughRows)) addUses(uses, table, privileges);
  return uses;
};

test("the server's role has exactly the privileges that the store's statements use", () => {
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

test("each kind of planted statement is recognized, and functions of the owner are not the caller's", () => {
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

let database: TestDatabase;
before(async () => {
  database = await freshDatabase();
});
after(() => database.drop());

const role = (): string => new URL(database.url).searchParams.get("user") ?? "";

/** Returns each table's privileges of the role, as PostgreSQL stores them, including partitions. */
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

test("the next migration revokes additional grants and restores revoked ones", async () => {
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

test("a start with correct grants writes nothing", async () => {
  const versions = (): Promise<unknown> => asOwner(database.url, "select relname, xmin::text from pg_class where relkind in ('r', 'p') order by 1");
  await migrateAgain();
  const known = await versions();
  await migrateAgain();
  assert.deepEqual(await versions(), known);
});
