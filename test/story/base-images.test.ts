// The layer of each finding, and the base image of its image: known by the layers of images that the caller may list, or claimed by an
// annotation.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import type { DraftEntry } from "../../server/registry/contents/tar.fixture.ts";
import { debian, dpkg, npm, pushImage, pushImageWith } from "../image-layers.ts";
import { runGantry } from "../command-line.ts";
import { asOwner } from "../database.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociIndex, openPusher, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-base-images-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const findings = "gantry.findings.v1.FindingsService/ListFindings";
const grouped = "gantry.findings.v1.FindingsService/GroupFindings";

interface Tenant {
  readonly name: string;
  readonly group: string;
  /** Of the groups `platform` and `team`. */
  readonly platform: string;
  readonly team: string;
  readonly repo: (path: string) => Pusher;
}

/** Creates an organization for which bash below 5.3, and all versions of ms and of busybox, are affected. */
const openTenant = async (): Promise<Tenant> => {
  const name = `based-${++made}`;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const token = await owners.token(group);
  const below = async (each: string): Promise<string> =>
    text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: each } }, { token }), "uid");
  const [platform, team] = [await below("platform"), await below("team")];
  const file = join(folder, `${name}.json`);
  const affected = (id: string, ecosystem: string, each: string, fixed?: string): JsonObject => ({
    id,
    modified: "2026-01-02T00:00:00Z",
    affected: [
      {
        package: { ecosystem, name: each },
        ranges: [{ type: ecosystem === "npm" ? "SEMVER" : "ECOSYSTEM", events: [{ introduced: "0" }, ...(fixed === undefined ? [] : [{ fixed }])] }],
      },
    ],
  });
  const records = [affected("BASH-1", "Debian:12", "bash", "5.4"), affected("BUSYBOX-1", "Debian:12", "busybox"), affected("MS-1", "npm", "ms")];
  await writeFile(file, JSON.stringify(records));
  assert.deepEqual((await runImport(world, "advisories", [file], { group })).refused, []);
  return { name, group, platform, team, repo: (path) => openPusher(world, `${name}/${path}`, () => owners.token(group)) };
};

/** Reads all pushed images, and matches them. */
const turn = async (): Promise<void> => {
  await world.server.contents.turn();
  await world.server.sboms.turn();
};

const base = [debian, dpkg(["bash", "5.2"])];
const own = [npm("ms", "1.9.0")];

const listed = async ({ group }: Tenant, request: JsonObject = {}, token?: string): Promise<JsonObject[]> =>
  objectList(
    await world.ok(findings, { uidp: { descendantsOf: group }, orderBy: "repo", ...request }, { token: token ?? (await owners.token(group)) }),
    "findings",
  );

/** "app MS-1 2 NO base=debian:12": repo, advisory, position of the layer, whether from the base image, and its reference. */
const shown = (found: readonly JsonObject[]): string[] =>
  found
    .map((each) => {
      const reference = text(part(each, "baseImage"), "reference");
      const fromBase = text(each, "fromBaseImage").replace("FROM_BASE_IMAGE_", "");
      return `${text(each, "repo")} ${text(each, "advisoryId")} ${Number(each.layerPosition ?? 0)} ${fromBase}${reference === "" ? "" : ` base=${reference}`}`;
    })
    .sort();

const groupsOf = async ({ group }: Tenant, token?: string, protocol: "rest" | "grpc" = "rest"): Promise<JsonObject[]> => {
  const request = { groupBy: "FINDING_GROUP_BY_BASE_IMAGE", uidp: { descendantsOf: group }, orderBy: "finding_count desc" };
  const reply = await world.ok(grouped, request, { token: token ?? (await owners.token(group)), protocol });
  const groups = objectList(reply, "groups");
  assert.equal(Number(reply.totalCount), groups.length);
  return groups;
};

const shownGroups = (groups: readonly JsonObject[]): string[] =>
  groups.map((each) => `${text(each, "label")}: ${Number(each.findingCount)} in ${Number(each.imageCount)}`).sort();

test("a finding has the layer that brought its package, and says whether the base image has it", async () => {
  const tenant = await openTenant();
  const image = await pushImage(tenant.repo("team/app"), "v1", base, own);
  await pushImage(tenant.repo("team/upgraded"), "v1", base, [dpkg(["bash", "5.3"])]);
  await turn();
  assert.deepEqual(shown(await listed(tenant)), ["app BASH-1 1 UNKNOWN", "app MS-1 2 UNKNOWN", "upgraded BASH-1 2 UNKNOWN"]);
  // The base image may be pushed later.
  const pushedBase = await pushImage(tenant.repo("platform/debian"), "12", base);
  await turn();
  const found = await listed(tenant);
  assert.deepEqual(shown(found), [
    "app BASH-1 1 YES base=debian:12",
    "app MS-1 2 NO base=debian:12",
    "debian BASH-1 1 UNKNOWN",
    "upgraded BASH-1 2 NO base=debian:12",
  ]);
  const [bash = {}] = found.filter((each) => text(each, "repo") === "app" && text(each, "advisoryId") === "BASH-1");
  const layers = objectList((await (await tenant.repo("team/app").send("GET", `manifests/${image.digest}`)).json()) as JsonObject, "layers");
  assert.equal(text(bash, "layer"), text(layers[0] ?? {}, "digest"));
  const { repoUid: _, ...shownBase } = part(bash, "baseImage");
  assert.ok(text(part(bash, "baseImage"), "repoUid").startsWith(`${tenant.platform}/`));
  assert.deepEqual(shownBase, {
    origin: "BASE_IMAGE_ORIGIN_LAYERS",
    reference: "debian:12",
    digest: pushedBase.digest,
    repo: "debian",
    tags: ["12"],
    layerCount: 1,
  });
  const request = { uidp: { descendantsOf: tenant.group }, orderBy: "repo" };
  const overRpc = await world.ok(findings, request, { token: await owners.token(tenant.group), protocol: "grpc" });
  const facts = (each: JsonObject): JsonObject => ({ ...part(each, "baseImage"), layer: text(each, "layer"), uid: text(each, "uid") });
  assert.deepEqual(shown(objectList(overRpc, "findings")), shown(found));
  assert.deepEqual(objectList(overRpc, "findings").map(facts), found.map(facts));
});

test("the base image with the most layers counts, a tagged one of several, and no other version of the same repo", async () => {
  const tenant = await openTenant();
  const middle = [npm("left", "1.0.0")];
  const old = tenant.repo("platform/debian");
  await pushImageWith(old, undefined, { annotations: { build: "1" } }, base);
  await pushImageWith(old, "12", { annotations: { build: "2" } }, base);
  await pushImage(tenant.repo("platform/node"), "20", base, middle);
  const app = tenant.repo("team/app");
  await pushImage(app, "v1", base, middle, own);
  await pushImage(app, "v2", base, middle, own, [npm("right", "1.0.0")]);
  await turn();
  assert.deepEqual(shown(await listed(tenant)), [
    "app BASH-1 1 YES base=node:20",
    "app BASH-1 1 YES base=node:20",
    "app MS-1 3 NO base=node:20",
    "app MS-1 3 NO base=node:20",
    "debian BASH-1 1 UNKNOWN",
    "node BASH-1 1 YES base=debian:12",
  ]);
  // Deleted base images no longer count.
  const [{ uid = "" } = {}] = objectList(
    await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: tenant.platform }, name: "node" }, { token: await owners.token(tenant.group) }),
    "repos",
  );
  await world.ok("registry.ReposService/DeleteRepo", { uid }, { token: await owners.token(tenant.group) });
  assert.deepEqual(shown(await listed(tenant, { uidp: { descendantsOf: tenant.team } })), [
    "app BASH-1 1 YES base=debian:12",
    "app BASH-1 1 YES base=debian:12",
    "app MS-1 3 NO base=debian:12",
    "app MS-1 3 NO base=debian:12",
  ]);
});

test("an annotation is shown as a claim that decides nothing, and never about an image of this server", async () => {
  const tenant = await openTenant();
  const name = "org.opencontainers.image.base.name";
  const digest = "org.opencontainers.image.base.digest";
  const other = await pushImage(tenant.repo("platform/other"), "1", [debian, dpkg(["busybox", "1.0"])]);
  const claimed = `sha256:${"c".repeat(64)}`;
  const host = new URL(world.url).host;
  const claim = async (repo: string, annotations: JsonObject): Promise<void> => {
    await pushImageWith(tenant.repo(`team/${repo}`), "v1", { annotations }, base, own);
  };
  await claim("external", { [name]: "docker.io/library/debian:12", [digest]: claimed });
  await claim("foreign", { [name]: "docker.io/library/debian:12", [digest]: other.digest });
  await claim("local", { [name]: `${host}/${tenant.name}/platform/other:1`, [digest]: other.digest });
  await claim("path", { [name]: `${tenant.name}/platform/other:1`, [digest]: other.digest });
  await claim("hostile", { [name]: "docker.io/<script>alert(1)</script>", [digest]: "=1+1" });
  await turn();
  const found = (await listed(tenant)).filter((each) => text(each, "advisoryId") === "BASH-1");
  assert.deepEqual(shown(found), [
    "external BASH-1 1 UNKNOWN base=docker.io/library/debian:12",
    "foreign BASH-1 1 UNKNOWN base=docker.io/library/debian:12",
    "hostile BASH-1 1 UNKNOWN",
    "local BASH-1 1 UNKNOWN",
    "path BASH-1 1 UNKNOWN",
  ]);
  assert.deepEqual(part(found[0] ?? {}, "baseImage"), {
    origin: "BASE_IMAGE_ORIGIN_ANNOTATION",
    reference: "docker.io/library/debian:12",
    digest: claimed,
  });
  assert.deepEqual(shownGroups(await groupsOf(tenant)), ["docker.io/library/debian:12: 2 in 1", "docker.io/library/debian:12: 2 in 1", "unknown: 7 in 4"]);
  // Layers are stronger than claims.
  await pushImage(tenant.repo("platform/debian"), "mine", base);
  await turn();
  assert.deepEqual(shownGroups(await groupsOf(tenant)), ["debian:mine: 10 in 5", "unknown: 2 in 2"]);
});

test("groups by base image count the findings of all images, over both protocols, with one group for several platforms", async () => {
  const tenant = await openTenant();
  const index = async (path: string, ...layers: readonly (readonly DraftEntry[])[]): Promise<string> => {
    const registry = tenant.repo(path);
    const manifests = [];
    for (const architecture of ["amd64", "arm64"]) {
      const platformOf = [...layers.entries()].map(([at, layer]) => (at === 0 ? [...layer, { name: `etc/${architecture}`, content: "" }] : layer));
      const image = await pushImageWith(registry, undefined, { architecture }, ...platformOf);
      manifests.push({ ...descriptorOf(image), platform: { os: "linux", architecture } });
    }
    return (await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "v1")).digest;
  };
  const digest = await index("platform/debian", base);
  await index("team/one", base, own);
  await index("team/two", base, [npm("ms", "1.8.0")]);
  await pushImage(tenant.repo("team/three"), "v1", [debian, dpkg(["bash", "5.1"])]);
  await turn();
  assert.deepEqual(shown(await listed(tenant)), [
    "debian BASH-1 1 UNKNOWN",
    "one BASH-1 1 YES base=debian:v1",
    "one MS-1 2 NO base=debian:v1",
    "three BASH-1 1 UNKNOWN",
    "two BASH-1 1 YES base=debian:v1",
    "two MS-1 2 NO base=debian:v1",
  ]);
  const groups = await groupsOf(tenant);
  const named = (each: JsonObject): JsonObject => ({ label: text(each, "label"), ...part(each, "baseImage") });
  assert.deepEqual(groups.map(named), (await groupsOf(tenant, undefined, "grpc")).map(named));
  assert.deepEqual(shownGroups(groups), ["debian:v1: 4 in 2", "unknown: 2 in 2"]);
  assert.equal(text(part(groups[0] ?? {}, "baseImage"), "digest"), digest);
  const request = { groupBy: "FINDING_GROUP_BY_BASE_IMAGE", uidp: { descendantsOf: tenant.group }, orderBy: "finding_count desc", pageSize: 1 };
  const token = await owners.token(tenant.group);
  const first = await world.ok(grouped, request, { token });
  const second = await world.ok(grouped, { ...request, pageToken: text(first, "nextPageToken") }, { token });
  assert.deepEqual(shownGroups([...objectList(first, "groups"), ...objectList(second, "groups")]), shownGroups(groups));
});

const countsOf = (reply: JsonObject): number => objectList(part(reply, "summary"), "severityCounts").reduce((sum, { count }) => sum + Number(count), 0);

test("filters by base image, layer and origin select the findings that show them, in lists, totals, groups and pages", async () => {
  const tenant = await openTenant();
  const middle = [npm("left", "1.0.0")];
  await pushImage(tenant.repo("platform/debian"), "12", base);
  await pushImage(tenant.repo("platform/node"), "20", base, middle);
  await pushImage(tenant.repo("team/app"), "v1", base, middle, own);
  await pushImage(tenant.repo("team/plain"), "v1", base, [npm("ms", "1.8.0")]);
  await pushImage(tenant.repo("team/other"), "v1", [debian, dpkg(["bash", "5.1"])]);
  await pushImageWith(tenant.repo("team/claimed"), "v1", { annotations: { "org.opencontainers.image.base.name": "docker.io/library/alpine:3" } }, [
    debian,
    dpkg(["busybox", "1.0"]),
  ]);
  await turn();
  const token = await owners.token(tenant.group);
  const all = await listed(tenant);
  const baseOf = (each: JsonObject): string => text(part(each, "baseImage"), "reference");
  const layersOf = [...new Set(all.map((each) => text(each, "layer")))];
  const [first = ""] = layersOf;
  const named = `${tenant.name}/platform/debian:12`;
  const cases: [JsonObject, (each: JsonObject) => boolean][] = [
    [{ baseImages: [named] }, (each) => baseOf(each) === "debian:12"],
    [
      { baseImages: [`${tenant.name}/platform/node:20`, "docker.io/library/alpine:3"] },
      (each) => ["node:20", "docker.io/library/alpine:3"].includes(baseOf(each)),
    ],
    [{ baseImages: ["docker.io/library/unknown:1"] }, () => false],
    ...layersOf.map((layer): [JsonObject, (each: JsonObject) => boolean] => [{ layers: [layer] }, (each) => text(each, "layer") === layer]),
    ...["YES", "NO", "UNKNOWN"].map((name): [JsonObject, (each: JsonObject) => boolean] => {
      const fromBaseImage = `FROM_BASE_IMAGE_${name}`;
      return [{ fromBaseImage }, (each) => text(each, "fromBaseImage") === fromBaseImage];
    }),
    [
      { fromBaseImage: "FROM_BASE_IMAGE_NO", baseImages: [named] },
      (each) => text(each, "fromBaseImage") === "FROM_BASE_IMAGE_NO" && baseOf(each) === "debian:12",
    ],
    [{ layers: [first], packages: ["none"] }, () => false],
    [{ layers: [first], baseImages: [named] }, (each) => text(each, "layer") === first && baseOf(each) === "debian:12"],
    [{ images: [`${tenant.name}/team/app:v1`], baseImages: [named] }, () => false],
    [
      { images: [`${tenant.name}/team/plain:v1`], layers: layersOf, baseImages: [named], states: ["AFFECTED_IMAGE_STATE_AFFECTED"] },
      (each) => text(each, "repo") === "plain",
    ],
  ];
  for (const [filter, isSelected] of cases)
    for (const protocol of ["rest", "grpc"] as const) {
      const uids = all
        .filter(isSelected)
        .map((each) => text(each, "uid"))
        .sort();
      const request = { uidp: { descendantsOf: tenant.group }, orderBy: "uid", ...filter };
      const reply = await world.ok(findings, request, { token, protocol });
      const name = JSON.stringify(filter);
      assert.deepEqual(
        objectList(reply, "findings").map((each) => text(each, "uid")),
        uids,
        name,
      );
      assert.equal(Number(reply.totalCount), uids.length, name);
      assert.equal(countsOf(reply), uids.length, name);
      const groups = await world.ok(grouped, { ...request, orderBy: "finding_count desc", groupBy: "FINDING_GROUP_BY_IMAGE" }, { token, protocol });
      assert.equal(
        objectList(groups, "groups").reduce((sum, { findingCount }) => sum + Number(findingCount), 0),
        uids.length,
        name,
      );
      const paged: string[] = [];
      for (let pageToken = ""; ; ) {
        const page = await world.ok(findings, { ...request, pageSize: 2, pageToken }, { token, protocol });
        paged.push(...objectList(page, "findings").map((each) => text(each, "uid")));
        pageToken = text(page, "nextPageToken");
        if (pageToken === "") break;
      }
      assert.deepEqual(paged, uids, name);
      const [uid] = uids;
      if (uid === undefined) continue;
      const byUid = await world.ok(findings, { ...request, uidp: { ids: [uid] } }, { token, protocol });
      assert.deepEqual(
        objectList(byUid, "findings").map((each) => text(each, "uid")),
        [uid],
        name,
      );
    }
  // A group by base image has the findings that its base image selects.
  for (const group of await groupsOf(tenant)) {
    const { repoUid, digest, reference, origin } = part(group, "baseImage");
    if (origin === undefined) continue;
    const baseImages = [origin === "BASE_IMAGE_ORIGIN_LAYERS" ? `${String(repoUid)}@${String(digest)}` : String(reference)];
    assert.equal((await listed(tenant, { baseImages })).length, Number(group.findingCount), baseImages[0]);
  }
});

test("images that an earlier version read get their layers without a push", async () => {
  const tenant = await openTenant();
  await pushImage(tenant.repo("platform/debian"), "12", base);
  await pushImage(tenant.repo("team/app"), "v1", base, own);
  await turn();
  const known = shown(await listed(tenant));
  await asOwner(world.databaseUrl, "delete from image_layers where left(uid, 40) = $1", [tenant.group]);
  await asOwner(world.databaseUrl, "update image_contents set layers_written = false where left(uid, 40) = $1", [tenant.group]);
  assert.deepEqual(shown(await listed(tenant)), ["app BASH-1 0 UNKNOWN", "app MS-1 0 UNKNOWN", "debian BASH-1 0 UNKNOWN"]);
  await turn();
  assert.deepEqual(shown(await listed(tenant)), known);
});

test("the command line prints groups by base image, and exports layers and base images as CSV and JSON lines", async () => {
  const tenant = await openTenant();
  await pushImage(tenant.repo("platform/debian"), "12", base);
  await pushImage(tenant.repo("team/app"), "v1", base, own);
  await turn();
  const options = {
    environment: { GANTRY_SERVER: world.url, GANTRY_TOKEN: await owners.token(tenant.group), XDG_CONFIG_HOME: folder, NO_COLOR: "1" },
    columns: 200,
  };
  const place = ["--descendants-of", tenant.name];
  const groups = await runGantry(["findings", "group", "--group-by", "base-image", "--order-by", "finding_count desc", ...place], options);
  assert.match(groups.out, /debian:12 +2 +1/);
  assert.match(groups.out, /unknown +1 +1/);
  const csv = await runGantry(["findings", "list", "--order-by", "repo", ...place, "-o", "csv"], options);
  assert.equal(csv.status, 0, csv.err);
  const [head = "", ...lines] = csv.out.trim().split(/\r?\n/);
  const names = head.split(",");
  for (const name of ["layer", "layerPosition", "fromBaseImage", "baseImage.reference", "baseImage.digest"]) assert.ok(names.includes(name), name);
  assert.match(lines.find((line) => line.includes("MS-1")) ?? "", /,2,FROM_BASE_IMAGE_NO,BASE_IMAGE_ORIGIN_LAYERS,debian:12,/);
  const exported = await runGantry(["findings", "list", ...place, "-o", "jsonl"], options);
  const records = exported.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  assert.deepEqual(shown(records), shown(await listed(tenant)));
});

test("an unread layer leaves it unknown whether a package is the image's own", async () => {
  const tenant = await openTenant();
  const broken = Buffer.from("not a layer");
  await pushImage(tenant.repo("platform/debian"), "12", base);
  await pushImage(tenant.repo("team/app"), "v1", base, broken, own);
  await turn();
  assert.deepEqual(shown(await listed(tenant, { uidp: { descendantsOf: tenant.team } })), [
    "app BASH-1 1 YES base=debian:12",
    "app MS-1 3 UNKNOWN base=debian:12",
  ]);
});

test("attack 388: a caller who may list an image but not its base image learns nothing of it, nor does another organization", async () => {
  const [tenant, other] = [await openTenant(), await openTenant()];
  const pushedBase = await pushImage(tenant.repo("platform/secret-base"), "12", base);
  await pushImage(tenant.repo("team/app"), "v1", base, own);
  await pushImage(other.repo("team/app"), "v1", base, own);
  await turn();
  const claimMatch = { issuer: "https://issuer.example.com", subject: `viewer of ${tenant.team}` };
  const owner = await owners.token(tenant.group);
  const identity = { parent: tenant.group, identity: { name: "team-viewer", claimMatch } };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", identity, { token: owner }), "uid");
  const roleBinding = { identityUid, roleUid: builtInRoleUid("viewer") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: tenant.team, roleBinding }, { token: owner });
  const viewer = await world.token(identityUid);
  const request = { uidp: { descendantsOf: tenant.team } };
  assert.deepEqual(shown(await listed(tenant, request)), ["app BASH-1 1 YES base=secret-base:12", "app MS-1 2 NO base=secret-base:12"]);
  for (const [of, token] of [
    [tenant, viewer],
    [other, await owners.token(other.group)],
  ] as const) {
    const found = await listed(of, { uidp: { descendantsOf: of.team } }, token);
    assert.deepEqual(shown(found), ["app BASH-1 1 UNKNOWN", "app MS-1 2 UNKNOWN"]);
    const groups = await groupsOf({ ...of, group: of.team }, token);
    assert.deepEqual(shownGroups(groups), ["unknown: 2 in 1"]);
    assert.doesNotMatch(JSON.stringify([found, groups]), new RegExp(`secret-base|${pushedBase.digest}|layerCount`));
  }
  // Once the caller may list the base image, it is shown.
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: tenant.platform, roleBinding }, { token: owner });
  assert.deepEqual(shown(await listed(tenant, request, viewer)), ["app BASH-1 1 YES base=secret-base:12", "app MS-1 2 NO base=secret-base:12"]);
});

test("attack 390: filters by base image, layer and origin find nothing by a base image that the caller may not list", async () => {
  const tenant = await openTenant();
  const pushedBase = await pushImage(tenant.repo("platform/secret-base"), "12", base);
  await pushImage(tenant.repo("team/app"), "v1", base, own);
  await turn();
  const owner = await owners.token(tenant.group);
  const claimMatch = { issuer: "https://issuer.example.com", subject: `reader of ${tenant.team}` };
  const identity = { parent: tenant.group, identity: { name: "team-reader", claimMatch } };
  const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", identity, { token: owner }), "uid");
  const roleBinding = { identityUid, roleUid: builtInRoleUid("viewer") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: tenant.team, roleBinding }, { token: owner });
  const viewer = await world.token(identityUid);
  const within = { uidp: { descendantsOf: tenant.team } };
  const found = await listed(tenant, within);
  const repoUid = text(part(found[0] ?? {}, "baseImage"), "repoUid");
  assert.notEqual(repoUid, "");
  const names = [`${tenant.name}/platform/secret-base:12`, `${repoUid}@${pushedBase.digest}`];
  for (const name of names) {
    assert.equal((await listed(tenant, { ...within, baseImages: [name] })).length, 2);
    // As for an image that does not exist.
    assert.deepEqual(await listed(tenant, { ...within, baseImages: [name] }, viewer), []);
    assert.deepEqual(await listed(tenant, { ...within, baseImages: [`${tenant.name}/platform/absent:1`] }, viewer), []);
    const groups = await world.ok(grouped, { groupBy: "FINDING_GROUP_BY_IMAGE", ...within, baseImages: [name] }, { token: viewer });
    assert.equal(Number(groups.totalCount ?? 0), 0);
  }
  assert.equal((await listed(tenant, { ...within, fromBaseImage: "FROM_BASE_IMAGE_YES" })).length, 1);
  for (const fromBaseImage of ["FROM_BASE_IMAGE_YES", "FROM_BASE_IMAGE_NO"]) assert.deepEqual(await listed(tenant, { ...within, fromBaseImage }, viewer), []);
  assert.equal((await listed(tenant, { ...within, fromBaseImage: "FROM_BASE_IMAGE_UNKNOWN" }, viewer)).length, 2);
  // A layer that the caller's images have as well is theirs; findings of others stay out.
  const layers = [...new Set(found.map((each) => text(each, "layer")))];
  assert.deepEqual(shown(await listed(tenant, { layers }, viewer)), ["app BASH-1 1 UNKNOWN", "app MS-1 2 UNKNOWN"]);
});
