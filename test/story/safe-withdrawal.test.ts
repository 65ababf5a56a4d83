// Faulty sources: earlier records stay, the source's state has the reason, and new records are imported. Uses a misbehaving feed server (decision
// 0071).

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { isObject, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { type FeedSummary, undoImport, type UndoSummary } from "#advisories/feeds";
import { zipArchive } from "../../server/advisories/feeds/parse/zip.fixture.ts";
import { openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";
import { type FeedAnswer, type FeedServer, openFeedServer } from "./feed-server.ts";
import { readAll, runImport } from "./import.ts";

let world: World;
let feed: FeedServer;
before(async () => {
  world = await openWorld();
});
after(async () => {
  await world?.close();
});
beforeEach(async () => {
  feed = await openFeedServer();
});
afterEach(() => feed.close());

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const osv = (id: string, modified = "2026-01-02T00:00:00Z", fixed = "1.0.0"): string =>
  JSON.stringify({
    id,
    modified,
    affected: [{ package: { ecosystem: "Go", name: "example.com/lantern" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed }] }] }],
  });

const ids = (prefix: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index + from).padStart(4, "0")}`);

const archive = (all: readonly string[], modified?: string, fixed?: string): Uint8Array =>
  zipArchive(all.map((id) => ({ name: `${id}.json`, content: osv(id, modified, fixed) })));

const list = (all: readonly string[], modified?: string, fixed?: string): string => `[${all.map((id) => osv(id, modified, fixed)).join(",\n")}]`;

const countListed = async (prefix: string): Promise<number> => {
  const { store } = world.server.application.services;
  const [row] = await store.read.query("select count(*) from advisories where starts_with(advisory_id, $1) and delete_time is null", [`${prefix}-`]);
  return Number(row?.[0]);
};

interface State {
  readonly state: string;
  readonly detail: string;
  readonly heldReason: string;
  readonly heldRecords: number;
  readonly absentFiles: readonly string[];
}

const stateOf = async (source: string): Promise<State> => {
  const all = await readAll(world, "gantry.feeds.v1.FeedsService/ListFeeds", "feeds", {});
  const name = source.replace("http://", "");
  const found = all.find((each) => each.sourceName === name) ?? assert.fail(`no source ${name}`);
  return {
    state: text(found, "state").replace("FEED_STATE_", ""),
    detail: text(found, "detail"),
    heldReason: text(found, "holdReason").replace("FEED_HOLD_REASON_", ""),
    heldRecords: Number(found.heldRecordCount),
    absentFiles: texts(found, "absentFiles"),
  };
};

const heldOf = async (source: string, request: JsonObject = {}): Promise<JsonObject[]> => {
  const feeds = await readAll(world, "gantry.feeds.v1.FeedsService/ListFeeds", "feeds", {});
  const uid = text(feeds.find(({ sourceName }) => sourceName === source.replace("http://", "")) ?? {}, "uid");
  return readAll(world, "gantry.feeds.v1.HeldRecordsService/ListHeldRecords", "heldRecords", { uidp: { childrenOf: uid }, ...request });
};

const heldIds = async (source: string): Promise<string[]> => (await heldOf(source)).map((each) => text(each, "recordId"));

const advisories = (source: string, options: Parameters<typeof runImport>[3] = {}): Promise<FeedSummary> => runImport(world, "advisories", [source], options);

test("an empty, shrunken or unreadable response withdraws nothing, and the source's state has the reason (attack 291)", async () => {
  const cases: readonly [string, (all: readonly string[], whole: Uint8Array) => FeedAnswer, string, RegExp][] = [
    ["an empty list", () => ({ body: "[]" }), "HELD", /is empty, and had 300 records before; none of them were withdrawn.*--allow-withdrawals/],
    ["one of 300", (all) => ({ body: archive(all.slice(0, 1)) }), "HELD", /299 of 300 records are missing and were not withdrawn/],
    ["one of 300 as a list", (all) => ({ body: list(all.slice(0, 1)) }), "HELD", /299 of 300 records are missing and were not withdrawn/],
    ["an empty archive", () => ({ body: zipArchive([]) }), "HELD", /contains no files any more|is unreadable/],
    ["an empty object", () => ({ body: "{}" }), "HELD", /is unreadable|is empty/],
    ["nothing", () => ({ body: "" }), "HELD", /is unreadable/],
    ["HTML", () => ({ headers: { "content-type": "text/html" }, body: "<!doctype html><title>Maintenance</title>" }), "HELD", /is unreadable/],
    ["half an archive", (_all, whole) => ({ body: whole.subarray(0, whole.length / 2) }), "HELD", /is unreadable/],
    ["half a list", (all) => ({ body: list(all).slice(0, 5_000) }), "HELD", /not valid JSON|records are missing/],
    ["a cut connection", (_all, whole) => ({ body: whole, cutAt: 4_000 }), "FAILED", /127\.0\.0\.1/],
    ["status 500", () => ({ status: 500, body: "[]" }), "FAILED", /returned status 500/],
    ["status 404", () => ({ status: 404 }), "FAILED", /returned status 404/],
  ];
  for (const [index, [name, answer, state, why]] of cases.entries()) {
    const [path, prefix] = [`/safe-${index}.zip`, `SAFE${index}`];
    const source = `${feed.url}${path}`;
    const all = ids(prefix, index < 3 ? 300 : 50);
    const whole = archive(all);
    feed.answers.set(path, { body: whole });
    assert.deepEqual([(await advisories(source)).held, await countListed(prefix)], [[], all.length], name);
    world.clock.now += dayMs;
    feed.answers.set(path, answer(all, whole));
    const done = await advisories(source);
    assert.equal(done.withdrawn, 0, name);
    assert.equal(await countListed(prefix), all.length, name);
    assert.equal([...done.held, ...done.failed].length, 1, name);
    const said = await stateOf(source);
    assert.equal(said.state, state, `${name}: ${said.detail}`);
    assert.match(said.detail, why, name);
    const kept = index === 0 ? all : all.slice(1);
    const heldBack = await heldIds(source);
    assert.equal(heldBack.length, said.heldRecords, name);
    if (index < 3) assert.deepEqual(heldBack, kept, `${name}: the list has exactly the records that would be withdrawn`);
    feed.answers.set(path, { body: whole });
    assert.deepEqual([(await advisories(source)).held, (await stateOf(source)).state, await heldIds(source)], [[], "OK", []], name);
  }
});

test("a run imports what it reads even if it holds back missing records, and the option withdraws these (attack 291)", async () => {
  const source = `${feed.url}/partly.zip`;
  const all = ids("PARTLY", 40);
  feed.answers.set("/partly.zip", { body: archive(all) });
  await advisories(source);
  feed.answers.set("/partly.zip", { body: archive([...all.slice(0, 20), "PARTLY-NEW"]) });
  const done = await advisories(source);
  assert.deepEqual([done.new, done.withdrawn, done.held.length], [1, 0, 1]);
  assert.equal(await countListed("PARTLY"), 41);
  const held = await heldOf(source, { kind: "HELD_RECORD_KIND_WITHDRAWAL" });
  assert.deepEqual(
    held.map(({ recordId, packageName, modifyTime, sourceModifyTime }) => [recordId, packageName, modifyTime, sourceModifyTime]),
    all.slice(20).map((id) => [id, "example.com/lantern", "2026-01-02T00:00:00.000Z", undefined]),
  );
  assert.deepEqual(await heldOf(source, { kind: "HELD_RECORD_KIND_OLDER" }), []);
  world.clock.now += hourMs;
  feed.answers.set("/partly.zip", { body: archive([...all.slice(0, 19), "PARTLY-NEW"]) });
  assert.deepEqual((await advisories(source)).withdrawn, 0, "one more is missing a second time");
  const [first, ...again] = await heldOf(source);
  assert.deepEqual([first?.recordId, again], [all[19], held], "records keep their uid and the time since when they are held back");
  assert.notEqual(first?.holdTime, again[0]?.holdTime);
  const owners = openOwners(world);
  const list = "gantry.feeds.v1.HeldRecordsService/ListHeldRecords";
  const page = await owners.world().ok(list, { pageSize: 2, skip: 3, orderBy: "record_id desc" });
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "held-elsewhere" } }), "uid");
  assert.deepEqual(
    [objectList(page, "heldRecords").map(({ recordId }) => recordId), page.totalCount],
    [[all[36], all[35]], "21"],
    "the owner sees a page and the exact total",
  );
  const nothing = await world.ok(list, {}, { token: await owners.token(other) });
  assert.deepEqual([nothing.heldRecords ?? [], nothing.totalCount], [[], "0"], "another tenant sees nothing");
  const allowed = await advisories(source, { allowWithdrawals: true });
  assert.deepEqual([allowed.withdrawn, allowed.held, await heldOf(source)], [21, [], []]);
  assert.equal(await countListed("PARTLY"), 20);
  feed.answers.set("/partly.zip", { body: archive([...all.slice(1, 19), "PARTLY-NEW"]) });
  assert.deepEqual([(await advisories(source)).withdrawn, (await stateOf(source)).state], [1, "OK"]);
});

test("records missing for 72 hours with an unchanged result are withdrawn, but never those of an empty source (attack 291)", async () => {
  const source = `${feed.url}/patience.zip`;
  const all = ids("PATIENCE", 40);
  feed.answers.set("/patience.zip", { body: archive(all) });
  await advisories(source);
  feed.answers.set("/patience.zip", { body: archive(all.slice(0, 30)) });
  await advisories(source);
  world.clock.now += 71 * hourMs;
  assert.equal((await advisories(source)).withdrawn, 0);
  // Another record is missing, so the time restarts.
  feed.answers.set("/patience.zip", { body: archive(all.slice(0, 29)) });
  world.clock.now += 2 * hourMs;
  assert.equal((await advisories(source)).withdrawn, 0);
  world.clock.now += 71 * hourMs;
  assert.equal((await advisories(source)).withdrawn, 0);
  // An unreadable response is not a result.
  feed.answers.set("/patience.zip", { body: "<html>" });
  assert.equal((await advisories(source)).withdrawn, 0);
  feed.answers.set("/patience.zip", { body: archive(all.slice(0, 29)) });
  world.clock.now += hourMs;
  const accepted = await advisories(source);
  assert.deepEqual([accepted.withdrawn, accepted.held, (await stateOf(source)).state], [11, [], "OK"]);
  assert.equal(await countListed("PATIENCE"), 29);
  feed.answers.set("/patience.zip", { body: "[]" });
  for (let day = 0; day < 40; day += 4) {
    assert.equal((await advisories(source)).withdrawn, 0);
    world.clock.now += 4 * dayMs;
  }
  assert.equal(await countListed("PATIENCE"), 29);
});

test("a source that flaps daily for a week or shrinks a little each day loses at most a tenth (attack 292)", async () => {
  const flapping = `${feed.url}/flapping.zip`;
  const leaking = `${feed.url}/leaking.zip`;
  const [flaps, leaks] = [ids("FLAP", 100), ids("LEAK", 100)];
  feed.answers.set("/flapping.zip", { body: archive(flaps) });
  feed.answers.set("/leaking.zip", { body: archive(leaks) });
  await advisories(flapping);
  await advisories(leaking);
  const states: string[] = [];
  for (let day = 1; day <= 7; day++) {
    world.clock.now += dayMs;
    feed.answers.set("/flapping.zip", { body: day % 2 === 1 ? archive(flaps.slice(0, 10 + day)) : archive(flaps) });
    assert.equal((await advisories(flapping)).withdrawn, 0, `day ${day}`);
    assert.equal(await countListed("FLAP"), 100);
    states.push((await stateOf(flapping)).state);
    feed.answers.set("/leaking.zip", { body: archive(leaks.slice(0, 100 - day * 3)) });
    await advisories(leaking);
    assert.ok((await countListed("LEAK")) >= 90, `day ${day}`);
  }
  assert.deepEqual(states, ["HELD", "OK", "HELD", "OK", "HELD", "OK", "HELD"]);
  const { heldReason, detail } = await stateOf(leaking);
  assert.equal(heldReason, "SHRUNK");
  assert.match(detail, /12 of 100 records are missing/);
});

test("records under new IDs are imported, and the old ones stay until the drop is accepted (attack 292)", async () => {
  const source = `${feed.url}/renamed.json`;
  feed.answers.set("/renamed.json", { body: list(ids("OLDNAME", 60)) });
  await advisories(source);
  feed.answers.set("/renamed.json", { body: list(ids("NEWNAME", 60)) });
  const done = await advisories(source);
  assert.deepEqual([done.new, done.withdrawn, done.held.length], [60, 0, 1]);
  assert.deepEqual([await countListed("OLDNAME"), await countListed("NEWNAME")], [60, 60]);
});

test("a record never moves to an earlier modification time without the option, at any position in its source (attack 293)", async () => {
  for (const [name, made] of [
    ["zip", archive],
    ["json", list],
  ] as const) {
    const source = `${feed.url}/older.${name}`;
    const prefix = `OLDER${name.toUpperCase()}`;
    const all = ids(prefix, 20);
    const fixes = async (): Promise<string[]> => {
      const { store } = world.server.application.services;
      const found = await store.read.query("select distinct events::text from advisories where starts_with(advisory_id, $1) and delete_time is null", [prefix]);
      return [...new Set(found.map(([events]) => /"fixedVersion": "([^"]+)"/.exec(events ?? "")?.[1] ?? events ?? ""))];
    };
    feed.answers.set(`/older.${name}`, { body: made(all, "2026-02-01T00:00:00Z", "2.0.0") });
    await advisories(source);
    world.clock.now += hourMs;
    feed.answers.set(`/older.${name}`, { body: made(["AAA-FIRST", ...all], "2026-01-01T00:00:00Z", "1.0.0") });
    const done = await advisories(source);
    assert.deepEqual([done.changed, done.withdrawn, done.held.length], [0, 0, 1], name);
    assert.match(done.held[0] ?? "", /20 records were modified earlier than the stored ones.*--allow-older/);
    assert.deepEqual([await fixes(), await countListed(prefix), (await stateOf(source)).heldReason], [["2.0.0"], 20, "OLDER"], name);
    assert.deepEqual([(await advisories(source)).changed, await fixes()], [0, ["2.0.0"]], "the same a second time");
    assert.deepEqual(
      (await heldOf(source)).map(({ recordId, kind, modifyTime, sourceModifyTime }) => [recordId, kind, modifyTime, sourceModifyTime]),
      all.map((id) => [id, "HELD_RECORD_KIND_OLDER", "2026-02-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"]),
    );
    const allowed = await advisories(source, { allowOlder: true });
    assert.deepEqual([allowed.changed, allowed.held, await fixes(), await heldIds(source)], [20, [], ["1.0.0"], []], name);
  }
});

const kev = (all: readonly string[]): string =>
  JSON.stringify({
    catalogVersion: "2026.01.01",
    count: all.length,
    vulnerabilities: all.map((cveID) => ({
      cveID,
      dateAdded: "2026-01-01",
      dueDate: "2026-02-01",
      knownRansomwareCampaignUse: "Known",
      requiredAction: "Update",
    })),
  });
const epss = (all: readonly string[], day: string, score: string): string =>
  [`#model_version:v2026.01.01,score_date:${day}T00:00:00+0000`, "cve,epss,percentile", ...all.map((id) => `${id},${score},0.5`)].join("\n");

test("an empty catalogue of exploited vulnerabilities or an earlier day's scores change no fact (attack 294)", async () => {
  const cves = Array.from({ length: 50 }, (_, index) => `CVE-2026-${70_000 + index}`);
  const facts = async (): Promise<(string | null | undefined)[]> => {
    const { store } = world.server.application.services;
    const [row] = await store.read.query(
      "select (select count(*) from known_exploits where id = any($1) and shown), (select min(score) from exploit_predictions where id = any($1) and shown)",
      [cves],
    );
    return [...(row ?? [])];
  };
  const [catalogue, scores] = [`${feed.url}/kev.json`, `${feed.url}/epss.csv`];
  const run = (source: string, options = {}): Promise<FeedSummary> => runImport(world, "vulnerabilities", [source], { public: true, ...options });
  feed.answers.set("/kev.json", { body: kev(cves) });
  feed.answers.set("/epss.csv", { body: epss(cves, "2026-01-10", "0.9") });
  await run(catalogue);
  await run(scores);
  assert.deepEqual(await facts(), ["50", "0.9"]);
  for (const few of [[], cves.slice(0, 3)]) {
    feed.answers.set("/kev.json", { body: kev(few) });
    const done = await run(catalogue);
    assert.deepEqual([done.withdrawn, done.held.length, await facts()], [0, 1, ["50", "0.9"]], `${few.length}`);
    assert.deepEqual(await heldIds(catalogue), cves.slice(few.length));
  }
  assert.equal((await run(catalogue, { allowWithdrawals: true })).withdrawn, 47);
  feed.answers.set("/epss.csv", { body: epss(cves, "2026-01-09", "0.1") });
  const older = await run(scores);
  assert.deepEqual([older.changed, older.held.length, await facts()], [0, 1, ["3", "0.9"]]);
  const earlier = (await heldOf(scores)).map(({ recordId, modifyTime, sourceModifyTime }) => [recordId, modifyTime, sourceModifyTime]);
  assert.deepEqual(
    earlier,
    cves.map((id) => [id, "2026-01-10T00:00:00.000Z", "2026-01-09T00:00:00.000Z"]),
  );
  feed.answers.set("/epss.csv", { body: epss([], "2026-01-11", "0.1") });
  assert.deepEqual([(await run(scores)).withdrawn, await facts()], [0, ["3", "0.9"]]);
  feed.answers.set("/epss.csv", { body: epss(cves, "2026-01-09", "0.1") });
  assert.deepEqual([(await run(scores, { allowOlder: true })).changed, await facts()], [50, ["3", "0.1"]]);
});

const lines = (all: readonly JsonObject[]): string => all.map((each) => JSON.stringify(each)).join("\n");

test("libraries, images and lifecycles of a shrinking source stay too (attack 291)", async () => {
  const { store } = world.server.application.services;
  const names = ids("shrinking", 20);
  const kinds = [
    {
      kind: "libraries",
      body: (all: readonly string[]) => lines(all.map((name) => ({ ecosystem: "PYTHON", name, versions: [{ version: "1.0" }] }))),
      count: "select count(*) from library_artifacts where starts_with(name, 'shrinking-') and delete_time is null",
      nameOf: (name: string) => name,
    },
    {
      kind: "images",
      body: (all: readonly string[]) =>
        lines(all.map((repo) => ({ image: repo, repo, tags: ["latest"], configs: { amd64: { packages: ["lantern=1.0-r0"] } } }))),
      count: "select count(*) from image_packages where starts_with(repo, 'shrinking-') and delete_time is null",
      nameOf: (name: string) => `${name}:latest amd64`,
    },
    {
      kind: "lifecycle",
      body: (all: readonly string[]) => lines(all.map((product) => ({ product, releases: [{ releaseCycle: "1", releaseDate: "2020-01-01", eol: false }] }))),
      count: "select count(*) from lifecycles where starts_with(product, 'shrinking-')",
      nameOf: (name: string) => name,
    },
  ] as const;
  for (const { kind, body, count, nameOf } of kinds) {
    const source = `${feed.url}/${kind}.jsonl`;
    const countRows = async (): Promise<number> => Number((await store.read.query(count))[0]?.[0]);
    feed.answers.set(`/${kind}.jsonl`, { body: body(names) });
    const first = await runImport(world, kind, [source]);
    assert.deepEqual([first.new, first.refused, await countRows()], [20, [], 20], kind);
    for (const few of [names.slice(0, 12), []]) {
      feed.answers.set(`/${kind}.jsonl`, { body: body(few) });
      const done = await runImport(world, kind, [source]);
      assert.deepEqual([done.withdrawn, done.held.length, await countRows()], [0, 1, 20], kind);
      // An empty file is unreadable, so the earlier decision stays.
      assert.deepEqual(await heldIds(source), names.slice(12).map(nameOf), kind);
    }
    feed.answers.set(`/${kind}.jsonl`, { body: body(names.slice(0, 12)) });
    assert.deepEqual([(await runImport(world, kind, [source], { allowWithdrawals: true })).withdrawn, await countRows()], [8, 12], kind);
  }
});

const secdb = (release: string, all: readonly string[]): JsonObject => ({
  apkurl: "{{urlprefix}}/{{distroversion}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
  distroversion: release,
  reponame: "main",
  packages: all.map((id) => ({ pkg: { name: "lantern", secfixes: { [`1.${id.slice(-4)}-r0`]: [id] } } })),
});

test("a release without its file is no longer matched, and nothing of it is withdrawn, even with the option (attack 295)", async () => {
  const source = `${feed.url}/alpine.zip`;
  const releases = (kept: readonly string[]): Uint8Array =>
    zipArchive(
      kept.map((release) => ({ name: `${release}/main.json`, content: JSON.stringify(secdb(release, ids(`CVE-2026-${release.replace(/\D/g, "")}`, 8))) })),
    );
  feed.answers.set("/alpine.zip", { body: releases(["v3.20", "v3.21", "v3.22"]) });
  const first = await advisories(source);
  assert.ok(first.new >= 24, `${first.new} new, ${first.refused.join()}`);
  const listed = await countListed("CVE-2026-320");
  feed.answers.set("/alpine.zip", { body: releases(["v3.21", "v3.22"]) });
  for (const allowWithdrawals of [false, true]) {
    const done = await advisories(source, { allowWithdrawals });
    assert.deepEqual([done.withdrawn, done.held, await countListed("CVE-2026-320")], [0, [], listed]);
    const { state, absentFiles } = await stateOf(source);
    assert.deepEqual([state, absentFiles], ["OK", ["v3.20/main.json"]]);
  }
  feed.answers.set("/alpine.zip", { body: releases(["v3.20", "v3.21", "v3.22"]) });
  assert.deepEqual([(await advisories(source)).withdrawn, (await stateOf(source)).absentFiles], [0, []]);
});

const eventsOf = async (operation: string): Promise<JsonObject[]> => {
  const { store } = world.server.application.services;
  const found = await store.read.query("select data from outbox where type = 'dev.gantry.feeds.imported.v1' and audit_context->>'operation' = $1 order by id", [
    operation,
  ]);
  return found.map(([data]) => part(JSON.parse(data ?? "{}") as JsonObject, "body"));
};

/** Returns what an undo must restore: listed records, their content and documents, and visible facts. */
const contentOf = async (prefix: string): Promise<unknown> => {
  const { store } = world.server.application.services;
  return [
    await store.read.query("select advisory_id, events::text, public from advisories where starts_with(advisory_id, $1) and delete_time is null order by 1", [
      prefix,
    ]),
    await store.read.query("select id, summary, owner from vulnerabilities where starts_with(id, $1) and not hidden order by 1, 3", [prefix]),
    await store.read.query(
      "select file, part, origin_id, digest, public from source_documents where starts_with(origin_id, $1) and told and not missing order by 1, 2, 3",
      [prefix],
    ),
    await store.read.query(
      `select package.name, package.origin_id, package.entries::text from affected_packages as package
       join source_documents as document on document.id = document_id where starts_with(package.origin_id, $1) and told order by 1, 2, 3`,
      [prefix],
    ),
    await store.read.query("select id, owner, shown, due_date from known_exploits where starts_with(id, $1) order by 1, 2", [prefix]),
    await store.read.query("select id, owner, shown, score, score_date from exploit_predictions where starts_with(id, $1) order by 1, 2", [prefix]),
  ];
};

const undo = (source: string, more: { readonly documentMs?: number } = {}): Promise<UndoSummary> =>
  undoImport(world.server.application.services, { source, group: undefined, kind: undefined, documentMs: undefined, ...more });

test("an undo reverts the last import of a source as one change: withdrawals, changes and additions (attack 291)", async () => {
  for (const [name, made] of [
    ["zip", archive],
    ["json", list],
  ] as const) {
    const source = `${feed.url}/undo.${name}`;
    const prefix = `UNDO${name.toUpperCase()}`;
    const all = ids(prefix, 600);
    feed.answers.set(`/undo.${name}`, { body: made(all) });
    await advisories(source, { public: true });
    const before = await contentOf(prefix);
    world.clock.now += hourMs;
    // A third is removed, a third changed, and some are new.
    const changed = zipLike(made, all.slice(200, 400), all.slice(400), ids(`${prefix}-NEW`, 50));
    feed.answers.set(`/undo.${name}`, { body: changed });
    const bad = await advisories(source, { allowWithdrawals: true });
    assert.deepEqual([bad.new, bad.changed, bad.withdrawn], [50, 200, 200], name);
    assert.notDeepEqual(await contentOf(prefix), before);
    // A run without changes is not undone.
    assert.deepEqual([(await advisories(source)).changed], [0]);
    world.clock.now += hourMs;
    const told = (await eventsOf("gantry import undo")).length;
    const done = await undo(source);
    assert.deepEqual([done.withdrawn, done.new + done.changed], [50, 400], name);
    assert.deepEqual(await contentOf(prefix), before, name);
    assert.deepEqual((await eventsOf("gantry import undo")).length, told + 1);
    await assert.rejects(undo(source), /nothing to undo/);
    const next = await advisories(source);
    assert.deepEqual([next.withdrawn, next.held.length], [0, 1]);
  }
});

const zipLike = (made: typeof archive | typeof list, changed: readonly string[], same: readonly string[], added: readonly string[]): string | Uint8Array => {
  const records = [
    ...changed.map((id): [string, string] => [id, osv(id, "2026-02-02T00:00:00Z", "9.9.9")]),
    ...same.map((id): [string, string] => [id, osv(id)]),
    ...added.map((id): [string, string] => [id, osv(id)]),
  ];
  return made === archive
    ? zipArchive(records.map(([id, content]) => ({ name: `${id}.json`, content })))
    : `[${records.map(([, content]) => content).join(",\n")}]`;
};

test("facts and vulnerability records are undone too; other kinds, older runs and unknown sources are refused with the reason", async () => {
  const cves = Array.from({ length: 60 }, (_, index) => `CVE-2026-${80_000 + index}`);
  const source = `${feed.url}/undo-kev.json`;
  const scores = `${feed.url}/undo-epss.csv`;
  feed.answers.set("/undo-kev.json", { body: kev(cves) });
  feed.answers.set("/undo-epss.csv", { body: epss(cves, "2026-01-10", "0.9") });
  for (const each of [source, scores]) await runImport(world, "vulnerabilities", [each], { public: true });
  const before = await contentOf("CVE-2026-80");
  feed.answers.set("/undo-kev.json", { body: kev([...cves.slice(0, 2), "CVE-2026-80999"]) });
  feed.answers.set("/undo-epss.csv", { body: epss([...cves, "CVE-2026-80998"], "2026-01-11", "0.1") });
  for (const each of [source, scores]) await runImport(world, "vulnerabilities", [each], { public: true, allowWithdrawals: true });
  assert.notDeepEqual(await contentOf("CVE-2026-80"), before);
  for (const each of [source, scores]) await undo(each);
  assert.deepEqual(await contentOf("CVE-2026-80"), before);
  await assert.rejects(undo(`${feed.url}/never.json`), /source not found: 127\.0\.0\.1:\d+\/never\.json has not been imported/);
  const file = `${feed.url}/undo-libraries.jsonl`;
  feed.answers.set("/undo-libraries.jsonl", { body: lines([{ ecosystem: "PYTHON", name: "undone", versions: [{ version: "1.0" }] }]) });
  await runImport(world, "libraries", [file]);
  await assert.rejects(undo(file), /cannot undo an import of libraries: only imports of advisories and vulnerabilities/);
  feed.answers.set("/undo-old.json", { body: list(ids("UNDOOLD", 3)) });
  await advisories(`${feed.url}/undo-old.json`);
  world.clock.now += 31 * dayMs;
  await assert.rejects(undo(`${feed.url}/undo-old.json`, { documentMs: 30 * dayMs }), /older than GANTRY_DOCUMENT_DAYS/);
});

test("two concurrent imports of one source, or an interrupted one, withdraw no more than one import (attack 291)", async () => {
  const source = `${feed.url}/twice.zip`;
  const all = ids("TWICE", 50);
  feed.answers.set("/twice.zip", { body: archive(all) });
  await advisories(source);
  feed.answers.set("/twice.zip", { body: archive(all.slice(0, 5)) });
  const both = await Promise.all([advisories(source), advisories(source)]);
  assert.deepEqual(
    both.map(({ withdrawn }) => withdrawn),
    [0, 0],
  );
  let looks = 0;
  const stopped = runImport(world, "advisories", [source], {
    public: true,
    goOn: async () => {
      if (++looks > 2) throw new Error("killed");
    },
  });
  await assert.rejects(stopped, /killed/);
  assert.equal((await advisories(source)).withdrawn, 0);
  assert.equal(await countListed("TWICE"), 50);
  assert.equal((await advisories(source, { allowWithdrawals: true })).withdrawn, 45);
});

test("records that another source has are not withdrawn with a source that was held back", async () => {
  const [one, other] = [`${feed.url}/one.zip`, `${feed.url}/other.zip`];
  const all = ids("SHARED", 30);
  feed.answers.set("/one.zip", { body: archive(all) });
  feed.answers.set("/other.zip", { body: archive([...all, ...ids("ELSE", 300)], "2025-01-01T00:00:00Z") });
  await advisories(one);
  await advisories(other);
  feed.answers.set("/one.zip", { body: archive(all.slice(0, 1)) });
  assert.equal((await advisories(one)).held.length, 1);
  feed.answers.set("/other.zip", { body: archive([...all.slice(10), ...ids("ELSE", 300)], "2025-01-01T00:00:00Z") });
  assert.deepEqual([(await advisories(other)).withdrawn, await countListed("SHARED")], [0, 30]);
  const found = await readAll(world, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", { advisoryIds: all.slice(0, 1) });
  assert.deepEqual(
    found.filter(isObject).map((advisory) => text(advisory, "deleteTime")),
    [""],
  );
});
