// Several sources with the same records: a record remains while one source has it, the latest modification wins, and visibility changes only on
// request.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { lockFeed } from "#advisories/store";
import { openWorld, type World } from "../world.ts";
import { counts, fixtures, runImport } from "./import.ts";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-sources-"));
  world = await openWorld();
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

type Kind = "advisories" | "vulnerabilities";
const kinds: readonly Kind[] = ["advisories", "vulnerabilities"];

/** Returns an OSV record with a summary and fix that identify the source. */
const osv = (id: string, word: string, modified = "2025-01-01T00:00:00Z"): string =>
  JSON.stringify({
    id,
    modified,
    summary: word,
    affected: [{ package: { ecosystem: "Go", name: `example.com/${id}` }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: word }] }] }],
  });

let folders = 0;
type Files = Readonly<Record<string, string>>;
interface Folder {
  readonly path: string;
  put(files: Files): Promise<void>;
  drop(name: string): Promise<void>;
}
const folder = async (files: Files): Promise<Folder> => {
  const path = join(scratch, `folder-${++folders}`);
  await mkdir(path);
  const put = async (more: Files): Promise<void> => {
    for (const [name, content] of Object.entries(more)) await writeFile(join(path, name), content);
  };
  // An extra file that remains, because a suddenly empty directory withdraws nothing.
  await put({ "stays.json": osv(`STAYS-${folders}`, "0.1"), ...files });
  return { path, put, drop: (name) => rm(join(path, name)) };
};

/** Returns the record's current word, "withdrawn", or undefined if there is none: the public vulnerability record, or the group's. */
const toldOf = async (kind: Kind, id: string, owner = ""): Promise<string | undefined> => {
  const { store } = world.server.application.services;
  if (kind === "vulnerabilities") {
    const [row] = await store.read.query("select summary, hidden from vulnerabilities where id = $1 and owner = $2", [id, owner]);
    return row && (row[1] === "t" ? "withdrawn" : (row[0] ?? ""));
  }
  const { advisories } = await world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", { advisoryIds: [id] });
  const [found] = Array.isArray(advisories) ? advisories.filter(isObject) : [];
  if (!found) return undefined;
  if (text(found, "deleteTime") !== "") return "withdrawn";
  const [event] = Array.isArray(found.events) ? found.events.filter(isObject) : [];
  return isObject(event?.fixed) ? text(event.fixed, "fixedVersion") : "";
};

const isOpen = async (kind: Kind, id: string): Promise<boolean> => {
  const { store } = world.server.application.services;
  if (kind === "vulnerabilities") {
    const { vulnerabilityMetadata } = await world.ok("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", { ids: [id] });
    return Array.isArray(vulnerabilityMetadata) && vulnerabilityMetadata.length > 0;
  }
  return (await store.read.query("select from advisories where advisory_id = $1 and public", [id])).length > 0;
};

const imported = async (kind: Kind, { path }: Folder, options: Parameters<typeof runImport>[3] = {}): Promise<Readonly<Record<string, number>>> => {
  world.clock.now += 1000;
  const done = await runImport(world, kind, [path], options);
  assert.deepEqual(done.failed, []);
  return counts(done);
};

for (const kind of kinds) {
  const own = (): string => world.organization;

  test(`${kind}: a record remains while one source has it, is withdrawn with the last, and returns with any`, async () => {
    const id = `SHARED-${kind}`;
    const [a, b] = [await folder({ "x.json": osv(id, "1.0") }), await folder({ "y.json": osv(id, "1.0") })];
    const told = (): Promise<string | undefined> => toldOf(kind, id, own());
    await imported(kind, a);
    await imported(kind, b);
    await a.drop("x.json");
    assert.equal((await imported(kind, a)).withdrawn, 0);
    assert.equal(await told(), "1.0");
    assert.deepEqual(await imported(kind, b), { new: 0, changed: 0, withdrawn: 0, unchanged: 2, refused: 0 });
    await b.drop("y.json");
    assert.equal((await imported(kind, b)).withdrawn, 1);
    assert.equal(await told(), "withdrawn");
    assert.equal((await imported(kind, b)).withdrawn, 0);
    await a.put({ "z.json": osv(id, "1.0") });
    assert.equal((await imported(kind, a)).changed, 1);
    assert.equal(await told(), "1.0");
  });

  test(`${kind}: of disagreeing sources the latest modification wins in any import order, and the others are kept as fallback`, async () => {
    const id = `DISPUTED-${kind}`;
    const [a, b, c] = [
      await folder({ "x.json": osv(id, "1.0", "2025-01-01T00:00:00Z") }),
      await folder({ "x.json": osv(id, "3.0", "2025-03-01T00:00:00.5Z") }),
      await folder({ "x.json": osv(id, "2.0", "2025-03-01T00:00:00Z") }),
    ];
    const told = (): Promise<string | undefined> => toldOf(kind, id, own());
    for (const each of [a, b, c, a]) await imported(kind, each);
    assert.equal(await told(), "3.0");
    await b.drop("x.json");
    assert.deepEqual(await imported(kind, b), { new: 0, changed: 1, withdrawn: 0, unchanged: 1, refused: 0 });
    assert.equal(await told(), "2.0");
    await c.put({ "x.json": osv(id, "2.5", "2024-01-01T00:00:00Z") });
    await imported(kind, c);
    assert.equal(await told(), "2.0", "not unless the operator allows it");
    await imported(kind, c, { allowOlder: true });
    assert.equal(await told(), "1.0");
    await a.put({ "x.json": osv(id, "1.1", "2023-01-01T00:00:00Z") });
    await imported(kind, a, { allowOlder: true });
    assert.equal(await told(), "2.5");
    // Of equally old ones the first stays, with its current content.
    await a.put({ "x.json": osv(id, "1.2", "2024-01-01T00:00:00Z") });
    await imported(kind, a, { allowOlder: true });
    assert.equal(await told(), "1.2");
    await c.put({ "x.json": osv(id, "2.6", "2024-01-01T00:00:00Z") });
    await imported(kind, c, { allowOlder: true });
    assert.equal(await told(), "1.2");
    await imported(kind, c, { allowOlder: true });
    assert.equal(await told(), "1.2");
  });

  test(`${kind}: two concurrent imports of the same records end with the latest modification`, async () => {
    const ids = Array.from({ length: 600 }, (_, index) => `RACE-${kind}-${index}`);
    const of = (word: string, modified: string): Files => Object.fromEntries(ids.map((id, index) => [`${index}.json`, osv(id, word, modified)]));
    const [a, b] = [await folder(of("1.0", "2025-01-01T00:00:00Z")), await folder(of("2.0", "2025-02-01T00:00:00Z"))];
    await Promise.all([runImport(world, kind, [b.path]), runImport(world, kind, [a.path])]);
    const { store } = world.server.application.services;
    const column = kind === "advisories" ? ["advisory_id", "events::text like '%\"2.0\"%'"] : ["id", "summary = '2.0'"];
    const [row] = await store.read.query(`select count(*) from ${kind} where ${column[0]} like 'RACE-%' and ${column[1]}`);
    assert.equal(Number(row?.[0]), 600);
  });

  test(`${kind}: an import changes visibility only if it says so`, async () => {
    const [old, fresh] = [`OPEN-${kind}`, `CLOSED-${kind}`];
    const a = await folder({ "x.json": osv(old, "1.0") });
    await imported(kind, a);
    assert.equal(await isOpen(kind, old), false);
    await imported(kind, a, { public: true });
    assert.equal(await isOpen(kind, old), true);
    // Without the option, the same source stays public with its new content, and another source does not become public.
    await a.put({ "x.json": osv(old, "1.1", "2025-02-01T00:00:00Z"), "y.json": osv(fresh, "1.0") });
    await imported(kind, a);
    const b = await folder({ "x.json": osv(old, "1.2", "2025-03-01T00:00:00Z") });
    await imported(kind, b);
    assert.deepEqual([await isOpen(kind, old), await isOpen(kind, fresh)], [true, false]);
    assert.equal(await toldOf(kind, old), "1.2");
    await a.drop("x.json");
    await b.drop("x.json");
    await imported(kind, a);
    await imported(kind, b);
    assert.equal(await toldOf(kind, old), "withdrawn");
    await a.put({ "x.json": osv(old, "1.3", "2025-04-01T00:00:00Z") });
    await imported(kind, a);
    assert.deepEqual([await isOpen(kind, old), await toldOf(kind, old)], [true, "1.3"]);
    await imported(kind, b, { public: false });
    assert.equal(await isOpen(kind, old), true, "it does not tell it");
    await imported(kind, a, { public: false });
    assert.deepEqual([await isOpen(kind, old), await isOpen(kind, fresh)], [false, false]);
    assert.equal(await toldOf(kind, old, own()), "1.3");
    await imported(kind, a, { public: true });
    assert.deepEqual([await isOpen(kind, old), await isOpen(kind, fresh)], [true, true]);
  });

  test(`${kind}: a license that forbids publication limits records to the group, even in a public import`, async () => {
    const id = `LICENSED-${kind}`;
    const a = await folder({ "x.json": osv(id, "1.0") });
    await imported(kind, a, { public: true, license: "CC-BY-NC-ND-4.0" });
    assert.equal(await isOpen(kind, id), false);
    assert.equal(await toldOf(kind, id, own()), "1.0");
    await imported(kind, a, { public: true, license: "CC-BY-4.0" });
    assert.equal(await isOpen(kind, id), true);
    // A newer record under another license does not replace the publishable one.
    const b = await folder({ "x.json": osv(id, "2.0", "2026-01-01T00:00:00Z") });
    await imported(kind, b, { license: "CC-BY-NC-4.0" });
    assert.deepEqual([await isOpen(kind, id), await toldOf(kind, id)], [true, "1.0"]);
    await imported(kind, a, { license: "LicenseRef-unread" });
    assert.equal(await isOpen(kind, id), false);
    await assert.rejects(imported(kind, a, { license: "free for all" }), /must be an SPDX identifier/);
  });

  test(`${kind}: a repeated import writes nothing, and a changed one touches no other record`, async () => {
    const a = await folder({ "x.json": osv(`QUIET-${kind}`, "1.0"), "y.json": osv(`LOUD-${kind}`, "1.0") });
    const rows = (): Promise<unknown> =>
      world.server.application.services.store.read.query(
        "select id, xmin::text from source_documents where origin_id like 'QUIET-%' union all select document_id, xmin::text from document_records order by 1",
      );
    await imported(kind, a, { public: true });
    const earlier = await rows();
    await imported(kind, a, { public: true });
    await imported(kind, a);
    assert.deepEqual(await rows(), earlier);
    await a.put({ "y.json": osv(`LOUD-${kind}`, "2.0") });
    assert.deepEqual(await imported(kind, a), { new: 0, changed: 1, withdrawn: 0, unchanged: 2, refused: 0 });
  });
}

test("imports that may have the same records take turns batch by batch", async () => {
  const { store } = world.server.application.services;
  for (const kind of kinds) {
    const [a, b] = [await folder({ "x.json": osv(`TURNS-${kind}`, "1.0") }), await folder({ "x.json": osv(`TURNS-${kind}`, "2.0", "2026-01-01T00:00:00Z") })];
    await imported(kind, a);
    const [row] = await store.read.query("select id from feeds where kind = $1 and source = $2", [kind, a.path]);
    const gate = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const turn = store.write(async (rows) => {
      await lockFeed(rows, row?.[0] ?? "");
      held.resolve();
      await gate.promise;
    });
    await held.promise;
    const running = runImport(world, kind, [b.path]).then(() => "went on");
    const waits = async (): Promise<string> => {
      for (;;) {
        const [waiting] = await store.read.query("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
        if (Number(waiting?.[0]) > 0) return "waits";
      }
    };
    assert.equal(await Promise.race([running, waits()]), "waits");
    gate.resolve();
    await turn;
    assert.equal(await running, "went on");
    assert.equal(await toldOf(kind, `TURNS-${kind}`, world.organization), "2.0");
  }
});

test("a document is stored as its source wrote it, with origin, time and license", async () => {
  const content = `{"id": "KEPT-1", "modified": "2025-01-01T00:00:00Z", "database_specific": {"cvss": 7.0, "big": 12345678901234567890}, "affected": []}`;
  const a = await folder({ "deep.json": content });
  await imported("advisories", a, { license: "CC0-1.0" });
  const [row] = await world.server.application.services.store.read.query(
    `select file, form, origin_id, feeds.license, feeds.source, import_time is not null, encode(body, 'base64')
     from source_documents join feeds on feeds.id = feed_id where origin_id = 'KEPT-1'`,
  );
  assert.deepEqual(row?.slice(0, 6), ["deep.json", "osv", "KEPT-1", "CC0-1.0", a.path, "t"]);
  const { inflateRawSync } = await import("node:zlib");
  assert.equal(inflateRawSync(Buffer.from(row?.[6] ?? "", "base64")).toString(), content);
});

test("public vulnerability records of two organizations are one record, and neither import withdraws the other's", async () => {
  const other = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "another harbour" } })).uid);
  const id = "EVERYBODYS-1";
  const [a, b] = [await folder({ "x.json": osv(id, "1.0") }), await folder({ "x.json": osv(id, "2.0", "2026-01-01T00:00:00Z") })];
  await imported("vulnerabilities", a, { public: true });
  await imported("vulnerabilities", b, { group: other });
  assert.deepEqual([await toldOf("vulnerabilities", id), await toldOf("vulnerabilities", id, other)], ["1.0", "2.0"]);
  await imported("vulnerabilities", b, { group: other, public: true });
  assert.deepEqual([await toldOf("vulnerabilities", id), await toldOf("vulnerabilities", id, other)], ["2.0", undefined]);
  await imported("vulnerabilities", b, { group: other, public: false });
  assert.deepEqual([await toldOf("vulnerabilities", id), await toldOf("vulnerabilities", id, other)], ["1.0", "2.0"]);
});

test("source packages are imported with advisories", async () => {
  await runImport(world, "advisories", [join(fixtures, "packages.jsonl")]);
  const [row] = await world.server.application.services.store.read.query("select count(*) from package_origins");
  assert.ok(Number(row?.[0]) > 0);
});

test("public images stay public by default, and new ones belong to the group", async () => {
  const image = (repo: string): JsonObject => ({ repo, tags: ["latest"], configs: { amd64: { packages: ["a=1"] } } });
  const path = join(scratch, "images.jsonl");
  const put = (...repos: string[]): Promise<void> => writeFile(path, repos.map((repo) => `${JSON.stringify(image(repo))}\n`).join(""));
  const owners = async (): Promise<unknown> =>
    (await world.server.application.services.store.read.query("select repo, owner from image_packages where delete_time is null order by repo")).map(
      ([repo, owner]) => [repo, owner === "" ? "everybody" : "group"],
    );
  await put("one", "two");
  await runImport(world, "images", [path], { public: true });
  await put("one", "two", "three");
  await runImport(world, "images", [path], { public: undefined });
  assert.deepEqual(await owners(), [
    ["one", "everybody"],
    ["three", "group"],
    ["two", "everybody"],
  ]);
  await runImport(world, "images", [path], { public: false });
  assert.deepEqual(await owners(), [
    ["one", "group"],
    ["three", "group"],
    ["two", "group"],
  ]);
});
