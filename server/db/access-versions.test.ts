// Access versions grow with every change of permissions, once per root and statement.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { openStore } from "./open.ts";
import type { Store } from "./handle.ts";
import { freshDatabase } from "../../test/database.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;

before(async () => {
  database = await freshDatabase({ planted: true });
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});

const roots = ["a", "b", "c"].map((digit) => digit.repeat(40));
const [own = "", other = "", third = ""] = roots;
const place = "d".repeat(40);
const count = 9_000;

const write = (statement: string, values: readonly string[] = []): Promise<unknown> => store.write((rows) => rows.query(statement, values));

/** Returns the counting upper half of each version; the lower half is random (0029). */
const versions = async (): Promise<number[]> => {
  const rows = await store.read.query("select coalesce((select version >> 32 from access_versions where root = given), 0) from unnest($1::text[]) as given", [
    roots,
  ]);
  return rows.map(([version]) => Number(version));
};

const growthBy = async (statement: string, values: readonly string[] = []): Promise<number[]> => {
  const earlier = await versions();
  await write(statement, values);
  return (await versions()).map((version, index) => version - (earlier[index] ?? 0));
};

const uid = (root: string): string => `'${root}/' || lpad(to_hex(n), 16, '0')`;

/** Tables that permissions depend on. Each `made` creates `count` rows: two thirds in the first root, one in the second. */
const kinds: readonly {
  readonly table: string;
  readonly made: string;
  readonly changed: string | undefined;
  readonly growth: { readonly made: readonly number[]; readonly changed: readonly number[]; readonly gone: readonly number[] };
}[] = [
  {
    table: "role_bindings",
    made: `insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time)
      select ${uid(place)}, case when n % 3 = 0 then '${other}' else '${own}' end || '/' || lpad(to_hex(n), 16, '0'), 'role', now(), now()
      from generate_series(1, ${count}) as n`,
    changed: `update role_bindings set identity_uid = replace(identity_uid, '${other}', '${third}')`,
    growth: { made: [1, 1, 0], changed: [1, 1, 1], gone: [1, 0, 1] },
  },
  {
    table: "identities",
    made: `insert into identities (uid, name, create_time, update_time)
      select case when n % 3 = 0 then ${uid(other)} else ${uid(own)} end, 'job', now(), now() from generate_series(1, ${count}) as n`,
    changed: undefined,
    // A new identity has no permissions yet.
    growth: { made: [0, 0, 0], changed: [], gone: [1, 1, 0] },
  },
  {
    table: "external_group_role_mappings",
    made: `with bound as (
        insert into sessions (id, identity_uid, identity_provider_uid, groups, create_time, expire_time)
        select root, root, 'provider', '{}', now(), now() from unnest(array['${own}', '${other}']) as root)
      insert into external_group_role_mappings (uid, identity_provider_uid, external_group_id, role_uid, scope, create_time, update_time)
      select ${uid(place)}, 'provider', n::text, 'role', '', now(), now() from generate_series(1, ${count}) as n`,
    changed: "update external_group_role_mappings set role_uid = 'another'",
    growth: { made: [1, 1, 0], changed: [1, 1, 0], gone: [1, 1, 0] },
  },
  {
    table: "sessions",
    made: `insert into sessions (id, identity_uid, identity_provider_uid, groups, create_time, expire_time)
      select n::text, case when n % 3 = 0 then '${other}' else '${own}' end, 'provider', '{}', now(), now() from generate_series(1, ${count}) as n`,
    changed: undefined,
    growth: { made: [0, 0, 0], changed: [], gone: [1, 1, 0] },
  },
];

for (const { table, made, changed, growth } of kinds)
  test(`attack 41: one statement over ${count} ${table.replaceAll("_", " ")} raises the version of each affected root once, and no other`, async () => {
    await write(`delete from ${table}`);
    await write("insert into access_versions (root) select unnest($1::text[]) on conflict do nothing", [`{${roots.join(",")}}`]);
    assert.deepEqual(await growthBy(made), growth.made, "made");
    if (changed !== undefined) assert.deepEqual(await growthBy(changed), growth.changed, "changed");
    assert.deepEqual(await growthBy(`delete from ${table}`), growth.gone, "gone");
    assert.deepEqual(await growthBy(`delete from ${table}`), [0, 0, 0], "nothing left to delete");
  });
