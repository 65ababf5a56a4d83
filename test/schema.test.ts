// The migrated tables match the contract: columns, and indexes for lists, uniqueness and deletions. Part of `npm run check`;
// servers check the same at the start. Violations are planted.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { Fault } from "#base/fault.ts";
import { type Log, silent } from "#base/log.ts";
import { openKernel, type Resource } from "#kernel";
import { resources } from "../server/application/resources.ts";
import { type Catalogue, type CatalogueColumn, type CatalogueIndex, type CatalogueTable, openStore, readCatalogue } from "#db";
import { compareSchema } from "../server/kernel/schema.ts";
import { asOwner, freshDatabase } from "./database.ts";
import { plantResource } from "./planted-resource.ts";
import { openWorld, type World } from "./world.ts";

const database = await freshDatabase();
const store = await openStore({ databaseUrl: database.url, log: silent });
after(async () => {
  await store.close();
  await database.drop();
});

const catalogue = await readCatalogue(store.read);

test("a migrated database has every table, column and index that the contract requires", () => {
  assert.ok(resources.filter(({ table }) => table !== undefined).length > 10);
  assert.deepEqual(compareSchema(resources, catalogue), { mismatches: [], unfinished: [] });
});

const changed = (name: string, change: (table: CatalogueTable) => CatalogueTable): Catalogue =>
  new Map([...catalogue].map(([key, table]) => [key, key === name ? change(table) : table]));

const added: CatalogueColumn = { name: "", type: "text", collation: "C", nullable: false, filledByItself: false };

const withColumn = (table: string, name: string, change: Partial<CatalogueColumn>): Catalogue =>
  changed(table, (held) => ({ ...held, columns: new Map([...held.columns, [name, { ...(held.columns.get(name) ?? added), name, ...change }]]) }));

const withoutColumn = (table: string, column: string): Catalogue =>
  changed(table, (held) => ({ ...held, columns: new Map([...held.columns].filter(([name]) => name !== column)) }));

const withIndex = (table: string, index: string, change: (held: CatalogueIndex) => CatalogueIndex[]): Catalogue =>
  changed(table, (held) => {
    assert.ok(
      held.indexes.some(({ name }) => name === index),
      `there is no index ${index}`,
    );
    return { ...held, indexes: held.indexes.flatMap((each) => (each.name === index ? change(each) : [each])) };
  });

const withoutIndex = (table: string, index: string): Catalogue => withIndex(table, index, () => []);

const withCollation = (table: string, column: string, collation: string): Catalogue =>
  changed(table, (held) => ({
    ...held,
    columns: new Map([...held.columns].map(([name, each]) => [name, name === column ? { ...each, collation } : each])),
    indexes: held.indexes.map((index) => ({
      ...index,
      keys: index.keys.map((key) => (key.expression === column && key.collation === "C" ? { ...key, collation } : key)),
    })),
  }));

const withoutTrigger = (table: string, trigger: string): Catalogue =>
  changed(table, (held) => {
    assert.ok(
      held.triggers.some(({ name }) => name === trigger),
      `there is no trigger ${trigger}`,
    );
    return { ...held, triggers: held.triggers.filter(({ name }) => name !== trigger) };
  });

const withoutTable = (table: string): Catalogue => new Map([...catalogue].filter(([name]) => name !== table));

const noIndex = (table: string, purpose: string, statement: string): string => `the table ${table} has no index for ${purpose}: ${statement}`;

const unfit: readonly (readonly [title: string, catalogue: Catalogue, sentence: string])[] = [
  ["a table that is missing", withoutTable("tags"), "the table tags of Tag does not exist: create it in a migration"],
  [
    "a column that is missing",
    withoutColumn("tags", "digest"),
    `the table tags has no column digest, and Tag.digest no other source: alter table tags add column digest text collate "C" not null default ''`,
  ],
  [
    "a list's column that is missing",
    withoutColumn("repos", "bundles"),
    "the table repos has no column bundles, and Repo.bundles no other source: alter table repos add column bundles jsonb",
  ],
  [
    "a column of another type",
    withColumn("role_bindings", "expire_time", { type: "timestamp with time zone" }),
    "the column expire_time of the table role_bindings is timestamp with time zone, " +
      "and RoleBinding.expire_time needs timestamp(3) with time zone: change its type in a migration",
  ],
  [
    "a text that does not sort by its bytes",
    withCollation("repos", "name", "default"),
    'the column name of the table repos sorts by the collation default, and Repo.name must sort by its bytes: declare it collate "C"',
  ],
  [
    "an order by what may be null",
    withColumn("repos", "update_time", { nullable: true }),
    "the column update_time of the table repos may be null, and a list by update_time would leave out such rows: declare it not null",
  ],
  [
    "a field that may be absent in a column that may not",
    withColumn("repos", "sync_config", { nullable: false }),
    "the column sync_config of the table repos is not null, and Repo.sync_config may be absent: let it be null",
  ],
  [
    "a column that a create would leave out",
    withColumn("repos", "depth", {}),
    "the column depth of the table repos is no field of Repo, so that a create leaves it out: give it a default, or let it be null",
  ],
  ["a filter's column that is missing", withoutColumn("tags", "is_date"), "the table tags has no column is_date, which a filter of Tag compares: add it"],
  [
    "an order without its index",
    withoutIndex("tags", "tags_by_digest"),
    noIndex("tags", "order by digest", "create index tags_by_digest on tags (left(uid, 40), digest, uid)"),
  ],
  [
    "an order whose index holds some rows only",
    withIndex("tags", "tags_by_digest", (held) => [{ ...held, predicate: "NOT is_date" }]),
    noIndex("tags", "order by digest", "create index tags_by_digest on tags (left(uid, 40), digest, uid)"),
  ],
  [
    "an order whose index runs the other way",
    withIndex("tags", "tags_by_digest", (held) => [{ ...held, keys: held.keys.map((key, index) => ({ ...key, descending: index === 1 })) }]),
    noIndex("tags", "order by digest", "create index tags_by_digest on tags (left(uid, 40), digest, uid)"),
  ],
  [
    "an order whose index sorts by another collation",
    withIndex("tags", "tags_by_digest", (held) => [{ ...held, keys: held.keys.map((key, index) => (index === 1 ? { ...key, collation: "default" } : key)) }]),
    noIndex("tags", "order by digest", "create index tags_by_digest on tags (left(uid, 40), digest, uid)"),
  ],
  [
    "a filter without its index",
    withoutIndex("identities", "identities_by_relationship_type"),
    noIndex("identities", "filter by relationship_type", "create index identities_by_relationship_type on identities (left(uid, 40), relationship_type, uid)"),
  ],
  [
    "a filter by entries of a list without its index",
    withoutIndex("advisories", "advisories_by_aliases"),
    noIndex("advisories", "filter by entries of aliases", "create index advisories_by_aliases on advisories using gin (aliases)"),
  ],
  [
    "rows at the root without their index",
    withoutIndex("groups", "groups_in_root"),
    noIndex("groups", "rows at the root", "create index groups_in_root on groups (uid) where length(uid) = 40"),
  ],
  [
    "children without their parent's index",
    withoutIndex("identities", "identities_by_parent"),
    noIndex("identities", "children by name", 'create index identities_by_parent on identities (left(uid, -17), name collate "POSIX", uid)'),
  ],
  [
    "a reference without its index",
    withIndex("role_bindings", "role_bindings_by_role", () => []),
    noIndex("role_bindings", "deletion of a Role", "create index role_bindings_by_role_uid on role_bindings (role_uid, uid)"),
  ],
  [
    "a uniqueness without its index",
    withIndex("role_bindings", "role_bindings_unique", (held) => [{ ...held, unique: false }]),
    noIndex(
      "role_bindings",
      "uniqueness",
      'create unique index role_bindings_unique on role_bindings (left(uid, -17), identity_uid collate "POSIX", role_uid) include (uid)',
    ),
  ],
  [
    "a uniqueness whose index says more than the contract",
    withIndex("repos", "repos_unique", (held) =>
      [held, { ...held, name: "repos_name", keys: held.keys.slice(1) }].map((each) => ({ ...each, unique: each !== held })),
    ),
    noIndex("repos", "uniqueness", 'create unique index repos_unique on repos (left(uid, -17), name collate "POSIX") include (uid)'),
  ],
  [
    "a uniqueness whose index says less than the contract",
    withIndex("tags", "tags_unique", (held) => [{ ...held, keys: [...held.keys, { expression: "digest", collation: "C", descending: false }] }]),
    noIndex("tags", "uniqueness", 'create unique index tags_unique on tags (left(uid, -17), name collate "POSIX") include (uid)'),
  ],
  [
    "a uniqueness below a parent whose index other lists could take as well",
    withIndex("role_bindings", "role_bindings_unique", (held) => [{ ...held, keys: held.keys.map((key) => ({ ...key, collation: "C" })) }]),
    noIndex(
      "role_bindings",
      "uniqueness",
      'create unique index role_bindings_unique on role_bindings (left(uid, -17), identity_uid collate "POSIX", role_uid) include (uid)',
    ),
  ],
  [
    "a long text that is unique by itself instead of its hash",
    withIndex("external_group_role_mappings", "external_group_role_mappings_unique", (held) => [
      { ...held, keys: held.keys.map((key) => (key.expression.startsWith("sha256") ? { ...key, expression: "external_group_id" } : key)) },
    ]),
    noIndex(
      "external_group_role_mappings",
      "uniqueness",
      "create unique index external_group_role_mappings_unique on external_group_role_mappings " +
        "(left(uid, -17), sha256(replace(external_group_id, '\\', '\\\\')::bytea), role_uid, scope) include (uid)",
    ),
  ],
  [
    "a uniqueness by what may be null",
    withColumn("terms_acceptances", "org_uid", { nullable: true }),
    "the column org_uid of the table terms_acceptances may be null, and nulls are never alike, though TermsAcceptance is unique by it: declare it not null",
  ],
  [
    "uids that are not unique",
    withIndex("groups", "groups_pkey", (held) => [{ ...held, unique: false }]),
    noIndex("groups", "uniqueness by uid", "alter table groups add primary key (uid)"),
  ],
  [
    "a counted resource that is not counted when it is made",
    withoutTrigger("repos", "repos_counted_made"),
    "the table repos has no trigger that counts after insert: create trigger repos_counted_made after insert on repos " +
      "referencing new table as made for each statement execute function resources_made()",
  ],
  [
    "a counted resource that is not counted when it is deleted",
    withoutTrigger("role_bindings", "role_bindings_counted_gone"),
    "the table role_bindings has no trigger that counts after delete: create trigger role_bindings_counted_gone after delete on role_bindings " +
      "referencing old table as gone for each statement execute function resources_gone()",
  ],
  [
    "a counted resource whose own file writes its table, which does not count",
    withoutTrigger("scim_users", "scim_users_counted_made"),
    "the table scim_users has no trigger that counts after insert: create trigger scim_users_counted_made after insert on scim_users " +
      "referencing new table as made for each statement execute function resources_made()",
  ],
  ["such a table that is missing", withoutTable("scim_groups"), "the table scim_groups of ScimGroup does not exist: create it in a migration"],
];

for (const [title, planted, sentence] of unfit) {
  test(`${title} yields one sentence with the table and the remedy`, () => {
    assert.deepEqual(compareSchema(resources, planted), { mismatches: [sentence], unfinished: [] });
  });
}

test("an invalid index is reported as unfinished, not as a mismatch", () => {
  const planted = withIndex("tags", "tags_by_digest", (held) => [{ ...held, valid: false }]);
  assert.deepEqual(compareSchema(resources, planted), {
    mismatches: [],
    unfinished: ["the index tags_by_digest of the table tags is not valid: it is still being built, or building it has failed (order by digest)"],
  });
});

test("additional indexes are accepted, and an index with additional trailing keys suffices", () => {
  const longer = withIndex("tags", "tags_by_digest", (held) => [{ ...held, keys: [...held.keys, { expression: "name", collation: "C", descending: false }] }]);
  assert.deepEqual(compareSchema(resources, longer), { mismatches: [], unfinished: [] });
});

// A resource built by the guide, with typical mistakes.

/** Uses the guide's table, so that the guide stays correct, under a name that its readers do not use. */
const guide = readFileSync(join(import.meta.dirname, "..", "docs", "adding-a-resource.md"), "utf8");
const [, guideTable = ""] = /```sql\n([\s\S]*?)```/.exec(guide) ?? [];
const table = "planted_berths";
const createTable = guideTable.replaceAll("berths", table);

/** Berths have no capabilities, unlike roles, and their names are unique below a parent. */
const asBerths = (text: string): string => {
  const file = JSON.parse(text) as { messageType: { name: string; field?: { name: string }[]; options?: Record<string, unknown> }[] };
  for (const message of file.messageType) {
    message.field = message.field?.filter(({ name }) => name !== "capabilities") ?? [];
    if (message.options) message.options["[gantry.annotations.v1.resource]"] = { unique: ["name"] };
  }
  return JSON.stringify(file);
};

const berth = plantResource("Berth", table, asBerths);

let opened: Promise<World> | undefined;
after(async () => (await opened)?.close());

const started = async (planted: Resource): Promise<{ said: string; logged: string[] }> => {
  opened ??= openWorld({ DATABASE_URL: database.url });
  const { services } = (await opened).server.application;
  const logged: string[] = [];
  const log: Log = (event, facts) => logged.push(`${event}: ${String(facts?.problem ?? facts?.warning)}`);
  try {
    await openKernel({ ...services, log }, [...resources, planted]);
    return { said: "", logged };
  } catch (thrown) {
    assert.ok(thrown instanceof Error);
    if (thrown instanceof Fault) assert.equal(thrown.code, "FAILED_PRECONDITION");
    return { said: thrown.message, logged };
  }
};

// The planted operations are not in the contract, which is checked last.
const fits = /is not in the contract$/;

const query = async (...statements: readonly string[]): Promise<void> => {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
};

test("a resource without its table stops the start with one sentence", async () => {
  assert.equal((await started(berth)).said, "the table planted_berths of Berth does not exist: create it in a migration");
});

test("the table in the guide is sufficient for its resource", async () => {
  await query(createTable);
  const { said, logged } = await started(berth);
  assert.match(said, fits);
  assert.deepEqual(logged, []);
});

test("a Create without the parent's type stops the start and names the request", async () => {
  const mole = plantResource("Mole", table, (text) => asBerths(text).replaceAll('"refersTo":"chainguard.platform.iam.v2.Group",', ""));
  assert.equal(mole.parentMessage, "");
  assert.equal(
    (await started(mole)).said,
    "the parent of chainguard.platform.iam.v2.MolesService/CreateMole does not say refers_to: a Mole could be made below what does not exist, " +
      "and would stay in planted_berths when its parent is deleted; name the parent's message there",
  );
});

test("a resource without the resource option stops the start", async () => {
  const quay = plantResource("Quay", table, (text) => asBerths(text).replace(/"\[gantry\.annotations\.v1\.resource\]":\{[^}]*\}/, ""));
  assert.match(
    (await started(quay)).said,
    /^the message chainguard\.platform\.iam\.v2\.Quay has the table planted_berths, but not the option gantry\.annotations\.v1\.resource/,
  );
});

test("a counted resource without a quota or triggers stops the start with a remedy for each", async () => {
  const counted = (text: string): string => asBerths(text).replaceAll('"unique":["name"]', '"unique":["name"],"counted":true');
  assert.equal(
    (await started(plantResource("Buoy", table, counted))).said,
    "Buoy is counted, and base/limits.ts has no quota planted-berths: say there how many an organization may have",
  );
});

test("a counted resource without a table is reported in one sentence", () => {
  const planted = resources.map(({ ownTable, ...each }) => (each.fact.short === "ScimUser" ? each : { ...each, ...(ownTable && { ownTable }) }));
  assert.deepEqual(compareSchema(planted, catalogue), {
    mismatches: ["ScimUser is counted, and its file names no table: name the one with its rows"],
    unfinished: [],
  });
});

test("a disabled counting trigger stops the start, and the suggested statement fixes it", async () => {
  await query("drop trigger repos_counted_gone on repos");
  const { said } = await started(berth);
  const [, line = ""] = /^the table repos has no trigger that counts after delete: (create trigger .*)$/.exec(said) ?? [];
  await query(line);
  assert.match((await started(berth)).said, fits);
  await query("alter table repos disable trigger repos_counted_made");
  assert.match((await started(berth)).said, /^the table repos has no trigger that counts after insert/);
  await query("alter table repos enable trigger repos_counted_made");
});

test("an order without an index stops the start, and the suggested statement fixes it", async () => {
  await query("drop index planted_berths_by_create_time");
  const { said } = await started(berth);
  const [, line = ""] = /^the table planted_berths has no index for order by create_time: (create index .*)$/.exec(said) ?? [];
  assert.equal(line, "create index planted_berths_by_create_time on planted_berths (left(uid, 40), create_time, uid)");
  await query(line);
  assert.match((await started(berth)).said, fits);
});

test("an unfinished index is logged as a warning, and the server starts", async () => {
  const [line = ""] = /create index planted_berths_by_name .*/.exec(createTable) ?? [];
  await query("drop index planted_berths_by_name");
  const writer = new pg.Client({ connectionString: database.ownerUrl });
  await writer.connect();
  await writer.query("begin; lock table planted_berths in row exclusive mode");
  // The build waits for the writer until it times out, which leaves an invalid index.
  await assert.rejects(query("set statement_timeout = '200ms'", line.replace("create index", "create index concurrently")), /timeout/);
  await writer.end();
  const { said, logged } = await started(berth);
  assert.match(said, fits);
  assert.deepEqual(logged, [
    "schema.index.unfinished: the index planted_berths_by_name of the table planted_berths is not valid: " +
      "it is still being built, or building it has failed (order by name)",
  ]);
});

test("tables that the start itself writes produce the same sentences instead of a PostgreSQL error", async () => {
  for (const [statement, sentence] of [
    ["alter table roles rename column description to other", /^the table roles has no column description/],
    ["alter table roles rename to others", /^the table roles of Role does not exist/],
    ["alter table identities rename column name to other", /^the table identities has no column name/],
  ] as const) {
    const broken = await freshDatabase();
    try {
      await asOwner(broken.url, statement);
      await assert.rejects(openWorld({ DATABASE_URL: broken.url }), (thrown) => {
        assert.ok(thrown instanceof Fault && thrown.code === "FAILED_PRECONDITION", String(thrown));
        assert.match(thrown.message, sentence);
        return true;
      });
    } finally {
      await broken.drop();
    }
  }
});
