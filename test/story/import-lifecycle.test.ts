// Imports of product lifecycles: for one group, replaced by the next import, never public.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "#base/json.ts";
import { findLifecycles, type Lifecycle } from "#registry/store";
import { asOwner } from "../database.ts";
import { openWorld, type World } from "../world.ts";
import { counts, realData, runImport, withRealData } from "./import.ts";

let world: World;
let folder: string;

before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), "gantry-lifecycle-"));
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const none = { new: 0, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 };

const ends = (product: string, releases: Readonly<Record<string, string | boolean>>): string =>
  JSON.stringify({ product, releases: Object.entries(releases).map(([releaseCycle, eol]) => ({ releaseCycle, releaseDate: "2020-01-01", eol })) });

const held = async (name: string, owner = world.organization): Promise<Lifecycle[]> =>
  findLifecycles(world.server.application.services.store.read, [owner], [name]);
const heldEnds = async (name: string): Promise<string[][]> =>
  (await held(name)).map(({ releases }) => releases.map(({ version, end }) => `${version} ${end}`.trim()));

test("an import replaces the source's earlier data, and repeating it writes nothing", async () => {
  const [one, other] = [join(folder, "one"), join(folder, "other")];
  await mkdir(one);
  await mkdir(other);
  await writeFile(join(one, "a.json"), ends("anchor", { "1": "2025-01-01", "2": false }));
  await writeFile(join(one, "b.json"), ends("bell", { "1": true }));
  await writeFile(join(other, "a.json"), ends("anchor", { "1": "2024-01-01" }));
  assert.deepEqual(counts(await runImport(world, "lifecycle", [one])), { ...none, new: 2 });
  const [first] = await held("anchor");
  assert.deepEqual(counts(await runImport(world, "lifecycle", [one])), { ...none, unchanged: 2 });
  assert.deepEqual(await held("anchor"), [first]);

  world.clock.now += 1000;
  assert.deepEqual(counts(await runImport(world, "lifecycle", [other])), { ...none, new: 1 });
  assert.deepEqual(await heldEnds("anchor"), [["1 2024-01-01"], ["1 2025-01-01", "2"]], "the latest changed first, and the other source's stays");

  await writeFile(join(one, "a.json"), ends("anchor", { "2": "2026-01-01" }));
  await rm(join(one, "b.json"));
  world.clock.now += 1000;
  assert.deepEqual(counts(await runImport(world, "lifecycle", [one])), { ...none, changed: 1, withdrawn: 1 });
  assert.deepEqual(await heldEnds("anchor"), [["2 2026-01-01"], ["1 2024-01-01"]], "a version that is told no longer is gone");
  assert.deepEqual(await held("bell"), []);
});

test("a refused file is named with its reason and keeps its earlier data, and others are imported", async () => {
  const path = join(folder, "refused");
  await mkdir(path);
  await writeFile(join(path, "a.json"), ends("capstan", { "1": false }));
  await runImport(world, "lifecycle", [path]);
  await writeFile(join(path, "a.json"), ends("capstan", { "1": "soon" }));
  await writeFile(join(path, "b.json"), ends("davit", { "1": false }));
  await writeFile(join(path, "osv.json"), '{"id": "X-1", "modified": "2026-01-01T00:00:00Z", "affected": []}');
  const { refused, new: made } = await runImport(world, "lifecycle", [path]);
  assert.deepEqual(
    refused.map((line) => line.replace(folder, "")),
    [
      "a.json:1: releases[0].eol must be a day such as 2026-04-30, or true or false",
      "osv.json:1: is an OSV record, which import vulnerabilities or import advisories takes",
    ],
  );
  assert.equal(made, 1);
  assert.deepEqual(await heldEnds("capstan"), [["1"]]);
  assert.deepEqual(await heldEnds("davit"), [["1"]]);
});

test("a lifecycle is never public and is deleted with its group", async () => {
  const path = join(folder, "group.json");
  await writeFile(path, ends("fender", { "1": true }));
  for (const isPublic of [true, false])
    await assert.rejects(runImport(world, "lifecycle", [path], { public: isPublic }), { code: "INVALID_ARGUMENT", message: /belongs to its group/ });
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "harbour" } }), "uid");
  await runImport(world, "lifecycle", [path], { group });
  assert.deepEqual(
    (await held("fender", group)).map(({ owner }) => owner),
    [group],
  );
  assert.deepEqual(await held("fender"), []);
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  assert.deepEqual(await held("fender", group), []);
});

test("all real lifecycles are imported once, with every release of their files", withRealData, async () => {
  const summary = await runImport(world, "lifecycle", [join(realData, "lifecycle/endoflife-date")]);
  assert.deepEqual(counts(summary), { ...none, new: 156 });
  const [[releases] = []] = await asOwner(
    world.databaseUrl,
    "select sum(jsonb_array_length(releases)) from lifecycles where product not in ('anchor', 'capstan', 'davit')",
  );
  assert.equal(releases, "2586");
});
