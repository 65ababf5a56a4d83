// Feed imports in the audit log: one entry for each import and organization with changed records, with counts.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { operatorUid } from "#base/operator.ts";
import { isObject, type JsonObject, part, text } from "#base/json.ts";
import { entriesOf } from "../audit.ts";
import { asOwner } from "../database.ts";
import { openWorld, type World } from "../world.ts";
import { fixtures, runImport } from "./import.ts";

const imported = "dev.gantry.feeds.imported.v1";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-imports-"));
  world = await openWorld();
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

interface Told {
  readonly subject: string;
  readonly group: string;
  readonly audience: string;
  readonly requestId: string;
  readonly context: JsonObject;
  readonly body: JsonObject;
}

const eventsAfter = async (id: number): Promise<Told[]> => {
  const found = await world.server.application.services.store.read.query(
    "select subject, group_uid, audience, request_id, audit_context, data from outbox where type = $1 and id > $2 order by id",
    [imported, id],
  );
  return found.map(([subject, group, audience, requestId, context, data]) => {
    const parsed: unknown = JSON.parse(data ?? "{}");
    return {
      subject: subject ?? "",
      group: group ?? "",
      audience: audience ?? "",
      requestId: requestId ?? "",
      context: JSON.parse(context ?? "{}") as JsonObject,
      body: part(parsed as JsonObject, "body"),
    };
  });
};

const lastId = async (): Promise<number> =>
  Number((await world.server.application.services.store.read.query("select coalesce(max(id), 0) from outbox"))[0]?.[0]);

const reportedBy = async (work: () => Promise<unknown>): Promise<Told[]> => {
  const id = await lastId();
  await work();
  return eventsAfter(id);
};

const none = { new: 0, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 };

const osv = (id: string, fixed = "1.0"): string =>
  JSON.stringify({
    id,
    modified: "2025-01-01T00:00:00Z",
    affected: [{ package: { ecosystem: "Go", name: `example.com/${id}` }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed }] }] }],
  });

let folders = 0;
const folder = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const path = join(scratch, `folder-${++folders}`);
  await mkdir(path);
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
  return path;
};

const many = (count: number, prefix: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.json`, osv(`${prefix}-${index}`)]));

test("an import with changes has one event in its group with counts and source; one without changes has none", async () => {
  const path = await folder({ "a.json": osv("TOLD-1"), "b.json": osv("TOLD-2"), "c.json": '{"id": 7}' });
  const first = await reportedBy(() => runImport(world, "advisories", [path]));
  assert.equal(first.length, 1);
  const { requestId, ...told } = first[0] ?? assert.fail();
  assert.match(requestId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(told, {
    subject: world.organization,
    group: world.organization,
    audience: "internal",
    context: { actor: { subject: operatorUid }, operation: "gantry import advisories", bindings: [], address: "", userAgent: "gantry import", count: 2 },
    body: { kind: "advisories", source: path, counts: { ...none, new: 2, refused: 1 } },
  });
  assert.deepEqual(await reportedBy(() => runImport(world, "advisories", [path])), []);
  await writeFile(join(path, "a.json"), osv("TOLD-1", "2.0"));
  await rm(join(path, "b.json"));
  await writeFile(join(path, "d.json"), osv("TOLD-3"));
  const [second, ...more] = await reportedBy(() => runImport(world, "advisories", [path]));
  assert.deepEqual([second?.body.counts, second?.context.count, more], [{ new: 1, changed: 1, withdrawn: 1, unchanged: 0, refused: 1 }, 3, []]);
});

test("the audit log of the group lists the import, and no other organization's does", async () => {
  const { uid } = await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "imports" } });
  const group = String(uid);
  const other = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "somebody else" } })).uid);
  const path = await folder({ "a.json": osv("LOGGED-1") });
  await runImport(world, "advisories", [path], { group, public: true });
  const entries = (await entriesOf(world, { operations: ["gantry import advisories"] })).filter(({ subject }) => subject === group);
  assert.deepEqual(
    entries.map(({ callerUid, operation, type, code, count }) => ({ callerUid, operation, type, code, count })),
    [{ callerUid: operatorUid, operation: "gantry import advisories", type: imported, code: "OK", count: "1" }],
  );
  assert.match(text(entries[0] ?? {}, "uid"), new RegExp(`^${group}/[0-9a-f]{16}$`));
  const elsewhere = await entriesOf(world, { uidp: { descendantsOf: other } });
  assert.deepEqual(
    elsewhere.filter(({ type }) => type === imported),
    [],
  );
});

test("changes of public records are an event of the operator, and of group records an event of the group, each with its counts", async () => {
  const libraries = await reportedBy(() => runImport(world, "libraries", [join(fixtures, "artifacts.jsonl")]));
  assert.deepEqual(
    libraries.map(({ subject, group, body }) => [subject, group, body.counts]),
    [[operatorUid, "", { ...none, new: 2 }]],
  );
  const vulnerabilities = await reportedBy(() => runImport(world, "vulnerabilities", [join(fixtures, "osv.json")], { public: true }));
  assert.deepEqual(
    vulnerabilities.map(({ subject, body }) => [subject, body.counts]),
    [[operatorUid, { ...none, new: 1 }]],
  );
  const lifecycles = await reportedBy(() => runImport(world, "lifecycle", [join(fixtures, "lighthouse.md")]));
  assert.deepEqual(
    lifecycles.map(({ subject, group, body }) => [subject, group, body.counts]),
    [[world.organization, world.organization, { ...none, new: 1 }]],
  );
  const path = await folder({
    "images.jsonl": `${JSON.stringify({ repo: "told", tags: ["1", "2"], configs: { amd64: { packages: ["a=1"] } } })}\n`,
    "packages.json": JSON.stringify({ name: "told-origin", subpackages: ["told-origin-doc"] }),
  });
  const images = await reportedBy(() => runImport(world, "images", [path]));
  assert.deepEqual(
    images.map(({ subject, body, context }) => [subject, body.counts, context.count]),
    [
      [world.organization, { ...none, new: 2 }, 2],
      [operatorUid, { ...none, new: 2 }, 2],
    ],
  );
  assert.equal(new Set(images.map(({ requestId }) => requestId)).size, 1);
});

test("a command with several sources emits one event for each, with one request ID", async () => {
  const paths = [await folder({ "a.json": osv("SEVERAL-1") }), await folder({ "a.json": osv("SEVERAL-2"), "b.json": osv("SEVERAL-3") })];
  const told = await reportedBy(() => runImport(world, "advisories", paths));
  assert.deepEqual(
    told.map(({ body }) => [body.source, isObject(body.counts) && body.counts.new]),
    [
      [paths[0], 1],
      [paths[1], 2],
    ],
  );
  assert.equal(new Set(told.map(({ requestId }) => requestId)).size, 1);
});

test("an interrupted import has an event of its writes, and the next import one of the rest", async () => {
  const count = 1_300;
  const path = await folder(many(count, "STOPPED"));
  let batches = 0;
  const stopped = await reportedBy(() =>
    assert.rejects(
      runImport(world, "advisories", [path], {
        goOn: async () => {
          if (++batches > 2) throw new Error("no further");
        },
      }),
      /no further/,
    ),
  );
  const newOf = (told: readonly Told[]): number[] => told.map(({ body }) => Number(part(body, "counts").new));
  const [written = 0, ...more] = newOf(stopped);
  assert.deepEqual(more, []);
  assert.ok(written > 0 && written < count, String(written));
  const rest = await reportedBy(() => runImport(world, "advisories", [path]));
  assert.deepEqual(newOf(rest), [count - written]);
});

test("an import without a recorded event withdraws nothing, and the next one reports all changes", async () => {
  const { store } = world.server.application.services;
  const path = await folder({ "a.json": osv("WHOLE-1"), "b.json": osv("WHOLE-2") });
  await runImport(world, "advisories", [path]);
  await rm(join(path, "a.json"));
  await writeFile(join(path, "c.json"), osv("WHOLE-3"));
  const isListed = async (id: string): Promise<boolean> =>
    (await store.read.query("select 1 from advisories where advisory_id = $1 and delete_time is null", [id])).length > 0;
  await asOwner(
    world.databaseUrl,
    `create function refuse_imports() returns trigger language plpgsql as $$ begin
       if new.type = 'dev.gantry.feeds.imported.v1' then raise exception 'not now'; end if; return new; end $$`,
  );
  await asOwner(world.databaseUrl, "create trigger refuse_imports before insert on outbox for each row execute function refuse_imports()");
  const failed = await reportedBy(() => assert.rejects(runImport(world, "advisories", [path])));
  await asOwner(world.databaseUrl, "drop trigger refuse_imports on outbox");
  assert.deepEqual([failed, await isListed("WHOLE-1"), await isListed("WHOLE-3")], [[], true, true]);
  const told = await reportedBy(() => runImport(world, "advisories", [path]));
  assert.deepEqual(
    told.map(({ body }) => body.counts),
    [{ ...none, new: 1, withdrawn: 1, unchanged: 2 }],
  );
  assert.equal(await isListed("WHOLE-1"), false);
});
