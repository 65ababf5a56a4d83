// Formats and places of records: large archives, lists, tables, providers, and the formats of NVD, GitHub, Debian, CISA and EPSS. Valid records are
// imported, and invalid ones are named.

import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { gzipSync } from "node:zlib";
import { createMessage, generateKey, sign } from "openpgp";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { countOutdatedFeeds } from "#advisories/feeds";
import { type Fetching, Validators } from "../../server/advisories/feeds/fetching.ts";
import { zipArchive } from "../../server/advisories/feeds/parse/zip.fixture.ts";
import { openSource } from "../../server/advisories/feeds/source.ts";
import { asOwner } from "../database.ts";
import { readerVersion } from "../../server/advisories/feeds/reader-version.ts";
import { openWorld, type World } from "../world.ts";
import { type FeedServer, openFeedServer } from "./feed-server.ts";
import { counts, readAll, runImport } from "./import.ts";

let world: World;
let scratch: string;
let feed: FeedServer;
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-inputs-"));
  world = await openWorld();
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});
beforeEach(async () => {
  feed = await openFeedServer();
});
afterEach(() => feed.close());

const nothing = { new: 0, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 };

let files = 0;
const fileOf = async (content: string | Uint8Array): Promise<string> => {
  const path = join(scratch, `input-${++files}`);
  await writeFile(path, content);
  return path;
};

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const recordsOf = (request: JsonObject): Promise<JsonObject[]> =>
  readAll(world, "advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", "vulnerabilityMetadata", request);

const advisoriesOf = (request: JsonObject): Promise<JsonObject[]> => readAll(world, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", request);

const lastEventOf = (advisory: JsonObject | undefined): JsonObject => objects(advisory?.events).at(-1) ?? {};

const osvRecord = (id: string, summary = ""): JsonObject => ({ id, modified: "2026-01-01T00:00:00Z", summary, affected: [] });

test("a list of documents is imported element by element; an invalid one is refused with its line", async () => {
  const path = await fileOf(
    `[\n  ${JSON.stringify(osvRecord("OSV-LIST-1", 'a "]}, \\\\ b'))},\n  {"id": 7,\n   "modified": "x"},\n  ${JSON.stringify(osvRecord("OSV-LIST-2"))}\n]\n`,
  );
  const done = await runImport(world, "vulnerabilities", [path], { public: true });
  assert.deepEqual([done.new, done.refused], [2, [`${path.split("/").at(-1)}:3: id must be a text`]]);
  assert.equal(text((await recordsOf({ ids: ["OSV-LIST-1"] }))[0] ?? {}, "summary"), 'a "]}, \\\\ b');
  const again = await runImport(world, "vulnerabilities", [path], { public: true });
  assert.deepEqual([again.new, again.unchanged, again.refusals], [0, 2, 1]);
});

test("a truncated list withdraws nothing and reports where it ends, and an empty list has no records", async () => {
  const whole = [1, 2, 3].map((number) => JSON.stringify(osvRecord(`OSV-CUT-${number}`)));
  const path = await fileOf(`[${whole.join(",\n")}]`);
  await runImport(world, "vulnerabilities", [path], { public: true });
  for (const cut of [`[${whole[0]},\n${whole[1]?.slice(0, -4)}`, `[${whole[0]}`, `[${whole[0]} ${whole[1]}]`, `[${whole[0]},]`]) {
    await writeFile(path, cut);
    const done = await runImport(world, "vulnerabilities", [path], { public: true });
    assert.deepEqual([done.withdrawn, done.refusals], [0, 1], cut);
    assert.match(done.refused[0] ?? "", /:[12]: not valid JSON: /);
  }
  assert.equal((await recordsOf({ ids: ["OSV-CUT-1", "OSV-CUT-2", "OSV-CUT-3"] })).length, 3);
  const empty = await runImport(world, "vulnerabilities", [await fileOf("[]")], { public: true });
  assert.deepEqual([counts(empty), empty.passedOver.length], [nothing, 1]);
});

test("an archive above 64 MiB is read in place, and skipped or refused files are named", async () => {
  const prose = randomBytes(12 * 1024 * 1024).toString("hex");
  const archive = zipArchive([
    ...["a", "b", "c"].map((name) => ({ name: `${name}.txt`, content: prose, method: 0 })),
    { name: "one.json", content: JSON.stringify(osvRecord("OSV-LARGE-1")) },
    { name: "two.json", content: "{" },
    { name: "../three.json", content: JSON.stringify(osvRecord("OSV-LARGE-3")) },
  ]);
  assert.ok(archive.length > 64 * 1024 * 1024);
  const done = await runImport(world, "vulnerabilities", [await fileOf(archive)], { public: true });
  assert.deepEqual([done.new, done.passedOver.map((line) => line.replace(/:.*/, "")), done.refused.length], [1, ["a.txt", "b.txt", "c.txt"], 1]);
  assert.match(done.refused[0] ?? "", /^two\.json:1: not valid JSON/);
  feed.answers.set("/all.zip", { body: archive });
  const fetched = await runImport(world, "vulnerabilities", [`${feed.url}/all.zip`], { public: true });
  assert.deepEqual([fetched.unchanged, fetched.refusals, fetched.failed], [1, 1, []]);
});

test("in an archive of many entries only changed ones are read again, refused by name, or withdrawn when removed", async () => {
  const count = limits.feedArchiveFilesMax + 50;
  const entries = Array.from({ length: count }, (_, index) => {
    const id = `OSV-MANY-${String(index).padStart(6, "0")}`;
    return { name: `${id}.json`, content: JSON.stringify(osvRecord(id)) };
  });
  const path = await fileOf(zipArchive(entries));
  assert.deepEqual(counts(await runImport(world, "vulnerabilities", [path], { public: true })), { ...nothing, new: count });
  const again = await runImport(world, "vulnerabilities", [path], { public: true });
  assert.deepEqual([counts(again), again.filesUnchanged], [{ ...nothing, unchanged: count }, again.files]);
  const changed = entries
    .slice(1)
    .map((entry, index) =>
      index === 5_000 ? { ...entry, content: "{]" } : index === 7_000 ? { ...entry, content: entry.content.replace('""', '"new"') } : entry,
    );
  await writeFile(path, zipArchive(changed));
  const done = await runImport(world, "vulnerabilities", [path], { public: true });
  assert.deepEqual([done.new, done.changed, done.withdrawn, done.refused.length], [0, 1, 1, 1]);
  assert.match(done.refused[0] ?? "", /^OSV-MANY-005001\.json:1: not valid JSON/);
  assert.ok(done.files - done.filesUnchanged <= 3, `${done.files - done.filesUnchanged} of ${done.files} bundles were read again`);
  assert.equal((await recordsOf({ ids: ["OSV-MANY-005001"] })).length, 1);
});

const nvdCve = (id: string, more: JsonObject = {}): JsonObject => ({
  cve: {
    id,
    published: "2022-07-11T13:15:08.503",
    lastModified: "2024-11-21T06:41:00.133",
    vulnStatus: "Modified",
    descriptions: [
      { lang: "es", value: "otra" },
      { lang: "en", value: "A plugin lacks a check" },
    ],
    metrics: {
      cvssMetricV31: [{ type: "Primary", cvssData: { vectorString: "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:U/C:N/I:H/A:N", baseScore: 6.5 } }],
      cvssMetricV2: [{ type: "Primary", cvssData: { vectorString: "AV:N/AC:M/Au:N/C:N/I:P/A:N", baseScore: 4.3 } }],
    },
    configurations: [{ nodes: [{ operator: "OR", cpeMatch: [{ vulnerable: true, criteria: "cpe:2.3:a:x:y:*", versionEndExcluding: "2.4.5" }] }] }],
    references: [{ url: "https://example.com/1", tags: ["Exploit", "Third FairnessKey Advisory"] }],
    ...more,
  },
});

const nvdPage = (from: number, total: number, cves: readonly JsonObject[]): string =>
  JSON.stringify({ resultsPerPage: cves.length, startIndex: from, totalResults: total, format: "NVD_CVE", version: "2.0", vulnerabilities: cves });

test("an NVD page is imported with texts, severities and references; rejected records are hidden, and an invalid one is refused alone", async () => {
  const cves = [nvdCve("CVE-2022-10001"), nvdCve("CVE-2022-10002", { vulnStatus: "Rejected" }), nvdCve("CVE-22")];
  const done = await runImport(world, "vulnerabilities", [await fileOf(nvdPage(0, 3, cves))], { public: true });
  assert.deepEqual([done.new, done.refusals], [2, 1]);
  assert.match(done.refused[0] ?? "", /vulnerabilities\[0\]\.cve\.id must be a number such as CVE-2024-12345/);
  const [found] = await recordsOf({ ids: ["CVE-2022-10001"] });
  assert.deepEqual(
    [found?.details, found?.severities, found?.references],
    [
      "A plugin lacks a check",
      [
        { type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:U/C:N/I:H/A:N" },
        { type: "TYPE_CVSS_V2", score: "AV:N/AC:M/Au:N/C:N/I:P/A:N" },
      ],
      [{ type: "TYPE_EVIDENCE", url: "https://example.com/1" }],
    ],
  );
  const listed = new Set((await recordsOf({})).map((record) => text(record, "id")));
  assert.deepEqual([listed.has("CVE-2022-10001"), listed.has("CVE-2022-10002")], [true, false]);
  // A CPE range is not a package version, so no advisory is created.
  const advisories = await runImport(world, "advisories", [await fileOf(nvdPage(0, 1, [nvdCve("CVE-2022-10001")]))]);
  assert.match(advisories.refused[0] ?? "", /is a page of the NVD, which import vulnerabilities takes/);
});

/** Returns the fetch functions of an import, with the pauses it would have made. */
const openFetching = (validators = new Validators()): Fetching & { readonly pausesMs: number[] } => {
  const pausesMs: number[] = [];
  return {
    validators,
    pausesMs,
    opened: new Set(),
    nowMs: world.clock.now,
    hasKey: false,
    found: { isDelta: false },
    pause: async (ms) => {
      pausesMs.push(ms);
    },
    fetch: (address, { headers, receive }) => world.server.application.services.authn.outbound.fetch("feed", address, { tenant: "operator", headers, receive }),
  };
};

const contentsOf = async (address: string, fetching: Fetching): Promise<[label: string, content: string][]> => {
  const found: [string, string][] = [];
  try {
    for await (const file of (await openSource(address)).files(fetching)) {
      const pieces: Uint8Array[] = [];
      for await (const piece of file.bytes()) pieces.push(piece);
      found.push([file.name, Buffer.concat(pieces).toString()]);
    }
  } finally {
    for (const file of fetching.opened) await file.close();
  }
  return found;
};

test("the NVD API is read page by page within its rate limit, and an incomplete result is never taken as complete", async () => {
  const pages = [0, 2, 4].map((from) => nvdPage(from, 5, from === 4 ? [nvdCve("CVE-2022-1")] : [nvdCve("CVE-2022-1"), nvdCve("CVE-2022-2")]));
  const path = "/rest/json/cves/2.0";
  feed.answers.set(`${path}?noRejected=`, { body: pages[0] ?? "" });
  for (const [index, from] of [2, 4].entries()) feed.answers.set(`${path}?noRejected=&startIndex=${from}`, { body: pages[index + 1] ?? "" });
  const fetching = openFetching();
  const found = await contentsOf(`${feed.url}${path}?noRejected=`, fetching);
  assert.deepEqual(
    found.map(([name]) => name),
    // A record that moves between pages during the read appears twice, as the same file.
    ["CVE-2022-1", "CVE-2022-2", "CVE-2022-1", "CVE-2022-2", "CVE-2022-1"],
  );
  assert.deepEqual(fetching.pausesMs, [limits.nvdPauseMs, limits.nvdPauseMs]);
  assert.ok(limits.nvdPauseMs >= 30_000 / 5);
  feed.answers.set(`${path}?noRejected=&startIndex=4`, { status: 503 });
  const busy = openFetching();
  await assert.rejects(contentsOf(`${feed.url}${path}?noRejected=`, busy), /returned status 503/);
  assert.equal(busy.pausesMs.length, 2 + limits.feedPageTriesMax - 1);
  feed.answers.set(`${path}?noRejected=&startIndex=2`, { body: pages[0] ?? "" });
  await assert.rejects(contentsOf(`${feed.url}${path}?noRejected=`, openFetching()), /a different page than requested/);
});

interface NvdState {
  readonly cves: JsonObject[];
  readonly asked: string[];
}

/** Serves the NVD API: two records per page, filtered by change time, only with the key. */
const openNvd = (path: string, key: string): NvdState => {
  const state: NvdState = { cves: [], asked: [] };
  feed.routes.set(path, ({ searchParams }, headers) => {
    const [from, until] = ["lastModStartDate", "lastModEndDate"].map((name) => searchParams.get(name) ?? "");
    const index = Number(searchParams.get("startIndex") ?? 0);
    state.asked.push(`${index} ${from} ${until}`.trim());
    if (headers.apikey !== key) return { status: 403 };
    if (from && until && Date.parse(until) - Date.parse(from) > 120 * 24 * 3_600_000) return { status: 404 };
    const found = state.cves.filter((entry) => {
      const changed = text(entry.cve as JsonObject, "lastModified");
      return !from || !until || (changed >= from && changed <= until);
    });
    const page = JSON.parse(nvdPage(index, found.length, found.slice(index, index + 2))) as JsonObject;
    return {
      body: JSON.stringify({ ...page, resultsPerPage: Math.min(2, found.length - index), timestamp: new Date(world.clock.now).toISOString().slice(0, -1) }),
    };
  });
  return state;
};

test("after a full NVD import only changes are requested, with the key, and absent records are not withdrawn", async (t) => {
  t.after(() => {
    world.clock.now = Date.now();
  });
  const dayMs = 24 * 60 * 60 * 1000;
  const keyFile = await fileOf("key-of-the-nvd-0123456789\n");
  const nvd = openNvd("/delta/cves/2.0", "key-of-the-nvd-0123456789");
  const changedAt = (timeMs: number): JsonObject => ({ lastModified: new Date(timeMs).toISOString().slice(0, -1) });
  const first = world.clock.now;
  const [one, two, three] = ["CVE-2036-10001", "CVE-2036-10002", "CVE-2036-10003"] as const;
  nvd.cves.push(...[one, two, three].map((id) => nvdCve(id, changedAt(first - 40 * dayMs))));
  const address = `${feed.url}/delta/cves/2.0`;
  const ask = (): ReturnType<typeof runImport> => runImport(world, "vulnerabilities", [address], { public: true, keyFile });
  assert.deepEqual(counts(await ask()), { ...nothing, new: 3 });
  assert.deepEqual(nvd.asked.splice(0), ["0", "2"]);
  // One changed and one was removed; the changes do not show the removal.
  world.clock.now += dayMs;
  nvd.cves.splice(0, 2, nvdCve(one, { ...changedAt(first + dayMs / 2), descriptions: [{ lang: "en", value: "Worse than it seemed" }] }));
  assert.deepEqual(counts(await ask()), { ...nothing, changed: 1 });
  const [asked = ""] = nvd.asked;
  const [, from = "", until = ""] = asked.split(" ");
  assert.deepEqual([nvd.asked.splice(0).length, Date.parse(`${until}Z`)], [1, world.clock.now]);
  assert.equal(Date.parse(`${from}Z`), first - limits.feedOverlapMs);
  assert.deepEqual(
    (await recordsOf({ ids: [one, two, three] })).map((record) => record.details === "Worse than it seemed"),
    [true, false, false],
  );
  world.clock.now += dayMs;
  assert.deepEqual(counts(await ask()), nothing);
  assert.match(nvd.asked.splice(0).join(), /^0 \S+ \S+$/);
  // After a failure the next request starts where the last success ended.
  await writeFile(keyFile, "another-key");
  const refused = await ask();
  assert.deepEqual([refused.failed.length, refused.withdrawn, refused.failed.join().includes("another-key")], [1, 0, false]);
  await writeFile(keyFile, "key-of-the-nvd-0123456789");
  world.clock.now = first + limits.feedFullMs + dayMs;
  nvd.asked.splice(0);
  assert.deepEqual(counts(await ask()), { ...nothing, withdrawn: 1, unchanged: 2 });
  assert.deepEqual(nvd.asked, ["0"]);
  const listed = new Set((await recordsOf({})).map((record) => text(record, "id")));
  assert.deepEqual(
    [one, two, three].map((id) => listed.has(id)),
    [true, false, true],
  );
  await writeFile(keyFile, "two words");
  await assert.rejects(ask(), (thrown: Error) => thrown.message.includes(keyFile) && !thrown.message.includes("two words"));
});

const catalogue = (entries: readonly JsonObject[], more: JsonObject = {}): string =>
  JSON.stringify({ title: "KEV", catalogVersion: "2026.01.01", count: entries.length, vulnerabilities: entries, ...more });

const exploited = (cveID: string, dateAdded: string, campaign = "Unknown"): JsonObject => ({
  cveID,
  dateAdded,
  dueDate: "2026-02-01",
  requiredAction: "Apply mitigations",
  knownRansomwareCampaignUse: campaign,
});

const scores = (date: string, rows: readonly string[]): string =>
  `#model_version:v2025.03.14,score_date:${date}T00:00:00+0000\ncve,epss,percentile\n${rows.join("\n")}\n`;

test("table statistics are refreshed during an import that grows the table, not only at its end", async () => {
  const numbers = (from: number, count: number): string[] => Array.from({ length: count }, (_, index) => `CVE-2032-${from + index},0.1,0.2`);
  const looks = async (): Promise<number> =>
    Number((await asOwner(world.databaseUrl, "select analyze_count from pg_stat_user_tables where relname = 'exploit_predictions'"))[0]?.[0]);
  await runImport(world, "vulnerabilities", [await fileOf(scores("2026-01-05", numbers(1000, 20)))], {});
  const before = await looks();
  await runImport(world, "vulnerabilities", [await fileOf(scores("2026-01-06", numbers(2000, 5000)))], {});
  assert.ok((await looks()) >= before + 2, `${before} and then ${await looks()}`);
});

test("known exploits and predictions are separate facts: they may precede the record, filter and order lists, and change no record", async () => {
  const ids = [1, 2, 3, 4].map((number) => `CVE-2030-000${number}`);
  const [one = "", two = "", three = "", four = ""] = ids;
  const kev = await fileOf(catalogue([exploited(one, "2026-01-02", "Known"), exploited(two, "2026-01-03")]));
  const epss = await fileOf(gzipSync(scores("2026-01-05", [`${one},0.00383,0.73075`, `${two},0.91963,0.99214`, `${three},1.0,1.0`])));
  const options = { public: true };
  assert.equal((await runImport(world, "vulnerabilities", [kev], options)).new, 2);
  assert.equal((await runImport(world, "vulnerabilities", [epss], options)).new, 3);
  assert.deepEqual(await recordsOf({ ids }), []);
  await runImport(world, "vulnerabilities", [await fileOf(ids.map((id) => JSON.stringify(osvRecord(id))).join("\n"))], options);
  const updated = async (): Promise<string> =>
    String((await world.server.application.services.store.read.query("select max(update_time) from vulnerabilities where id = any($1)", [ids]))[0]?.[0]);
  const before = await updated();
  const [shown] = await recordsOf({ ids: [one] });
  assert.deepEqual(
    [shown?.knownExploited, shown?.exploitPrediction],
    [
      { dateAdded: "2026-01-02", dueDate: "2026-02-01", ransomware: true, requiredAction: "Apply mitigations" },
      { score: 0.00383, percentile: 0.73075, date: "2026-01-05" },
    ],
  );
  const listed = async (request: JsonObject): Promise<string[]> => (await recordsOf({ ids, ...request })).map((record) => text(record, "id"));
  assert.deepEqual(await listed({ knownExploited: true }), [one, two]);
  assert.deepEqual(await listed({ knownRansomware: true }), [one]);
  assert.deepEqual(await listed({ exploitScoreMin: 0.5 }), [two, three]);
  assert.deepEqual(await listed({ exploitScoreMin: 0.5, knownExploited: true }), [two]);
  assert.deepEqual(await listed({ orderBy: "exploit_prediction desc" }), [three, two, one, four]);
  assert.deepEqual(await listed({ orderBy: "exploit_prediction" }), [four, one, two, three]);
  assert.deepEqual(await listed({ orderBy: "known_exploited desc" }), [two, one, four, three]);
  assert.deepEqual(await listed({ orderBy: "known_exploited" }), [three, four, one, two]);
  const refused = await world.call("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", { exploitScoreMin: 2 });
  assert.match(refused.message, /exploit_score_min/);
  for (const orderBy of ["exploit_prediction desc", "exploit_prediction", "known_exploited", "known_exploited desc"]) {
    const whole = await listed({ orderBy });
    const paged: string[] = [];
    for (let pageToken = ""; ; ) {
      const reply = await world.ok("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", {
        ids,
        orderBy,
        pageSize: 1,
        ...(pageToken ? { pageToken } : {}),
      });
      paged.push(...objects(reply.vulnerabilityMetadata).map((record) => text(record, "id")));
      assert.equal(reply.totalCount, "4");
      pageToken = text(reply, "nextPageToken");
      if (pageToken === "") break;
    }
    assert.deepEqual(paged, whole, orderBy);
    for (let skip = 0; skip <= 4; skip++) {
      const { vulnerabilityMetadata } = await world.ok("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", { ids, orderBy, skip });
      assert.deepEqual(
        objects(vulnerabilityMetadata).map((record) => text(record, "id")),
        whole.slice(skip),
        `${orderBy} without ${skip}`,
      );
    }
  }
  await writeFile(epss, scores("2026-01-06", [`${one},0.5,0.8`, `${two},0.91963,0.99214`]));
  const scored = await runImport(world, "vulnerabilities", [epss], options);
  assert.deepEqual([scored.changed, scored.withdrawn], [2, 1]);
  await writeFile(kev, catalogue([exploited(two, "2026-01-03")]));
  assert.equal((await runImport(world, "vulnerabilities", [kev], options)).withdrawn, 1);
  assert.deepEqual([await listed({ knownExploited: true }), await listed({ exploitScoreMin: 0.4 })], [[two], [one, two]]);
  assert.equal(await updated(), before);
});

test("a fact about a CVE ID applies to every record with that alias; of several facts the most severe counts, once", async () => {
  const cves = [1, 2, 3].map((number) => `CVE-2033-000${number}`);
  const [first = "", second = "", third = ""] = cves;
  const records = [
    { ...osvRecord("MADE-2033-1"), aliases: [first] },
    { ...osvRecord("MADE-2033-2"), aliases: ["MADE-2033-9", second, third] },
    { ...osvRecord("MADE-2033-3"), aliases: [] as string[] },
    osvRecord(first),
  ];
  const ids = records.map((record) => text(record, "id"));
  const feed = await fileOf(records.map((record) => JSON.stringify(record)).join("\n"));
  const kev = await fileOf(catalogue([exploited(first, "2026-02-02"), exploited(second, "2026-02-03"), exploited(third, "2026-02-01", "Known")]));
  const epss = await fileOf(gzipSync(scores("2026-02-05", [`${first},0.2,0.3`, `${second},0.1,0.2`, `${third},0.9,0.95`])));
  for (const source of [kev, feed, epss]) await runImport(world, "vulnerabilities", [source], { public: true });
  const listed = async (request: JsonObject): Promise<string[]> => (await recordsOf({ ids, ...request })).map((record) => text(record, "id"));
  const factsOf = async (id: string): Promise<unknown[]> => {
    const [record] = await recordsOf({ ids: [id] });
    return [(record?.knownExploited as JsonObject | undefined)?.dateAdded, (record?.exploitPrediction as JsonObject | undefined)?.score];
  };
  const [own = "", several = "", without = ""] = ids;
  assert.deepEqual(await Promise.all([own, several, without, first].map(factsOf)), [
    ["2026-02-02", 0.2],
    // Known ransomware use is more severe than a later day.
    ["2026-02-01", 0.9],
    [undefined, undefined],
    ["2026-02-02", 0.2],
  ]);
  assert.deepEqual(await listed({ knownExploited: true }), [first, own, several]);
  assert.deepEqual(await listed({ knownRansomware: true }), [several]);
  assert.deepEqual(await listed({ exploitScoreMin: 0.5 }), [several]);
  assert.deepEqual(await listed({ orderBy: "exploit_prediction desc" }), [several, own, first, without]);
  assert.deepEqual(await listed({ orderBy: "exploit_prediction" }), [without, first, own, several]);
  assert.deepEqual(await listed({ orderBy: "known_exploited" }), [without, several, first, own]);
  for (const orderBy of ["exploit_prediction desc", "exploit_prediction", "known_exploited", "known_exploited desc"]) {
    const paged: string[] = [];
    for (let pageToken = ""; ; ) {
      const request = { ids, orderBy, pageSize: 1, ...(pageToken ? { pageToken } : {}) };
      const reply = await world.ok("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", request);
      paged.push(...objects(reply.vulnerabilityMetadata).map((record) => text(record, "id")));
      assert.equal(reply.totalCount, "4");
      pageToken = text(reply, "nextPageToken");
      if (pageToken === "") break;
    }
    assert.deepEqual(paged, await listed({ orderBy }), orderBy);
  }
  // A record has the facts of its aliases.
  await writeFile(
    feed,
    records.map((record) => JSON.stringify(record.id === own ? { ...record, aliases: [second], modified: "2033-02-02T00:00:00Z" } : record)).join("\n"),
  );
  await runImport(world, "vulnerabilities", [feed], { public: true });
  assert.deepEqual(await factsOf(own), ["2026-02-03", 0.1]);
});

test("a fact remains while one source asserts it, and is shown only while it is public", async () => {
  const ids = ["CVE-2030-1001", "CVE-2030-1002"] as const;
  await runImport(world, "vulnerabilities", [await fileOf(ids.map((id) => JSON.stringify(osvRecord(id))).join("\n"))], { public: true });
  const shown = async (): Promise<string[]> =>
    (await recordsOf({ ids: [...ids], knownExploited: true })).map(
      (record) => `${text(record, "id")} ${text(record.knownExploited as JsonObject, "dateAdded")}`,
    );
  const [one, two] = ids;
  const first = await fileOf(catalogue([exploited(one, "2026-01-02"), exploited(two, "2026-01-02")]));
  const second = await fileOf(catalogue([exploited(one, "2026-01-05")]));
  // By default facts belong to the group; the option makes them public even without file changes.
  assert.deepEqual(counts(await runImport(world, "vulnerabilities", [first])), { ...nothing, new: 2 });
  assert.deepEqual(await shown(), []);
  assert.deepEqual(counts(await runImport(world, "vulnerabilities", [first], { public: true })), { ...nothing, new: 2, withdrawn: 2, unchanged: 2 });
  assert.deepEqual(await shown(), [`${one} 2026-01-02`, `${two} 2026-01-02`]);
  // A fact public in one source stays public through another; the later entry wins.
  await runImport(world, "vulnerabilities", [second]);
  assert.deepEqual(await shown(), [`${one} 2026-01-05`, `${two} 2026-01-02`]);
  // One source no longer asserts it; the other's fact remains.
  await writeFile(second, catalogue([]));
  assert.equal((await runImport(world, "vulnerabilities", [second])).withdrawn, 0, "an empty catalogue alone says nothing");
  assert.equal((await runImport(world, "vulnerabilities", [second], { allowWithdrawals: true })).withdrawn, 1);
  assert.deepEqual(await shown(), [`${one} 2026-01-02`, `${two} 2026-01-02`]);
  // A license that forbids publication, and the operator's override.
  await runImport(world, "vulnerabilities", [first], { public: true, license: "CC-BY-NC-4.0" });
  assert.deepEqual(await shown(), []);
  await runImport(world, "vulnerabilities", [first], { public: true, license: "CC0-1.0" });
  assert.equal((await shown()).length, 2);
  await runImport(world, "vulnerabilities", [first], { public: false });
  assert.deepEqual(await shown(), []);
});

test("making an unchanged source public or private takes effect despite its 304", async () => {
  const address = `${feed.url}/same.json`;
  const answer = (id: string): void => void feed.answers.set("/same.json", { headers: { etag: `"${id}"` }, body: `[${JSON.stringify(osvRecord(id))}]` });
  answer("OSV-SAME-1");
  for (const said of [undefined, true, false, true] as const) {
    const done = await runImport(world, "vulnerabilities", [address], { public: said });
    assert.equal(done.unchanged, said === undefined ? 0 : 1);
    assert.equal((await recordsOf({ ids: ["OSV-SAME-1"] })).length, said === true ? 1 : 0);
  }
  assert.equal(feed.asked.filter(({ headers }) => headers["if-none-match"] === '"OSV-SAME-1"').length, 3);
});

test("each entry of a page is a separate document, withdrawn when the page no longer has it", async () => {
  const cve = (id: string): JsonObject => ({
    cve: { id, published: "2026-01-01T00:00:00", lastModified: "2026-01-02T00:00:00", descriptions: [], references: [] },
  });
  const page = (ids: readonly string[]): string => JSON.stringify({ vulnerabilities: ids.map(cve) });
  const [one, two, three] = ["CVE-2030-2001", "CVE-2030-2002", "CVE-2030-2003"] as const;
  const path = await fileOf(page([one, two, three]));
  assert.equal((await runImport(world, "vulnerabilities", [path], { public: true })).new, 3);
  await writeFile(path, page([one, three]));
  assert.deepEqual(counts(await runImport(world, "vulnerabilities", [path], { public: true })), { ...nothing, withdrawn: 1, unchanged: 2 });
  const listed = (await recordsOf({ updatedSince: "2000-01-01T00:00:00Z" })).map((record) => text(record, "id"));
  assert.deepEqual(
    listed.filter((id) => id.startsWith("CVE-2030-200")),
    [one, three],
  );
  assert.deepEqual(await recordsOf({ ids: [one], updatedSince: "2999-01-01T00:00:00Z", orderBy: "known_exploited" }), []);
  const [documents] = await world.server.application.services.store.read.query(
    "select count(*), count(*) filter (where told) from source_documents where form = 'nvd' and origin_id = any($1)",
    [[one, two, three]],
  );
  assert.deepEqual(documents, ["3", "2"]);
});

test("truncated catalogues, tables without day or heading, and invalid rows are refused by line and withdraw nothing", async () => {
  const kev = await fileOf(catalogue([exploited("CVE-2031-0001", "2026-01-02")]));
  await runImport(world, "vulnerabilities", [kev], { public: true });
  const wrongs: readonly (readonly [string, RegExp])[] = [
    [catalogue([], { count: 1 }), /:1: count is not 0, the number of entries/],
    [catalogue([exploited("CVE-2031-0001", "yesterday")]), /dateAdded must be a day/],
    [catalogue([exploited("CVE-1", "2026-01-02")]), /cveID must be a number/],
    ["#model_version:v2023\ncve,epss,percentile\nCVE-2031-0001,0.1,0.2\n", /:1: must have score_date in the first line of the EPSS table/],
    ["#model_version:v2023,score_date:2024-02-20T00:00:00+0000\ninvalid,header,format\n", /:2: must be the heading cve,epss,percentile/],
    [scores("2026-01-05", ["CVE-2031-0001,0.1,0.2", "CVE-2031-0002,1.5,0.2"]), /:4: epss must be a number from 0 to 1/],
    [scores("2026-01-05", ["CVE-2031-0001,0.1,0.2,7"]), /:3: must be of three columns/],
    [scores("2026-01-05", ["CVE-2031-0001,0.1"]), /:3: percentile must be a number from 0 to 1/],
  ];
  for (const [content, reason] of wrongs) {
    const path = content.startsWith("{") ? kev : await fileOf(content);
    await writeFile(path, content);
    const done = await runImport(world, "vulnerabilities", [path], { public: true });
    assert.deepEqual([done.refusals, done.withdrawn], [1, 0], content);
    assert.match(done.refused[0] ?? "", reason);
  }
});

test("advisories of GitHub's API become records and advisories of each package, fixed only if every range is patched", async () => {
  const range = (name: string, first: Json, ecosystem = "pip"): JsonObject => ({
    package: { ecosystem, name },
    vulnerable_version_range: "< 9",
    first_patched_version: first,
  });
  const list = JSON.stringify([
    {
      ghsa_id: "GHSA-aaaa-bbbb-cccc",
      cve_id: "CVE-2032-0001",
      summary: "A summary",
      description: "All of it",
      identifiers: [
        { type: "GHSA", value: "GHSA-aaaa-bbbb-cccc" },
        { type: "CVE", value: "CVE-2032-0001" },
      ],
      references: ["https://example.com/a"],
      published_at: "2026-01-01T00:00:00Z",
      updated_at: "2026-01-02T00:00:00Z",
      withdrawn_at: null,
      cvss_severities: { cvss_v3: { vector_string: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", score: 9.8 }, cvss_v4: { vector_string: null, score: 0 } },
      vulnerabilities: [
        range("boat", "1.2"),
        range("boat", "2.1"),
        range("oar", null),
        range("sail", { identifier: "3.0" }, "rust"),
        range("mast", "1.0"),
        range("mast", null),
      ],
    },
  ]);
  const path = await fileOf(list);
  assert.equal((await runImport(world, "vulnerabilities", [path], { public: true })).new, 1);
  const [record] = await recordsOf({ ids: ["GHSA-aaaa-bbbb-cccc"] });
  assert.deepEqual(
    [record?.summary, record?.details, record?.severities],
    ["A summary", "All of it", [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" }]],
  );
  assert.equal((await runImport(world, "advisories", [path])).new, 4);
  const found = await advisoriesOf({ aliases: ["CVE-2032-0001"] });
  assert.deepEqual(
    Object.fromEntries(
      found.map((advisory) => [
        `${text(advisory, "artifactType")} ${text(advisory, "artifactName")}`,
        lastEventOf(advisory).fixed ?? lastEventOf(advisory).patched ?? "affected",
      ]),
    ),
    { "pypi boat": { patchedVersions: ["1.2", "2.1"] }, "pypi oar": "affected", "cargo sail": { fixedVersion: "3.0" }, "pypi mast": "affected" },
  );
});

test("GitHub's list is read to its last page, on its own host with its token; later only changes are requested", async (t) => {
  t.after(() => {
    world.clock.now = Date.now();
  });
  const keyFile = await fileOf("ghp_token\n");
  const updated = new Map([1, 2, 3].map((number) => [`GHSA-page-page-000${number}`, "2026-01-01T00:00:00Z"]));
  const other = new Set<string>();
  let isBroken = false;
  feed.routes.set("/advisories", ({ searchParams }, headers) => {
    if (headers.authorization !== "Bearer ghp_token") return { status: 401 };
    const since = (searchParams.get("updated") ?? "").replace(">=", "");
    other.add(since);
    const found = [...updated].filter(([, time]) => time >= since).map(([ghsa_id, updated_at]) => ({ ghsa_id, updated_at }));
    const index = Number(searchParams.get("after") ?? 0);
    if (isBroken && index === 2) return { status: 403 };
    const next = index + 1 < found.length ? `${index % 2 === 0 ? feed.url : ""}/advisories?after=${index + 1}` : "http://192.0.2.1/advisories";
    const link = `<${next}>; rel="next", <${feed.url}/last>; rel="last"`;
    return { headers: { etag: `"${index}"`, link }, body: JSON.stringify(found.slice(index, index + 1)) };
  });
  const ask = (): ReturnType<typeof runImport> => runImport(world, "vulnerabilities", [`${feed.url}/advisories`], { public: true, keyFile });
  isBroken = true;
  const half = await ask();
  assert.deepEqual([half.withdrawn, half.failed.length], [0, 1]);
  isBroken = false;
  assert.equal((await ask()).failed.length, 0);
  assert.deepEqual([...other], [""]);
  const day = new Date(world.clock.now - limits.feedOverlapMs).toISOString().slice(0, 10);
  world.clock.now += 48 * 60 * 60 * 1000;
  updated.delete("GHSA-page-page-0001");
  updated.set("GHSA-page-page-0002", new Date(world.clock.now - 1000).toISOString());
  assert.deepEqual(counts(await ask()), { ...nothing, changed: 1 });
  assert.deepEqual([...other], ["", day]);
  // A query with its own time filter is sent unchanged.
  const own = await runImport(world, "vulnerabilities", [`${feed.url}/advisories?updated=>=2000-01-01`], { public: true, keyFile });
  assert.equal(own.unchanged, 2);
});

test("Debian's tracker is imported by source and release: 0 means never affected, and undetermined is not an assertion", async () => {
  const release = (status: string, more: JsonObject = {}): JsonObject => ({ status, urgency: "low", ...more });
  const tracker = {
    "dock-1.0": {
      "CVE-2033-0001": {
        description: "x",
        releases: {
          bookworm: release("resolved", { fixed_version: "1:2.0-1" }),
          trixie: release("resolved", { fixed_version: "0" }),
          sid: release("open", { nodsa: "Minor issue" }),
          forky: release("undetermined"),
        },
      },
      "TEMP-0000000-0A0B0C": { releases: { sid: release("open") } },
    },
    pier: { "CVE-2033-0002": { releases: { sid: release("sunk") } } },
  };
  const path = await fileOf(JSON.stringify(tracker, null, 2));
  const done = await runImport(world, "advisories", [path]);
  assert.deepEqual([done.new, done.refusals], [4, 1]);
  const line = JSON.stringify(tracker, null, 2).split('"sunk"')[0]?.split("\n").length;
  assert.match(done.refused[0] ?? "", new RegExp(`:${line}: pier\\.CVE-2033-0002\\.releases\\.sid\\.status must be resolved, open or undetermined`));
  const found = await advisoriesOf({ artifactNames: ["dock-1.0"] });
  const told = found.map((advisory) => {
    const { fixed, falsePositiveDetermination, truePositiveDetermination } = lastEventOf(advisory);
    return JSON.stringify([text(advisory, "advisoryId"), fixed ?? falsePositiveDetermination ?? truePositiveDetermination]);
  });
  assert.deepEqual(told.sort(), [
    '["CVE-2033-0001",{"fixedVersion":"1:2.0-1"}]',
    '["CVE-2033-0001",{"note":"Minor issue"}]',
    '["CVE-2033-0001",{"type":"TYPE_VULNERABLE_CODE_VERSION_NOT_USED"}]',
    '["TEMP-0000000-0A0B0C",{}]',
  ]);
});

test("a CycloneDX document asserts its analyses of components, and reports justifications without a counterpart", async () => {
  const analysis = (state: string, more: JsonObject = {}): JsonObject => ({ state, lastUpdated: "2026-01-01T00:00:00Z", ...more });
  const about = (id: string, said: JsonObject | undefined, affects: JsonObject): JsonObject => ({
    id,
    ...(said ? { analysis: said } : {}),
    affects: [affects],
  });
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: "urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79",
    components: [
      { "bom-ref": "lib", name: "anchor", purl: "pkg:npm/anchor@1.0", components: [{ "bom-ref": "inner", name: "chain", group: "org.example", version: "2" }] },
    ],
    vulnerabilities: [
      about("CVE-2034-0001", analysis("not_affected", { justification: "code_not_reachable", detail: "never runs" }), { ref: "lib" }),
      about("CVE-2034-0002", analysis("not_affected", { justification: "requires_configuration" }), { ref: "inner" }),
      about("CVE-2034-0003", analysis("exploitable", { response: ["will_not_fix"], detail: "old" }), { ref: "lib" }),
      about("CVE-2034-0004", analysis("resolved"), {
        ref: "urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/1#pkg%3Anpm%2Frope@1.0",
        versions: [{ version: "1.1", status: "unaffected" }],
      }),
      about("CVE-2034-0005", analysis("resolved"), {
        ref: "lib",
        versions: [
          { version: "1.1", status: "unaffected" },
          { range: "vers:npm/>2", status: "unaffected" },
        ],
      }),
      about("CVE-2034-0006", undefined, { ref: "lib" }),
      about("CVE-2034-0007", analysis("in_triage"), { ref: "lib" }),
    ],
  };
  const done = await runImport(world, "advisories", [await fileOf(JSON.stringify(document))]);
  assert.deepEqual(counts(done), { ...nothing, new: 6 });
  const found = await advisoriesOf({ aliases: [1, 2, 3, 4, 5, 6, 7].map((number) => `CVE-2034-000${number}`) });
  const eventOf = (advisory: JsonObject): Json => {
    const { fixed, falsePositiveDetermination, fixNotPlanned, detection } = lastEventOf(advisory);
    return fixed ?? falsePositiveDetermination ?? fixNotPlanned ?? detection ?? null;
  };
  assert.deepEqual(Object.fromEntries(found.map((advisory) => [text(advisory, "advisoryId"), [text(advisory, "artifactName"), eventOf(advisory)]])), {
    "CVE-2034-0001": ["anchor", { type: "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH", note: "never runs" }],
    "CVE-2034-0002": ["org.example/chain", { type: "TYPE_UNSPECIFIED", note: "requires_configuration" }],
    "CVE-2034-0003": ["anchor", { note: "old" }],
    "CVE-2034-0004": ["rope", { fixedVersion: "1.1" }],
    "CVE-2034-0005": ["anchor", {}],
    "CVE-2034-0007": ["anchor", { manual: {} }],
  });
  const wrong = { ...document, vulnerabilities: [about("CVE-2034-0008", analysis("sunk"), { ref: "lib" })] };
  assert.match(
    (await runImport(world, "advisories", [await fileOf(JSON.stringify(wrong))])).refused[0] ?? "",
    /vulnerabilities\[0\]\.analysis\.state must be resolved/,
  );
});

test("YAML merge keys fill in missing values of a map", async () => {
  const yaml = (id: string, own: string): string =>
    `common: &common\n  summary: from the anchor\n  details: said twice\nid: ${id}\nmodified: 2026-01-01T00:00:00Z\n${own}`;
  const path = await fileOf(yaml("OSV-MERGE-1", "<<: *common\ndetails: its own\n"));
  assert.equal((await runImport(world, "vulnerabilities", [path], { public: true })).new, 1);
  const [found] = await recordsOf({ ids: ["OSV-MERGE-1"] });
  assert.deepEqual([found?.summary, found?.details], ["from the anchor", "its own"]);
  const wrong = await runImport(world, "vulnerabilities", [await fileOf(yaml("OSV-MERGE-2", "<<: text\n"))], { public: true });
  assert.match(wrong.refused[0] ?? "", /:6: a merge key \(<<\) must contain a map or a list of maps/);
});

test("an address is requested with the validators of its last fully read response", async () => {
  const address = `${feed.url}/osv.json`;
  const body = (ids: readonly string[]): string => JSON.stringify(ids.map((id) => osvRecord(id)));
  const ask = async (): Promise<Readonly<Record<string, number>>> => counts(await runImport(world, "vulnerabilities", [address], { public: true }));
  const lastAsked = (): (string | undefined)[] => {
    const headers = feed.asked.at(-1)?.headers ?? {};
    return [headers["if-none-match"], headers["if-modified-since"]];
  };
  const modified = "Wed, 21 Oct 2026 07:28:00 GMT";
  feed.answers.set("/osv.json", { headers: { etag: '"one"', "last-modified": modified }, body: body(["OSV-ASK-1", "OSV-ASK-2"]) });
  assert.deepEqual(await ask(), { ...nothing, new: 2 });
  assert.deepEqual(lastAsked(), [undefined, undefined]);
  assert.deepEqual(await ask(), { ...nothing, unchanged: 2 });
  assert.deepEqual(lastAsked(), ['"one"', modified]);
  // Part of it was refused, so it is fetched again even if the server says it is unchanged.
  feed.answers.set("/osv.json", { headers: { etag: '"two"' }, body: `[${JSON.stringify(osvRecord("OSV-ASK-1"))}, 7]` });
  assert.deepEqual(await ask(), { ...nothing, unchanged: 2 - 1, refused: 1 });
  await ask();
  assert.deepEqual(lastAsked(), [undefined, undefined]);
  // With other options it is read again.
  feed.answers.set("/osv.json", { headers: { etag: '"three"' }, body: body(["OSV-ASK-1"]) });
  assert.equal((await ask()).withdrawn, 1);
  await runImport(world, "vulnerabilities", [address], { public: true, author: "Harbour" });
  assert.deepEqual(lastAsked(), [undefined, undefined]);
  // A 304 without a conditional request is an error.
  feed.answers.set("/other.json", { status: 304 });
  assert.match((await runImport(world, "vulnerabilities", [`${feed.url}/other.json`])).failed[0] ?? "", /returned status 304/);
});

const csafDocument = (id: string): string =>
  JSON.stringify({
    document: { category: "csaf_vex", csaf_version: "2.0", publisher: { name: "Harbour" }, tracking: { id, current_release_date: "2026-01-01T00:00:00Z" } },
    product_tree: { full_product_names: [{ product_id: "P", name: "boat", product_identification_helper: { purl: "pkg:npm/boat@1.0" } }] },
    vulnerabilities: [{ cve: "CVE-2035-0001", product_status: { known_affected: ["P"] } }],
  });

const metadata = (distributions: readonly JsonObject[]): string =>
  JSON.stringify({
    canonical_url: "https://example.com/provider-metadata.json",
    metadata_version: "2.0",
    publisher: { name: "Harbour" },
    distributions: [...distributions],
  });

const advisoryIds = async (prefix: string): Promise<string[]> =>
  (await advisoriesOf({ aliases: ["CVE-2035-0001"] }))
    .map((advisory) => text(advisory, "advisoryId"))
    .filter((id) => id.startsWith(prefix))
    .sort();

test("data read by an earlier reader version is read again despite a 304, and the start logs it", async () => {
  const outdated = async (): Promise<number> => countOutdatedFeeds(world.server.application.services.store);
  assert.equal(await outdated(), 0);
  feed.answers.set("/before.json", { headers: { etag: '"before"' }, body: JSON.stringify(osvRecord("CVE-2037-0001")) });
  const path = await fileOf(JSON.stringify(osvRecord("CVE-2037-0002")));
  const sources = [`${feed.url}/before.json`, path];
  await runImport(world, "vulnerabilities", sources, { public: true });
  assert.equal(await outdated(), 0);
  // Restores the earlier state: records, files and validators without documents.
  await asOwner(world.databaseUrl, `update feeds set manner = replace(manner, '"${readerVersion}"', '"1"')`);
  await asOwner(world.databaseUrl, `update feed_validators set manner = replace(manner, '"${readerVersion}"', '"1"')`);
  await asOwner(world.databaseUrl, "delete from source_documents where origin_id like 'CVE-2037-%'");
  const told = async (): Promise<number> => (await asOwner(world.databaseUrl, "select id from source_documents where origin_id like 'CVE-2037-%'")).length;
  assert.ok((await outdated()) >= 2);
  assert.equal(await told(), 0);
  const again = await runImport(world, "vulnerabilities", sources, { public: true });
  assert.deepEqual(counts(again), { ...nothing, unchanged: 2 });
  assert.equal(await told(), 2);
  assert.equal(feed.asked.at(-1)?.headers["if-none-match"], undefined);
});

test("CSAF provider metadata leads to ROLIE feeds and documents, and only changed documents are fetched", async () => {
  const entry = (id: string, updated: string): JsonObject => ({
    id,
    title: id,
    updated,
    link: [{ rel: "self", href: `${feed.url}/white/${id}.json` }],
    content: { type: "application/json", src: `./${id}.json` },
  });
  const rolie = (entries: readonly JsonObject[]): string =>
    JSON.stringify({ feed: { id: "f", title: "t", link: [], updated: "2026-01-01T00:00:00Z", entry: [...entries] } });
  const listed = { rolie: { feeds: [{ tlp_label: "WHITE", url: `${feed.url}/white/feed.json` }] } };
  feed.answers.set("/provider-metadata.json", { headers: { etag: '"same"' }, body: metadata([listed]) });
  feed.answers.set("/white/feed.json", {
    body: rolie([entry("rolie-1", "2026-01-01T00:00:00Z"), entry("rolie-2", "2026-01-01T00:00:00Z"), entry("rolie-3", "2026-01-01T00:00:00Z")]),
  });
  for (const id of ["rolie-1", "rolie-2"]) feed.answers.set(`/white/${id}.json`, { body: csafDocument(id) });
  const address = `${feed.url}/provider-metadata.json`;
  const done = await runImport(world, "advisories", [address]);
  assert.deepEqual(
    [done.new, done.failed, done.refused],
    [2, [], [`${new URL(address).host}/white/rolie-3.json:1: ${new URL(address).host}/white/rolie-3.json returned status 404`]],
  );
  feed.answers.set("/white/feed.json", { body: rolie([entry("rolie-2", "2026-01-01T00:00:00Z"), entry("rolie-3", "2026-01-01T00:00:00Z")]) });
  feed.answers.set("/white/rolie-3.json", { body: csafDocument("rolie-3") });
  const earlier = feed.asked.length;
  const again = await runImport(world, "advisories", [address]);
  assert.deepEqual(counts(again), { ...nothing, new: 1, withdrawn: 1, unchanged: 1 });
  assert.deepEqual(
    feed.asked.slice(earlier).map(({ path }) => path),
    ["/provider-metadata.json", "/white/feed.json", "/white/rolie-3.json"],
  );
  assert.deepEqual(await advisoryIds("rolie"), ["rolie-2", "rolie-3"]);
  feed.answers.set("/white/feed.json", { status: 500 });
  const away = await runImport(world, "advisories", [address]);
  assert.deepEqual([away.withdrawn, away.refusals], [0, 1]);
  assert.deepEqual(await advisoryIds("rolie"), ["rolie-2", "rolie-3"]);
});

test("a CSAF provider without ROLIE is read from its directory, and a ROLIE feed can be imported by address", async () => {
  feed.answers.set("/metadata.json", { body: metadata([{ directory_url: `${feed.url}/csaf` }]) });
  feed.answers.set("/csaf/changes.csv", { body: '"2026/folder-1.json","2026-01-01T00:00:00Z"\n' });
  feed.answers.set("/csaf/2026/folder-1.json", { body: csafDocument("folder-1") });
  assert.equal((await runImport(world, "advisories", [`${feed.url}/metadata.json`])).new, 1);
  feed.answers.delete("/csaf/changes.csv");
  feed.answers.set("/csaf/index.txt", { body: "2026/folder-1.json\n2026/folder-2.json\n" });
  feed.answers.set("/csaf/2026/folder-2.json", { body: csafDocument("folder-2") });
  assert.deepEqual(counts(await runImport(world, "advisories", [`${feed.url}/metadata.json`])), { ...nothing, new: 1, unchanged: 1 });
  feed.answers.set("/rolie.json", {
    body: JSON.stringify({ feed: { entry: [{ updated: "2026-01-01T00:00:00Z", content: { src: `${feed.url}/csaf/2026/folder-2.json` } }] } }),
  });
  assert.equal((await runImport(world, "advisories", [`${feed.url}/rolie.json`])).refusals, 0);
  assert.deepEqual(await advisoryIds("folder"), ["folder-1", "folder-2"]);
});

/** Creates a provider's signing key with its published public key and fingerprint. */
const newSigningKey = async (): Promise<{ readonly armored: string; readonly fingerprint: string; readonly sign: (text: string) => Promise<string> }> => {
  const { privateKey, publicKey } = await generateKey({ userIDs: [{ name: "Harbour" }], format: "object", date: new Date(world.clock.now - 3_600_000) });
  return {
    armored: publicKey.armor(),
    fingerprint: publicKey.getFingerprint().toUpperCase(),
    sign: async (text) =>
      String(
        await sign({
          message: await createMessage({ binary: Buffer.from(text) }),
          signingKeys: privateKey,
          detached: true,
          date: new Date(world.clock.now - 1000),
        }),
      ),
  };
};

const sha = (name: "sha256" | "sha512", text: string): string => hash(name, text, "hex");

test("a CSAF document with a wrong hash or signature is refused by name, and the rest is imported", async () => {
  const [key, stranger] = [await newSigningKey(), await newSigningKey()];
  const host = new URL(feed.url).host;
  const documents = new Map<string, { readonly beside: Readonly<Record<string, string>>; readonly refused?: RegExp }>([
    ["whole-1", { beside: { sha512: `${sha("sha512", csafDocument("whole-1"))}  whole-1.json\n`, asc: await key.sign(csafDocument("whole-1")) } }],
    ["whole-2", { beside: { sha256: sha("sha256", csafDocument("whole-2")).toUpperCase() } }],
    ["whole-3", { beside: {} }],
    ["hash-1", { beside: { sha256: `${sha("sha256", "something else")}  hash-1.json` }, refused: /does not match its published SHA-256/ }],
    // The longer hash counts.
    ["hash-2", { beside: { sha256: sha("sha256", csafDocument("hash-2")), sha512: sha("sha512", "else") }, refused: /does not match its published SHA-512/ }],
    ["hash-3", { beside: { sha512: "<html>" }, refused: /a published hash that is not/ }],
    ["signed-1", { beside: { asc: await key.sign("something else") }, refused: /is not signed by its provider/ }],
    ["signed-2", { beside: { asc: await stranger.sign(csafDocument("signed-2")) }, refused: /is not signed by its provider/ }],
    ["signed-3", { beside: { asc: "no signature" }, refused: /is not signed by its provider/ }],
  ]);
  const provider = (metadataOf: JsonObject): string => JSON.stringify({ ...(JSON.parse(metadata([])) as JsonObject), ...metadataOf });
  const keys = [{ fingerprint: key.fingerprint, url: `${feed.url}/checked/key.asc` }];
  feed.answers.set("/checked/key.asc", { body: key.armored });
  feed.answers.set("/checked/folder.json", { body: provider({ public_openpgp_keys: keys, distributions: [{ directory_url: `${feed.url}/checked/csaf` }] }) });
  const entries = [...documents].map(([id, { beside }]) => ({
    id,
    updated: "2026-01-01T00:00:00Z",
    content: { src: `${feed.url}/checked/csaf/${id}.json` },
    link: Object.keys(beside).map((extension) => ({
      rel: extension === "asc" ? "signature" : "hash",
      href: `${feed.url}/checked/csaf/${id}.json.${extension}`,
    })),
  }));
  feed.answers.set("/checked/feed.json", { body: JSON.stringify({ feed: { entry: entries } }) });
  const rolie = [{ rolie: { feeds: [{ url: `${feed.url}/checked/feed.json` }] } }];
  feed.answers.set("/checked/rolie.json", { body: provider({ public_openpgp_keys: keys, distributions: rolie }) });
  for (const [id, { beside }] of documents) {
    feed.answers.set(`/checked/csaf/${id}.json`, { headers: { etag: `"${id}"` }, body: csafDocument(id) });
    for (const [extension, body] of Object.entries(beside)) feed.answers.set(`/checked/csaf/${id}.json.${extension}`, { body });
  }
  feed.answers.set("/checked/csaf/index.txt", { body: [...documents.keys()].map((id) => `${id}.json\n`).join("") });
  for (const name of ["folder", "rolie"]) {
    const done = await runImport(world, "advisories", [`${feed.url}/checked/${name}.json`]);
    assert.deepEqual(await advisoryIds("whole"), ["whole-1", "whole-2", "whole-3"], name);
    const wrong = [...documents].flatMap(([id, { refused }]) => (refused ? [{ id, refused }] : []));
    assert.equal(done.refusals, wrong.length, done.refused.join("\n"));
    for (const [index, { id, refused }] of wrong.entries()) {
      assert.ok(done.refused[index]?.startsWith(`${host}/checked/csaf/${id}.json:1: `), done.refused[index]);
      assert.match(done.refused[index] ?? "", refused);
    }
    assert.deepEqual([await advisoryIds("hash"), await advisoryIds("signed")], [[], []]);
  }
  // A refused document is requested again, although unchanged, and imported once it is valid.
  feed.answers.set("/checked/csaf/signed-1.json.asc", { body: await key.sign(csafDocument("signed-1")) });
  assert.equal((await runImport(world, "advisories", [`${feed.url}/checked/folder.json`])).refusals, 5);
  assert.deepEqual(await advisoryIds("signed"), ["signed-1"]);
  // A key with another fingerprint than in the metadata is ignored, so signed documents are refused.
  feed.answers.set("/checked/key.asc", { body: stranger.armored });
  feed.answers.set("/checked/csaf/signed-4.json", { body: csafDocument("signed-4") });
  feed.answers.set("/checked/csaf/signed-4.json.asc", { body: await stranger.sign(csafDocument("signed-4")) });
  feed.answers.set("/checked/csaf/index.txt", { body: "signed-4.json\n" });
  // All documents are removed, which the operator must allow.
  const unknown = await runImport(world, "advisories", [`${feed.url}/checked/folder.json`], { allowWithdrawals: true });
  assert.match(unknown.refused.join(), /is signed, and no key of its provider can be had: .* has no key with the fingerprint/);
  assert.deepEqual(await advisoryIds("signed"), []);
});

test("a domain leads to its CSAF provider by the well-known address, otherwise by security.txt", async () => {
  feed.answers.set("/domain/csaf/changes.csv", { body: '"domain-1.json","2026-01-01T00:00:00Z"\n' });
  feed.answers.set("/domain/csaf/domain-1.json", { body: csafDocument("domain-1") });
  const found = metadata([{ directory_url: `${feed.url}/domain/csaf` }]);
  feed.answers.set("/.well-known/security.txt", {
    body: `Contact: mailto:a@example.com\nCSAF: ${feed.url}/nowhere.json\nCSAF: ${feed.url}/domain/provider.json\n`,
  });
  feed.answers.set("/domain/provider.json", { body: found });
  feed.answers.set("/.well-known/csaf/provider-metadata.json", { body: "<html>" });
  assert.deepEqual(counts(await runImport(world, "advisories", [feed.url])), { ...nothing, new: 1 });
  feed.answers.delete("/.well-known/security.txt");
  feed.answers.set("/.well-known/csaf/provider-metadata.json", { body: found });
  assert.deepEqual(counts(await runImport(world, "advisories", [feed.url])), { ...nothing, unchanged: 1 });
  assert.deepEqual(await advisoryIds("domain"), ["domain-1"]);
  feed.answers.delete("/.well-known/csaf/provider-metadata.json");
  const none = await runImport(world, "advisories", [feed.url]);
  assert.deepEqual([none.withdrawn, none.failed.length], [0, 1]);
  assert.equal((await openSource("example.com")).key, "https://example.com/");
  await assert.rejects(openSource("missing.json"), /file or directory not found/);
});
