// Attacks 337 and 338: changing what an immutable tag names, and rules that cost others their server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Protocol } from "../client.ts";
import { openOwners } from "../owner.ts";
import { descriptorOf, ociIndex, openPusher, type Pusher } from "../pusher.ts";
import { errorsIn } from "../registry.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let root = "";
let organization = "";
const protocols: readonly Protocol[] = ["rest", "grpc"];
before(async () => {
  const opened = await openWorld();
  organization = text(await opened.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
  world = openOwners(opened).world(organization);
  root = await openOwners(opened).token(organization);
});
after(() => world?.close());

const makeRule = (parent: string, pattern: string) =>
  world.call("gantry.registry.v1.ImmutableTagRulesService/CreateImmutableTagRule", { parent, immutableTagRule: { pattern } });

const ruled = async (parent: string, pattern: string): Promise<string> => {
  const made = await makeRule(parent, pattern);
  assert.equal(made.code, 0, made.message);
  return text(made.reply, "uid");
};

const deleteRule = (uid: string) => world.ok("gantry.registry.v1.ImmutableTagRulesService/DeleteImmutableTagRule", { uid });

interface Release {
  readonly repo: string;
  readonly pusher: Pusher;
  readonly digest: string;
}

/** Pushes images as 1.0 (to be immutable), latest and other. */
const release = async (name: string): Promise<Release & { readonly other: string }> => {
  const path = `acme/${name}/app`;
  const pusher = openPusher(world, path, root);
  const { digest } = await pusher.image("amd64", "1.0");
  await pusher.image("amd64", "latest");
  const other = await pusher.image("arm64", "other");
  const { repos } = await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: organization }, name: "app" });
  const uids = objectList({ repos: repos ?? [] }, "repos").map((repo) => text(repo, "uid"));
  for (const uid of uids) {
    const { tags } = await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: uid } });
    if (objectList({ tags: tags ?? [] }, "tags").some((tag) => text(tag, "digest") === digest)) return { repo: uid, pusher, digest, other: other.digest };
  }
  return assert.fail("the repo was not found");
};

const tagOf = async (repo: string, name: string): Promise<JsonObject> => {
  const { tags } = await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo }, name });
  return objectList({ tags: tags ?? [] }, "tags")[0] ?? assert.fail(`no tag ${name}`);
};

const violations = ({ details }: { readonly details: readonly JsonObject[] }): string[] =>
  details.flatMap((detail) => objectList(detail, "violations").map((each) => text(each, "type")));

test("attack 337: no operation over any protocol changes what an immutable tag names", async () => {
  const { repo, pusher, digest, other } = await release("routes");
  const group = repo.slice(0, -17);
  const rule = await ruled(group, "[0-9]+[.].*");
  const uid = text(await tagOf(repo, "1.0"), "uid");
  const content = await (await pusher.send("GET", `manifests/${other}`)).text();
  const type = "application/vnd.oci.image.manifest.v1+json";

  const denied = async (response: Response): Promise<void> => {
    const body = (await response.json()) as { errors: { code: string; message: string }[] };
    assert.deepEqual([response.status, body.errors.map(({ code }) => code)], [403, ["DENIED"]]);
    assert.match(body.errors[0]?.message ?? "", /the tag "1\.0" is immutable by the rule "\[0-9\]\+\[\.\]\.\*" of /);
  };
  await denied(await pusher.send("PUT", "manifests/1.0", content, { "content-type": type }));
  await denied(await pusher.send("PUT", `manifests/${other}?tag=new&tag=1.0`, content, { "content-type": type }));
  assert.equal((await pusher.send("GET", "manifests/new")).status, 404, "a refused push sets none of its tags");
  await denied(await pusher.send("DELETE", "manifests/1.0"));
  await denied(await pusher.send("DELETE", `manifests/${digest}`));

  for (const protocol of protocols) {
    const calls: readonly [string, JsonObject][] = [
      ["registry.TagsService/CreateTag", { parent: repo, tag: { name: "1.0", digest: other } }],
      ["registry.TagsService/DeleteTag", { uid }],
      ["gantry.registry.v1.TagChangesService/UpdateTag", { tag: { uid, digest: other }, updateMask: "digest" }],
      ["gantry.registry.v1.TagChangesService/UpdateTag", { tag: { uid, name: "old" }, updateMask: "name" }],
      ["registry.ReposService/DeleteRepo", { uid: repo }],
    ];
    for (const [name, request] of calls) {
      const answer = await world.call(name, request, { protocol });
      assert.deepEqual([answer.code, violations(answer)], [codes.FAILED_PRECONDITION, ["TAG_IMMUTABLE"]], `${protocol} ${name} ${answer.message}`);
    }
  }
  const version1 = await fetch(`${world.url}/registry/v1/tags/${uid}`, { method: "DELETE", headers: { authorization: `Bearer ${root}` } });
  assert.equal(version1.status, 400, await version1.text());
  assert.equal(text(await tagOf(repo, "1.0"), "digest"), digest);

  // The same digest again, another field, another tag, and a new tag are no change of what it names.
  assert.equal(
    (await pusher.send("PUT", "manifests/1.0", await (await pusher.send("GET", `manifests/${digest}`)).text(), { "content-type": type })).status,
    201,
  );
  await world.ok("gantry.registry.v1.TagChangesService/UpdateTag", { tag: { uid, deprecated: true }, updateMask: "deprecated" });
  assert.equal((await pusher.send("PUT", "manifests/latest", content, { "content-type": type })).status, 201);
  assert.equal((await pusher.send("PUT", "manifests/1.1", content, { "content-type": type })).status, 201);

  await deleteRule(rule);
  assert.equal((await pusher.send("PUT", "manifests/1.0", content, { "content-type": type })).status, 201, "the tags of a deleted rule are mutable");
});

test("attack 337: the manifests that an immutable index lists cannot be deleted, and neither can what several rules protect until all are gone", async () => {
  const { repo, pusher, digest, other } = await release("index");
  const sizeOf = async (of: string) => Number((await pusher.send("HEAD", `manifests/${of}`)).headers.get("content-length"));
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const children = await Promise.all([digest, other].map(async (each) => descriptorOf({ digest: each, sizeBytes: await sizeOf(each), mediaType })));
  const index = await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: children }, ociIndex, "v2");
  await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests: [descriptorOf(index)] }, ociIndex, "v3");
  const [own, above] = [await ruled(repo, "v3"), await ruled(organization, "v[0-9]")];
  for (const target of [index.digest, digest, other]) assert.equal((await pusher.send("DELETE", `manifests/${target}`)).status, 403, target);
  await deleteRule(own);
  assert.equal((await pusher.send("DELETE", "manifests/v3")).status, 403, "the other rule still matches");
  await deleteRule(above);
  for (const target of ["v3", "v2", index.digest, other]) assert.equal((await pusher.send("DELETE", `manifests/${target}`)).status, 202, target);
});

test("a deleted tag, repo and rule come back by undelete, and a rule of a repo protects again", async () => {
  const { repo, pusher, other } = await release("undelete");
  const { uid } = await tagOf(repo, "other");
  await world.ok("registry.TagsService/DeleteTag", { uid: String(uid) });
  const rule = await ruled(repo, "(1[.]0|other)");
  const deletionsOf = async (place: string): Promise<JsonObject> => {
    const { deletions } = await world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { uidp: { descendantsOf: organization } });
    return objectList({ deletions: deletions ?? [] }, "deletions").find((each) => text(each, "resourceUid") === place) ?? assert.fail("no deletion");
  };
  const undelete = async (of: string) => world.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid: text(await deletionsOf(of), "uid") });
  await undelete(String(uid));
  assert.equal(text(await tagOf(repo, "other"), "digest"), other);
  assert.equal((await pusher.send("DELETE", "manifests/other")).status, 403, "the tag is immutable since its return");
  await deleteRule(rule);
  assert.equal((await pusher.send("DELETE", "manifests/other")).status, 202);
  await undelete(rule);
  assert.deepEqual(await errorsIn(await pusher.send("DELETE", "manifests/1.0")), ["DENIED"]);
  await deleteRule(rule);
  const kept = await ruled(repo, "none");
  await world.ok("registry.ReposService/DeleteRepo", { uid: repo });
  assert.equal((await world.call("gantry.registry.v1.ImmutableTagRulesService/GetImmutableTagRule", { uid: kept })).code, codes.NOT_FOUND);
  await undelete(repo);
  await world.ok("gantry.registry.v1.ImmutableTagRulesService/GetImmutableTagRule", { uid: kept });
});

test("attack 338: a rule that is invalid or costs too much is refused, and so is one more than a repo or group may have", async () => {
  const { repo } = await release("costs");
  for (const pattern of ["(", "[z-a]", "(?=a)", "(?:a{30}){30}", "x{900}", "a".repeat(129), "", "a b", "a\nb", "(?i)[\\x{0}-\\x{10ffff}]+"]) {
    const { code, message } = await makeRule(repo, pattern);
    assert.equal(code, codes.INVALID_ARGUMENT, `${JSON.stringify(pattern)} ${message}`);
  }
  const made = await Promise.all(Array.from({ length: limits.immutableTagRulesEach + 5 }, (_, index) => makeRule(repo, `t${index}`)));
  const refused = made.filter(({ code }) => code !== 0);
  assert.deepEqual(new Set(refused.map(({ code }) => code)), new Set([codes.RESOURCE_EXHAUSTED]));
  assert.equal(refused.length, 5);
  const absent = `${organization}/${"0".repeat(16)}`;
  assert.equal((await makeRule(absent, "a")).code, codes.NOT_FOUND);
  assert.equal((await makeRule(organization, "dup")).code, 0);
  assert.equal((await makeRule(organization, "dup")).code, codes.ALREADY_EXISTS);
});

test("attack 338: checking many tags against the most expensive rules leaves the server time for others", async () => {
  const { repo, pusher } = await release("many");
  for (let index = 0; index < 10; index++) await ruled(repo, `(a|b|ab|c${index}){1,20}x`);
  const content = await (await pusher.send("GET", "manifests/latest")).text();
  const names = Array.from({ length: limits.pushedTagsMax }, (_, index) => `${"ab".repeat(60)}${index}`);
  const digest = (await pusher.send("HEAD", "manifests/latest")).headers.get("docker-content-digest") ?? "";
  const type = "application/vnd.oci.image.manifest.v1+json";
  for (let from = 0; from < names.length; from += 25) {
    const tags = names.slice(from, from + 25).map((name) => `tag=${name}`);
    assert.equal((await pusher.send("PUT", `manifests/${digest}?${tags.join("&")}`, content, { "content-type": type })).status, 201);
  }
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { code } = await world.call("registry.ReposService/DeleteRepo", { uid: repo });
  isOver = true;
  assert.equal(code, 0, "no rule matches");
  assert.ok(turns > 20, `${turns} turns of other work`);
});
