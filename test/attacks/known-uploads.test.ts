// Attack 393: pushing by what a server remembers of a repo, a role binding or an upload that have changed meanwhile.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { removeLeftContents } from "#registry/collection";
import { endWriting, findKnownRepo, findKnownUpload, isWritten, keepRepo, keepUpload } from "../../server/registry/resources/distribution/known-uploads.ts";
import { digestOf } from "../distribution.ts";
import { errorsIn, imageType, openRegistry, type RegistryClient } from "../registry.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());
const owner = openRegistry(world.url, `Bearer ${await world.token()}`);
const repo = "first-organization/team/app";
await owner.pushImage(repo, "1");

const pusher = async (): Promise<RegistryClient & { readonly revoke: () => Promise<unknown> }> => {
  const identity = { name: "pusher", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  const roleBinding = { identityUid: uid, roleUid: builtInRoleUid("registry.push") };
  const binding = text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding }), "uid");
  const revoke = () => world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
  return { ...openRegistry(world.url, `Bearer ${await world.token(uid)}`), revoke };
};

/** Changes the permissions of the organization, and not those of the pusher. */
const changePermissions = (): Promise<unknown> => pusher();

const start = async ({ send }: RegistryClient): Promise<string> => {
  const begun = await send("POST", `${repo}/blobs/uploads/`);
  assert.equal(begun.status, 202);
  return begun.headers.get("location") ?? "";
};

const idOf = (upload: string): string => upload.split("/").at(-1) ?? "";

/** Asserts that the blob storage has nothing that no row names. */
const assertNothingLeft = async (): Promise<void> => {
  const { services } = world.server.application;
  const { store, blobs } = services;
  const keys = async (table: string): Promise<string[]> => (await store.read.query(`select key from ${table}`)).map(([key]) => key ?? "");
  while ((await keys("blob_removals")).length > 0) await removeLeftContents(services);
  const named = new Set([...(await keys("blobs")), ...(await keys("uploads"))]);
  for await (const { key } of blobs.list()) assert.ok(named.has(key), key);
};

const has = async (bytes: string): Promise<boolean> => (await owner.send("HEAD", `${repo}/blobs/${digestOf(bytes)}`)).status === 200;

test("attack 393: a revoked role binding ends an upload at each of its requests, and nothing of it stays", async () => {
  const steps: Readonly<Record<string, (client: RegistryClient, upload: string, bytes: string) => Promise<Response>>> = {
    start: ({ send }) => send("POST", `${repo}/blobs/uploads/`),
    append: ({ send }, upload, body) => send("PATCH", upload, { body }),
    "finish with bytes": ({ send }, upload, body) => send("PUT", `${upload}?digest=${digestOf(body)}`, { body }),
    "one request": ({ send }, _, body) => send("POST", `${repo}/blobs/uploads/?digest=${digestOf(body)}`, { body }),
  };
  for (const [name, step] of Object.entries(steps)) {
    const client = await pusher();
    await client.pushBlob(repo, `before ${name}`);
    const upload = await start(client);
    await client.revoke();
    const answer = await step(client, upload, `revoked ${name}`);
    assert.ok([401, 403, 404].includes(answer.status), `${name}: ${answer.status}`);
    assert.equal(await has(`revoked ${name}`), false, name);
    assert.equal((await owner.send("GET", upload)).headers.get("range"), "0-0", name);
  }
  const client = await pusher();
  const upload = await start(client);
  assert.equal((await client.send("PATCH", upload, { body: "sent before" })).status, 202);
  await client.revoke();
  assert.ok([401, 403, 404].includes((await client.send("PUT", `${upload}?digest=${digestOf("sent before")}`)).status));
  assert.equal(await has("sent before"), false);
  assert.equal((await owner.send("PUT", `${upload}?digest=${digestOf("sent before")}`)).status, 201, "the upload goes on for others");
  await assertNothingLeft();
});

test("attack 393: other changes of permissions do not stop an upload, whose bytes are read once", async () => {
  const client = await pusher();
  const upload = await start(client);
  await changePermissions();
  assert.equal((await client.send("PATCH", upload, { body: "sent once" })).status, 202);
  await changePermissions();
  assert.equal((await client.send("PUT", `${upload}?digest=${digestOf("sent once")}`)).status, 201);
  const second = await start(client);
  await changePermissions();
  assert.equal((await client.send("PUT", `${second}?digest=${digestOf("with the end")}`, { body: "with the end" })).status, 201);
  await changePermissions();
  assert.equal((await client.send("POST", `${repo}/blobs/uploads/?digest=${digestOf("at once")}`, { body: "at once" })).status, 201);
  for (const bytes of ["sent once", "with the end", "at once"])
    assert.equal(await (await client.send("GET", `${repo}/blobs/${digestOf(bytes)}`)).text(), bytes);
  await assertNothingLeft();
});

test("attack 393: a push to a path goes to the repo that the path names now, not to a deleted one", async () => {
  const path = "first-organization/team/replaced";
  await owner.pushImage(path, "1");
  await owner.pushBlob(path, "of the first repo");
  const upload = (await owner.send("POST", `${path}/blobs/uploads/`)).headers.get("location") ?? "";
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "replaced" });
  const first = text((repos as JsonObject[])[0] ?? {}, "uid");
  await world.ok("registry.ReposService/DeleteRepo", { uid: first });
  await world.ok("registry.ReposService/CreateRepo", { parent: first.slice(0, first.lastIndexOf("/")), repo: { name: "replaced" } });
  assert.equal((await owner.send("POST", `${path}/blobs/uploads/?digest=${digestOf("of the second")}`, { body: "of the second" })).status, 201);
  assert.equal((await owner.send("HEAD", `${path}/blobs/${digestOf("of the second")}`)).status, 200);
  assert.equal((await owner.send("HEAD", `${path}/blobs/${digestOf("of the first repo")}`)).status, 404);
  assert.equal((await owner.send("PATCH", upload, { body: "late" })).status, 404);
});

/** Sends a body in two pieces; `release` sends the second one. */
const slowly = (upload: string, first: string, second: string): { readonly response: Promise<Response>; readonly release: () => void } => {
  let release = (): void => {};
  const waiting = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(first);
    await waiting;
    yield Buffer.from(second);
  }
  return { response: owner.send("PATCH", upload, { body: ReadableStream.from(pieces()) }), release };
};

test("attack 393: of two servers that append to one upload, one is acknowledged, and its bytes are stored", async () => {
  for (let round = 0; round < 20; round++) {
    const upload = await start(owner);
    const id = idOf(upload);
    const slow = slowly(upload, "slow ", String(round));
    while (!isWritten(id)) await new Promise((resolve) => setImmediate(resolve));
    // Another server does not know that this one writes.
    endWriting(id);
    const fast = await owner.send("PATCH", upload, { body: `fast ${round}` });
    slow.release();
    const [won, lost] = [fast, await slow.response];
    assert.deepEqual([won.status, lost.status], [202, 409]);
    assert.deepEqual(await errorsIn(lost), ["BLOB_UPLOAD_INVALID"]);
    assert.equal((await owner.send("PUT", `${upload}?digest=${digestOf(`slow ${round}`)}`)).status, 400, "the loser's digest");
    assert.equal((await owner.send("PUT", `${upload}?digest=${digestOf(`fast ${round}`)}`)).status, 201);
    assert.equal(await (await owner.send("GET", `${repo}/blobs/${digestOf(`fast ${round}`)}`)).text(), `fast ${round}`);
  }
  await assertNothingLeft();
});

test("attack 393: an upload that another server leases is neither appended to nor finished", async () => {
  const { store } = world.server.application.services;
  const lease = (upload: string) =>
    store.write((rows) => rows.query("update uploads set holder = 'other', hold_time = now() + interval '1 hour' where id = $1", [idOf(upload)]));
  const release = (upload: string) => store.write((rows) => rows.query("update uploads set holder = '' where id = $1", [idOf(upload)]));
  const upload = await start(owner);
  await lease(upload);
  assert.deepEqual(await errorsIn(await owner.send("PATCH", upload, { body: "leased" })), ["BLOB_UPLOAD_INVALID"]);
  await release(upload);
  assert.equal((await owner.send("PATCH", upload, { body: "leased" })).status, 202);
  await lease(upload);
  const put = () => owner.send("PUT", `${upload}?digest=${digestOf("leased")}`);
  assert.equal((await put()).status, 409);
  assert.equal(await has("leased"), false);
  await release(upload);
  assert.equal((await owner.send("PATCH", upload, { body: " and more", headers: { "content-range": "6-14" } })).status, 202, "finishing has not ended it");
  assert.equal((await owner.send("PUT", `${upload}?digest=${digestOf("leased and more")}`)).status, 201);
  assert.equal(await (await owner.send("GET", `${repo}/blobs/${digestOf("leased and more")}`)).text(), "leased and more");
  await assertNothingLeft();
});

test("attack 393: of two requests that finish one upload, each response is true and the blob is stored once", async () => {
  for (let round = 0; round < 20; round++) {
    const upload = await start(owner);
    const bytes = `finished twice ${round}`;
    assert.equal((await owner.send("PATCH", upload, { body: bytes })).status, 202);
    const put = () => owner.send("PUT", `${upload}?digest=${digestOf(bytes)}`).then(({ status }) => status);
    const statuses = (await Promise.all([put(), put()])).sort();
    assert.ok(["201,404", "201,409"].includes(statuses.join()), statuses.join());
    assert.equal(await (await owner.send("GET", `${repo}/blobs/${digestOf(bytes)}`)).text(), bytes);
  }
  await assertNothingLeft();
});

test("attack 393: of many pushes that create one tag at once, each is acknowledged, and the tag has one history", async () => {
  const digests = await Promise.all(["amd64", "arm64"].map((architecture) => owner.pushImage(repo, undefined, { architecture })));
  const manifests = await Promise.all(digests.map(async (digest) => (await owner.send("GET", `${repo}/manifests/${digest}`)).text()));
  const { store } = world.server.application.services;
  for (let round = 0; round < 5; round++) {
    const tag = `at-once-${round}`;
    const pushes = Array.from({ length: 8 }, (_, number) =>
      owner.send("PUT", `${repo}/manifests/${tag}`, { body: manifests[number % 2], headers: { "content-type": imageType } }),
    );
    assert.deepEqual([...new Set((await Promise.all(pushes)).map(({ status }) => status))], [201]);
    const [[uid = "", digest = ""] = [], ...more] = await store.read.query("select uid, digest from tags where name = $1", [tag]);
    assert.deepEqual(more, []);
    const { entries } = await world.ok("gantry.registry.v1.TagHistoryService/GetTagHistory", { tagUid: uid });
    const current = (entries as JsonObject[]).filter((entry) => text(entry, "endTime") === "");
    assert.deepEqual(
      current.map((entry) => text(entry, "digest")),
      [digest],
    );
  }
});

test("attack 393: an organization with many paths and uploads evicts its own from memory, and not those of others", async () => {
  const upload = await start(owner);
  const other = "f".repeat(40);
  const all = { key: "key", sizeBytes: 0, algorithm: "", digests: undefined };
  const count = Math.max(limits.pushedReposKept, limits.uploadDigestsMax) + 1;
  for (let number = 0; number < count; number++) {
    keepRepo(`other/${number}`, `${other}/${number}`);
    keepUpload(`other ${number}`, { ...all, repo: `${other}/${number}` });
  }
  assert.ok(findKnownRepo(repo), "the repo of the first organization");
  assert.ok(findKnownUpload(idOf(upload)), "its upload");
  assert.equal(findKnownRepo("other/0"), undefined);
  assert.equal(findKnownUpload("other 0"), undefined);
  assert.ok(findKnownRepo(`other/${count - 1}`));
  assert.equal((await owner.send("PATCH", upload, { body: "beside many" })).status, 202);
  assert.equal((await owner.send("PUT", `${upload}?digest=${digestOf("beside many")}`)).status, 201);
});
