// Pushed content in the Registry API: Repos, Tags and Images show it at once, and pushes and pulls emit events (events: 9).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { finishPulls } from "../../server/registry/resources/distribution/pulls.ts";
import { digestOf } from "../distribution.ts";
import { bodyBytes, descriptor, imageManifest, imageType, indexType, openRegistry } from "../registry.ts";
import { items } from "./protocols.ts";
import { openWorld } from "../world.ts";

const world = await openWorld();
after(() => world.close());
const registry = openRegistry(world.url, `Bearer ${await world.token()}`);
const organization = "first-organization";
const empty = (note: string): JsonObject => ({ schemaVersion: 2, mediaType: indexType, manifests: [], annotations: { note } });

const repoNamed = async (name: string): Promise<string> => {
  const [found] = items(await world.ok("registry.ReposService/ListRepos", { name }), "repos");
  return text(found ?? assert.fail(name), "uid");
};
const tagsOf = async (repo: string): Promise<JsonObject[]> =>
  items(
    await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo }, includeReferrers: true, includeDates: true, includeEpochs: true }),
    "tags",
  );
const architecturesOf = async (repoUid: string, digest: string): Promise<unknown> =>
  (await world.ok("registry.ImagesService/GetArchitectures", { repoUid, digest })).architectures;
const sizeOf = async (repoUid: string, digest: string, architecture: string): Promise<unknown> =>
  (await world.ok("registry.ImagesService/GetSize", { repoUid, digest, architecture })).size;

test("a push creates or moves a tag and keeps its other fields, and repeating it changes nothing", async () => {
  const name = `${organization}/moved`;
  const first = await registry.pushManifest(name, "latest", empty("first"));
  const repo = await repoNamed("moved");
  const [tag = assert.fail()] = await tagsOf(repo);
  assert.deepEqual([tag.name, tag.digest, tag.deprecated], ["latest", first, false]);
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "latest", digest: first, deprecated: true, bundles: ["base"] } });
  world.clock.now += 1000;
  const before = (await world.events()).length;
  const second = await registry.pushManifest(name, "latest", empty("second"));
  const [moved = assert.fail()] = await tagsOf(repo);
  assert.deepEqual(
    [moved.uid, moved.digest, moved.deprecated, moved.bundles],
    [tag.uid, second, true, ["base"]],
    "a push moves a tag and says nothing else of it",
  );
  const told = (await world.events()).slice(before);
  assert.deepEqual(
    told.map(({ type }) => type),
    ["dev.chainguard.api.platform.registry.tag.created.v1", "dev.chainguard.registry.push.v1"],
  );
  assert.equal(told[0]?.body.digest, second);
  const { when, remote_address: address, user_agent: agent, ...push } = told[1]?.body ?? {};
  assert.deepEqual(push, {
    repository: name,
    display_name: "moved",
    repo_id: repo,
    tag: "latest",
    tag_previous_digest: first,
    digest: second,
    type: "manifest",
    location: "",
  });
  assert.deepEqual([when, address, agent], [new Date(world.clock.now).toISOString().slice(0, -1), "127.0.0.1", "node"]);
  assert.deepEqual([told[1]?.subject, told[1]?.group], [repo, world.organization]);
  world.clock.now += 1000;
  const again = (await world.events()).length;
  await registry.pushManifest(name, "latest", empty("second"));
  assert.deepEqual(
    (await world.events()).slice(again).map(({ type }) => type),
    ["dev.chainguard.registry.push.v1"],
    "the push is told, the tag has not changed",
  );
  assert.deepEqual(await tagsOf(repo), [moved]);
});

test("a tag created over the API can be pulled if its digest is stored, and is listed in any case", async () => {
  const name = `${organization}/api`;
  const digest = await registry.pushManifest(name, undefined, empty("by digest"));
  const repo = await repoNamed("api");
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "stored", digest } });
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "imported", digest: digestOf("nowhere") } });
  assert.equal((await registry.send("GET", `${name}/manifests/stored`)).headers.get("docker-content-digest"), digest);
  assert.equal((await registry.send("GET", `${name}/manifests/imported`)).status, 404);
  assert.deepEqual(((await (await registry.send("GET", `${name}/tags/list`)).json()) as { tags: string[] }).tags, ["imported", "stored"]);
  const [tag = assert.fail()] = (await tagsOf(repo)).filter((each) => each.name === "stored");
  await world.ok("registry.TagsService/DeleteTag", { uid: text(tag, "uid") });
  assert.equal((await registry.send("GET", `${name}/manifests/stored`)).status, 404);
  assert.equal((await registry.send("GET", `${name}/manifests/${digest}`)).status, 200);
});

test("Images return architectures and sizes of pushed content, in any push order and at any depth", async () => {
  const name = `${organization}/images`;
  const image = (architecture: string): { manifest: JsonObject; config: string; layer: string; size: number } => {
    const config = JSON.stringify({ os: "linux", architecture, ...(architecture === "arm" ? { variant: "v7" } : {}) });
    const layer = `layer of ${architecture}`.repeat(architecture.length);
    return { manifest: imageManifest(config, layer), config, layer, size: bodyBytes(config).length + layer.length };
  };
  const images = ["amd64", "arm64", "arm"].map(image);
  const described = ({ manifest }: { manifest: JsonObject }) => descriptor(imageType, JSON.stringify(manifest));
  const index = { schemaVersion: 2, mediaType: indexType, manifests: images.map(described) };
  const outer = { schemaVersion: 2, mediaType: indexType, manifests: [descriptor(indexType, JSON.stringify(index))] };
  const [first = assert.fail(), ...others] = images;
  const push = async ({ manifest, config, layer }: (typeof images)[number]): Promise<string> => {
    await registry.pushBlob(name, config);
    await registry.pushBlob(name, layer);
    return registry.pushManifest(name, undefined, manifest);
  };
  const amd64 = await push(first);
  const outerDigest = await registry.pushManifest(name, "nested", outer);
  const indexDigest = await registry.pushManifest(name, "latest", index);
  const repo = await repoNamed("images");
  assert.deepEqual(await architecturesOf(repo, indexDigest), ["amd64"], "what is here so far");
  for (const each of others) await push(each);
  for (const digest of [indexDigest, outerDigest]) {
    assert.deepEqual(await architecturesOf(repo, digest), ["amd64", "arm", "arm64"]);
    for (const { manifest, size } of images) {
      const architecture = images[images.findIndex((each) => each.manifest === manifest)]?.config.match(/"architecture":"(\w+)"/)?.[1] ?? "";
      assert.equal(await sizeOf(repo, digest, architecture), String(size));
    }
  }
  assert.deepEqual(await architecturesOf(repo, amd64), ["amd64"]);
  assert.equal((await registry.send("DELETE", `${name}/manifests/${indexDigest}`)).status, 202);
  assert.equal((await world.call("registry.ImagesService/GetArchitectures", { repoUid: repo, digest: indexDigest })).code, 5);
});

test("deleting a repo deletes its content and frees its name", async () => {
  const name = `${organization}/doomed`;
  await registry.pushImage(name, "latest");
  assert.equal((await registry.send("POST", `${name}/blobs/uploads/`)).status, 202);
  await world.ok("registry.ReposService/DeleteRepo", { uid: await repoNamed("doomed") });
  assert.equal((await registry.send("GET", `${name}/manifests/latest`)).status, 404);
  assert.equal((await registry.send("HEAD", `${name}/blobs/${digestOf("a layer for amd64")}`)).status, 404);
  await registry.pushManifest(name, "latest", empty("new"));
});

test("pulls emit events with tag, digest and verb only if the organization has a subscription for them", async () => {
  const name = `${organization}/heard`;
  const digest = await registry.pushManifest(name, "latest", empty("heard"));
  const blob = await registry.pushBlob(name, "heard");
  const repo = await repoNamed("heard");
  const pull = async (): Promise<void> => {
    for (const [verb, path] of [
      ["GET", "manifests/latest"],
      ["HEAD", `manifests/${digest}`],
      ["GET", `blobs/${blob}`],
      ["GET", "manifests/absent"],
    ] as const)
      await registry.send(verb, `${name}/${path}`);
  };
  const told = async () => (await world.events()).filter(({ type }) => type === "dev.chainguard.registry.pull.v1");
  await pull();
  const sink = { sink: "https://hooks.example.com/", eventTypes: ["dev.chainguard.api.platform.registry.repo.created.v1"] };
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: sink });
  await pull();
  await registry.send("GET", `${name}/manifests/latest`);
  await finishPulls(world.server.application.services);
  assert.deepEqual(await told(), []);
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: world.organization, subscription: { sink: "https://all.example.com/" } });
  await pull();
  await finishPulls(world.server.application.services);
  const found = await told();
  assert.deepEqual(
    found.map(({ subject, group, body }) => [subject, group, body.repository, body.repo_id, body.tag ?? "", body.digest, body.method, body.type]),
    [
      [repo, world.organization, name, repo, "latest", digest, "GET", "manifest"],
      [repo, world.organization, name, repo, "", digest, "HEAD", "manifest"],
      [repo, world.organization, name, repo, "", blob, "GET", "blob"],
    ],
  );
});
