// Coverage of sources (docs/decisions/0074): which sources match the packages of images, and whether they are up to date. Uses real
// imports, a tenant's owner and a settable clock.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { timestamp } from "#base/time.ts";
import { examineInstallation, readSettings } from "#application";
import { countStaleFeeds } from "#advisories/store";
import { zipArchive } from "../../server/advisories/feeds/parse/zip.fixture.ts";
import { runGantry } from "../command-line.ts";
import { openRegistry } from "../registry.ts";
import { readScrape } from "../scrape.ts";
import { openWorld, type World } from "../world.ts";
import { type FeedServer, openFeedServer } from "./feed-server.ts";
import { readAll, runImport } from "./import.ts";
import { bind, createIdentity } from "./installation.ts";

const coverageList = "gantry.vulnerabilities.v1.AdvisoryCoverageService/ListAdvisoryCoverage";
const affectedList = "gantry.images.v1.AffectedImagesService/ListAffectedImages";
const reportList = "chainguard.platform.registry.Vulnerabilities/ListVulnReports";
const countList = "chainguard.platform.registry.Vulnerabilities/ListVulnCountReports";
const protocols = ["rest", "grpc"] as const;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let world: World;
let feed: FeedServer;
let folder: string;
let [group, token] = ["", ""];
let made = 0;

const makeTenant = async (): Promise<{ readonly group: string; readonly owner: string }> => {
  const name = `coverage-${++made}`;
  const uid = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const owner = await createIdentity(world, uid, name, { issuer: "https://issuer.example.com", subject: name });
  await bind(world, uid, owner, "owner");
  return { group: uid, owner };
};

let owner = "";
before(async () => {
  // In the past, so that `gantry doctor`, which uses the machine's clock, finds stale sources.
  folder = mkdtempSync(join(tmpdir(), "gantry-coverage-"));
  writeFileSync(join(folder, "secret.key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  writeFileSync(join(folder, "metrics-token"), "let-me-scrape-this-please-1234567890", { mode: 0o600 });
  const environment = { GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"), GANTRY_METRICS_TOKEN_FILE: join(folder, "metrics-token") };
  world = await openWorld(environment, silent, Date.now() - 100 * dayMs);
  feed = await openFeedServer();
});
after(async () => {
  await feed?.close();
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  ({ group, owner } = await makeTenant());
  token = await world.token(owner);
});
afterEach(() => feed.answers.clear());

/** Advances the clock and renews the token. */
const wait = async (ms: number): Promise<void> => {
  world.clock.now += ms;
  token = await world.token(owner);
};

const importImages = async (images: Readonly<Record<string, readonly string[]>>, place = group): Promise<void> => {
  const file = join(folder, "images.jsonl");
  writeFileSync(
    file,
    Object.entries(images)
      .map(([repo, packages]) => `${JSON.stringify({ repo, tags: ["latest"], configs: { amd64: { packages } } })}\n`)
      .join(""),
  );
  await runImport(world, "images", [file], { group: place });
};

const osv = (id: string, ecosystem: string, name = "lantern"): string =>
  JSON.stringify({
    id,
    modified: "2026-01-02T00:00:00Z",
    affected: [{ package: { ecosystem, name }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed: "2" }] }] }],
  });

/** Serves a feed with `count` records on one package. */
const serve = (path: string, ecosystem: string, count = 1, name = "lantern"): string => {
  const ids = Array.from({ length: count }, (_, index) => `EXAMPLE-${path.replace(/\W/g, "")}-${index}`);
  feed.answers.set(path, { body: `[${ids.map((id) => osv(id, ecosystem, name)).join(",\n")}]` });
  return `${feed.url}${path}`;
};

const advisories = (source: string, options: Parameters<typeof runImport>[3] = {}) => runImport(world, "advisories", [source], { group, ...options });

const stateOf = (message: JsonObject): string => text(message, "state").replace("COVERAGE_STATE_", "");
const ecosystemOf = (message: JsonObject): string => [text(message, "ecosystem"), text(message, "release")].filter((word) => word !== "").join(" ");
const shown = (messages: readonly JsonObject[]): string[] => messages.map((each) => `${ecosystemOf(each)}: ${stateOf(each)}`).sort();

const coverage = async (request: JsonObject = {}, protocol: (typeof protocols)[number] = "rest", caller = token): Promise<JsonObject[]> =>
  objectList(await world.ok(coverageList, request, { protocol, token: caller }), "advisoryCoverage");

const only = async (ecosystem: string): Promise<JsonObject> => {
  const [found, ...others] = await coverage({ ecosystems: [ecosystem] });
  assert.ok(found && others.length === 0, `${others.length + 1} entries of ${ecosystem}`);
  return found;
};

const affected = (request: JsonObject = {}, caller = token): Promise<JsonObject> => world.ok(affectedList, request, { token: caller });
const statementOf = async (request: JsonObject = {}, caller = token): Promise<JsonObject> => part(await affected(request, caller), "coverage");

test("a source is MATCHED until its limit passes without a success, then STALE until the next success", async () => {
  await importImages({ web: ["pkg:pypi/lantern@1"] });
  assert.deepEqual(shown(await coverage()), ["PyPI: NO_SOURCE"]);
  const source = serve("/pypi.json", "PyPI");
  await advisories(source);
  const successMs = world.clock.now;
  for (const protocol of protocols) {
    const [found] = await coverage({}, protocol);
    assert.ok(found);
    assert.equal(stateOf(found), "MATCHED");
    assert.deepEqual([found.imageCount, text(found, "successTime"), text(found, "changeTime")], [1, timestamp(successMs), timestamp(successMs)]);
    const [own] = objectList(found, "sources");
    assert.ok(own);
    assert.equal(text(own, "sourceName"), source.replace("http://", ""));
    assert.equal(text(own, "staleTime"), timestamp(successMs + 72 * hourMs));
    assert.ok(text(own, "feedUid").startsWith(`${group}/`));
  }
  assert.deepEqual((await statementOf()).unjudgedImageCount, 0);
  await wait(72 * hourMs);
  assert.equal(stateOf(await only("PyPI")), "MATCHED");
  await wait(1);
  assert.equal(stateOf(await only("PyPI")), "STALE");
  const [row] = objectList(await affected(), "affectedImages");
  assert.deepEqual(shown(objectList(row ?? {}, "unjudged")), ["PyPI: STALE"]);
  assert.deepEqual(shown(objectList(await statementOf(), "ecosystems")), ["PyPI: STALE"]);
  // A failed import is not a success; an import without changes is.
  feed.answers.set("/pypi.json", { status: 500 });
  await advisories(source);
  assert.deepEqual([stateOf(await only("PyPI")), text(await only("PyPI"), "successTime")], ["STALE", timestamp(successMs)]);
  serve("/pypi.json", "PyPI");
  await advisories(source);
  const again = await only("PyPI");
  assert.deepEqual([stateOf(again), text(again, "successTime"), text(again, "changeTime")], ["MATCHED", timestamp(world.clock.now), timestamp(successMs)]);
});

test("a source's own limit overrides the default limit", async () => {
  await importImages({ web: ["pkg:pypi/lantern@1", "pkg:npm/lantern@1"] });
  await advisories(serve("/long.json", "PyPI"), { staleAfterMs: 30 * dayMs });
  await advisories(serve("/short.json", "npm"), { staleAfterMs: hourMs });
  await wait(2 * hourMs);
  assert.deepEqual(shown(await coverage()), ["PyPI: MATCHED", "npm: STALE"]);
  await advisories(`${feed.url}/short.json`, { staleAfterMs: 0 });
  await wait(29 * dayMs);
  assert.deepEqual(shown(await coverage()), ["PyPI: MATCHED", "npm: STALE"]);
});

test("an import that holds records back is not a success, so the source becomes stale", async () => {
  await importImages({ web: ["pkg:pypi/lantern@1"] });
  const source = serve("/held.json", "PyPI", 40);
  await advisories(source);
  const successMs = world.clock.now;
  await wait(48 * hourMs);
  serve("/held.json", "PyPI", 1);
  assert.equal((await advisories(source)).held.length, 1);
  const found = await only("PyPI");
  assert.deepEqual([stateOf(found), text(found, "successTime")], ["MATCHED", timestamp(successMs)]);
  await wait(25 * hourMs);
  assert.equal((await advisories(source)).held.length, 1);
  assert.deepEqual([stateOf(await only("PyPI")), text(await only("PyPI"), "successTime")], ["STALE", timestamp(successMs)]);
  await wait(48 * hourMs);
  assert.equal((await advisories(source)).held.length, 0);
  assert.deepEqual([stateOf(await only("PyPI")), text(await only("PyPI"), "successTime")], ["MATCHED", timestamp(world.clock.now)]);
});

test("an image on a release without a source is NO_SOURCE, and on an unknown system OS_UNSUPPORTED", async () => {
  await importImages({
    covered: ["pkg:deb/debian/lantern@1?distro=debian-12"],
    uncovered: ["pkg:deb/debian/lantern@1?distro=debian-11", "pkg:npm/lantern@1"],
    unknown: ["pkg:deb/kali/lantern@1?distro=kali-2024.1"],
    nameless: ["pkg:rpm/lantern@1"],
  });
  const source = `${feed.url}/debian.json`;
  feed.answers.set("/debian.json", { body: `[${osv("EXAMPLE-D1", "Debian:12")},${osv("EXAMPLE-N1", "npm", "other")}]` });
  await advisories(source);
  assert.deepEqual(shown(await coverage()), [
    "Debian 11: NO_SOURCE",
    "Debian 12: MATCHED",
    "deb/kali 2024.1: OS_UNSUPPORTED",
    "npm: MATCHED",
    "rpm: OS_UNSUPPORTED",
  ]);
  assert.deepEqual(shown(await coverage({ states: ["COVERAGE_STATE_NO_SOURCE"] })), ["Debian 11: NO_SOURCE"]);
  assert.deepEqual(shown(await coverage({ states: ["COVERAGE_STATE_NO_SOURCE", "COVERAGE_STATE_MATCHED"], ecosystems: ["Debian"] })), [
    "Debian 11: NO_SOURCE",
    "Debian 12: MATCHED",
  ]);
  const all = await readAll(world, coverageList, "advisoryCoverage", { orderBy: "ecosystem desc" });
  const mine = all.filter((each) => text(each, "uid").startsWith(group)).map((each) => text(each, "ecosystem"));
  assert.deepEqual(mine, ["rpm", "npm", "deb/kali", "Debian", "Debian"]);
  const page = await world.ok(coverageList, { pageSize: 2 }, { token });
  assert.deepEqual([objectList(page, "advisoryCoverage").length, page.totalCount], [2, "5"]);
  const next = await world.ok(coverageList, { pageSize: 2, pageToken: text(page, "nextPageToken") }, { token });
  assert.deepEqual([objectList(next, "advisoryCoverage").length, next.totalCount], [2, "5"]);
  const answer = await affected();
  assert.deepEqual([answer.totalCount, text(objectList(answer, "affectedImages")[0] ?? {}, "repo")], ["1", "covered"]);
  assert.deepEqual(objectList(answer, "affectedImages")[0]?.unjudged, undefined);
  const statement = part(answer, "coverage");
  assert.deepEqual([statement.imageCount, statement.unjudgedImageCount], [4, 3]);
  assert.deepEqual(shown(objectList(statement, "ecosystems")), ["Debian 11: NO_SOURCE", "deb/kali 2024.1: OS_UNSUPPORTED", "rpm: OS_UNSUPPORTED"]);
  assert.deepEqual(
    objectList(statement, "images").map(
      (image) => `${text(image, "repo")} ${text(image, "reason").slice(16)} ${shown(objectList(image, "ecosystems")).join()}`,
    ),
    ["nameless ECOSYSTEMS rpm: OS_UNSUPPORTED", "uncovered ECOSYSTEMS Debian 11: NO_SOURCE", "unknown ECOSYSTEMS deb/kali 2024.1: OS_UNSUPPORTED"],
  );
});

test("an empty list of affected images states which images were not matched, whatever its filter, over both protocols", async () => {
  await importImages({ web: ["pkg:cargo/lantern@1"], empty: [] });
  const registry = openRegistry(world.url, `Bearer ${await world.token()}`);
  const path = `${text(await world.ok("iam.GroupsService/GetGroup", { uid: group }), "name")}/pushed`;
  const digest = await registry.pushImage(path, "v1");
  for (const protocol of protocols)
    for (const request of [
      {},
      { advisoryIds: ["CVE-2026-1"] },
      { packages: ["nothing"] },
      { uidp: { descendantsOf: group } },
      { uidp: { childrenOf: group } },
    ]) {
      const answer = await world.ok(affectedList, request, { protocol, token });
      assert.deepEqual([Number(answer.totalCount), objectList(answer, "affectedImages")], [0, []]);
      const statement = part(answer, "coverage");
      assert.deepEqual([statement.imageCount, statement.unjudgedImageCount], [3, 3]);
      assert.deepEqual(shown(objectList(statement, "ecosystems")), ["crates.io: NO_SOURCE"]);
      assert.deepEqual(
        objectList(statement, "images").map((image) => [text(image, "repo"), text(image, "reason").slice(16), text(image, "digest"), texts(image, "tags")]),
        [
          ["pushed", "NOT_READ", digest, ["v1"]],
          ["empty", "NO_PACKAGES", "", ["latest"]],
          ["web", "ECOSYSTEMS", "", ["latest"]],
        ],
      );
    }
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "other" } }), "uid");
  assert.equal((await statementOf({ uidp: { descendantsOf: other } })).imageCount, 0);
});

test("a private source is hidden from other tenants, a public one hides its UID, and a group's source covers its subgroups", async () => {
  const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: "team" } }), "uid");
  const rival = await makeTenant();
  const rivalToken = (): Promise<string> => world.token(rival.owner);
  for (const place of [team, rival.group]) await importImages({ web: ["pkg:pypi/lantern@1"] }, place);
  const source = serve("/private.json", "PyPI", 1, "unrelated");
  await advisories(source);
  const [own] = await coverage();
  assert.ok(own);
  assert.deepEqual([text(own, "uid").startsWith(team), stateOf(own), objectList(own, "sources").length], [true, "MATCHED", 1]);
  for (const protocol of protocols) {
    const theirs = await coverage({}, protocol, await rivalToken());
    assert.deepEqual(shown(theirs), ["PyPI: NO_SOURCE"]);
    assert.ok(!JSON.stringify(theirs).includes(group.slice(0, 40)) && !JSON.stringify(theirs).includes("private.json"));
  }
  assert.deepEqual(shown(objectList(await statementOf({}, await rivalToken()), "ecosystems")), ["PyPI: NO_SOURCE"]);
  const nobody = await createIdentity(world, group, "nobody", { issuer: "https://issuer.example.com", subject: `nobody-${made}` });
  assert.equal((await coverage({}, "rest", await world.token(nobody))).length, 0);
  await advisories(source, { public: true });
  const [published] = await coverage({}, "rest", await rivalToken());
  assert.ok(published);
  assert.equal(stateOf(published), "MATCHED");
  assert.deepEqual(
    objectList(published, "sources").map((each) => [text(each, "feedUid"), text(each, "sourceName")]),
    [["", source.replace("http://", "")]],
  );
  await advisories(source, { public: false });
  assert.deepEqual(shown(await coverage({}, "rest", await rivalToken())), ["PyPI: NO_SOURCE"]);
  assert.equal((await coverage({ uidp: { descendantsOf: group } }, "rest", await rivalToken())).length, 0);
  assert.equal((await statementOf({ uidp: { descendantsOf: group } }, await rivalToken())).imageCount, 0);
  const outside = await world.call(coverageList, {}, { token: "" });
  assert.equal(outside.code, codes.UNAUTHENTICATED);
});

const secdb = (release: string): string =>
  JSON.stringify({
    distroversion: release,
    reponame: "main",
    packages: [{ pkg: { name: "lantern", secfixes: { "2-r0": [`CVE-2026-${release.replace(/\D/g, "")}`] } } }],
  });

test("an Alpine branch without a published file becomes NO_SOURCE, and MATCHED when the file returns", async () => {
  await importImages({ old: ["pkg:apk/alpine/lantern@1-r0?distro=alpine-3.20.3"], new: ["pkg:apk/alpine/lantern@1-r0?distro=alpine-3.22.0"] });
  const source = `${feed.url}/alpine.zip`;
  const publish = (...releases: string[]): void =>
    void feed.answers.set("/alpine.zip", { body: zipArchive(releases.map((release) => ({ name: `${release}/main.json`, content: secdb(release) }))) });
  publish("v3.20", "v3.22");
  await advisories(source);
  assert.deepEqual(shown(await coverage()), ["Alpine 3.20: MATCHED", "Alpine 3.22: MATCHED"]);
  await wait(dayMs);
  const endMs = world.clock.now;
  publish("v3.22");
  await advisories(source);
  await wait(hourMs);
  await advisories(source);
  assert.deepEqual(shown(await coverage()), ["Alpine 3.20: NO_SOURCE", "Alpine 3.22: MATCHED"]);
  const [ended] = await coverage({ states: ["COVERAGE_STATE_NO_SOURCE"] });
  const [was] = objectList(ended ?? {}, "sources");
  assert.deepEqual([stateOf(was ?? {}), text(was ?? {}, "endTime")], ["NO_SOURCE", timestamp(endMs)]);
  const rows = objectList(await affected(), "affectedImages").filter((row) => text(row, "repo") === "old");
  assert.ok(rows.length > 0);
  for (const row of rows) assert.deepEqual(shown(objectList(row, "unjudged")), ["Alpine 3.20: NO_SOURCE"]);
  publish("v3.20", "v3.22");
  await advisories(source);
  assert.deepEqual(shown(await coverage()), ["Alpine 3.20: MATCHED", "Alpine 3.22: MATCHED"]);
});

test("Wolfi's advisories cover packages of apko, and a deleted or changed image leaves no coverage entries", async () => {
  await importImages({ web: ["lantern=1-r0"], other: ["pkg:pypi/lantern@1"] });
  assert.deepEqual(shown(await coverage()), ["PyPI: NO_SOURCE", "apk: NO_SOURCE"]);
  const file = join(folder, "lantern.advisories.json");
  writeFileSync(file, JSON.stringify({ "schema-version": "2.0.2", package: { name: "lantern" }, advisories: [] }));
  await advisories(file);
  assert.deepEqual(shown(await coverage()), ["PyPI: NO_SOURCE", "apk: MATCHED"]);
  await importImages({ web: ["lantern=1-r0"], other: ["pkg:npm/lantern@1"] });
  assert.deepEqual(shown(await coverage()), ["apk: MATCHED", "npm: NO_SOURCE"]);
});

test("reports and counts by the server's matching name the ecosystems without a source", async () => {
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "web" } }), "uid");
  const digest = `sha256:${"a".repeat(64)}`;
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "latest", digest } });
  await importImages({ web: ["pkg:pypi/lantern@1"] });
  const read = async (): Promise<JsonObject[]> => [
    ...objectList(await world.ok(reportList, { repoId: repo }, { token }), "items"),
    ...objectList(await world.ok(countList, { repo, tag: "latest" }, { token }), "items").slice(-1),
    await world.ok("chainguard.platform.registry.Registry/GetVulnReport", { repoId: repo, digest }, { token }),
  ];
  const before = await read();
  assert.equal(before.length, 3);
  for (const each of before) assert.deepEqual(shown(objectList(each, "unjudged")), ["PyPI: NO_SOURCE"]);
  await advisories(serve("/reports.json", "PyPI", 1, "unrelated"));
  for (const each of await read()) assert.deepEqual(each.unjudged, undefined);
});

test("`gantry vulnerabilities coverage` lists coverage, and an empty list of affected images prints what was not matched", async () => {
  await importImages({ web: ["pkg:pypi/lantern@1"] });
  const run = (...args: string[]) => runGantry(args, { environment: { GANTRY_SERVER: world.url, GANTRY_TOKEN: token, XDG_CONFIG_HOME: folder } });
  const listed = await run("vulnerabilities", "coverage");
  assert.equal(listed.status, 0, listed.err);
  assert.match(listed.out, /PyPI.*no.source/i);
  const json = await run("vulnerabilities", "coverage", "--states", "stale", "-o", "json");
  assert.deepEqual((JSON.parse(json.out) as JsonObject).advisoryCoverage, []);
  const none = await run("registry", "affected-images", "list");
  assert.deepEqual([none.status, none.out], [0, ""]);
  assert.match(none.err, /coverage: sources do not fully cover 1 of 1 images: PyPI \(no source\)/);
  const whole = JSON.parse((await run("registry", "affected-images", "list", "-o", "json")).out) as JsonObject;
  assert.equal(part(whole, "coverage").unjudgedImageCount, 1);
});

test("`gantry doctor` names stale sources, respecting each source's own limit", async () => {
  await advisories(serve("/doctor-stale.json", "PyPI"));
  await advisories(serve("/doctor-long.json", "npm"), { staleAfterMs: 1_000 * dayMs });
  const settings = readSettings({
    DATABASE_URL: world.databaseUrl,
    GANTRY_DATA: folder,
    GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
  });
  const found: string[] = [];
  for await (const { subject, says } of examineInstallation({ settings, log: silent, progress: () => {} })) if (subject === "stale") found.push(says);
  assert.ok(found.length > 0);
  assert.match(found.join("\n"), /advisories of .*\/doctor-stale\.json: last success 20/);
  assert.doesNotMatch(found.join("\n"), /doctor-long/);
});

test("the metric of stale sources counts them without naming them", async () => {
  const { store, feedStaleMs } = world.server.application.services;
  const count = async (): Promise<number> =>
    Number((await countStaleFeeds(store.read, world.clock.now, feedStaleMs)).find(({ kind }) => kind === "advisories")?.feeds ?? 0);
  await wait(80 * dayMs);
  const before = await count();
  await advisories(serve("/metric.json", "PyPI"));
  assert.equal(await count(), before, "a source is not stale behind its import");
  await wait(72 * hourMs + 1);
  assert.equal(await count(), before + 1);
  const scrape = await fetch(`${world.url}/metrics`, { headers: { authorization: "Bearer let-me-scrape-this-please-1234567890" } });
  const family = readScrape(await scrape.text()).get("gantry_feeds_stale");
  assert.deepEqual(
    family?.series.map(({ labels, value }) => [labels, value]),
    [
      [{ kind: "advisories" }, before + 1],
      [{ kind: "vulnerabilities" }, 0],
    ],
  );
});
