// Pushes to paths without a repo (docs/decisions/0069): unfinished ones leave nothing, and the first manifest gets everything pushed before
// it.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { listQuotas, readSettings } from "#application";
import { silent } from "#base/log.ts";
import { limits } from "#base/limits.ts";
import { type JsonObject, text } from "#base/json.ts";
import { collect, openCollection } from "#registry/collection";
import { ownerUrlOf } from "../database.ts";
import { digestOf } from "../distribution.ts";
import { shortOrLong } from "../length.ts";
import { accessIn, registryToken } from "../registry-token.ts";
import { configType, descriptor, errorsIn, imageManifest, imageType, layerType, openRegistry, type RegistryClient } from "../registry.ts";
import { type Installation, openInstallation } from "../story/installation.ts";
import { items } from "../story/protocols.ts";
import type { World } from "../world.ts";

let installation: Installation;
let world: World;
before(async () => {
  installation = await openInstallation();
  ({ world } = installation);
});
after(() => installation?.close());

interface Tenant {
  readonly uid: string;
  readonly token: () => Promise<string>;
  readonly client: RegistryClient;
}

const identityIn = async (place: string, role: string): Promise<{ readonly uid: string; readonly binding: string }> => {
  const identity = { name: "robot", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity }), "uid");
  const roleBinding = { identityUid: uid, roleUid: builtInRoleUid(role) };
  return { uid, binding: text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding }), "uid") };
};

/** Returns a client with a token that outlasts clock changes. */
const clientOf = (token: () => Promise<string>): RegistryClient => {
  const send: RegistryClient["send"] = async (verb, path, request) => openRegistry(world.url, `Bearer ${await token()}`).send(verb, path, request);
  const with_ = async () => openRegistry(world.url, `Bearer ${await token()}`);
  return {
    send,
    pushBlob: async (...given) => (await with_()).pushBlob(...given),
    pushManifest: async (...given) => (await with_()).pushManifest(...given),
    pushImage: async (...given) => (await with_()).pushImage(...given),
  };
};

const tenant = async (name: string): Promise<Tenant> => {
  const uid = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const owner = await identityIn(uid, "owner");
  const token = () => world.token(owner.uid);
  return { uid, token, client: clientOf(token) };
};

const groupsOf = async ({ uid, token }: Tenant): Promise<string[]> =>
  items(await world.ok("iam.GroupsService/ListGroups", { uidp: { descendantsOf: uid } }, { token: await token() }), "groups")
    .map((each) => text(each, "name"))
    .sort();
const reposOf = async ({ uid, token }: Tenant): Promise<JsonObject[]> =>
  items(await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: uid } }, { token: await token() }), "repos");

const usedBytes = async ({ uid }: Tenant): Promise<number | undefined> => {
  const settings = readSettings({ ...installation.environment, GANTRY_MIGRATE_URL: ownerUrlOf(world.databaseUrl) });
  const quotas = await listQuotas({ settings, publicUrl: world.url, log: silent, progress: () => {} }, uid);
  return quotas.find(({ name }) => name === "blob-bytes")?.used;
};

const rowsOf = async (table: string, where = "true"): Promise<number> =>
  Number((await world.server.application.services.store.read.query(`select count(*) from ${table} where ${where}`))[0]?.[0]);

const begin = async (client: RegistryClient, repo: string): Promise<string> => {
  const begun = await client.send("POST", `${repo}/blobs/uploads/`);
  assert.equal(begun.status, 202, await begun.text());
  return begun.headers.get("location") ?? "";
};

const put = (client: RegistryClient, repo: string, tag: string, manifest: JsonObject) =>
  client.send("PUT", `${repo}/manifests/${tag}`, { body: JSON.stringify(manifest), headers: { "content-type": imageType } });

const config = JSON.stringify({ os: "linux", architecture: "arm64", rootfs: { type: "layers", diff_ids: [] } });

test("blobs pushed to a mistyped path leave no group, repo or event, count in the quota, and expire after 24 hours", async () => {
  const acme = await tenant("typo");
  await acme.client.pushImage("typo/base", "1", { layer: "mounted" });
  const [used, events] = [await usedBytes(acme), (await world.events()).length];
  const repo = "typo/taem/app";
  const digest = await acme.client.pushBlob(repo, "a layer of ten thousand bytes".padEnd(10_000));
  assert.equal((await acme.client.send("POST", `${repo}/blobs/uploads/?digest=${digestOf("whole")}`, { body: "whole" })).status, 201);
  assert.equal((await acme.client.send("POST", `${repo}/blobs/uploads/?mount=${digestOf("mounted")}&from=typo/base`)).status, 201);
  const upload = await begin(acme.client, repo);
  assert.equal((await acme.client.send("PATCH", upload, { body: "half" })).status, 202);
  assert.equal((await acme.client.send("HEAD", `${repo}/blobs/${digest}`)).status, 200, "clients ask for what they have pushed");
  const missing = imageManifest(config, "never pushed");
  assert.deepEqual(await errorsIn(await put(acme.client, repo, "1", missing)), ["MANIFEST_BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN"]);
  assert.deepEqual([await groupsOf(acme), (await reposOf(acme)).map(({ name }) => name)], [[], ["base"]]);
  assert.equal((await world.events()).length, events);
  assert.equal(await usedBytes(acme), (used ?? 0) + 10_005);
  for (const path of ["tags/list", "manifests/1"]) assert.deepEqual(await errorsIn(await acme.client.send("GET", `${repo}/${path}`)), ["NAME_UNKNOWN"], path);
  world.clock.now += limits.pendingKeptMs - 60_000;
  for await (const _ of collect(world.server.application.services));
  assert.equal((await acme.client.send("GET", `${repo}/blobs/${digest}`)).status, 200);
  world.clock.now += 120_000;
  // The scan that every server runs three times an hour.
  const turn = openCollection(world.server.application.services);
  while (await turn());
  assert.deepEqual(await errorsIn(await acme.client.send("GET", `${repo}/blobs/${digest}`)), ["NAME_UNKNOWN"]);
  assert.equal((await acme.client.send("GET", upload)).status, 404);
  assert.equal(await usedBytes(acme), used);
  assert.deepEqual([await rowsOf("pending_repos"), await rowsOf("uploads")], [0, 0]);
});

test("the first manifest creates the repo and finds every earlier blob, however it was pushed", async () => {
  const acme = await tenant("first");
  const { client } = acme;
  await client.pushImage("first/base", "1", { layer: "a mounted layer" });
  const repo = "first/team/deep/app";
  assert.equal((await client.send("POST", `${repo}/blobs/uploads/?digest=${digestOf(config)}`, { body: config })).status, 201);
  await client.pushBlob(repo, "in pieces");
  assert.equal((await client.send("POST", `${repo}/blobs/uploads/?mount=${digestOf("a mounted layer")}&from=first/base`)).status, 201);
  const begun = await begin(client, repo);
  assert.equal((await client.send("PATCH", begun, { body: "begun before " })).status, 202);
  const manifest = { ...imageManifest(config, "in pieces"), layers: ["in pieces", "a mounted layer"].map((layer) => descriptor(layerType, layer)) };
  const used = await usedBytes(acme);
  assert.equal((await put(client, repo, "1", manifest)).status, 201);
  assert.equal(await usedBytes(acme), used, "what was pending is not counted again");
  assert.deepEqual(await groupsOf(acme), ["deep", "team"]);
  for (const blob of [config, "in pieces", "a mounted layer"]) assert.equal((await client.send("GET", `${repo}/blobs/${digestOf(blob)}`)).status, 200, blob);
  assert.equal((await client.send("PUT", `${begun}?digest=${digestOf("begun before and ended after")}`, { body: "and ended after" })).status, 201);
  assert.equal((await client.send("GET", `${repo}/blobs/${digestOf("begun before and ended after")}`)).status, 200);
  // The configuration was read while pending.
  const [[platform] = []] = await world.server.application.services.store.read.query("select os || '/' || architecture from manifests where digest = $1", [
    digestOf(JSON.stringify(manifest)),
  ]);
  assert.equal(platform, "linux/arm64");
  assert.equal(await rowsOf("pending_repos", "repo_uid is null"), 0);
});

test("concurrent pushes of one new path all succeed, and their uploads continue after the first manifest", async () => {
  const acme = await tenant("together");
  const second = clientOf(
    (
      (uid) => () =>
        world.token(uid)
    )((await identityIn(acme.uid, "registry.push")).uid),
  );
  for (let round = 0; round < shortOrLong(4, 40); round++) {
    const repo = `together/g${round}/app`;
    const pushes = [acme.client, second, acme.client].map((client, number) =>
      client.pushImage(repo, `t${number}`, { layer: `layer ${number} of ${round}`, architecture: `a${number}` }),
    );
    const slow = (async () => {
      let go = (): void => {};
      const pushed = new Promise<void>((resolve) => (go = resolve));
      const upload = await begin(second, repo);
      const body = ReadableStream.from(
        (async function* () {
          yield Buffer.from("slow ");
          await pushed;
          yield Buffer.from("end");
        })(),
      );
      const ended = second.send("PUT", `${upload}?digest=${digestOf("slow end")}`, { body });
      await Promise.all(pushes);
      go();
      const answer = await ended;
      assert.equal(answer.status, 201, await answer.text());
    })();
    await Promise.all([...pushes, slow]);
    assert.equal((await acme.client.send("GET", `${repo}/blobs/${digestOf("slow end")}`)).status, 200);
    for (const number of [0, 1, 2]) assert.equal((await acme.client.send("GET", `${repo}/manifests/t${number}`)).status, 200);
  }
  assert.equal((await reposOf(acme)).length, shortOrLong(4, 40));
});

test("a push continues if another one creates a group of its path, or if the repo is created over the API", async () => {
  const acme = await tenant("between");
  const { client } = acme;
  await client.pushBlob("between/team/one", config);
  await client.pushBlob("between/team/one", "a layer");
  await client.pushImage("between/team/two", "1");
  const manifest = imageManifest(config, "a layer");
  assert.equal((await client.send("GET", `between/team/one/blobs/${digestOf(config)}`)).status, 200);
  assert.equal((await put(client, "between/team/one", "1", manifest)).status, 201);
  const upload = await begin(client, "between/team/three");
  await client.pushBlob("between/team/three", config);
  const [team] = items(await world.ok("iam.GroupsService/ListGroups", { name: "team", uidp: { descendantsOf: acme.uid } }), "groups");
  await world.ok("registry.ReposService/CreateRepo", { parent: text(team ?? {}, "uid"), repo: { name: "three" } }, { token: await acme.token() });
  assert.equal((await client.send("PUT", `${upload}?digest=${digestOf("a layer")}`, { body: "a layer" })).status, 201);
  assert.equal((await put(client, "between/team/three", "1", manifest)).status, 201);
});

test("a registry token pushes a new path completely, whether requested before the first blob or before the manifest", async () => {
  const acme = await tenant("scoped");
  const password = await acme.token();
  for (const [number, renewed] of [false, true].entries()) {
    const repo = `scoped/team${number}/app`;
    const scope = `repository:${repo}:pull,push`;
    const withToken = async () => openRegistry(world.url, `Bearer ${await registryToken(world.url, password, scope)}`);
    const first = await withToken();
    for (const blob of [config, "a layer"]) {
      assert.equal((await first.send("HEAD", `${repo}/blobs/${digestOf(blob)}`)).status, 404);
      await first.pushBlob(repo, blob);
      assert.equal((await first.send("HEAD", `${repo}/blobs/${digestOf(blob)}`)).status, 200);
    }
    const pullOnly = await registryToken(world.url, password, `repository:${repo}:pull`);
    assert.deepEqual(accessIn(pullOnly), [], "nothing is there to pull");
    const last = renewed ? await withToken() : first;
    assert.equal((await last.send("HEAD", `${repo}/blobs/${digestOf(config)}`)).status, 200);
    assert.equal((await put(last, repo, "1", imageManifest(config, "a layer"))).status, 201);
    assert.equal((await last.send("GET", `${repo}/manifests/1`)).status, 200);
  }
});

test("permissions apply when the manifest is pushed: without them nothing is created, and pending content is hidden", async () => {
  const acme = await tenant("live");
  const robot = await identityIn(acme.uid, "registry.push");
  const client = clientOf(() => world.token(robot.uid));
  for (const blob of [config, "a layer"]) await client.pushBlob("live/app", blob);
  const upload = await begin(client, "live/app");
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: robot.binding });
  assert.deepEqual(await errorsIn(await put(client, "live/app", "1", imageManifest(config, "a layer"))), ["NAME_UNKNOWN"]);
  assert.deepEqual(await errorsIn(await client.send("GET", `live/app/blobs/${digestOf(config)}`)), ["NAME_UNKNOWN"]);
  assert.equal((await client.send("PATCH", upload, { body: "more" })).status, 404);
  assert.deepEqual(await reposOf(acme), []);
  assert.equal((await put(acme.client, "live/app", "1", imageManifest(config, "a layer"))).status, 201, "the owner may still complete it");
});

test("a manifest with wrong blob sizes is refused", async () => {
  const { client } = await tenant("sizes");
  for (const blob of [config, "a layer"]) await client.pushBlob("sizes/app", blob);
  const right = imageManifest(config, "a layer");
  for (const wrong of [
    { ...right, config: { ...descriptor(configType, config), size: 1 } },
    { ...right, layers: [{ ...descriptor(layerType, "a layer"), size: 8 }] },
    { ...right, layers: [descriptor(layerType, "a layer"), { ...descriptor(layerType, "a layer"), size: 0 }] },
  ]) {
    const refused = await put(client, "sizes/app", "1", wrong);
    assert.deepEqual([refused.status, await errorsIn(refused)], [400, ["MANIFEST_INVALID"]]);
  }
  assert.equal((await client.send("GET", "sizes/app/manifests/1")).status, 404);
  assert.equal((await put(client, "sizes/app", "1", right)).status, 201);
});

test("concurrent deletion of a blob and push of a manifest that needs it end in a complete image or in neither", async () => {
  const { client } = await tenant("race");
  const repo = "race/app";
  await client.pushImage(repo, "base");
  for (let round = 0; round < shortOrLong(30, 200); round++) {
    const layer = `layer ${round}`;
    for (const blob of [config, layer]) await client.pushBlob(repo, blob);
    const [pushed, deleted] = await Promise.all([
      put(client, repo, `t${round}`, imageManifest(config, layer)),
      client.send("DELETE", `${repo}/blobs/${digestOf(layer)}`),
    ]);
    const outcome = [pushed.status, deleted.status];
    if (pushed.status === 201) assert.deepEqual([outcome, await errorsIn(deleted)], [[201, 403], ["DENIED"]]);
    else assert.deepEqual([outcome, await errorsIn(pushed)], [[400, 202], ["MANIFEST_BLOB_UNKNOWN"]]);
    assert.equal((await client.send("GET", `${repo}/blobs/${digestOf(layer)}`)).status, pushed.status === 201 ? 200 : 404);
  }
});
