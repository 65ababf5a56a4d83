// The rights cache compared with the store (attack 11): after any history, requests are decided as if nothing were cached.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silent } from "#base/log.ts";
import { newRoot } from "#base/uid.ts";
import { checkAccessVersion, openStore, StaleAccess, type Store } from "#db";
import { freshDatabase } from "../../test/database.ts";
import { loadRights, downscope, type Downscoping, openRightsCache, type Rights, type RightsCache } from "./rights.ts";
import { fc, runs } from "../../test/property.ts";

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

const now = "2026-01-01T00:00:00.000Z";
const symbols = ["CAP_REPO_LIST", "CAP_REPO_CREATE", "CAP_IAM_GROUPS_LIST"];
const child = (parent: string, number: number): string => `${parent}/${number.toString(16).padStart(16, "0")}`;

/** Like the kernel: from the cache, proven by the store's version, and again with fresh rights if that has changed (serve.ts). */
const asServed = async (cache: RightsCache, caller: Downscoping): Promise<Rights | undefined> => {
  const held = await cache.of(caller, Date.now(), false);
  if (!held) return undefined;
  try {
    await checkAccessVersion(store.read, held.accessVersion);
    return held;
  } catch (thrown) {
    if (!(thrown instanceof StaleAccess)) throw thrown;
    return cache.of(caller, Date.now(), true);
  }
};

const shown = (rights: Rights | undefined): string[] | undefined =>
  rights?.grants.map(({ path, capabilities }) => `${path} ${[...capabilities].sort().join()}`).sort();

type Step =
  | { readonly kind: "bind" | "unbind"; readonly identity: number; readonly path: number; readonly role: number }
  | { readonly kind: "role"; readonly role: number; readonly capabilities: readonly string[] }
  | { readonly kind: "delete" | "restore"; readonly identity: number };

const index = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("bind" as const), identity: index, path: index, role: index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("unbind" as const), identity: index, path: index, role: index }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("role" as const), role: index, capabilities: fc.uniqueArray(fc.constantFrom(...symbols), { minLength: 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), identity: index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restore" as const), identity: index }) },
);

test("a cached decision equals the store's after any history, for every token of every identity, on two servers", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (history) => {
      const root = newRoot();
      const folder = child(root, 1);
      const paths = [root, folder, child(folder, 2)];
      // An identity of the organization, one of a group, and a user.
      const identities = [child(root, 10), child(folder, 11), newRoot()];
      const roles = [child(root, 20), child(root, 21), newRoot()];
      const identityRow = "insert into identities (uid, name, create_time, update_time) values ($1, 'i', $2, $2) on conflict do nothing";
      await store.write(async (rows) => {
        await rows.query("insert into groups (uid, name, create_time, update_time) values ($1, $1, $2, $2)", [root, now]);
        for (const uid of identities) await rows.query(identityRow, [uid, now]);
        for (const uid of roles)
          await rows.query(`insert into roles (uid, name, capabilities, create_time, update_time) values ($1, 'r', '["CAP_REPO_LIST"]', $2, $2)`, [uid, now]);
      });
      const tokens: Downscoping[] = identities.flatMap((uid) => [
        { uid, capabilities: undefined, scopes: undefined },
        { uid, capabilities: ["repo.list"], scopes: undefined },
        { uid, capabilities: ["repo.list", "groups.list"], scopes: [folder] },
      ]);
      const caches = [openRightsCache(store.read), openRightsCache(store.read)];
      const check = async (cache: RightsCache): Promise<void> => {
        await Promise.all(
          tokens.map(async (token) => {
            const fresh = await loadRights(store.read, token.uid, Date.now());
            assert.deepEqual(shown(await asServed(cache, token)), shown(fresh && downscope(fresh, token)));
          }),
        );
      };
      for (const cache of caches) await check(cache);
      for (const [number, each] of history.entries()) {
        await store.write(async (rows) => {
          const binding =
            "role" in each && "path" in each
              ? [
                  `${paths[each.path]}/${(each.identity * 16 + each.role).toString(16).padStart(16, "f")}`,
                  identities[each.identity] ?? "",
                  roles[each.role] ?? "",
                ]
              : [];
          if (each.kind === "bind")
            await rows.query(
              "insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time) values ($1, $2, $3, $4, $4) on conflict do nothing",
              [...binding, now],
            );
          else if (each.kind === "unbind") await rows.query("delete from role_bindings where uid = $1", binding.slice(0, 1));
          else if (each.kind === "role")
            await rows.query("update roles set capabilities = $2::jsonb where uid = $1", [roles[each.role] ?? "", JSON.stringify(each.capabilities)]);
          else if (each.kind === "restore") await rows.query(identityRow, [identities[each.identity] ?? "", now]);
          else {
            await rows.query("delete from role_bindings where identity_uid = $1", [identities[each.identity] ?? ""]);
            await rows.query("delete from identities where uid = $1", [identities[each.identity] ?? ""]);
          }
        });
        // One server is queried after every step, the other after some, so its entries are older.
        await check(caches[0] ?? assert.fail());
        if (number % 3 === 2) await check(caches[1] ?? assert.fail());
      }
      for (const cache of caches) await check(cache);
    }),
    { numRuns: runs(15) },
  );
});

test("an identity of a group has no permissions above or outside it, whatever bindings the table has", async () => {
  const root = newRoot();
  const [folder, beside] = [child(root, 1), child(root, 2)];
  const uid = child(folder, 3);
  await store.write(async (rows) => {
    await rows.query("insert into groups (uid, name, create_time, update_time) values ($1, $1, $2, $2)", [root, now]);
    await rows.query("insert into identities (uid, name, create_time, update_time) values ($1, 'i', $2, $2)", [uid, now]);
    await rows.query(`insert into roles (uid, name, capabilities, create_time, update_time) values ($1, 'r', '["CAP_REPO_LIST"]', $2, $2)`, [
      child(root, 4),
      now,
    ]);
    for (const [number, path] of [root, beside, folder, child(folder, 9)].entries()) {
      await rows.query("insert into role_bindings (uid, identity_uid, role_uid, create_time, update_time) values ($1, $2, $3, $4, $4)", [
        child(path, 50 + number),
        uid,
        child(root, 4),
        now,
      ]);
    }
  });
  assert.deepEqual(shown(await loadRights(store.read, uid, Date.now())), [`${folder} repo.list`, `${child(folder, 9)} repo.list`]);
  assert.equal(await loadRights(store.read, child(folder, 77), Date.now()), undefined);
});
