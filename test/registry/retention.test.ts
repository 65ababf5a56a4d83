// Retention rules: what they delete and keep, previews, undo, fairness, and a server that is killed in the middle of a run.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { runImport } from "#kernel";
import { collectUntagged } from "../../server/application/untagged-manifests.ts";
import { runTagRetention } from "../../server/application/tag-retention.ts";
import { finishPullCounts } from "../../server/registry/resources/distribution/pull-records.ts";
import { shortOrLong } from "../length.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociIndex, openPusher, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

const dayMs = 24 * 60 * 60 * 1000;
const rulesService = "gantry.registry.v1.RetentionRulesService";

let blobs = "";
let world: World;
let owners: Owners;
let owner: World;

before(async () => {
  blobs = await mkdtemp(join(tmpdir(), "gantry-retention-"));
  world = await openWorld({ GANTRY_BLOBS: blobs });
  owners = openOwners(world);
  owner = owners.world();
});
after(async () => {
  await world.close();
  await rm(blobs, { recursive: true, force: true });
});

const newOrganization = async (name: string): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");

const newRepo = async (parent: string, name: string): Promise<string> =>
  text(await owner.ok("registry.ReposService/CreateRepo", { parent, repo: { name } }), "uid");

const digest = `sha256:${"1".repeat(64)}`;

/** Makes tags with these ages in days, as an import does: it has the time of its source. */
const makeTags = async (repo: string, tags: Readonly<Record<string, number>>): Promise<void> => {
  const all = Object.entries(tags);
  for (let from = 0; from < all.length; from += 500)
    await runImport(world.server.application.kernel, `tags ${from} of ${repo}`, async (call) => {
      for (const [name, days] of all.slice(from, from + 500))
        await call("chainguard.platform.registry.v2.TagsService/CreateTag", { parent: repo, tag: { name, digest } }, world.clock.now - days * dayMs);
    });
};

const createRule = async (parent: string, retentionRule: JsonObject): Promise<JsonObject> =>
  owner.ok(`${rulesService}/CreateRetentionRule`, { parent, retentionRule });

const previewOf = async (repoUid: string, more: JsonObject = {}): Promise<JsonObject[]> => {
  const found: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const reply = await owner.ok(`${rulesService}/PreviewRetentionRules`, { repoUid, pageSize: 200, pageToken, ...more });
    found.push(...objectList(reply, "verdicts"));
    pageToken = text(reply, "nextPageToken");
    if (pageToken === "") return found;
  }
};

const doomedIn = async (repo: string, more: JsonObject = {}): Promise<string[]> =>
  (await previewOf(repo, { deletedOnly: true, ...more })).map(({ tag }) => String(tag));

const tagsOf = async (repo: string): Promise<string[]> =>
  (await world.server.application.services.store.read.query('select name from tags where left(uid, -17) = $1 order by name collate "POSIX"', [repo])).map(
    ([name]) => name ?? "",
  );

/** Runs what is due now, also of organizations that had a run before. */
const runNow = async (): Promise<void> => {
  world.clock.now += limits.retentionRunMs;
  await runTagRetention(world.server.application.kernel);
};

test("a rule keeps by number, age, last pull and version, and deletes what none of its criteria keeps", async () => {
  const group = await newOrganization("criteria");
  const cases: readonly (readonly [JsonObject, Readonly<Record<string, number>>, readonly string[]])[] = [
    [{ keepLast: 2 }, { a: 1, b: 2, c: 3, d: 4 }, ["c", "d"]],
    [{ keepDays: 3 }, { a: 1, b: 2, c: 3, d: 4 }, ["c", "d"]],
    [{ keepLast: 1, keepDays: 3 }, { a: 5, b: 4, c: 6 }, ["a", "c"]],
    [{ keepPulledDays: 3 }, { a: 1, b: 4 }, ["b"]],
    [{ tagPattern: "build-.*", keepLast: 1 }, { "build-1": 3, "build-2": 2, latest: 9, "my-build-1": 9 }, ["build-1"]],
    [{ keepVersions: 2 }, { "1.10.0": 9, "1.9.0": 1, "1.10.0-rc.1": 1, "v1.2.0": 1, "1.10": 1 }, ["1.10", "1.9.0", "v1.2.0"]],
    [{ versionRange: ">=1.0.0 <2.0.0", keepDays: 3 }, { "0.9.0": 9, "1.0.0": 9, "1.5.0": 1, "2.0.0": 9, "1.9": 9, latest: 9 }, ["1.0.0"]],
  ];
  for (const [index, [criteria, tags, expected]] of cases.entries()) {
    const repo = await newRepo(group, `repo-${index}`);
    await makeTags(repo, tags);
    await createRule(group, { name: `rule ${index}`, repoUid: repo, ...criteria });
    assert.deepEqual((await doomedIn(repo)).sort(), [...expected].sort(), JSON.stringify(criteria));
  }
});

test("rules are inherited, and a tag goes only if every rule that matches it lets it go", async () => {
  const organization = await newOrganization("inherited");
  const team = text(await owner.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "team" } }), "uid");
  const [above, below] = [await newRepo(organization, "above"), await newRepo(team, "below")];
  for (const repo of [above, below]) await makeTags(repo, { "build-1": 40, "build-2": 10, "release-1": 40, other: 5 });
  await createRule(organization, { name: "old", keepDays: 30 });
  assert.deepEqual(
    [await doomedIn(above), await doomedIn(below)],
    [
      ["build-1", "release-1"],
      ["build-1", "release-1"],
    ],
  );
  await createRule(team, { name: "builds", tagPattern: "build-.*", keepLast: 5 });
  await createRule(team, { name: "releases", tagPattern: "release-.*", keepAll: true });
  assert.deepEqual(await doomedIn(above), ["build-1", "release-1"]);
  const verdicts = await previewOf(below);
  assert.deepEqual(
    verdicts.map(({ tag, deleted, reason }) => [tag, deleted === true, reason]),
    [
      ["build-1", false, 'rule "builds" keeps it: one of the last 5 changed'],
      ["build-2", false, verdicts[1]?.reason],
      ["other", false, verdicts[2]?.reason],
      ["release-1", false, 'rule "releases" keeps it: it keeps all'],
    ],
  );
  assert.match(String(verdicts[1]?.reason), /^rule "old" keeps it: changed on \d{4}-\d{2}-\d{2}, less than 30 days ago$/);
});

test("contradictory rules are refused with both named, and change nothing", async () => {
  const organization = await newOrganization("contradictory");
  const team = text(await owner.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "team" } }), "uid");
  const old = await createRule(team, { name: "old", tagPattern: "build-.*", keepLast: 5 });
  const refusals: readonly (readonly [string, JsonObject])[] = [
    [team, { name: "new", tagPattern: "build-.*", keepLast: 3 }],
    [team, { name: "new", tagPattern: "build-.*", keepAll: true }],
    [organization, { name: "new", tagPattern: "build-.*", keepAll: true }],
    [organization, { name: "new", keepAll: true }],
  ];
  for (const [parent, retentionRule] of refusals) {
    const { code, message } = await owner.call(`${rulesService}/CreateRetentionRule`, { parent, retentionRule }, {});
    assert.equal(code, codes.INVALID_ARGUMENT);
    assert.ok(message.includes(`the retention rule "new" contradicts "old" (${text(old, "uid")})`), message);
  }
  // Other tags, other repos, or an exception of a narrower reach.
  await createRule(team, { name: "other tags", tagPattern: "nightly-.*", keepLast: 3 });
  await createRule(organization, { name: "other repos", tagPattern: "build-.*", keepLast: 3 });
  const repo = await newRepo(team, "app");
  await createRule(team, { name: "exception", repoUid: repo, tagPattern: "build-.*", keepAll: true });
});

test("of two rules that contradict each other and are created at once, one is refused", async () => {
  const organization = await newOrganization("at-once");
  for (let round = 0; round < 10; round++) {
    const tagPattern = `round-${round}-.*`;
    const made = await Promise.all(
      [3, 5].map((keepLast) =>
        owner.call(`${rulesService}/CreateRetentionRule`, { parent: organization, retentionRule: { name: `${round} ${keepLast}`, tagPattern, keepLast } }, {}),
      ),
    );
    assert.deepEqual(made.map(({ code }) => code).sort(), [0, codes.INVALID_ARGUMENT]);
  }
});

test("a changed rule decides from then on, and a change that contradicts another rule or keeps nothing is refused and changes nothing", async () => {
  const organization = await newOrganization("changed");
  const repo = await newRepo(organization, "app");
  const rule = await createRule(organization, { name: "old", tagPattern: "build-.*", keepLast: 5, previewOnly: true });
  await createRule(organization, { name: "nightly", tagPattern: "nightly-.*", keepLast: 3 });
  const update = (change: JsonObject, updateMask: string) =>
    owner.call(`${rulesService}/UpdateRetentionRule`, { retentionRule: { uid: text(rule, "uid"), ...change }, updateMask }, {});
  const contradicting = await update({ tagPattern: "nightly-.*" }, "tag_pattern");
  assert.equal(contradicting.code, codes.INVALID_ARGUMENT);
  assert.match(contradicting.message, /the retention rule "old" contradicts "nightly"/);
  const empty = await update({}, "keep_last");
  assert.deepEqual([empty.code, empty.message.includes("at least one of keepAll")], [codes.INVALID_ARGUMENT, true], empty.message);
  const stored = await owner.ok(`${rulesService}/GetRetentionRule`, { uid: text(rule, "uid") });
  assert.deepEqual([stored.tagPattern, stored.keepLast, stored.updateTime], ["build-.*", 5, rule.updateTime]);
  const registry = openPusher(world, repo, () => owners.token(organization));
  for (const tag of ["build-1", "build-2"]) {
    await registry.image("amd64", tag);
    world.clock.now += 1000;
  }
  const deleted = async (): Promise<unknown[]> =>
    objectList(await owner.ok(`${rulesService}/PreviewRetentionRules`, { repoUid: repo, deletedOnly: true }), "verdicts").map(({ tag }) => tag);
  world.clock.now += 60 * 86_400_000;
  assert.deepEqual(await deleted(), []);
  const changed = await update({ keepLast: 1, name: "newer" }, "keep_last,name");
  assert.equal(changed.code, 0, changed.message);
  assert.deepEqual(await deleted(), ["build-1"]);
});

test("a rule that keeps nothing, or has a pattern, range or repo that is none, is refused", async () => {
  const organization = await newOrganization("bad-rules");
  const foreign = await newRepo(await newOrganization("foreign"), "app");
  const bad: readonly (readonly [JsonObject, string])[] = [
    [{}, "at least one of keepAll"],
    [{ keepAll: true, keepLast: 1 }, "must not be combined"],
    [{ keepLast: 1, tagPattern: "(" }, "RE2 pattern"],
    [{ keepLast: 1, tagPattern: "(a{1,100}){1,100}" }, "RE2 pattern"],
    [{ keepLast: 1, versionRange: "^1.0" }, "four comparisons"],
    [{ keepLast: 1, versionRange: "<1.0.0 <2.0.0 <3.0.0 <4.0.0 <5.0.0" }, "four comparisons"],
    [{ keepLast: 1, repoUid: foreign }, "uid of a repo below the group"],
    [{ keepLast: 1, repoUid: `${organization}/0123456789abcdef` }, "uid of a repo below the group"],
    [{ keepLast: -1 }, "keepLast must be between"],
    [{ keepPulledDays: 366 }, "keepPulledDays must be between"],
  ];
  for (const [retentionRule, expected] of bad) {
    const { code, message } = await owner.call(
      `${rulesService}/CreateRetentionRule`,
      { parent: organization, retentionRule: { name: "bad", ...retentionRule } },
      {},
    );
    assert.deepEqual([code, message.includes(expected)], [codes.INVALID_ARGUMENT, true], message);
  }
});

interface Stored {
  readonly pusher: Pusher;
  readonly repo: string;
  readonly group: string;
}

const storedRepo = async (name: string): Promise<Stored> => {
  const group = await newOrganization(name);
  const repo = await newRepo(group, "app");
  return { group, repo, pusher: openPusher(world, repo, () => owners.token(group)) };
};

test("a tag is kept that an index or a subject refers to, that is attached, or that is in use", async () => {
  const { group, repo, pusher } = await storedRepo("protected");
  const [listed, signed, running, plain, child] = [
    await pusher.image("amd64", "listed"),
    await pusher.image("amd64", "signed"),
    await pusher.image("amd64", "running"),
    await pusher.image("amd64", "plain"),
    await pusher.image("arm64"),
  ];
  const indexOf = (images: readonly (typeof listed)[]) => ({ schemaVersion: 2, mediaType: ociIndex, manifests: images.map(descriptorOf) });
  await pusher.manifest(indexOf([listed]), ociIndex, "index");
  await pusher.manifest(indexOf([child]), ociIndex, "by-child");
  await pusher.artifact([], { subject: signed });
  await pusher.image("amd64", `${plain.digest.replace(":", "-")}.sig`);
  await pusher.image("amd64", `sha256-${"0".repeat(64)}.sig`);
  await pusher.image("amd64", "reported");
  await createRule(group, { name: "all", keepDays: 1, inUseDays: 7 });
  world.clock.now += 3 * dayMs;
  const identity = { name: "cluster", claimMatch: { issuer: "https://issuer.example.com", subject: "cluster" }, labels: ["runtime"] };
  const cluster = text(await owner.ok("iam.IdentitiesService/CreateIdentity", { parent: group, identity }), "uid");
  const { roles } = await world.ok("iam.RolesService/ListRoles", { name: "registry.pull" });
  const roleUid = text((roles as JsonObject[])[0] ?? {}, "uid");
  await owner.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: cluster, roleUid } });
  const puller = openPusher(world, repo, () => world.token(cluster));
  for (const reference of [running.digest, child.digest]) assert.equal((await puller.send("GET", `manifests/${reference}`)).status, 200);
  await finishPullCounts(world.server.application.services);
  const inUse = (untilMs: number) =>
    owner.ok("gantry.registry.v1.InUseService/ReportInUse", {
      parent: group,
      source: "cluster-a",
      images: ["protected/app:reported"],
      expireTime: new Date(untilMs).toISOString(),
    });
  await inUse(world.clock.now + 10 * dayMs);
  const reasons = new Map(
    (await previewOf(repo)).map(({ tag, deleted, reason }) => [String(tag), `${deleted === true ? "deleted" : "kept"}: ${String(reason)}`]),
  );
  assert.match(reasons.get("listed") ?? "", /^kept: the index sha256:[0-9a-f]{64} lists its manifest$/);
  assert.match(reasons.get("signed") ?? "", /^kept: sha256:[0-9a-f]{64} refers to its manifest$/);
  assert.match(reasons.get("running") ?? "", /^kept: in use: pulled by an identity with the label runtime on \d{4}-\d{2}-\d{2}$/);
  assert.match(reasons.get("by-child") ?? "", /^kept: in use: pulled by an identity with the label runtime/);
  assert.equal(reasons.get("reported"), "kept: in use: reported by cluster-a");
  assert.equal(reasons.get(`${plain.digest.replace(":", "-")}.sig`), `kept: it is attached to ${plain.digest}`);
  const doomed = [`sha256-${"0".repeat(64)}.sig`, "index", "plain"].sort();
  assert.deepEqual((await doomedIn(repo)).sort(), doomed);
  await runNow();
  assert.deepEqual(doomed.filter((tag) => reasons.has(tag)).length + (await tagsOf(repo)).length, reasons.size, "the run deletes what the preview shows");
  // No longer in use.
  world.clock.now += 11 * dayMs;
  assert.deepEqual((await doomedIn(repo)).sort(), ["by-child", "reported", "running"]);
});

test("tags and manifests come back by undelete, also where untagged manifests are collected", async () => {
  const { group, repo, pusher } = await storedRepo("restored");
  const image = await pusher.image("amd64", "old");
  await pusher.image("amd64", "new");
  const rule = await createRule(group, { name: "all", keepLast: 1 });
  await runNow();
  assert.deepEqual(await tagsOf(repo), ["new"]);
  world.clock.now += 10 * dayMs;
  await collectUntagged(world.server.application.kernel, 1);
  await owner.ok(`${rulesService}/DeleteRetentionRule`, { uid: text(rule, "uid") });
  const deletions = objectList(await owner.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { uidp: { descendantsOf: repo } }), "deletions");
  assert.deepEqual(
    deletions.map(({ resourceName, deleterUid }) => [resourceName, deleterUid]),
    [["old", undefined]],
  );
  await owner.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid: text(deletions[0] ?? {}, "uid") });
  const response = await pusher.send("GET", "manifests/old");
  assert.deepEqual([response.status, response.headers.get("docker-content-digest")], [200, image.digest]);
});

test("each deleted tag has its event, and the run changes nothing else", async () => {
  const { group, repo } = await storedRepo("events");
  await makeTags(repo, { a: 3, b: 2, c: 1 });
  await createRule(group, { name: "all", keepLast: 1 });
  const before = (await world.events()).length;
  await runNow();
  const events = (await world.events()).slice(before).filter(({ group: of }) => of === group);
  assert.deepEqual(
    events.map(({ type, actor }) => [type, actor]),
    Array.from({ length: 2 }, () => ["dev.chainguard.api.platform.registry.tag.deleted.v1", null]),
  );
});

test("a rule with preview_only shows its effect and deletes nothing", async () => {
  const { group, repo } = await storedRepo("previewed");
  await makeTags(repo, { a: 3, b: 2 });
  const rule = await createRule(group, { name: "all", keepLast: 1, previewOnly: true });
  assert.deepEqual([await doomedIn(repo), await doomedIn(repo, { enforcedOnly: true })], [["a"], []]);
  await runNow();
  assert.deepEqual(await tagsOf(repo), ["a", "b"]);
  await owner.ok(`${rulesService}/DeleteRetentionRule`, { uid: text(rule, "uid") });
  await createRule(group, { name: "all", keepLast: 1 });
  await runNow();
  assert.deepEqual(await tagsOf(repo), ["b"]);
});

test("a tag that a rule of its group makes immutable is kept, with the rule as the reason, until that rule is gone", async () => {
  const { group, repo } = await storedRepo("immutable");
  await makeTags(repo, { v1: 3, v2: 2, build: 4 });
  const made = await owner.ok("gantry.registry.v1.ImmutableTagRulesService/CreateImmutableTagRule", {
    parent: group,
    immutableTagRule: { pattern: "v[0-9]+" },
  });
  await createRule(group, { name: "all", keepLast: 1 });
  const verdicts = await previewOf(repo);
  assert.deepEqual(
    verdicts.map(({ tag, deleted, reason }) => [tag, deleted ?? false, reason]).filter(([tag]) => tag === "v1"),
    [["v1", false, 'immutable by the rule "v[0-9]+"']],
  );
  await runNow();
  assert.deepEqual(await tagsOf(repo), ["v1", "v2"]);
  await owner.ok("gantry.registry.v1.ImmutableTagRulesService/DeleteImmutableTagRule", { uid: text(made, "uid") });
  await runNow();
  assert.deepEqual(await tagsOf(repo), ["v2"]);
});

test("a suspended organization keeps its tags", async () => {
  const { group, repo } = await storedRepo("suspended");
  await makeTags(repo, { a: 3, b: 2 });
  await createRule(group, { name: "all", keepLast: 1 });
  await world.server.application.services.store.write((rows) => rows.query("update groups set status = 'ORG_STATUS_SUSPENDED' where uid = $1", [group]));
  await runNow();
  assert.deepEqual(await tagsOf(repo), ["a", "b"]);
});

test("organizations take turns: a large run does not delay a small one", async () => {
  const [large, small] = [await storedRepo("large"), await storedRepo("small")];
  await makeTags(large.repo, Object.fromEntries(Array.from({ length: 5 * limits.retentionPieceTags }, (_, index) => [`t${index}`, 10])));
  await makeTags(small.repo, { a: 3, b: 2 });
  for (const { group } of [large, small]) await createRule(group, { name: "all", keepLast: 1 });
  let pieces = 0;
  let leftOfLarge = 0;
  // One piece of each.
  world.clock.now += limits.retentionRunMs;
  await runTagRetention(world.server.application.kernel, () => {
    world.clock.now += 1;
    return true;
  });
  const order = (await world.events()).filter(({ type }) => type.endsWith("registry.tag.deleted.v1")).map(({ group }) => group);
  pieces = order.indexOf(small.group) - order.indexOf(large.group);
  leftOfLarge = order.lastIndexOf(large.group) - order.indexOf(small.group);
  assert.ok(pieces <= limits.retentionPieceTags && leftOfLarge > 0, `${pieces} events before, ${leftOfLarge} after`);
});

const many = shortOrLong(600, 10_000);

test(`${many} tags: the preview lists each with its reason, the run deletes what it shows, and all come back`, { timeout: 900_000 }, async () => {
  const { group, repo } = await storedRepo("many");
  await makeTags(repo, Object.fromEntries(Array.from({ length: many }, (_, index) => [`build-${String(index).padStart(5, "0")}`, 1 + index / 1000])));
  const rule = await createRule(group, { name: "builds", tagPattern: "build-.*", keepLast: 100 });
  const started = performance.now();
  const verdicts = await previewOf(repo);
  const previewed = performance.now();
  assert.equal(verdicts.length, many);
  assert.ok(verdicts.every(({ reason }) => String(reason).length > 10));
  const doomed = verdicts.filter(({ deleted }) => deleted === true).map(({ tag }) => String(tag));
  assert.equal(doomed.length, many - 100);
  await runNow();
  const ran = performance.now();
  assert.deepEqual(
    await tagsOf(repo),
    verdicts.filter(({ deleted }) => deleted !== true).map(({ tag }) => tag),
  );
  await owner.ok(`${rulesService}/DeleteRetentionRule`, { uid: text(rule, "uid") });
  for (let left = 1; left > 0; ) {
    const deletions = objectList(
      await owner.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { uidp: { descendantsOf: repo }, pageSize: 200 }),
      "deletions",
    );
    left = deletions.length;
    const waiting = deletions.map(({ uid }) => String(uid));
    const undelete = async (): Promise<void> => {
      for (let uid = waiting.pop(); uid !== undefined; uid = waiting.pop()) await owner.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid });
    };
    await Promise.all([undelete(), undelete(), undelete(), undelete()]);
  }
  assert.deepEqual(
    await tagsOf(repo),
    verdicts.map(({ tag }) => tag),
  );
  const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1);
  process.stdout.write(`preview ${seconds(started, previewed)} s, run ${seconds(previewed, ran)} s, undo ${seconds(ran, performance.now())} s\n`);
});
