// Attack 342: reading names of repositories through the catalog that the caller cannot list.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { limits } from "#base/limits.ts";
import { text } from "#base/json.ts";
import { errorsIn, openRegistry, type RegistryClient } from "../registry.ts";
import { askRegistryToken, challengeIn, registryToken } from "../registry-token.ts";
import { plant } from "../told.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const group = async (name: string, parent = ""): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

const identityIn = async (place: string, ...bindings: readonly (readonly [string, string])[]): Promise<string> => {
  const identity = { name: "robot", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity }), "uid");
  for (const [parent, role] of bindings)
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid: uid, roleUid: builtInRoleUid(role) } });
  return world.token(uid);
};

interface CatalogPage {
  readonly repositories: readonly string[];
  readonly next: string | undefined;
}

const read = async (client: RegistryClient, path: string): Promise<CatalogPage> => {
  const answer = await client.send("GET", path);
  const body = await answer.text();
  assert.equal(answer.status, 200, body);
  const [, next] = /^<(.+)>; rel="next"$/.exec(answer.headers.get("link") ?? "") ?? [];
  return { repositories: (JSON.parse(body) as CatalogPage).repositories, next };
};

/** Follows the links. */
const whole = async (client: RegistryClient, path = "_catalog"): Promise<string[]> => {
  const all: string[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page: CatalogPage = await read(client, next);
    all.push(...page.repositories);
    next = page.next;
  }
  return all;
};

const clientOf = (token: string): RegistryClient => openRegistry(world.url, `Bearer ${token}`);

test("attack 342: the catalog has exactly the repositories that the caller can list, in pages of every size", async () => {
  const [ours, theirs] = [await group("catalog-ours"), await group("catalog-theirs")];
  const team = await group("team", ours);
  const [owner, other] = [clientOf(await identityIn(ours, [ours, "owner"])), clientOf(await identityIn(theirs, [theirs, "owner"]))];
  const member = clientOf(await identityIn(ours, [team, "registry.pull"]));
  const names = Array.from({ length: 7 }, (_, index) => `catalog-ours/${index % 2 === 0 ? "" : "team/"}app${index}`);
  for (const name of names) await owner.pushImage(name, "1");
  await other.pushImage("catalog-theirs/secret", "1");
  await world.ok("registry.ReposService/CreateRepo", { parent: ours, repo: { name: "no name" } });
  const all = await whole(owner);
  const [unnamed = "", ...more] = all.filter((name) => !names.includes(name));
  assert.deepEqual([all.filter((name) => name !== unnamed).sort(), more], [[...names].sort(), []]);
  assert.ok(unnamed.startsWith(ours), "a repo whose name clients cannot write has its uid");
  assert.deepEqual((await whole(member)).sort(), names.filter((name) => name.includes("/team/")).sort());
  assert.deepEqual(await whole(other), ["catalog-theirs/secret"]);
  assert.deepEqual(await whole(clientOf(await identityIn(ours))), []);
  for (const n of [1, 2, 3, 7, 8, 9, 100_000]) assert.deepEqual(await whole(owner, `_catalog?n=${n}`), all, `n=${n}`);
  // A name of the list is a start too, and a deleted repository does not end the links.
  const page = await read(owner, "_catalog?n=3");
  assert.deepEqual(await whole(owner, `_catalog?last=${page.repositories.at(-1)}`), all.slice(3));
  const uid = new URLSearchParams(page.next?.split("?")[1]).get("last") ?? "";
  await world.ok("registry.ReposService/DeleteRepo", { uid });
  assert.deepEqual(await whole(owner, page.next), all.slice(3));
  assert.deepEqual(await read(owner, "_catalog?n=0"), { repositories: [], next: undefined });
  const said = new Set<string>();
  for (const last of ["catalog-theirs/secret", "catalog-theirs/absent", "absent", "UPPER", "%2E%2E/x", "a".repeat(300)]) {
    const answer = await owner.send("GET", `_catalog?last=${last}`);
    assert.equal(answer.status, 400, last);
    if (last.startsWith("catalog-theirs")) said.add(await answer.text());
  }
  assert.equal(said.size, 1, "a hidden repository is like an absent one");
  for (const n of ["x", "-1", "1.5", "1e3"]) assert.deepEqual(await errorsIn(await owner.send("GET", `_catalog?n=${n}`)), ["PAGINATION_NUMBER_INVALID"], n);
  assert.equal((await owner.send("DELETE", "_catalog")).status, 405);
});

test("attack 342: a registry token lists repositories only with the scope registry:catalog:*, and then as many as its owner", async () => {
  const ours = await group("catalog-tokens");
  const access = await identityIn(ours, [ours, "registry.push"]);
  const owner = clientOf(access);
  for (const name of ["one", "two"]) await owner.pushImage(`catalog-tokens/${name}`, "1");
  const anonymous = openRegistry(world.url, "");
  const challenged = await anonymous.send("GET", "_catalog");
  assert.deepEqual([challenged.status, challengeIn(challenged).scope], [401, "registry:catalog:*"]);
  const nobody = openRegistry(world.url, `Bearer ${await registryToken(world.url, "", "registry:catalog:*")}`);
  assert.equal((await nobody.send("GET", "_catalog")).status, 401);
  for (const scope of [
    "repository:catalog-tokens/one:pull,push,delete",
    "registry:catalog:pull",
    "registry:catalog",
    "registry:other:*",
    "repository:catalog:*",
  ]) {
    const refused = await clientOf(await registryToken(world.url, access, scope)).send("GET", "_catalog");
    const { scope: needed, error } = challengeIn(refused);
    assert.deepEqual([refused.status, needed, error], [401, "registry:catalog:*", "insufficient_scope"], scope);
  }
  const listing = clientOf(await registryToken(world.url, access, "registry:catalog:*"));
  assert.deepEqual((await whole(listing)).sort(), ["catalog-tokens/one", "catalog-tokens/two"]);
  assert.equal((await listing.send("GET", "catalog-tokens/one/tags/list")).status, 401, "the scope permits nothing else");
  const both = clientOf(await registryToken(world.url, access, "registry:catalog:* repository:catalog-tokens/one:pull"));
  assert.equal((await whole(both)).length, 2);
  assert.equal((await both.send("GET", "catalog-tokens/one/tags/list")).status, 200);
  assert.equal((await both.send("GET", "catalog-tokens/two/tags/list")).status, 401);
  const narrow = await world.token(JSON.parse(Buffer.from(access.split(".")[1] ?? "", "base64url").toString()).sub, { capabilities: ["manifest.list"] });
  assert.deepEqual(await whole(clientOf(await registryToken(world.url, narrow, "registry:catalog:*"))), [], "nor more than the token for which it was issued");
  assert.equal((await askRegistryToken(world.url, access, ["registry:catalog:*"])).status, 200);
  assert.equal(
    (await fetch(`${world.url}/registry/v2/repos`, { headers: { authorization: `Bearer ${await registryToken(world.url, access, "registry:catalog:*")}` } }))
      .status,
    401,
  );
});

test("a page of the catalog is read by ranges of the primary key, for one grant and for a hundred", async () => {
  const ours = await group("catalog-plan");
  const { store } = world.server.application.services;
  const child = (index: number): string => `${ours}/${index.toString(16).padStart(16, "0")}`;
  await store.write(async (rows) => {
    await plant(rows);
    await rows.query(
      `insert into groups (uid, name, create_time, update_time)
       select $1 || '/' || lpad(to_hex(n), 16, '0'), 'g' || n, now(), now() from generate_series(1, 2000) as each(n)`,
      [ours],
    );
    await rows.query(
      `insert into repos (uid, name, create_time, update_time)
       select $1 || '/' || lpad(to_hex(n % 2000 + 1), 16, '0') || '/' || lpad(to_hex(n), 16, '0'), 'r' || n, now(), now()
       from generate_series(1, 20000) as each(n)`,
      [ours],
    );
  });
  const scattered = await identityIn(ours, ...Array.from({ length: 100 }, (_, index) => [child(index * 20 + 1), "registry.pull"] as const));
  assert.equal((await whole(clientOf(scattered))).length, 1_000);
  const owner = clientOf(await identityIn(ours, [ours, "owner"]));
  assert.equal((await read(owner, "_catalog")).repositories.length, limits.catalogNamesMax);
  const read_ = async (): Promise<number> => {
    await store.read.query("select pg_stat_force_next_flush()");
    const [[tuples] = []] = await store.read.query("select seq_tup_read from pg_stat_user_tables where relname = 'repos'");
    return Number(tuples);
  };
  const before = await read_();
  await read(owner, "_catalog?n=50");
  await read(clientOf(scattered), "_catalog?n=50");
  assert.ok((await read_()) - before < 20_000, "no page reads the whole table");
});
