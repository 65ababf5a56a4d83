// Deprecation of tags by request, by the operator's policy, or by a pushed annotation. Clients see one boolean, and each change emits an event.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { endTags, setTagPolicy, unsetTagPolicy } from "../../server/application/tag-ends.ts";
import { runCommand } from "../../cli/program.ts";
import { openPusher, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

const dayMs = 24 * 60 * 60 * 1000;
let world: World;

before(async () => {
  world = await openWorld({}, silent, Date.parse("2026-03-01T12:00:00Z"));
});
after(() => world?.close());

const digestOf = (number: number): string => `sha256:${String(number).padStart(64, "0")}`;
const makeRepo = async (name: string, parent = world.organization): Promise<string> =>
  text(await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");
const setTag = (repo: string, tag: JsonObject): Promise<JsonObject> => world.ok("registry.TagsService/CreateTag", { parent: repo, tag });

const ended = async (repo: string): Promise<string> => {
  const names: string[] = [];
  for (let pageToken = ""; ; ) {
    const request = { uidp: { childrenOf: repo }, includeEpochs: true, includeDates: true, pageSize: 200, ...(pageToken && { pageToken }) };
    const page = await world.ok("registry.TagsService/ListTags", request);
    names.push(...objectList(page, "tags").flatMap((tag) => (tag.deprecated === true ? [text(tag, "name")] : [])));
    pageToken = text(page, "nextPageToken");
    if (pageToken === "") return names.sort().join(" ");
  }
};
const kernel = () => world.server.application.kernel;
const endEvents = async (repo: string): Promise<string[]> =>
  (await world.events())
    .filter(({ type, subject, body }) => type === "dev.chainguard.api.platform.registry.tag.created.v1" && subject.startsWith(repo) && body.deprecated === true)
    .map(({ body }) => text(body, "name"))
    .sort();

test("a request sets and clears the deprecation of a tag", async () => {
  const repo = await makeRepo("said");
  await setTag(repo, { name: "old", digest: digestOf(1), deprecated: true });
  assert.equal(await ended(repo), "old");
  await endTags(kernel());
  assert.equal(await ended(repo), "old");
  await setTag(repo, { name: "old", digest: digestOf(1) });
  assert.equal(await ended(repo), "");
});

test("a policy deprecates matching tags on its date and new ones on creation, and none after its removal", async () => {
  const repo = await makeRepo("node");
  const other = await makeRepo("other");
  for (const name of ["12", "12.1", "14", "16"]) for (const each of [repo, other]) await setTag(each, { name, digest: digestOf(2), bundles: ["base"] });
  await setTagPolicy(kernel(), { organization: undefined, pattern: "node:(12|14)(\\..*)?", endDate: "2026-03-10" });
  assert.equal(await ended(repo), "");
  await setTag(repo, { name: "12.2", digest: digestOf(2) });
  assert.equal(await ended(repo), "");
  world.clock.now = Date.parse("2026-03-10T00:00:01Z");
  await endTags(kernel());
  assert.deepEqual([await ended(repo), await ended(other)], ["12 12.1 12.2 14", ""]);
  assert.deepEqual(await endEvents(repo), ["12", "12.1", "12.2", "14"]);
  const bundles = objectList(await world.ok("registry.TagsService/ListTags", { uidp: { childrenOf: repo }, name: "12" }), "tags").map((tag) => tag.bundles);
  assert.deepEqual(bundles, [["base"]]);
  await setTag(repo, { name: "14.9", digest: digestOf(3), deprecated: false });
  await openPusher(world, repo, () => world.token()).image("amd64", "12.3");
  assert.equal(await ended(repo), "12 12.1 12.2 12.3 14 14.9");
  const before = (await world.events()).length;
  await endTags(kernel());
  assert.equal((await world.events()).length, before, "what is so already is not told again");
  await unsetTagPolicy(kernel(), { organization: undefined, pattern: "node:(12|14)(\\..*)?" });
  assert.equal(await ended(repo), "");
  await assert.rejects(unsetTagPolicy(kernel(), { organization: undefined, pattern: "node:12" }), { code: "NOT_FOUND" });
});

test("a policy of an organization deprecates no tag of another, and one with many tags deprecates all in batches", async () => {
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "other" } }), "uid");
  const [ours, theirs] = [await makeRepo("beta"), await makeRepo("beta", other)];
  for (let index = 0; index < 250; index++) await setTag(ours, { name: `v${index}`, digest: digestOf(4) });
  await setTag(theirs, { name: "v1", digest: digestOf(4) });
  await setTagPolicy(kernel(), { organization: world.organization, pattern: "beta:v.*", endDate: "2026-01-01" });
  assert.equal((await ended(ours)).split(" ").length, 250);
  assert.equal((await endEvents(ours)).length, 250);
  assert.equal(await ended(theirs), "");
  const known = async (): Promise<string> =>
    String((await world.server.application.services.store.read.query("select count(*) from ended_tags where left(tag_uid, -17) = $1", [ours]))[0]?.[0]);
  assert.equal(await known(), "250");
  await world.ok("registry.ReposService/DeleteRepo", { uid: ours });
  assert.equal(await known(), "0", "what is known of a tag goes with it");
});

const lifecycleType = "application/vnd.microsoft.artifact.lifecycle";
const lifecycle = async (registry: Pusher, subject: { digest: string; sizeBytes: number; mediaType: string }, date: string): Promise<string> => {
  const config = await registry.blob("{}", "application/vnd.oci.empty.v1+json");
  const descriptor = { mediaType: config.mediaType, digest: config.digest, size: config.sizeBytes };
  const about = { mediaType: subject.mediaType, digest: subject.digest, size: subject.sizeBytes };
  const annotations = { "vnd.microsoft.artifact.lifecycle.end-of-life.date": date };
  const type = "application/vnd.oci.image.manifest.v1+json";
  const body = { schemaVersion: 2, mediaType: type, artifactType: lifecycleType, config: descriptor, layers: [descriptor], subject: about, annotations };
  return (await registry.manifest(body, type)).digest;
};

test("a pushed annotation deprecates the image's tags on its date while it exists and they have that image", async () => {
  const repo = await makeRepo("annotated");
  const registry = openPusher(world, repo, () => world.token());
  const [image, next] = [await registry.image("amd64", "a"), await registry.image("arm64", "b")];
  await setTag(repo, { name: "a2", digest: image.digest });
  const tomorrow = new Date(world.clock.now + dayMs).toISOString();
  const artifact = await lifecycle(registry, image, tomorrow.slice(0, 10));
  await lifecycle(registry, next, "soon");
  await endTags(kernel());
  assert.equal(await ended(repo), "");
  world.clock.now += dayMs;
  await endTags(kernel());
  assert.equal(await ended(repo), "a a2");
  await setTag(repo, { name: "a2", digest: next.digest });
  await endTags(kernel());
  assert.equal(await ended(repo), "a");
  // A push keeps the tag's deprecation, and its cause is evaluated again.
  await registry.image("s390x", "a");
  await endTags(kernel());
  assert.equal(await ended(repo), "");
  await setTag(repo, { name: "a3", digest: image.digest });
  await endTags(kernel());
  assert.equal(await ended(repo), "a3");
  assert.equal((await registry.send("DELETE", `manifests/${artifact}`)).status, 202);
  await endTags(kernel());
  assert.equal(await ended(repo), "");
});

test("an invalid policy is refused in one line and not stored", async () => {
  for (const [pattern, endDate, says] of [
    ["(", "2026-01-01", /"\(" is not a valid RE2 pattern/],
    ["(?=a)", "2026-01-01", /is not a valid RE2 pattern/],
    ["a", "tomorrow", /^the day must have the form YYYY-MM-DD \(for example 2026-04-30\), not "tomorrow"$/],
    ["a", "2026-13-01", /^the day must have the form/],
  ] as const)
    await assert.rejects(setTagPolicy(kernel(), { organization: undefined, pattern, endDate }), { code: "INVALID_ARGUMENT", message: says });
  const out: string[] = [];
  const terminal = { environment: {}, log: silent, out: process.stdout, err: process.stderr, status: 0 };
  await assert.rejects(runCommand(["admin", "end-of-life", "set", "only"], terminal), { message: /^pattern and day required/ });
  assert.deepEqual(out, []);
});
