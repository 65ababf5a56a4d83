// Attack 339: a client that overwrites or deletes what another has written since it read, in spite of its condition.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import type { Protocol } from "../client.ts";
import { digestOf } from "../distribution.ts";
import { shortOrLong } from "../length.ts";
import { openOwners } from "../owner.ts";
import { openPusher, type Pusher } from "../pusher.ts";
import { errorsIn, imageType } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let token = "";
let organization = "";
before(async () => {
  const opened = await openWorld();
  organization = text(await opened.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
  const owners = openOwners(opened);
  world = owners.world(organization);
  token = await owners.token(organization);
});
after(() => world?.close());

interface Manifest {
  readonly digest: string;
  readonly content: string;
}

const open = async (name: string): Promise<{ readonly pusher: Pusher; readonly one: Manifest; readonly other: Manifest }> => {
  const pusher = openPusher(world, `acme/${name}`, token);
  const read = async (architecture: string): Promise<Manifest> => {
    const { digest } = await pusher.image(architecture);
    return { digest, content: await (await pusher.send("GET", `manifests/${digest}`)).text() };
  };
  return { pusher, one: await read("amd64"), other: await read("arm64") };
};

const put = (pusher: Pusher, reference: string, { content }: Manifest, headers: Readonly<Record<string, string>> = {}) =>
  pusher.send("PUT", `manifests/${reference}`, content, { "content-type": imageType, ...headers });

const etagOf = async (pusher: Pusher, reference: string): Promise<string | null> => (await pusher.send("HEAD", `manifests/${reference}`)).headers.get("etag");

const quoted = (digest: string): string => `"${digest}"`;

test("a manifest has its digest as a strong ETag in HEAD, GET and PUT, and If-None-Match on GET is 304", async () => {
  const { pusher, one } = await open("etags");
  assert.equal((await put(pusher, "1", one)).headers.get("etag"), quoted(one.digest));
  for (const verb of ["HEAD", "GET"]) assert.equal((await pusher.send(verb, "manifests/1")).headers.get("etag"), quoted(one.digest));
  const same = await pusher.send("GET", "manifests/1", undefined, { "if-none-match": quoted(one.digest) });
  assert.deepEqual([same.status, await same.text()], [304, ""]);
  assert.equal((await pusher.send("GET", "manifests/1", undefined, { "if-none-match": '"sha256:00"' })).status, 200);
});

test("attack 339: a push or deletion of a tag takes place only under its condition, and is 412 otherwise", async () => {
  const { pusher, one, other } = await open("conditions");
  const refused = async (response: Response): Promise<void> => assert.deepEqual([response.status, await errorsIn(response)], [412, ["DENIED"]]);
  const [isOne, isOther] = [{ "if-match": quoted(one.digest) }, { "if-match": quoted(other.digest) }];
  await refused(await put(pusher, "tag", one, isOne));
  await refused(await put(pusher, "tag", one, { "if-match": "*" }));
  assert.equal((await pusher.send("HEAD", "manifests/tag")).status, 404);
  assert.equal((await put(pusher, "tag", one, { "if-none-match": "*" })).status, 201);
  await refused(await put(pusher, "tag", other, { "if-none-match": "*" }));
  await refused(await put(pusher, "tag", one, { "if-none-match": quoted(one.digest) }));
  // A weak tag and one without quotes match nothing.
  for (const header of [isOther["if-match"], `W/${quoted(one.digest)}`, one.digest, "", "  ", '""'])
    if (header !== "") await refused(await put(pusher, "tag", other, { "if-match": header }));
  assert.equal(await etagOf(pusher, "tag"), quoted(one.digest), "nothing has changed");
  assert.equal((await put(pusher, "tag", other, { "if-match": `"x", ${quoted(one.digest)}` })).status, 201);
  assert.equal((await put(pusher, "tag", one, { "if-match": "*" })).status, 201);
  await refused(await pusher.send("DELETE", "manifests/tag", undefined, isOther));
  await refused(await pusher.send("DELETE", `manifests/${one.digest}`, undefined, isOther));
  await refused(await pusher.send("DELETE", "manifests/tag", undefined, { "if-none-match": "*" }));
  assert.equal((await pusher.send("DELETE", "manifests/tag", undefined, isOne)).status, 202);
  assert.equal((await pusher.send("DELETE", "manifests/tag", undefined, isOne)).status, 404, "what is absent is 404, whatever the condition");
  assert.equal((await pusher.send("DELETE", `manifests/${one.digest}`, undefined, isOne)).status, 202);
  // By digest, the condition is about the manifest.
  await refused(await put(pusher, one.digest, one, isOne));
  assert.equal((await put(pusher, one.digest, one, { "if-none-match": "*" })).status, 201);
  await refused(await put(pusher, one.digest, one, { "if-none-match": "*" }));
  assert.equal((await put(pusher, one.digest, one, isOne)).status, 201);
  // A refused first push leaves no repo.
  const absent = openPusher(world, "acme/absent", token);
  await absent.blob("{}", "application/json");
  assert.equal(
    (
      await put(
        absent,
        "tag",
        { digest: "", content: '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}' },
        {
          ...isOne,
          "content-type": "application/vnd.oci.image.index.v1+json",
        },
      )
    ).status,
    412,
  );
  assert.equal((await absent.send("GET", "tags/list")).status, 404);
});

test("attack 339: either digest of a manifest is its ETag", async () => {
  const { pusher, one, other } = await open("sha512");
  const sha512 = digestOf(one.content, "sha512");
  assert.equal((await put(pusher, `${sha512}?tag=tag`, one)).status, 201);
  assert.equal(await etagOf(pusher, "tag"), quoted(sha512));
  assert.equal((await put(pusher, "tag", one, { "if-match": quoted(one.digest) })).status, 201);
  assert.equal((await put(pusher, "tag", other, { "if-match": quoted(sha512) })).status, 201);
});

test("attack 339: of two clients that move one tag under the same condition, exactly one succeeds", async () => {
  const { pusher, one, other } = await open("race");
  assert.equal((await put(pusher, "tag", one)).status, 201);
  const rounds = shortOrLong(100, 1_000);
  for (let round = 0; round < rounds; round++) {
    const etag = (await etagOf(pusher, "tag")) ?? "";
    const next = etag === quoted(one.digest) ? other : one;
    const sent = [put(pusher, "tag", next, { "if-match": etag }), put(pusher, "tag", next, { "if-match": etag })];
    const statuses = (await Promise.all(sent)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, 412], `round ${round}`);
    const created = [put(pusher, `new${round}`, one, { "if-none-match": "*" }), put(pusher, `new${round}`, other, { "if-none-match": "*" })];
    assert.deepEqual((await Promise.all(created)).map(({ status }) => status).sort(), [201, 412], `round ${round}`);
  }
});

test("attack 339: the API's tags have the same conditions, over both protocols", async () => {
  const { pusher, one, other } = await open("api");
  await put(pusher, "first", one);
  const { repos } = await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: organization }, name: "api" });
  const repo = text(objectList({ repos: repos ?? [] }, "repos")[0] ?? {}, "uid");
  for (const protocol of ["rest", "grpc"] as const satisfies readonly Protocol[]) {
    const write = (tag: JsonObject, headers: Readonly<Record<string, string>>) =>
      world.call("registry.TagsService/CreateTag", { parent: repo, tag }, { protocol, headers });
    const name = `tag-${protocol}`;
    const made = await write({ name, digest: one.digest }, { "if-none-match": "*" });
    assert.equal(made.code, 0, made.message);
    const got = await world.call("registry.TagsService/GetTag", { uid: text(made.reply, "uid") }, { protocol });
    const { etag = "" } = made.headers;
    assert.equal(etag, got.headers.etag);
    const again = await write({ name, digest: other.digest }, { "if-none-match": "*" });
    assert.deepEqual([again.code, again.headers.etag], [codes.ABORTED, etag]);
    if (protocol === "rest") assert.equal(again.status, 412);
    assert.equal((await write({ name, digest: other.digest }, { "if-match": '"other"' })).code, codes.ABORTED);
    assert.equal((await write({ name: `${name}-absent`, digest: other.digest }, { "if-match": etag })).code, codes.ABORTED);
    const moved = await write({ name, digest: other.digest }, { "if-match": etag });
    assert.equal(moved.code, 0, moved.message);
    const change = { tag: { uid: text(made.reply, "uid"), digest: one.digest }, updateMask: "digest" };
    const update = "gantry.registry.v1.TagChangesService/UpdateTag";
    assert.equal((await world.call(update, change, { protocol, headers: { "if-match": etag } })).code, codes.ABORTED);
    assert.equal(
      (await world.call("registry.TagsService/DeleteTag", { uid: text(made.reply, "uid") }, { protocol, headers: { "if-match": etag } })).code,
      codes.ABORTED,
    );
    assert.equal((await world.call(update, change, { protocol, headers: { "if-match": moved.headers.etag ?? "" } })).code, 0);
  }
});
