// Attacks on source coverage: unevaluated images that look clean, and what a tenant learns of or changes in others' sources.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { undoImport } from "#advisories/feeds";
import { openPusher } from "../pusher.ts";
import { type FeedServer, openFeedServer } from "../story/feed-server.ts";
import { runImport } from "../story/import.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

const coverageList = "gantry.vulnerabilities.v1.AdvisoryCoverageService/ListAdvisoryCoverage";
const affectedList = "gantry.images.v1.AffectedImagesService/ListAffectedImages";
const protocols = ["rest", "grpc"] as const;
const hourMs = 3_600_000;

interface Tenant {
  readonly name: string;
  readonly group: string;
  readonly owner: string;
}

let world: World;
let feed: FeedServer;
let folder: string;
let ours: Tenant;
let made = 0;

const makeTenant = async (): Promise<Tenant> => {
  const name = `covered-${++made}`;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const owner = await createIdentity(world, group, name, { issuer: "https://issuer.example.com", subject: name });
  await bind(world, group, owner, "owner");
  return { name, group, owner };
};

const tokenOf = ({ owner }: Tenant): Promise<string> => world.token(owner);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-covered-"));
  world = await openWorld();
  feed = await openFeedServer();
});
after(async () => {
  await feed?.close();
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  ours = await makeTenant();
});
afterEach(() => feed.answers.clear());

const importImages = (group: string, images: Readonly<Record<string, readonly string[]>>) => {
  const file = join(folder, "images.jsonl");
  const lines = Object.entries(images).map(([repo, packages]) => JSON.stringify({ repo, tags: ["latest"], configs: { amd64: { packages } } }));
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return runImport(world, "images", [file], { group });
};

const record = (id: string, ecosystem: string): JsonObject => ({
  id,
  modified: "2026-01-02T00:00:00Z",
  affected: [{ package: { ecosystem, name: "unrelated" }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed: "2" }] }] }],
});

/** Serves these records as a source; returns its address. */
const serve = (path: string, ...records: readonly JsonObject[]): string => {
  feed.answers.set(path, { body: JSON.stringify(records) });
  return `${feed.url}${path}`;
};

const advisories = (source: string, group: string, options: Parameters<typeof runImport>[3] = {}) =>
  runImport(world, "advisories", [source], { group, ...options });

const shown = (messages: readonly JsonObject[]): string[] =>
  messages.map((each) => `${[text(each, "ecosystem"), text(each, "release")].filter((word) => word !== "").join(" ")} ${text(each, "state").slice(15)}`).sort();
const coverage = async (tenant: Tenant, request: JsonObject = {}, protocol: (typeof protocols)[number] = "rest"): Promise<JsonObject[]> =>
  objectList(await world.ok(coverageList, request, { protocol, token: await tokenOf(tenant) }), "advisoryCoverage");
const affected = async (tenant: Tenant, request: JsonObject = {}, protocol: (typeof protocols)[number] = "rest"): Promise<JsonObject> =>
  world.ok(affectedList, request, { protocol, token: await tokenOf(tenant) });

test("attack 306: no filter, page or group drops unevaluated packages from a count, and no image with unknown packages is clean", async () => {
  await importImages(ours.group, { web: ["pkg:cargo/lantern@1"], empty: [] });
  await advisories(serve("/clean.json", record("CLEAN-1", "PyPI")), ours.group);
  const pusher = openPusher(world, `${ours.name}/pushed`, () => world.token());
  const read = await pusher.image("amd64", "v1");
  const document = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: [{ type: "library", name: "a", purl: "pkg:pypi/lantern@1" }] });
  await pusher.artifact([await pusher.blob(document, "application/vnd.cyclonedx+json")], { subject: read });
  await world.server.sboms.turn();
  await advisories(serve("/clean.json", record("CLEAN-1", "PyPI"), record("CLEAN-2", "PyPI")), ours.group);
  const reasons = (answer: JsonObject): string[] =>
    objectList(part(answer, "coverage"), "images").map((image) => `${text(image, "repo")} ${text(image, "reason").slice(16)}`);
  const clean = ["empty NO_PACKAGES", "web ECOSYSTEMS"];
  assert.deepEqual(reasons(await affected(ours)), clean, "the pushed image is read and judged");
  // An unreadable SBOM, one of another image, and a tag moved to an image without data.
  const unread = await pusher.image("arm64", "v2");
  await pusher.artifact([await pusher.blob(`{"bomFormat":"CycloneDX","a":[${"0,".repeat(limits.sbomValuesMax)}0]}`, "application/vnd.cyclonedx+json")], {
    subject: unread,
  });
  await pusher.image("riscv64", "v1");
  await world.server.sboms.turn();
  for (const protocol of protocols)
    for (const request of [
      {},
      { pageSize: 1 },
      { advisoryIds: ["NONE-1"] },
      { packages: ["none"] },
      { uidp: { descendantsOf: ours.group } },
      { uidp: { childrenOf: ours.group } },
    ] satisfies JsonObject[]) {
      const answer = await affected(ours, request, protocol);
      const label = `${protocol} ${JSON.stringify(request)}`;
      assert.deepEqual([Number(answer.totalCount), part(answer, "coverage").unjudgedImageCount], [0, 4], label);
      assert.deepEqual(reasons(answer).toSorted(), [...clean, "pushed NOT_READ", "pushed NOT_READ"].toSorted(), label);
    }
});

test("attack 307: another tenant's source appears in no response and counts for no other image, even if partly public", async () => {
  const rival = await makeTenant();
  const sibling = text(await world.ok("iam.GroupsService/CreateGroup", { parent: ours.group, group: { name: "sibling" } }), "uid");
  const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: ours.group, group: { name: "team" } }), "uid");
  for (const group of [ours.group, sibling, rival.group]) await importImages(group, { web: ["pkg:pypi/lantern@1"] });
  // A group's private source counts for that group and those below it, not for a sibling in the same request or a rival.
  await advisories(serve("/secret-source.json", record("SECRET-1", "PyPI")), team);
  assert.deepEqual(shown(await coverage(ours)), ["PyPI NO_SOURCE", "PyPI NO_SOURCE"]);
  await importImages(team, { web: ["pkg:pypi/lantern@1"] });
  const own = await coverage(ours);
  assert.deepEqual(own.map((each) => `${text(each, "uid").startsWith(team)} ${text(each, "state").slice(15)}`).toSorted(), [
    "false NO_SOURCE",
    "false NO_SOURCE",
    "true MATCHED",
  ]);
  for (const protocol of protocols)
    for (const request of [{}, { uidp: { descendantsOf: ours.group } }, { uidp: { childrenOf: team } }, { states: ["COVERAGE_STATE_MATCHED"] }]) {
      const answers = JSON.stringify([await coverage(rival, request, protocol), await affected(rival, "uidp" in request ? request : {}, protocol)]);
      assert.doesNotMatch(answers, new RegExp(`secret-source|${ours.group}|MATCHED`), `${protocol} ${JSON.stringify(request)}`);
    }
  // Other tenants see a published source's name but not its uid.
  const source = serve("/partly.json", record("PARTLY-1", "PyPI"));
  await advisories(source, ours.group, { public: true });
  const [theirs] = await coverage(rival);
  assert.deepEqual([text(theirs ?? {}, "state").slice(15), objectList(theirs ?? {}, "sources").map((each) => text(each, "feedUid"))], ["MATCHED", [""]]);
  // Records hidden from others do not evaluate their images; one private record withdraws the source.
  feed.answers.set("/partly.json", { body: JSON.stringify([record("PARTLY-1", "PyPI"), record("PARTLY-2", "PyPI")]) });
  await advisories(source, ours.group);
  assert.deepEqual(shown(await coverage(rival)), ["PyPI NO_SOURCE"]);
  assert.deepEqual(shown(objectList(part(await affected(rival), "coverage"), "ecosystems")), ["PyPI NO_SOURCE"]);
});

test("attack 308: a source that fails, misreports, withholds records or was reverted becomes stale and counts as no match", async () => {
  await importImages(ours.group, { web: ["pkg:pypi/lantern@1", "pkg:deb/debian/lantern@1?distro=debian-12"] });
  const many = Array.from({ length: 40 }, (_, index) => record(`STALE-${index}`, "PyPI"));
  const source = serve("/stale.json", ...many);
  await advisories(source, ours.group);
  await advisories(serve("/other-release.json", record("OTHER-1", "Debian:11")), ours.group);
  world.clock.now += 73 * hourMs;
  const bad: readonly (readonly [string, () => void])[] = [
    ["no answer", () => undefined],
    ["status 500", () => void feed.answers.set("/stale.json", { status: 500 })],
    ["HTML", () => void feed.answers.set("/stale.json", { body: "<!doctype html>" })],
    ["an empty list", () => void feed.answers.set("/stale.json", { body: "[]" })],
    ["one of forty", () => void serve("/stale.json", ...many.slice(0, 1))],
  ];
  for (const [name, prepare] of bad) {
    prepare();
    if (name !== "no answer") await advisories(source, ours.group);
    for (const protocol of protocols)
      assert.deepEqual(shown(await coverage(ours, {}, protocol)), ["Debian 12 NO_SOURCE", "PyPI STALE"], `${name} over ${protocol}`);
    assert.deepEqual(shown(await coverage(ours, { states: ["COVERAGE_STATE_MATCHED"] })), [], name);
    const statement = part(await affected(ours), "coverage");
    assert.deepEqual([statement.unjudgedImageCount, shown(objectList(statement, "ecosystems"))], [1, ["Debian 12 NO_SOURCE", "PyPI STALE"]], name);
  }
  await advisories(`${feed.url}/other-release.json`, ours.group);
  assert.deepEqual(shown(await coverage(ours, { ecosystems: ["PyPI"] })), ["PyPI STALE"]);
  serve("/stale.json", ...many, record("STALE-NEW", "PyPI"));
  await advisories(source, ours.group);
  assert.deepEqual(shown(await coverage(ours, { ecosystems: ["PyPI"] })), ["PyPI MATCHED"]);
  world.clock.now += 73 * hourMs;
  const { application } = world.server;
  await undoImport(application.services, { source, group: undefined, kind: undefined, documentMs: undefined });
  assert.deepEqual(shown(await coverage(ours, { ecosystems: ["PyPI"] })), ["PyPI STALE"], "an undo is no success");
});

test("attack 309: an SBOM with many ecosystems, releases or names hides no unevaluated package", async () => {
  await advisories(serve("/debian.json", record("EVERY-1", "Debian"), record("EVERY-2", "Debian:12")), ours.group);
  const releases = Array.from({ length: limits.imageEcosystemsMax + 20 }, (_, index) => `pkg:deb/debian/lantern@1?distro=debian-${index + 1}`);
  await importImages(ours.group, { wide: [...releases, "pkg:zig/lantern@1"] });
  const entries = await world.ok(coverageList, { pageSize: 200 }, { token: await tokenOf(ours) });
  assert.equal(objectList(entries, "advisoryCoverage").length, limits.imageEcosystemsMax);
  assert.deepEqual(shown(objectList(part(await affected(ours), "coverage"), "ecosystems")), ["other NO_SOURCE"]);
  await importImages(ours.group, {
    wide: [],
    odd: [
      "pkg:deb/Debian%3A12/lantern@1",
      "pkg:deb/debian/lantern@1?distro=debian-12%3A12",
      "pkg:debian/lantern@1",
      "pkg:deb/debian-12/lantern@1?distro=kali-12",
      `pkg:${"x".repeat(200)}/lantern@1`,
    ],
  });
  const odd = await coverage(ours);
  assert.ok(odd.length > 0);
  for (const each of odd) {
    // Without a release, only records for all releases apply, as in image matching.
    const isDebian = text(each, "ecosystem") === "Debian" && text(each, "release") === "";
    assert.equal(text(each, "state") === "COVERAGE_STATE_MATCHED", isDebian, JSON.stringify(each));
    assert.ok(text(each, "ecosystem").length <= 64, JSON.stringify(each));
  }
  assert.equal(part(await affected(ours), "coverage").unjudgedImageCount, 2);
});
