// Feeds over time: changed, invalid and removed files, addresses, killed imports, and scheduled imports.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { zipArchive } from "../../server/advisories/feeds/parse/zip.fixture.ts";
import { freshDatabase } from "../database.ts";
import { openWorld, type World } from "../world.ts";
import { counts, fixtures, readAll, runImport } from "./import.ts";
import { gantry, gantryFile, start, stopAll } from "./processes.ts";

let world: World;
let scratch: string;
let env: Readonly<Record<string, string>>;
let drop: (() => Promise<void>)[] = [];

const shared = async (): Promise<Readonly<Record<string, string>>> => {
  const database = await freshDatabase();
  drop = [...drop, database.drop];
  const file = join(scratch, `secret-${drop.length}.key`);
  await writeFile(file, randomBytes(32).toString("base64"), { mode: 0o600 });
  return { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: file };
};

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-feeds-"));
  env = await shared();
  world = await openWorld(env);
});
after(async () => {
  await stopAll();
  await world?.close();
  for (const each of drop) await each();
  await rm(scratch, { recursive: true, force: true });
});

const nothing = { new: 0, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 };

const wolfi = (name: string, numbers: readonly string[], version = "1.0-r0"): string =>
  [
    "schema-version: 2.0.2",
    "",
    "package:",
    `  name: ${name}`,
    "",
    "advisories:",
    ...numbers.flatMap((number) => [
      `  - id: CGA-${number}`,
      "    aliases:",
      `      - CVE-2025-${number.slice(0, 4)}1`,
      "    events:",
      "      - timestamp: 2025-01-01T00:00:00Z",
      "        type: fixed",
      "        data:",
      `          fixed-version: ${version}`,
    ]),
    "",
  ].join("\n");

const toldOf = async (source: string, where = world): Promise<[operation: string, made: number][]> => {
  const found = await where.server.application.services.store.read.query(
    `select audit_context ->> 'operation', data::jsonb #>> '{body,counts,new}' from outbox
     where type = 'dev.gantry.feeds.imported.v1' and data::jsonb #>> '{body,source}' = $1 order by id`,
    [source],
  );
  return found.map(([operation, made]) => [operation ?? "", Number(made)]);
};

let folders = 0;
const folder = async (files: Readonly<Record<string, string | Uint8Array>>): Promise<string> => {
  const path = join(scratch, `folder-${++folders}`);
  await mkdir(path);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(path, name, ".."), { recursive: true });
    await writeFile(join(path, name), content);
  }
  return path;
};

const advisoriesOf = async (artifactName: string, where = world): Promise<JsonObject[]> =>
  (await readAll(where, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", { artifactNames: [artifactName] })).sort((one, other) =>
    text(one, "advisoryId") < text(other, "advisoryId") ? -1 : 1,
  );

const byId = async (advisoryId: string, where = world): Promise<JsonObject | undefined> =>
  (await readAll(where, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", { advisoryIds: [advisoryId] }))[0];

test("only changed files are read and written again, and a changed record counts as changed", async () => {
  const path = await folder({ "one.yaml": wolfi("one", ["1111-0001-aaaa", "1111-0002-aaaa"]), "two.yaml": wolfi("two", ["1111-0003-aaaa"]) });
  assert.deepEqual(counts(await runImport(world, "advisories", [path])), { ...nothing, new: 3 });
  await writeFile(join(path, "one.yaml"), wolfi("one", ["1111-0001-aaaa", "1111-0002-aaaa"], "2.0-r0"));
  const again = await runImport(world, "advisories", [path]);
  assert.deepEqual([counts(again), again.filesUnchanged], [{ ...nothing, changed: 2, unchanged: 1 }, 1]);
  assert.deepEqual(
    (await advisoriesOf("one")).map(({ events }) => (Array.isArray(events) ? events.filter(isObject).map(({ fixed }) => fixed) : [])),
    [[{ fixedVersion: "2.0-r0" }], [{ fixedVersion: "2.0-r0" }]],
  );
});

test("a record or file that disappears is withdrawn, not deleted, and restored if it returns", async () => {
  const path = await folder({ "three.yaml": wolfi("three", ["2222-0001-aaaa", "2222-0002-aaaa"]), "four.yaml": wolfi("four", ["2222-0003-aaaa"]) });
  await runImport(world, "advisories", [path]);
  const made = await byId("CGA-2222-0003-aaaa");
  await writeFile(join(path, "three.yaml"), wolfi("three", ["2222-0001-aaaa"]));
  await rm(join(path, "four.yaml"));
  assert.deepEqual(counts(await runImport(world, "advisories", [path])), { ...nothing, withdrawn: 2, unchanged: 1 });
  assert.deepEqual(
    (await advisoriesOf("three")).map((advisory) => text(advisory, "advisoryId")),
    ["CGA-2222-0001-aaaa"],
  );
  assert.deepEqual(await advisoriesOf("four"), []);
  const gone = await byId("CGA-2222-0003-aaaa");
  assert.equal(text(gone ?? {}, "uid"), text(made ?? {}, "uid"));
  assert.notEqual(text(gone ?? {}, "deleteTime"), "");
  assert.deepEqual(counts(await runImport(world, "advisories", [path])), { ...nothing, unchanged: 1 });
  await writeFile(join(path, "four.yaml"), wolfi("four", ["2222-0003-aaaa"]));
  const back = await runImport(world, "advisories", [path]);
  assert.equal(back.new + back.changed, 1);
  assert.equal((await advisoriesOf("four")).length, 1);
});

test("an advisory that moves to another file is neither withdrawn nor created again", async () => {
  const path = await folder({ "a.yaml": wolfi("mover", ["3333-0001-aaaa", "3333-0002-aaaa"]), "b.yaml": wolfi("mover", []) });
  await runImport(world, "advisories", [path]);
  const earlier = (await advisoriesOf("mover")).map((advisory) => text(advisory, "uid"));
  await writeFile(join(path, "a.yaml"), wolfi("mover", ["3333-0001-aaaa"]));
  await writeFile(join(path, "b.yaml"), wolfi("mover", ["3333-0002-aaaa"]));
  const moved = await runImport(world, "advisories", [path]);
  assert.deepEqual([moved.new, moved.withdrawn], [0, 0]);
  assert.deepEqual(
    (await advisoriesOf("mover")).map((advisory) => text(advisory, "uid")),
    earlier,
  );
});

test("an invalid file is refused with its line and keeps its earlier records, and other files are imported", async () => {
  const path = await folder({ "five.yaml": wolfi("five", ["4444-0001-aaaa", "4444-0002-aaaa"]), "six.yaml": wolfi("six", ["4444-0003-aaaa"]) });
  await runImport(world, "advisories", [path]);
  await writeFile(join(path, "five.yaml"), wolfi("five", ["4444-0001-aaaa", "4444-0002-aaaa"]).replace(/type: fixed(?![\s\S]*type: fixed)/, "type: broken"));
  await writeFile(join(path, "six.yaml"), wolfi("six", ["4444-0003-aaaa"], "3.0-r0"));
  for (const changed of [1, 0]) {
    const done = await runImport(world, "advisories", [path]);
    assert.equal(done.refused.length, 1);
    assert.match(done.refused[0] ?? "", /^five\.yaml:20: advisories\[1\]\.events\[0\]\.type must be one of /);
    assert.deepEqual([done.changed, done.withdrawn], [changed, 0]);
  }
  assert.equal((await advisoriesOf("five")).length, 2);
});

test("invalid lines of JSON Lines are refused by number, and all others are imported", async () => {
  const line = (id: string): string =>
    JSON.stringify({ id, state: "PUBLISHED", summary: "s", details: "d", references: [], severities: [], dateUpdated: "2025-01-01T00:00:00Z" });
  const path = join(scratch, "records.jsonl");
  const good = Array.from({ length: 1_200 }, (_, index) => line(`CVE-2031-${10_000 + index}`));
  await writeFile(path, `${[...good.slice(0, 700), '{"id": "CVE-2031-1", "state":', "", line("two words"), ...good.slice(700)].join("\n")}\n`);
  const done = await runImport(world, "vulnerabilities", [path]);
  assert.deepEqual(counts(done), { ...nothing, new: 1_200, refused: 2 });
  assert.match(done.refused[0] ?? "", /^records\.jsonl:701: not valid JSON/);
  assert.match(done.refused[1] ?? "", /^records\.jsonl:703: id must not contain spaces/);
  await writeFile(path, `${[...good.slice(0, 700), line("CVE-2031-99999"), ...good.slice(700)].join("\n")}\n`);
  const mended = await runImport(world, "vulnerabilities", [path]);
  assert.deepEqual([mended.new, mended.changed, mended.withdrawn, mended.refused], [1, 0, 0, []]);
  await writeFile(path, `${good.slice(1).join("\n")}\n`);
  assert.equal((await runImport(world, "vulnerabilities", [path])).withdrawn, 2);
});

test("a directory that is suddenly empty withdraws nothing", async () => {
  const path = await folder({ "seven.yaml": wolfi("seven", ["5555-0001-aaaa"]) });
  await runImport(world, "advisories", [path]);
  await rm(join(path, "seven.yaml"));
  const done = await runImport(world, "advisories", [path]);
  assert.equal(done.withdrawn, 0);
  assert.match(done.held[0] ?? "", /contains no files any more, but had 1 records before; none of them were withdrawn/);
  assert.equal((await advisoriesOf("seven")).length, 1);
  assert.equal((await runImport(world, "advisories", [path], { allowWithdrawals: true })).withdrawn, 1);
  assert.deepEqual(await advisoriesOf("seven"), []);
});

test("formats are detected by content: file names are ignored, gzip is unpacked, and licenses and pictures are skipped", async () => {
  const sources = [
    "harbour.yaml",
    "osv.json",
    "osv.yaml",
    "secdb.json",
    "openvex-0.0.1.json",
    "openvex-0.2.0.json",
    "csaf.json",
    "rustsec.md",
    "packages.jsonl",
  ];
  const files = Object.fromEntries(
    await Promise.all(
      sources.map(async (name, index) => {
        const content = await readFile(join(fixtures, name));
        return [`deep/er/${index}.png`, index % 2 === 0 ? content : gzipSync(content)] as const;
      }),
    ),
  );
  const path = await folder({
    ...files,
    LICENSE: "Licence\n\nversion: as is\n",
    ".hidden": "{",
    "picture.json": new Uint8Array([0x89, 0x50, 0x4e, 0x47, 1, 2, 3]),
    "latin.yaml": Buffer.from("id: caf\u00e9\n", "latin1"),
  });
  const done = await runImport(world, "advisories", [path]);
  assert.deepEqual(done.refused, ["latin.yaml:1: is not valid UTF-8"]);
  assert.deepEqual(done.passedOver, ["LICENSE: is not a known feed format", "picture.json: is not a known feed format"]);
  const found = await readAll(world, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", {});
  const names = new Set(found.map((advisory) => text(advisory, "artifactName")));
  for (const name of ["harbour", "example.com/lantern", "anchor", "rudder", "hull", "keel", "mast"]) assert.ok(names.has(name), name);
});

test("a truncated or endless gzip is refused", async () => {
  const whole = gzipSync(await readFile(join(fixtures, "harbour.yaml")));
  const path = await folder({
    "cut.gz": whole.subarray(0, whole.length / 2),
    "huge.gz": gzipSync(Buffer.alloc(40 * 1024 * 1024, '{"a":[')),
    "line.gz": gzipSync(Buffer.concat([Buffer.from("{}\n{"), Buffer.alloc(12 * 1024 * 1024, " ")])),
  });
  const done = await runImport(world, "advisories", [path]);
  assert.deepEqual(
    done.refused
      .map((refusal) => refusal.replace(/:.*/, ""))
      .sort()
      .filter((name, index, all) => all.indexOf(name) === index),
    ["cut.gz", "huge.gz", "line.gz"],
  );
});

const zip = (files: Readonly<Record<string, string>>): Buffer => zipArchive(Object.entries(files).map(([name, content]) => ({ name, content })));

test("a zip archive is read as a directory, and an incomplete one is refused", async () => {
  const path = join(scratch, "all.bin");
  const whole = zip({ "top/one.yaml": wolfi("zipped", ["dddd-0001-aaaa"]), "top/../../two.yaml": wolfi("zipped", ["dddd-0002-aaaa"]), README: "A remark." });
  await writeFile(path, whole);
  const done = await runImport(world, "advisories", [path]);
  assert.deepEqual([counts(done), done.passedOver], [{ ...nothing, new: 1 }, ["README: is not a known feed format"]]);
  assert.equal((await runImport(world, "advisories", [path])).filesUnchanged, 1);
  await writeFile(path, whole.subarray(0, -30));
  const cut = await runImport(world, "advisories", [path]);
  assert.deepEqual([cut.refused, cut.withdrawn], [["all.bin:1: is not a complete zip archive: it has no directory"], 0]);
  const bomb = zip({ "bomb.json": `{"a": "${" ".repeat(33 * 1024 * 1024)}` });
  await writeFile(path, bomb);
  assert.match((await runImport(world, "advisories", [path])).refused[0] ?? "", /^bomb\.json:1: cannot be unpacked/);
});

test("the same source for another group, or as public, is a separate import", async () => {
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "another" } });
  const path = await folder({ "eight.yaml": wolfi("eight", ["6666-0001-aaaa"]) });
  assert.equal((await runImport(world, "advisories", [path])).new, 1);
  assert.equal((await runImport(world, "advisories", [path], { group: String(uid) })).new, 1);
  assert.equal((await advisoriesOf("eight")).length, 2);
  const documents = async (): Promise<number> => (await readAll(world, "advisory.SecurityAdvisoryService/ListDocuments", "documents", { id: "eight" })).length;
  assert.equal(await documents(), 0);
  const open = await runImport(world, "advisories", [path], { public: true });
  assert.deepEqual([open.new, open.changed], [0, 1]);
  assert.equal(await documents(), 1);
});

test("the operator's author setting is the author of advisories and events", async () => {
  const path = await folder({ "nine.yaml": wolfi("nine", ["7777-0001-aaaa"]) });
  await runImport(world, "advisories", [path], { author: "Harbour Master" });
  const [found] = await advisoriesOf("nine");
  assert.equal(text(found ?? {}, "author"), "Harbour Master");
  assert.equal((await readAll(world, "vulnerabilities.AdvisoriesService/ListAdvisories", "advisories", { eventAuthors: ["Harbour Master"] })).length, 1);
});

interface Feed {
  readonly address: string;
  content: string;
  status: number;
  asked: number;
  close(): Promise<void>;
}

const openFeed = async (content: string): Promise<Feed> => {
  const feed = { address: "", content, status: 200, asked: 0, close: async () => {} };
  const server: Server = createServer((_, response) => {
    feed.asked++;
    response.writeHead(feed.status).end(feed.content);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  feed.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed?key=secret`;
  feed.close = () => new Promise((done) => server.close(() => done()));
  return feed;
};

test("an address is read through the guarded client and reported without its secrets", async () => {
  const feed = await openFeed(wolfi("ten", ["8888-0001-aaaa"]));
  try {
    assert.deepEqual(counts(await runImport(world, "advisories", [feed.address])), { ...nothing, new: 1 });
    assert.deepEqual(counts(await runImport(world, "advisories", [feed.address])), { ...nothing, unchanged: 1 });
    feed.status = 302;
    const moved = await runImport(world, "advisories", [feed.address]);
    assert.match(moved.failed[0] ?? "", /returned status 302; it redirects more than 3 times, or to nowhere/);
    feed.status = 200;
    feed.content = "<html>Sign in</html>";
    const page = await runImport(world, "advisories", [feed.address]);
    assert.deepEqual([page.withdrawn, page.refused.length], [0, 1]);
    assert.doesNotMatch([...moved.failed, ...page.refused].join(), /secret/);
    const told = await world.server.application.services.store.read.query(
      "select t::text from outbox as t where type like '%.feeds.%' and data like '%127.0.0.1%'",
    );
    assert.equal(told.length, 1);
    assert.doesNotMatch(String(told[0]), /secret/);
    assert.equal((await advisoriesOf("ten")).length, 1);
  } finally {
    await feed.close();
  }
  const closed = await runImport(world, "advisories", ["http://192.0.2.1/feed"]);
  assert.match(closed.failed[0] ?? "", /cannot be reached/);
});

test("GANTRY_FEEDS runs on its interval on one of two servers, and failures are retried with backoff", async () => {
  const feed = await openFeed(wolfi("eleven", ["9999-0001-aaaa"]));
  const file = join(scratch, "feeds.yaml");
  await writeFile(file, `feeds:\n  - kind: advisories\n    source: "${feed.address}"\n    public: true\n    every: 6h\n`);
  const both = await shared();
  const one = await openWorld({ GANTRY_FEEDS: file, ...both });
  const other = await openWorld({ GANTRY_FEEDS: file, ...both });
  const turn = async (passedMs: number): Promise<number> => {
    const earlier = feed.asked;
    one.clock.now += passedMs;
    other.clock.now = one.clock.now;
    await Promise.all([one.server.feeds?.turn(), other.server.feeds?.turn()]);
    return feed.asked - earlier;
  };
  const hourMs = 60 * 60 * 1000;
  try {
    await turn(1_000);
    assert.equal(feed.asked, 1);
    assert.equal((await advisoriesOf("eleven", one)).length, 1);
    assert.equal(await turn(5 * hourMs), 0);
    feed.content = wolfi("eleven", ["9999-0001-aaaa", "9999-0002-aaaa"]);
    assert.equal(await turn(hourMs), 1);
    assert.equal((await advisoriesOf("eleven", other)).length, 2);
    const source = feed.address.replace("http://", "").replace(/\?.*/, "");
    assert.deepEqual(await toldOf(source, one), [
      ["GANTRY_FEEDS advisories", 1],
      ["GANTRY_FEEDS advisories", 1],
    ]);
    feed.status = 500;
    assert.equal(await turn(6 * hourMs), 1);
    assert.deepEqual([await turn(30_000), await turn(30_000), await turn(60_000), await turn(60_000)], [0, 1, 0, 1]);
    feed.status = 200;
    feed.content = wolfi("eleven", ["9999-0002-aaaa"]);
    assert.equal(await turn(4 * 60_000), 1);
    assert.deepEqual(
      (await advisoriesOf("eleven", one)).map((advisory) => text(advisory, "advisoryId")),
      ["CGA-9999-0002-aaaa"],
    );
    assert.equal(await turn(5 * hourMs), 0);
    // An empty response is not a failure and withdraws nothing; the next run reads it again.
    feed.content = wolfi("eleven", []);
    for (const each of [1, 2]) {
      assert.equal(await turn(6 * hourMs), 1, `turn ${each}`);
      assert.equal((await advisoriesOf("eleven", one)).length, 1);
    }
    const { feeds } = await one.ok("gantry.feeds.v1.FeedsService/ListFeeds", {});
    assert.deepEqual(
      (feeds as JsonObject[]).map(({ state, holdReason }) => [state, holdReason]),
      [["FEED_STATE_HELD", "FEED_HOLD_REASON_EMPTY"]],
    );
  } finally {
    await other.close();
    await one.close();
    await feed.close();
  }
});

test("an invalid GANTRY_FEEDS stops the start with one line that locates the error", async () => {
  const file = join(scratch, "wrong.yaml");
  const wrongs: readonly (readonly [string, RegExp])[] = [
    ["feeds:\n  - kind: pictures\n    source: x\n    every: 1h\n", /^GANTRY_FEEDS: feeds\[0\]\.kind must be one of advisories/],
    ["feeds:\n  - kind: images\n    source: x\n    every: soon\n", /^GANTRY_FEEDS: feeds\[0\]\.every must be a time such as/],
    ["feeds:\n  - kind: images\n    source: x\n    every: 1h\n    evry: 1h\n", /^GANTRY_FEEDS: feeds\[0\]\.evry is unknown/],
    ['{"feeds": []}', /^GANTRY_FEEDS: feeds must be a list that is not empty/],
    ["feeds: [", /^GANTRY_FEEDS: line \d+: not valid YAML/],
  ];
  for (const [content, message] of wrongs) {
    await writeFile(file, content);
    await assert.rejects(
      openWorld({ GANTRY_FEEDS: file }),
      (thrown: unknown) => thrown instanceof Error && message.test(thrown.message) && !thrown.message.includes("\n"),
    );
  }
});

test("of a duplicate key the last value is used, and the import reports file and line", async () => {
  const record = (id: string, twice: boolean): string =>
    `{"schema_version":"1.6.0","id":"${id}","modified":"2025-02-01T00:00:00Z",${twice ? '"summary":"first",' : ""}"summary":"last"}`;
  const lines = [record("GO-2025-7001", false), "", record("GO-2025-7002", true)];
  const path = await folder({ "one.json": record("GO-2025-7003", true), "more.jsonl": lines.join("\n") });
  const done = await runImport(world, "vulnerabilities", [path], { public: true });
  assert.deepEqual([done.new, done.refused], [3, []]);
  const told = 'gives the key "summary" more than once in one object: the last counts';
  assert.deepEqual([...done.remarks].sort(), [`more.jsonl:3: ${told}`, `one.json:1: ${told}`]);
  for (const id of ["GO-2025-7001", "GO-2025-7002", "GO-2025-7003"]) {
    const { vulnerabilityMetadata } = await world.ok("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", { id });
    assert.equal(text((vulnerabilityMetadata as JsonObject[])[0] ?? {}, "summary"), "last");
  }
});

test("the command holds an empty source back with exit code 2, withdraws it with the option, and can undo that", async () => {
  const path = await folder({ "emptied.yaml": wolfi("emptied", ["abcd-0001-aaaa"]) });
  const run = (...options: string[]) => gantry(["import", "advisories", path, ...options], { env });
  await run();
  await writeFile(join(path, "emptied.yaml"), wolfi("emptied", []));
  const held = await run();
  assert.deepEqual([held.code, held.stdout], [2, "advisories: 0 new, 0 changed, 0 withdrawn, 0 unchanged, 0 refused\n"]);
  assert.match(held.stderr, /^held back .*: is empty, and had 1 records before; none of them were withdrawn\. .*--allow-withdrawals\.$/m);
  const allowed = await run("--allow-withdrawals", "--allow-older");
  assert.deepEqual([allowed.code, allowed.stdout], [0, "advisories: 0 new, 0 changed, 1 withdrawn, 0 unchanged, 0 refused\n"]);
  assert.deepEqual(await advisoriesOf("emptied"), []);
  const undone = await gantry(["import", "undo", path], { env });
  assert.deepEqual([undone.code, undone.stdout], [0, `advisories: last import of ${path} reverted: 0 new, 1 changed, 0 withdrawn\n`], undone.stderr);
  assert.equal((await advisoriesOf("emptied")).length, 1);
  const twice = await gantry(["import", "undo", path, "--kind", "advisories"], { env });
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, /nothing to undo/);
});

test("the command imports while a server runs, prints a summary, and exits with 0, 2 or 1", async () => {
  const path = await folder({ "twelve.yaml": wolfi("twelve", ["aaaa-0001-aaaa"]) });
  const first = await gantry(["import", "advisories", path, "--public"], { env });
  assert.deepEqual([first.code, first.stdout], [0, "advisories: 1 new, 0 changed, 0 withdrawn, 0 unchanged, 0 refused\n"]);
  await copyFile(join(fixtures, "cve5.json"), join(path, "misplaced.yaml"));
  const second = await gantry(["import", "advisories", path, "--public"], { env });
  assert.equal(second.code, 2);
  assert.match(second.stderr, /^refused misplaced\.yaml:1: is a CVE record of JSON 5, which import vulnerabilities takes$/m);
  const both = await gantry(["import", "advisories", path, "--public", "--private"], { env });
  assert.equal(both.code, 1);
  assert.match(both.stderr, /--public and --private cannot be used together/);
  const third = await gantry(["import", "advisories", join(path, "nowhere")], { env });
  assert.equal(third.code, 1);
  assert.match(third.stderr, /file or directory not found/);
});

test("a killed import leaves whole documents, continues when restarted, and then emits one event for all", async () => {
  const numbers = (part: number): string[] =>
    Array.from({ length: 8 }, (_, index) => `bbbb-${String(part).padStart(4, "0")}-${String(index).padStart(4, "0")}`);
  const parts = 600;
  const path = await folder(Object.fromEntries(Array.from({ length: parts }, (_, part) => [`${part}.yaml`, wolfi(`killed-${part}`, numbers(part))])));
  const count = async (): Promise<number> =>
    Number((await world.server.application.services.store.read.query("select count(*) from advisories where artifact_name like 'killed-%'"))[0]?.[0]);
  const running = start(gantryFile, ["import", "advisories", path], { env });
  while ((await count()) === 0 && running.child.exitCode === null) await new Promise((next) => setImmediate(next));
  running.signal("SIGKILL");
  await running.ended;
  const left = await world.server.application.services.store.read.query(
    "select artifact_name, count(*) from advisories where artifact_name like 'killed-%' group by 1",
  );
  assert.ok(left.length > 0);
  assert.ok(left.every(([, rows]) => rows === "8"));
  assert.deepEqual(await toldOf(path), []);
  const again = await runImport(world, "advisories", [path]);
  assert.deepEqual([again.new + again.unchanged, again.changed, again.withdrawn, again.refused], [parts * 8, 0, 0, []]);
  assert.equal(again.new, parts * 8 - left.length * 8);
  assert.ok(left.length < parts);
  assert.deepEqual(await toldOf(path), [["gantry import advisories", parts * 8]]);
  assert.equal(await count(), parts * 8);
});

test("two concurrent imports of one source write everything once", async () => {
  const path = await folder(
    Object.fromEntries(Array.from({ length: 40 }, (_, part) => [`${part}.yaml`, wolfi(`twice-${part}`, [`cccc-${String(part).padStart(4, "0")}-aaaa`])])),
  );
  const both = await Promise.all([runImport(world, "advisories", [path]), runImport(world, "advisories", [path])]);
  assert.equal(
    both.reduce((sum, { new: made }) => sum + made, 0),
    40,
  );
  assert.deepEqual(
    both.flatMap(({ refused, failed }) => [...refused, ...failed]),
    [],
  );
});
