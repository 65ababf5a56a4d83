// Images that an advisory affects: matched during imports, listed over REST and gRPC, and emitted as events.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import { ImagesAffectedSchema } from "#contract/gen/gantry/images/v1/affected_images_pb.js";
import { importRegistry } from "#advisories/feeds";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { matchImagesOf } from "../../server/advisories/feeds/match-images.ts";
import { asOwner, freshDatabase } from "../database.ts";
import { openRegistry } from "../registry.ts";
import { openWorld, type World } from "../world.ts";
import { readAll, realData, runImport, withRealData } from "./import.ts";

const list = "gantry.images.v1.AffectedImagesService/ListAffectedImages";
const protocols = ["rest", "grpc"] as const;

let world: World;
let folder: string;
let group: string;
let made = 0;

before(async () => {
  world = await openWorld();
});
after(() => world.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-affected-"));
  group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `images-${++made}` } }), "uid");
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, value: string): string => {
  writeFileSync(join(folder, name), value);
  return join(folder, name);
};

interface ImageLine {
  readonly repo: string;
  readonly tags: readonly string[];
  readonly packages: readonly string[];
}

const importImages = (lines: readonly ImageLine[], place = group) =>
  runImport(
    world,
    "images",
    [
      write(
        "images.jsonl",
        lines.map(({ repo, tags, packages }) => `${JSON.stringify({ repo, tags, configs: { amd64: { packages }, arm64: { packages } } })}\n`).join(""),
      ),
    ],
    { group: place },
  );

const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;

const importTags = (repo: string, tags: Readonly<Record<string, string>>, place = group) =>
  importRegistry(world.server.application.kernel, {
    group: place,
    sources: [write(`${repo}.json`, JSON.stringify({ repo, tags: Object.entries(tags).map(([name, digest]) => ({ name, digest })) }))],
    progress: () => {},
  });

interface WolfiAdvisory {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly events: readonly JsonObject[];
}

const fixed = (version: string): JsonObject => ({ timestamp: "2026-01-02T00:00:00Z", type: "fixed", data: { "fixed-version": version } });
const detected: JsonObject = { timestamp: "2026-01-01T00:00:00Z", type: "detection", data: { type: "manual" } };
const falsePositive: JsonObject = {
  timestamp: "2026-01-03T00:00:00Z",
  type: "false-positive-determination",
  data: { type: "vulnerable-code-not-included-in-package" },
};

const importWolfi = (name: string, advisories: readonly WolfiAdvisory[], place = group, isPublic?: boolean, options: { allowWithdrawals?: boolean } = {}) =>
  runImport(
    world,
    "advisories",
    [write(`${name}.advisories.json`, JSON.stringify({ "schema-version": "2.0.2", package: { name }, advisories } as unknown as Json))],
    {
      group: place,
      public: isPublic,
      ...options,
    },
  );

const importOsv = (record: JsonObject, place = group) =>
  runImport(world, "advisories", [write(`${text(record, "id")}.json`, JSON.stringify(record))], { group: place });

const importGithub = (record: JsonObject, place = group) =>
  runImport(world, "advisories", [write(`${text(record, "ghsa_id")}.json`, JSON.stringify(record))], { group: place });

const rowsOf = (request: JsonObject = {}, protocol: (typeof protocols)[number] = "rest", place = group): Promise<JsonObject[]> =>
  readAll(world, list, "affectedImages", { uidp: { descendantsOf: place }, orderBy: "advisory_id", ...request }, protocol);

/** Formats rows as "advisory repo tags package version fix state". */
const shown = (rows: readonly JsonObject[]): string[] =>
  rows
    .map((row) =>
      [
        text(row, "advisoryId"),
        text(row, "repo"),
        (row.tags as string[] | undefined)?.join(",") ?? "",
        text(row, "packageName"),
        text(row, "installedVersion"),
        text(row, "fixedVersion") || "-",
        text(row, "state").replace("AFFECTED_IMAGE_STATE_", "").toLowerCase(),
      ].join(" "),
    )
    .sort();

const eventsOf = async (place = group): Promise<JsonObject[]> => {
  await world.server.delivery.enqueue();
  const events = await readAll(world, "gantry.events.v1.EventsService/ListEvents", "events", {
    uidp: { descendantsOf: place },
    types: ["dev.gantry.images.affected.v1"],
  });
  return events.map((event) => (JSON.parse(text(event, "data")) as { readonly body: JsonObject }).body);
};

for (const protocol of protocols) {
  test(`imports of images and of advisories, in either order, determine the affected images (${protocol})`, async () => {
    await importWolfi("openssl", [{ id: "CGA-1111-1111-1111", aliases: ["CVE-2026-1", "GHSA-1"], events: [detected, fixed("3.0.9-r2")] }]);
    await importTags("web", { latest: digestOf("a"), stable: digestOf("a"), old: digestOf("b"), new: digestOf("c") });
    await importImages([
      { repo: "web", tags: ["latest", "stable"], packages: ["openssl=3.0.9-r1", "zlib=1.3-r0"] },
      { repo: "web", tags: ["old"], packages: ["openssl=3.0.8-r9"] },
      { repo: "web", tags: ["new"], packages: ["openssl=3.0.10-r0"] },
    ]);
    await importWolfi("zlib", [
      { id: "CGA-2222-2222-2222", aliases: ["CVE-2026-2"], events: [{ ...detected, type: "true-positive-determination", data: {} }] },
    ]);
    const rows = await rowsOf({}, protocol);
    assert.deepEqual(shown(rows), [
      "CGA-1111-1111-1111 web latest,stable openssl 3.0.9-r1 3.0.9-r2 affected",
      "CGA-1111-1111-1111 web old openssl 3.0.8-r9 3.0.9-r2 affected",
      "CGA-2222-2222-2222 web latest,stable zlib 1.3-r0 - affected",
    ]);
    const [first] = rows.filter(({ digest }) => digest === digestOf("a"));
    assert.ok(first);
    assert.deepEqual(first.architectures, ["amd64", "arm64"]);
    assert.deepEqual(first.aliases, ["CVE-2026-1", "GHSA-1"]);
    assert.equal(text(first, "startTime"), new Date(world.clock.now).toISOString());
    assert.equal(first.endTime, undefined);
    for (const advisoryIds of [["CGA-1111-1111-1111"], ["CVE-2026-1"], ["GHSA-1", "CVE-none"]])
      assert.equal((await rowsOf({ advisoryIds }, protocol)).length, 2);
    assert.equal((await rowsOf({ advisoryIds: ["CVE-none"] }, protocol)).length, 0);
    assert.equal((await rowsOf({ packages: ["zlib"] }, protocol)).length, 1);
    assert.equal((await rowsOf({ packages: ["zlib"], advisoryIds: ["CVE-2026-1"] }, protocol)).length, 0);
  });
}

test("a package is matched by the name of its source package", async () => {
  await runImport(world, "images", [write("packages.jsonl", `${JSON.stringify({ name: "curl", version: "1", subpackages: ["libcurl4"] })}\n`)], { group });
  await importImages([{ repo: "web", tags: ["latest"], packages: ["libcurl4=8.0.1-r0"] }]);
  await importWolfi("curl", [{ id: "CGA-3333-3333-3333", events: [fixed("8.0.2-r0")] }]);
  assert.deepEqual(shown(await rowsOf()), ["CGA-3333-3333-3333 web latest libcurl4 8.0.1-r0 8.0.2-r0 affected"]);
});

const osvRecord = (id: string, ecosystem: string, name: string, events: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  id,
  schema_version: "1.7.0",
  modified: "2026-01-01T00:00:00Z",
  affected: [{ package: { ecosystem, name }, ranges: [{ type: "ECOSYSTEM", events: [...events] }] }],
  ...more,
});

/** [ecosystem, name, introduced and fixed, package URL without version, affected versions, other versions] */
const ordered: readonly (readonly [string, string, string, string, string, readonly string[], readonly string[]])[] = [
  ["PyPI", "django", "1.0", "4.2.10", "pkg:pypi/Django", ["4.2.9", "1.0.post1", "4.2.10rc1"], ["4.2.10", "0.9", "10.0"]],
  ["Go", "example.com/mod", "1.2.0", "1.10.0", "pkg:golang/example.com/mod", ["v1.9.0", "1.10.0-rc.1"], ["v1.10.0", "v1.1.9"]],
  ["npm", "@scope/lib", "1.0.0", "2.0.0", "pkg:npm/%40scope/lib", ["2.0.0-beta.1", "1.10.0"], ["2.0.0", "0.9.0"]],
  ["Maven", "org.example:lib", "1.0", "1.10", "pkg:maven/org.example/lib", ["1.9", "1.10-alpha-1"], ["1.10.0", "1.10-sp"]],
  [
    "Debian:12",
    "curl",
    "0",
    "7.88.1-10+deb12u5",
    "pkg:deb/debian/curl?distro=debian-12",
    ["7.88.1-10+deb12u4", "7.88.1-10~bpo1"],
    ["7.88.1-10+deb12u5", "1:1"],
  ],
  ["Red Hat", "bash", "0", "0:5.1.8-6.el9", "pkg:rpm/redhat/bash", ["5.1.8-5.el9"], ["5.1.8-6.el9", "5.2-1"]],
  ["Wolfi", "busybox", "0", "1.36.1-r10", "busybox", ["1.36.1-r9", "1.36.1_rc1-r11"], ["1.36.1-r10", "1.37-r0"]],
];

for (const [ecosystem, name, introduced, end, purl, affected, other] of ordered) {
  test(`versions are compared in the order of ${ecosystem}`, async () => {
    const [base = "", qualifier] = purl.split("?");
    const lineOf = (version: string): string =>
      base.startsWith("pkg:") ? `${base}@${encodeURIComponent(version)}${qualifier ? `?${qualifier}` : ""}` : `${base}=${version}`;
    await importImages([...affected, ...other].map((version, index) => ({ repo: "web", tags: [`t${index}`], packages: [lineOf(version)] })));
    await importOsv(osvRecord("EXAMPLE-1", ecosystem, name, [{ introduced }, { fixed: end }]));
    const rows = await rowsOf();
    assert.deepEqual(rows.map((row) => text(row, "installedVersion")).sort(), [...affected].sort());
    assert.ok(rows.every((row) => text(row, "fixedVersion") === end));
  });
}

test("a package of another ecosystem, distribution or release with the same name is not matched", async () => {
  await importImages([
    { repo: "web", tags: ["latest"], packages: ["curl=1.0-r0", "pkg:npm/curl@1.0.0", "pkg:deb/debian/curl@1.0?distro=debian-11", "pkg:deb/ubuntu/curl@1.0"] },
  ]);
  await importOsv(osvRecord("EXAMPLE-2", "PyPI", "curl", [{ introduced: "0" }]));
  await importOsv(osvRecord("EXAMPLE-3", "Debian:12", "curl", [{ introduced: "0" }]));
  await importOsv(osvRecord("EXAMPLE-4", "Alpine:v3.18", "curl", [{ introduced: "0" }]));
  assert.deepEqual(shown(await rowsOf()), []);
  const entry = (ecosystem: string, end: string): JsonObject => ({
    package: { ecosystem, name: "curl" },
    ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed: end }] }],
  });
  await importOsv({ id: "EXAMPLE-5", modified: "2026-01-01T00:00:00Z", affected: [entry("npm", "0.9.0"), entry("crates.io", "2.0.0")] });
  assert.deepEqual(shown(await rowsOf()), []);
});

test("an image is no longer affected if its advisory says so or is withdrawn, or its tag moves, and can be affected again", async () => {
  const images = (version: string) => [{ repo: "web", tags: ["latest"], packages: [`openssl=${version}`] }];
  const states = async (): Promise<string[]> =>
    (await rowsOf({ orderBy: "create_time" })).map(
      (row) => `${text(row, "installedVersion")} ${text(row, "state").slice(21)} ${text(row, "startTime")} ${text(row, "endTime")}`,
    );
  const now = (): string => new Date(world.clock.now).toISOString();
  await importImages(images("1.0-r0"));
  await importWolfi("openssl", [{ id: "CGA-4444-4444-4444", events: [fixed("1.0-r1")] }]);
  const first = now();
  assert.deepEqual(await states(), [`1.0-r0 AFFECTED ${first} `]);
  world.clock.now += 86_400_000;
  await importWolfi("openssl", [{ id: "CGA-4444-4444-4444", events: [fixed("1.0-r1"), falsePositive] }]);
  const second = now();
  assert.deepEqual(await states(), [`1.0-r0 RESOLVED ${first} ${second}`]);
  world.clock.now += 86_400_000;
  await importWolfi("openssl", [{ id: "CGA-4444-4444-4444", events: [fixed("1.0-r1")] }]);
  const third = now();
  assert.deepEqual(await states(), [`1.0-r0 AFFECTED ${third} `]);
  world.clock.now += 86_400_000;
  await importImages(images("1.0-r1"));
  const fourth = now();
  assert.deepEqual(await states(), [`1.0-r0 RESOLVED ${third} ${fourth}`]);
  await importImages(images("1.0-r0"));
  // An import that is suddenly empty resolves no image (attack 291).
  await importWolfi("openssl", []);
  assert.match((await states()).join(), / AFFECTED /);
  await importWolfi("openssl", [], group, undefined, { allowWithdrawals: true });
  assert.equal((await states()).length, 1);
  assert.match((await states())[0] ?? "", /RESOLVED/);
});

test("creating, moving or deleting a tag by request or push rematches its images and no others", async () => {
  const read = async (): Promise<JsonObject[]> => (await rowsOf({ orderBy: "package_name" })).filter((row) => !/RESOLVED/.test(text(row, "state")));
  /** Returns the affected images after matching the queue; asserts that a full match finds the same. */
  const matched = async (): Promise<string[]> => {
    await world.server.sboms.turn();
    const found = await read();
    assert.equal(await matchImagesOf(world.server.application.services, group, { operation: "test", requestId: "test" }), true);
    assert.deepEqual(await read(), found);
    return found.map((row) => `${text(row, "repo")} ${(row.tags as string[]).join()} ${text(row, "digest").slice(7, 10)}`).sort();
  };
  await importImages([
    { repo: "library/web", tags: ["latest", "stable"], packages: ["openssl=1.0-r0"] },
    { repo: "other", tags: ["latest"], packages: ["openssl=1.0-r0"] },
  ]);
  await importWolfi("openssl", [{ id: "CGA-7777-7777-7777", events: [fixed("1.0-r1")] }]);
  assert.deepEqual(await matched(), ["library/web latest,stable ", "other latest "]);

  const path = `${text(await world.ok("iam.GroupsService/GetGroup", { uid: group }), "name")}/web`;
  const registry = openRegistry(world.url, `Bearer ${await world.token()}`);
  const pushed = await registry.pushImage(path, "latest");
  assert.deepEqual(await matched(), [`library/web latest ${pushed.slice(7, 10)}`, "library/web stable ", "other latest "]);
  const [repo = {}] = (await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: group } })).repos as JsonObject[];
  for (const name of ["latest", "stable"])
    await world.ok("registry.TagsService/CreateTag", { parent: text(repo, "uid"), tag: { name, digest: digestOf("d") } });
  assert.deepEqual(await matched(), ["library/web latest,stable ddd", "other latest "]);
  assert.equal((await registry.send("DELETE", `${path}/manifests/stable`)).status, 202);
  assert.deepEqual(await matched(), ["library/web latest ddd", "library/web stable ", "other latest "]);
  await world.ok("registry.ReposService/DeleteRepo", { uid: text(repo, "uid") });
  assert.deepEqual(await matched(), ["library/web latest,stable ", "other latest "]);

  const waiting = async (): Promise<number> =>
    Number((await world.server.application.services.store.read.query("select count(*) from changes_to_match"))[0]?.[0]);
  assert.equal(await waiting(), 0);
  await registry.pushImage(path, "unknown");
  assert.equal(await waiting(), 0);
  await registry.pushImage(path, "latest");
  assert.equal(await waiting(), 1);
  await world.server.sboms.turn();
  await registry.pushImage(path, "latest");
  assert.equal(await waiting(), 0);
});

test("a finding of a scanner alone is under investigation", async () => {
  await importImages([{ repo: "web", tags: ["latest"], packages: ["openssl=1.0-r0"] }]);
  await importWolfi("openssl", [{ id: "CGA-5555-5555-5555", events: [detected] }]);
  assert.deepEqual(shown(await rowsOf()), ["CGA-5555-5555-5555 web latest openssl 1.0-r0 - under_investigation"]);
});

test("an advisory of a group applies to images of that group and its subgroups only", async () => {
  const [team, other] = await Promise.all(
    ["team", "other"].map(async (name) => text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name } }), "uid")),
  );
  assert.ok(team && other);
  for (const [place, repo] of [
    [group, "top"],
    [team, "web"],
    [other, "web"],
  ] as const)
    await importImages([{ repo, tags: ["latest"], packages: ["openssl=1.0-r0"] }], place);
  await importWolfi("openssl", [{ id: "CGA-6666-6666-6666", events: [fixed("1.0-r1")] }], team);
  assert.deepEqual(
    (await rowsOf()).map(({ uid }) => String(uid).slice(0, -17)),
    [team],
  );
  await importWolfi("openssl", [{ id: "CGA-7777-7777-7777", events: [fixed("1.0-r1")] }]);
  assert.equal((await rowsOf({ advisoryIds: ["CGA-7777-7777-7777"] })).length, 3);
  assert.equal((await rowsOf({ advisoryIds: ["CGA-7777-7777-7777"], uidp: { childrenOf: team } })).length, 1);
});

test("each organization gets one event for an advisory, about its own images, and none if an import changes nothing", async () => {
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: `images-${++made}` } }), "uid");
  await importTags("web", { latest: digestOf("a") });
  const lines = [{ repo: "web", tags: ["latest"], packages: ["unusual=1.0-r0"] }];
  await importImages(lines);
  await importImages([{ repo: "theirs", tags: ["latest"], packages: ["unusual=1.0-r0"] }], other);
  const advisories = [{ id: "CGA-8888-8888-8888", aliases: ["CVE-2026-8"], events: [fixed("1.0-r1")] }];
  await importWolfi("unusual", advisories, group, true);
  await importWolfi("unusual", advisories, group, true);
  await importImages(lines);
  await importTags("web", { latest: digestOf("a"), stable: digestOf("a") });
  await importImages([{ repo: "web", tags: ["latest", "stable"], packages: ["unusual=1.0-r0"] }]);
  await importWolfi("unusual", [{ id: "CGA-8888-8888-8888", aliases: ["CVE-2026-8"], events: [fixed("1.0-r2")] }]);
  assert.deepEqual(shown(await rowsOf()), ["CGA-8888-8888-8888 web latest,stable unusual 1.0-r0 1.0-r2 affected"]);
  const [event, ...more] = await eventsOf();
  assert.deepEqual(more, []);
  assert.equal(event?.advisoryId, "CGA-8888-8888-8888");
  assert.deepEqual(event.aliases, ["CVE-2026-8"]);
  assert.equal(event.imageCount, 1);
  assert.equal(event.furtherCount, 0);
  assert.deepEqual(
    (event.images as JsonObject[]).map(({ repo, digest, tags }) => ({ repo, digest, tags })),
    [{ repo: "web", digest: digestOf("a"), tags: ["latest"] }],
  );
  const theirs = await eventsOf(other);
  assert.deepEqual(
    theirs.map(({ images }) => (images as JsonObject[]).map(({ repo }) => repo)),
    [["theirs"]],
  );
});

test("for 1,200 images an event lists 1,000 and counts the rest, in the contract's message", async () => {
  const packages = Array.from({ length: 60 }, (_, n) => `package-${n}=1.${n}-r0`);
  await importImages(Array.from({ length: 1200 }, (_, n) => ({ repo: `repo-${n % 100}`, tags: [`t${n}`], packages: [...packages, `marker=${n}`] })));
  await importWolfi("package-7", [{ id: "CGA-9999-9999-9999", aliases: ["CVE-2026-9"], events: [fixed("2-r0")] }]);
  const page = await world.ok(list, { advisoryIds: ["CVE-2026-9"], uidp: { descendantsOf: group } });
  assert.equal(Number(page.totalCount), 1200);
  const [event] = await eventsOf();
  assert.ok(isObject(event));
  // Fails on fields that the message does not have.
  const told = fromJson(ImagesAffectedSchema, event);
  assert.deepEqual([told.organizationUid, told.advisoryId, told.aliases], [group, "CGA-9999-9999-9999", ["CVE-2026-9"]]);
  assert.deepEqual([told.images.length, told.imageCount, told.furtherCount], [1000, 1200, 200]);
  assert.equal(new Set(told.images.map(({ repo, tags }) => `${repo} ${tags.join()}`)).size, 1000);
});

/** Returns the advisories that `work` rematches: it corrupts all rows first, and matching corrects only those that it evaluates. */
const lookedAt = async (work: () => Promise<unknown>): Promise<string[]> => {
  await asOwner(world.databaseUrl, `update affected_images set fixed_version = 'wrong' where left(uid, 40) = '${group}'`);
  await work();
  return (await rowsOf()).flatMap((row) => (row.fixedVersion === "wrong" ? [] : [`${text(row, "repo")} ${text(row, "packageName")}`])).sort();
};

test("an import of advisories rematches only changed packages, and an import of images only changed repos", async () => {
  const images = (version: string) => [
    { repo: "web", tags: ["latest"], packages: [`alpha=${version}`, "beta=1.0-r0"] },
    { repo: "api", tags: ["latest"], packages: ["alpha=1.0-r0", "beta=1.0-r0"] },
  ];
  const advisory = (name: string, version: string) => importWolfi(name, [{ id: `CGA-${name}`, events: [fixed(version)] }]);
  await importImages(images("1.0-r0"));
  await advisory("alpha", "2.0-r0");
  await advisory("beta", "2.0-r0");
  assert.deepEqual(await lookedAt(() => advisory("alpha", "2.0-r1")), ["api alpha", "web alpha"]);
  assert.deepEqual(await lookedAt(() => advisory("alpha", "2.0-r1")), []);
  assert.deepEqual(await lookedAt(() => importImages(images("1.1-r0"))), ["web alpha", "web beta"]);
  await importOsv(osvRecord("EXAMPLE-6", "Wolfi", "beta", [{ introduced: "0" }, { fixed: "3.0-r0" }]));
  await importOsv(osvRecord("EXAMPLE-6", "Wolfi", "beta", [{ introduced: "2.0-r0" }, { fixed: "3.0-r0" }]));
  assert.equal((await rowsOf({ advisoryIds: ["EXAMPLE-6"] })).filter(({ state }) => state === "AFFECTED_IMAGE_STATE_AFFECTED").length, 0);
  const [left] = await world.server.application.kernel.services.store.read.query("select count(*)::text from changes_to_match");
  assert.deepEqual(left, ["0"]);
});

const importDocument = (name: string, document: JsonObject) => runImport(world, "advisories", [write(`${name}.json`, JSON.stringify(document))], { group });

test("OpenVEX and CSAF are matched by package URL and version; a product without a package is kept and reported", async () => {
  await importImages([
    { repo: "web", tags: ["one"], packages: ["bash=1.0-r0", "pkg:npm/left-pad@3.1.0"] },
    { repo: "web", tags: ["two"], packages: ["bash=1.0-r1", "pkg:npm/left-pad@4.0.0"] },
  ]);
  const vex = await importDocument("vex", {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://example.com/vex-1",
    author: "somebody",
    timestamp: "2026-01-01T00:00:00Z",
    version: 1,
    statements: [
      { vulnerability: { name: "CVE-2026-21" }, status: "affected", action_statement: "update", products: [{ "@id": "pkg:apk/wolfi/bash@1.0-r0" }] },
      { vulnerability: { name: "CVE-2026-22" }, status: "affected", action_statement: "update", products: [{ "@id": "https://example.com/bash" }] },
    ],
  });
  assert.deepEqual(
    vex.unmatched.map((line) => line.replace(/^[^ ]+ /, "")),
    ['statements[1].products name "https://example.com/bash", which is not a package URL'],
  );
  const leaf = (category: string, name: string, id: string): JsonObject => ({
    category,
    name,
    product: { name: id, product_id: id, product_identification_helper: { purl: "pkg:npm/left-pad" } },
  });
  const csaf = await importDocument("csaf", {
    document: {
      category: "csaf_security_advisory",
      csaf_version: "2.0",
      title: "left-pad",
      publisher: { category: "vendor", name: "somebody", namespace: "https://example.com" },
      tracking: { id: "X-2026-1", status: "final", version: "1", initial_release_date: "2026-01-01T00:00:00Z", current_release_date: "2026-01-01T00:00:00Z" },
    },
    product_tree: { branches: [leaf("product_version_range", "vers:npm/>=3.0.0|<4.0.0", "A"), leaf("product_version_range", "some", "B")] },
    vulnerabilities: [{ cve: "CVE-2026-23", product_status: { known_affected: ["A", "B"] } }],
  });
  assert.match(csaf.unmatched[0] ?? "", /vulnerabilities\[0\]\.product_status\.known_affected\[1\] is a product without/);
  assert.deepEqual((await rowsOf()).map((row) => `${(row.aliases as string[]).join()} ${(row.tags as string[]).join()} ${text(row, "packageName")}`).sort(), [
    "CVE-2026-21 one bash",
    "CVE-2026-23 one pkg:npm/left-pad",
  ]);
  assert.equal((await rowsOf({ advisoryIds: ["CVE-2026-21"] })).length, 1);
});

test("each OpenVEX document of the shared data is matched by its statements for each version", withRealData, async () => {
  const folder = join(realData, "advisories/openvex-csaf");
  const packages = new Set<string>();
  const said = new Map<string, string>();
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  for (const name of files) {
    const { statements = [] } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { statements?: readonly Readonly<Record<string, unknown>>[] };
    for (const { vulnerability, products = [], subcomponents, status } of statements) {
      const id = typeof vulnerability === "string" ? vulnerability : String((vulnerability as JsonObject).name);
      for (const product of products as readonly (string | JsonObject)[]) {
        const purl = typeof product === "string" ? product : String(product["@id"]);
        const [, type = "", path = "", version = ""] = /^pkg:(apk|golang|maven)\/([^@]+)@([^?]+)/.exec(purl) ?? [];
        if (version === "" || subcomponents !== undefined) continue;
        const label = type === "apk" ? path.replace(/^.*\//, "") : `pkg:${type}/${path}`;
        for (const each of [version, `${version}.1`]) packages.add(type === "apk" ? `${label}=${each}` : `${label}@${each}`);
        said.set(`${id} ${label} ${version}`, String(status));
      }
    }
  }
  await importImages([...packages].map((each, n) => ({ repo: "web", tags: [`t${n}`], packages: [each] })));
  await runImport(world, "advisories", [folder], { group });
  const expected = [...said].flatMap(([key, status]) => (status === "affected" || status === "under_investigation" ? [key] : [])).sort();
  const rows = await rowsOf();
  assert.deepEqual(
    [...new Set(rows.map((row) => `${(row.aliases as string[])[0] ?? ""} ${text(row, "packageName")} ${text(row, "installedVersion")}`))].sort(),
    expected,
  );
  assert.ok(said.size >= 4 && expected.length >= 1, `${said.size} statements, ${expected.length} affected`);
});

const reportsOf = async (repo: string, tags: readonly string[], protocol: (typeof protocols)[number]): Promise<string[]> => {
  const request = {
    imageRefs: [{ repo, tags: [...tags] }],
    startTime: "2025-12-25T00:00:00Z",
    endTime: new Date(world.clock.now).toISOString(),
    uidp: { descendantsOf: group },
  };
  const reports = await readAll(world, "advisory.SecurityAdvisoryService/ListResolvedVulnsReports", "resolvedVulnsReports", request, protocol);
  return reports.flatMap(({ date, resolvedVulns }) => ((resolvedVulns ?? []) as JsonObject[]).map(({ id }) => `${String(date).slice(0, 10)} ${String(id)}`));
};

for (const protocol of protocols)
  test(`a resolved vulnerability is reported on the day the tag stopped being affected, otherwise on the day of its fix (${protocol})`, async () => {
    const name = `left-${protocol}`;
    const image = (tag: string, version: string) => ({ repo: "web", tags: [tag], packages: [`${name}=${version}`] });
    await importImages([image("latest", "1.0-r0"), image("late", "1.0-r0"), image("always", "1.0-r5")]);
    await importWolfi(name, [{ id: "CGA-aaaa-aaaa-aaaa", aliases: ["CVE-2026-11"], events: [fixed("1.0-r1")] }]);
    world.clock.now += 86_400_000;
    await importImages([image("latest", "1.0-r2"), image("late", "1.0-r0"), image("always", "1.0-r5")]);
    const day = new Date(world.clock.now).toISOString().slice(0, 10);
    world.clock.now += 86_400_000;
    assert.deepEqual(await reportsOf("web", ["latest"], protocol), [`${day} CVE-2026-11`]);
    assert.deepEqual(await reportsOf("web", ["late"], protocol), []);
    assert.deepEqual(await reportsOf("web", ["always"], protocol), ["2026-01-02 CVE-2026-11"]);
    assert.deepEqual((await reportsOf("web", ["always", "late", "latest"], protocol)).sort(), ["2026-01-02 CVE-2026-11", `${day} CVE-2026-11`]);
    // A vulnerability that a newer image has again is not resolved.
    await importImages([image("latest", "1.0_rc1-r0"), image("late", "1.0-r0"), image("always", "1.0-r5")]);
    assert.deepEqual(await reportsOf("web", ["latest"], protocol), []);
  });

test("a failed matching of one organization is logged, delays no other organization, and is repeated by the next import", async () => {
  const database = await freshDatabase();
  const logged: string[] = [];
  const place = group;
  const before = world;
  world = await openWorld({ DATABASE_URL: database.url }, (event, facts) => logged.push(`${event} ${String(facts?.organization ?? "")}`));
  try {
    const broken = world.organization;
    group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another" } }), "uid");
    for (const root of [broken, group]) await importImages([{ repo: "web", tags: ["latest"], packages: ["openssl=1.0-r0"] }], root);
    await asOwner(database.url, `alter table affected_images add constraint broken check (uid not like '${broken}%')`);
    const advisories = [{ id: "CGA-bbbb-bbbb-bbbb", events: [fixed("1.0-r1")] }];
    await importWolfi("openssl", advisories, broken, true);
    assert.deepEqual([(await rowsOf({}, "rest", broken)).length, (await rowsOf()).length], [0, 1]);
    assert.deepEqual(
      logged.filter((line) => line.startsWith("images.")),
      [`images.unmatched ${broken}`],
    );
    await asOwner(database.url, "alter table affected_images drop constraint broken");
    await importWolfi("openssl", advisories, broken);
    assert.equal((await rowsOf({}, "rest", broken)).length, 1);
    assert.deepEqual([(await eventsOf(broken)).length, (await eventsOf()).length], [1, 1]);
  } finally {
    await world.close();
    await database.drop();
    [world, group] = [before, place];
  }
});

test("an advisory from GitHub's API is matched by its range expressions in the order of its ecosystem", async () => {
  const vulnerability = (ecosystem: string, name: string, range: string, patched?: string): JsonObject => ({
    package: { ecosystem, name },
    vulnerable_version_range: range,
    ...(patched === undefined ? {} : { first_patched_version: patched }),
  });
  const advisory = (id: string, vulnerabilities: readonly JsonObject[]): JsonObject => ({
    ghsa_id: id,
    cve_id: null,
    summary: "a fault",
    description: "of some packages",
    severity: "high",
    type: "reviewed",
    published_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-02T00:00:00Z",
    vulnerabilities: [...vulnerabilities],
  });
  await importImages([
    { repo: "old", tags: ["1"], packages: ["pkg:pypi/some-package@1.9", "pkg:npm/left-pad@1.9.0", "pkg:golang/example.com/mod@v1.9.0", "pkg:gem/rack@1.9"] },
    {
      repo: "new",
      tags: ["1"],
      packages: ["pkg:pypi/some-package@1.10", "pkg:npm/left-pad@1.10.0", "pkg:golang/example.com/mod@v1.10.0", "pkg:gem/rack@1.10"],
    },
  ]);
  await importGithub(
    advisory("GHSA-2222-3333-4444", [
      vulnerability("pip", "Some_Package", ">= 1.2, < 1.10", "1.10"),
      vulnerability("npm", "left-pad", "<= 1.9.0", "1.10.0"),
      vulnerability("go", "example.com/mod", "< 1.10.0", "1.10.0"),
      vulnerability("rubygems", "rack", "< 1.10"),
    ]),
  );
  // Versions of an ecosystem without an order are not matched.
  await importGithub(advisory("GHSA-5555-6666-7777", [vulnerability("actions", "left-pad", "< 9"), vulnerability("npm", "left-pad", "< 9")]));
  assert.deepEqual(shown(await rowsOf()), [
    "GHSA-2222-3333-4444 old 1 pkg:gem/rack 1.9 1.10 affected",
    "GHSA-2222-3333-4444 old 1 pkg:golang/example.com/mod v1.9.0 1.10.0 affected",
    "GHSA-2222-3333-4444 old 1 pkg:npm/left-pad 1.9.0 1.10.0 affected",
    "GHSA-2222-3333-4444 old 1 pkg:pypi/some-package 1.9 1.10 affected",
  ]);
});
