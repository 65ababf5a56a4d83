// Attacks 300 to 305: paths that are pushed to and have no repo yet, and manifests with false claims.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { releaseName } from "#application";
import { builtInRoleUid } from "#authz";
import { limits } from "#base/limits.ts";
import { text } from "#base/json.ts";
import { registerPerson } from "../../server/application/person.ts";
import { digestOf } from "../distribution.ts";
import { descriptor, errorsIn, imageManifest, imageType, layerType, openRegistry, type RegistryClient } from "../registry.ts";
import { registryToken } from "../registry-token.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world?.close());

const config = JSON.stringify({ os: "linux", architecture: "amd64", rootfs: { type: "layers", diff_ids: [] } });

interface Member extends RegistryClient {
  readonly uid: string;
  readonly token: string;
}

const identityIn = async (place: string, role: string, home = place): Promise<Member> => {
  const identity = { name: "robot", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: home, identity }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding: { identityUid: uid, roleUid: builtInRoleUid(role) } });
  const token = await world.token(uid);
  return { uid, token, ...openRegistry(world.url, `Bearer ${token}`) };
};

const group = async (name: string, parent = ""): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

const begin = async (client: RegistryClient, repo: string): Promise<string> => {
  const begun = await client.send("POST", `${repo}/blobs/uploads/`);
  assert.equal(begun.status, 202, await begun.text());
  return begun.headers.get("location") ?? "";
};

const put = (client: RegistryClient, repo: string, manifest: object) =>
  client.send("PUT", `${repo}/manifests/1`, { body: JSON.stringify(manifest), headers: { "content-type": imageType } });

const query = (statement: string, values: readonly string[] = []) => world.server.application.services.store.read.query(statement, values);

const blobBytesOf = async (organization: string): Promise<number> =>
  Number((await query("select coalesce(sum(row_count), 0) from resource_counts where organization = $1 and resource = 'blob_bytes'", [organization]))[0]?.[0]);

/** Returns a response without its request-specific parts. */
const seenBy = async (client: RegistryClient, name: string, upload: string, blob: string): Promise<string[]> => {
  const answers = [];
  for (const [verb, path] of [
    ["GET", `blobs/${digestOf(blob)}`],
    ["HEAD", `blobs/${digestOf(blob)}`],
    ["DELETE", `blobs/${digestOf(blob)}`],
    ["GET", `blobs/uploads/${upload}`],
    ["PATCH", `blobs/uploads/${upload}`],
    ["PUT", `blobs/uploads/${upload}?digest=${digestOf("half")}`],
    ["DELETE", `blobs/uploads/${upload}`],
    ["POST", "blobs/uploads/"],
    ["GET", "tags/list"],
  ] as const) {
    const answer = await client.send(verb, `${name}/${path}`);
    const headers = Object.fromEntries([...answer.headers].filter(([key]) => !["date", "x-request-id"].includes(key)));
    answers.push(JSON.stringify([verb, path, answer.status, headers, await answer.text()]).replaceAll(name, "NAME"));
  }
  return answers;
};

test("attack 300: another tenant, or a member without create permission, cannot see, change, complete or mount a pending upload", async () => {
  const ours = await group("pending-ours");
  const [owner, reader] = [await identityIn(ours, "owner"), await identityIn(ours, "registry.pull")];
  const team = await group("team", ours);
  const below = await identityIn(team, "registry.push");
  const theirs = await identityIn(await group("pending-theirs"), "owner");
  const [repo, secret] = ["pending-ours/app", "a pending secret"];
  for (const blob of [config, secret]) await owner.pushBlob(repo, blob);
  const upload = (await begin(owner, repo)).split("/").at(-1) ?? "";
  assert.equal((await owner.send("PATCH", `${repo}/blobs/uploads/${upload}`, { body: "half" })).status, 202);
  for (const client of [theirs, reader, below]) {
    const absent = await seenBy(client, "pending-ours/absent", upload, secret);
    assert.deepEqual(await seenBy(client, repo, upload, secret), absent);
    assert.ok(
      absent.every((each) => each.includes(",404,")),
      absent.join("\n"),
    );
    assert.deepEqual(await errorsIn(await put(client, repo, imageManifest(config, secret))), ["NAME_UNKNOWN"]);
  }
  await below.pushImage("pending-ours/team/own", "1");
  await theirs.pushImage("pending-theirs/own", "1");
  for (const [client, target] of [
    [theirs, "pending-theirs/own"],
    [below, "pending-ours/team/own"],
    [owner, "pending-ours/team/own"],
  ] as const)
    for (const from of ["", `&from=${repo}`])
      assert.equal((await client.send("POST", `${target}/blobs/uploads/?mount=${digestOf(secret)}${from}`)).status, 202, target + from);
  // The owner started it before the group existed; a member of the group requests it.
  const early = "pending-ours/late/app";
  await owner.pushBlob(early, secret);
  const inLate = await identityIn(await group("late", ours), "registry.push");
  assert.equal((await inLate.send("GET", `${early}/blobs/${digestOf(secret)}`)).status, 404);
  await begin(inLate, early);
  assert.equal((await inLate.send("GET", `${early}/blobs/${digestOf(secret)}`)).status, 404, "what the member has begun is another pending path");
  assert.equal((await owner.send("GET", `${repo}/blobs/uploads/${upload}`)).headers.get("range"), "0-3", "nothing of it has changed");
  assert.equal((await put(owner, repo, imageManifest(config, secret))).status, 201);
});

test("attack 301: mistyped pushes are bounded in paths and quota bytes, hinder no other tenant, and expire after a day", async () => {
  const ours = await group("pending-loop");
  const pusher = await identityIn(ours, "registry.push");
  const neighbour = await identityIn(await group("pending-next"), "registry.push");
  await pusher.pushBlob("pending-loop/first", "x".repeat(5000));
  assert.equal(await blobBytesOf(ours), 5000);
  const now = new Date(world.clock.now).toISOString();
  await world.server.application.services.store.write((rows) =>
    rows.query(
      `insert into pending_repos (uid, group_uid, path, create_time, update_time)
       select $1 || '/' || lpad(to_hex(n), 16, '0'), $1, 'pending-loop/typo-' || n, $2, $2 from generate_series(2, $3::integer) as n`,
      [ours, now, String(limits.pendingReposEach)],
    ),
  );
  const refused = await pusher.send("POST", "pending-loop/one-more/blobs/uploads/");
  assert.equal(refused.status, 403, "a client does not try that again");
  assert.match(await refused.text(), /DENIED.*expire after 24 hours/);
  assert.equal((await pusher.send("POST", "pending-loop/first/blobs/uploads/")).status, 202, "what was begun goes on");
  await pusher.pushManifest("pending-loop/whole", undefined, { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [] });
  await neighbour.pushImage("pending-next/app", "1");
  world.clock.now += limits.pendingKeptMs + 60_000;
  const { collect } = await import("#registry/collection");
  for await (const _ of collect(world.server.application.services));
  assert.equal(await blobBytesOf(ours), 0);
  const again = openRegistry(world.url, `Bearer ${await world.token(pusher.uid)}`);
  assert.equal((await again.send("POST", "pending-loop/one-more/blobs/uploads/")).status, 202);
});

test("attack 302: deleting a group removes its pending uploads, even during a request, and a new group of its name gets none", async () => {
  const ours = await group("pending-gone");
  const owner = openRegistry(world.url, `Bearer ${(await identityIn(ours, "owner")).token}`);
  const team = await group("team", ours);
  const repo = "pending-gone/team/app";
  for (const blob of [config, "their layer"]) await owner.pushBlob(repo, blob);
  const upload = await begin(owner, repo);
  let go = (): void => {};
  let came = (): void => {};
  const deleted = new Promise<void>((resolve) => (go = resolve));
  const coming = new Promise<void>((resolve) => (came = resolve));
  const body = ReadableStream.from(
    (async function* () {
      yield Buffer.from("under ");
      came();
      await deleted;
      yield Buffer.from("way");
    })(),
  );
  const finish = owner.send("PUT", `${upload}?digest=${digestOf("under way")}`, { body });
  await coming;
  const isHeld = async (): Promise<boolean> =>
    (await query("select 1 from uploads where id = $1 and holder <> ''", [upload.split("/").at(-1) ?? ""])).length > 0;
  while (!(await isHeld())) await new Promise((resolve) => setImmediate(resolve));
  await world.ok("iam.GroupsService/DeleteGroup", { uid: team });
  go();
  assert.equal((await finish).status, 404);
  assert.equal(await blobBytesOf(ours), 0);
  const again = await identityIn(await group("team", ours), "owner");
  assert.deepEqual(await errorsIn(await again.send("GET", `${repo}/blobs/${digestOf("their layer")}`)), ["NAME_UNKNOWN"]);
  assert.deepEqual(await errorsIn(await put(again, repo, imageManifest(config, "their layer"))), ["MANIFEST_BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN"]);
  for (const table of ["pending_repos", "uploads", "repo_blobs"]) {
    const column = table === "pending_repos" ? "uid" : "repo_uid";
    assert.equal((await query(`select 1 from ${table} where starts_with(${column}, $1)`, [`${team}/`])).length, 0, table);
  }
});

test("attack 303: a tenant that takes a name gets nothing that was pending under it, nor the rest of a running push", async () => {
  const { kernel } = world.server.application;
  const user = await registerPerson(kernel, { issuer: "https://people.example.com", subject: "user", email: "user@example.com", name: "" });
  const [honest, taker] = [await group("pending-honest"), await group("pending-taker")];
  for (const place of [honest, taker]) {
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding: { identityUid: user, roleUid: builtInRoleUid("owner") } });
    await world.ok("gantry.memberships.v1.MembershipsService/AcceptMembership", { group: place }, { token: await world.token(user) });
  }
  // A member of both organizations, so permissions alone would let the push continue.
  const client = openRegistry(world.url, `Bearer ${await world.token(user)}`);
  const repo = "pending-honest/app";
  for (const blob of [config, "an honest layer"]) await client.pushBlob(repo, blob);
  const upload = await begin(client, repo);
  const token = await registryToken(world.url, await world.token(user), `repository:${repo}:pull,push`);
  const rename = (uid: string, name: string) => world.ok("iam.GroupsService/UpdateGroup", { group: { uid, name }, updateMask: "name" });
  await rename(honest, "pending-moved");
  await releaseName(kernel, "pending-honest").catch(() => {});
  await rename(taker, "pending-honest");
  const takers = await identityIn(taker, "owner");
  for (const each of [takers, client]) {
    assert.deepEqual(await errorsIn(await each.send("GET", `${repo}/blobs/${digestOf("an honest layer")}`)), ["NAME_UNKNOWN"]);
    assert.equal((await each.send("PATCH", upload, { body: "more" })).status, 404);
    assert.deepEqual(await errorsIn(await put(each, repo, imageManifest(config, "an honest layer"))), ["MANIFEST_BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN"]);
  }
  const scoped = openRegistry(world.url, `Bearer ${token}`);
  assert.equal((await put(scoped, repo, imageManifest(config, "an honest layer"))).status, 404, "nothing is there that the token may create");
  await takers.pushImage(repo, "1");
  assert.equal((await takers.send("GET", `${repo}/blobs/${digestOf("an honest layer")}`)).status, 404);
});

test("attack 304: a registry token for a new path mounts nothing from other repos of its group", async () => {
  const owner = await identityIn(await group("pending-scope"), "owner");
  await owner.pushImage("pending-scope/secret", "1", { layer: "a layer beside" });
  for (const repo of ["pending-scope/new", "pending-scope/team/new"]) {
    const scoped = openRegistry(world.url, `Bearer ${await registryToken(world.url, owner.token, `repository:${repo}:pull,push,delete`)}`);
    for (let times = 0; times < 2; times++)
      for (const from of ["", "&from=pending-scope/secret"])
        assert.equal((await scoped.send("POST", `${repo}/blobs/uploads/?mount=${digestOf("a layer beside")}${from}`)).status, 202, repo + from);
    assert.equal((await scoped.send("GET", `${repo}/blobs/${digestOf("a layer beside")}`)).status, 404);
    assert.equal((await scoped.send("GET", `pending-scope/secret/blobs/${digestOf("a layer beside")}`)).status, 401);
  }
});

test("attack 305: a manifest cannot claim another size for a blob", async () => {
  const owner = await identityIn(await group("pending-sizes"), "owner");
  for (const blob of [config, "a long layer"]) await owner.pushBlob("pending-sizes/app", blob);
  for (const size of [0, 1, 13, Number.MAX_SAFE_INTEGER]) {
    const lie = { ...imageManifest(config, "a long layer"), layers: [{ ...descriptor(layerType, "a long layer"), size }] };
    assert.deepEqual(await errorsIn(await put(owner, "pending-sizes/app", lie)), ["MANIFEST_INVALID"], String(size));
  }
});
