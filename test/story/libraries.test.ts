// The catalogue of libraries: by ecosystem and part of a name, versions in the ecosystem's order, counts (resources: Artifacts).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type LibraryArtifactRecord, recordKey } from "#advisories/store";
import { withdrawVanished } from "../../server/advisories/feeds/write-records.ts";
import { openWorld, type World } from "../world.ts";
import { withdrawnBy, writeTestRecords } from "./records.ts";

const protocols = ["rest", "grpc"] as const;
const listArtifacts = "libraries.ArtifactsService/ListArtifacts";
const listVersions = "libraries.ArtifactsService/ListArtifactVersions";
const count = "libraries.ArtifactsService/GetArtifactCount";

let world: World;

const library = (name: string, versions: readonly string[], more: Partial<LibraryArtifactRecord> = {}): LibraryArtifactRecord => ({
  kind: "library",
  ecosystem: "ECOSYSTEM_PYTHON",
  name,
  versions: versions.map((version) => ({ version })),
  ...more,
});

const java = { ecosystem: "ECOSYSTEM_JAVA" } as const;
const mavenOrder = ["1.0-alpha-1", "1.0-beta", "1.0-M2", "1.0-rc1", "1.0-SNAPSHOT", "1.0", "1.0-sp1", "1.0-jre", "1.0.1", "1.2", "1.10"];
const pythonOrder = ["unversioned", "1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.1", "1.10", "2!0.1"];

const shuffled = <T>(values: readonly T[]): T[] =>
  values
    .map((value, index) => ({ value, at: (index * 7 + 3) % values.length }))
    .sort((one, other) => one.at - other.at)
    .map(({ value }) => value);

before(async () => {
  world = await openWorld();
  await writeTestRecords(world, [
    ...Array.from({ length: 70 }, (_, n) =>
      library(
        `package-${String(n).padStart(2, "0")}`,
        Array.from({ length: n % 5 }, (_each, version) => `${version}`),
      ),
    ),
    library("Django_REST%", ["1"], { remediated: true, cudaVersions: ["12.1"], description: "about it" }),
    library("org.example:java", shuffled(mavenOrder), java),
    library("python", shuffled(pythonOrder)),
  ]);
});
after(() => world?.close());

const rowsOf = (reply: JsonObject, key: string): JsonObject[] => (Array.isArray(reply[key]) ? reply[key].filter(isObject) : []);

const everyPage = async (
  name: string,
  request: JsonObject,
  key: string,
  pageSize: number,
  protocol: (typeof protocols)[number] = "rest",
): Promise<JsonObject[]> => {
  const found: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const reply = await world.ok(name, { ...request, pageSize, ...(pageToken ? { pageToken } : {}) }, { protocol });
    found.push(...rowsOf(reply, key));
    pageToken = text(reply, "nextPageToken");
    if (!pageToken) {
      assert.equal(Number(reply.totalCount ?? 0), found.length);
      return found;
    }
  }
};

const python = { ecosystems: ["ECOSYSTEM_PYTHON"] };
const names = (rows: readonly JsonObject[]): string[] => rows.map((row) => text(row, "name"));
const uidOf = async (name: string): Promise<string> =>
  text(rowsOf(await world.ok(listArtifacts, { ecosystems: ["ECOSYSTEM_PYTHON", "ECOSYSTEM_JAVA"], query: name }), "artifacts")[0] ?? {}, "uid");

test("artifacts are listed by ecosystem and part of a name, case-insensitively, in every order and on every page", async () => {
  const all = await everyPage(listArtifacts, python, "artifacts", 20);
  assert.equal(all.length, 72);
  assert.deepEqual(names(all), [...names(all)].sort());
  for (const column of ["name", "version_count", "create_time", "update_time"]) {
    for (const direction of ["", " desc"]) {
      const rows = await everyPage(listArtifacts, { ...python, orderBy: `${column}${direction}` }, "artifacts", 31);
      assert.deepEqual(names(rows).sort(), names(all), column);
      if (column !== "version_count") continue;
      const counts = rows.map((row) => Number(row.versionCount));
      assert.deepEqual(
        counts,
        [...counts].sort((one, other) => (direction ? other - one : one - other)),
      );
    }
  }
  for (const protocol of protocols) {
    assert.deepEqual(
      names(rowsOf(await world.ok(listArtifacts, { ...python, query: "PACKAGE-0" }, { protocol }), "artifacts")),
      Array.from({ length: 10 }, (_, n) => `package-0${n}`),
    );
    assert.deepEqual(names(rowsOf(await world.ok(listArtifacts, { ecosystems: ["ECOSYSTEM_JAVA"] }, { protocol }), "artifacts")), ["org.example:java"]);
    for (const filter of [{ query: "t%" }, { remediated: true }, { cudaVersion: "12.1" }]) {
      const [found, ...others] = rowsOf(await world.ok(listArtifacts, { ...python, ...filter }, { protocol }), "artifacts");
      assert.equal(others.length, 0);
      assert.equal(text(found ?? {}, "name"), "Django_REST%");
    }
  }
  const [found] = rowsOf(await world.ok(listArtifacts, { ...python, query: "django" }), "artifacts");
  const { uid: _uid, createTime: _created, updateTime: _updated, ...rest } = found ?? {};
  assert.deepEqual(rest, { name: "Django_REST%", description: "about it", ecosystem: "ECOSYSTEM_PYTHON", latestVersion: "1", versionCount: 1 });
});

test("versions are listed newest first in Maven's or PEP 440's order, and the artifact has the newest", async () => {
  for (const [name, order] of [
    ["org.example:java", mavenOrder],
    ["python", pythonOrder],
  ] as const) {
    const uid = await uidOf(name);
    for (const protocol of protocols) {
      const rows = await everyPage(listVersions, { artifactId: uid }, "artifactVersions", 3, protocol);
      assert.deepEqual(
        rows.map((row) => text(row, "version")),
        [...order].reverse(),
      );
      assert.deepEqual(new Set(names(rows)), new Set([name]));
    }
    const oldest = await everyPage(listVersions, { artifactId: uid, orderBy: "version asc" }, "artifactVersions", 4);
    assert.deepEqual(
      oldest.map((row) => text(row, "version")),
      order,
    );
    const [artifact] = rowsOf(await world.ok(listArtifacts, { ecosystems: ["ECOSYSTEM_PYTHON", "ECOSYSTEM_JAVA"], query: name }), "artifacts");
    assert.equal(text(artifact ?? {}, "latestVersion"), order.at(-1));
    assert.equal(artifact?.versionCount, order.length);
  }
  assert.equal((await world.call(listVersions, { artifactId: "none" })).code, 5);
});

test("sources are merged: any source provides sizes and times, and a version remains while one source has it", async () => {
  const sized = library("adding", [], { versions: [{ version: "1.0", sizeBytes: 10, publishTime: "2020-01-01T00:00:00Z" }, { version: "2.0" }] });
  await writeTestRecords(world, [library("adding", ["1.0", "3.0"])], { feed: "bare" });
  world.clock.now += 1000;
  await writeTestRecords(world, [sized], { feed: "sized" });
  const uid = await uidOf("adding");
  const versions = async (): Promise<JsonObject[]> => rowsOf(await world.ok(listVersions, { artifactId: uid }), "artifactVersions");
  assert.deepEqual(
    (await versions()).map((row) => [row.version, row.sizeBytes]),
    [
      ["3.0", "0"],
      ["2.0", "0"],
      ["1.0", "10"],
    ],
  );
  assert.equal(text((await versions())[2] ?? {}, "createTime"), "2020-01-01T00:00:00.000Z");
  world.clock.now += 1000;
  assert.equal((await writeTestRecords(world, [library("adding", ["1.0", "3.0"])], { feed: "bare" })).unchanged, 1);
  assert.equal((await writeTestRecords(world, [library("adding", ["1.0"])], { feed: "bare" })).changed, 1);
  assert.deepEqual(
    (await versions()).map((row) => row.version),
    ["2.0", "1.0"],
  );
  assert.equal(text((await versions())[1] ?? {}, "createTime"), "2020-01-01T00:00:00.000Z");
  const target = { group: world.organization, public: true, feed: "gone", nowMs: world.clock.now };
  await writeTestRecords(world, [library("lonely", ["1"])], target);
  const gone = (): Promise<number> =>
    withdrawnBy(world, (rows) => withdrawVanished(rows, target, "library", () => Promise.resolve(new Set([recordKey(sized)]))));
  assert.equal(await gone(), 1);
  assert.equal(await gone(), 0);
  assert.equal(await uidOf("lonely"), "");
  await writeTestRecords(world, [library("lonely", ["1"])], target);
  assert.notEqual(await uidOf("lonely"), "");
});

test("counts are returned for each requested ecosystem, and an unspecified one is refused", async () => {
  for (const protocol of protocols) {
    const { counts } = await world.ok(count, { ecosystems: ["ECOSYSTEM_JAVA", "ECOSYSTEM_PYTHON", "ECOSYSTEM_JAVA"] }, { protocol });
    assert.deepEqual(
      (Array.isArray(counts) ? counts.filter(isObject) : []).map((each) => each.ecosystem),
      ["ECOSYSTEM_JAVA", "ECOSYSTEM_PYTHON"],
    );
    for (const name of [count, listArtifacts]) {
      for (const ecosystems of [[], ["ECOSYSTEM_UNSPECIFIED"]])
        assert.equal((await world.call(name, { ecosystems }, { protocol })).code, 3, `${name} ${ecosystems}`);
    }
  }
});

test("the catalogue requires the list permission in any group", async () => {
  const identity = async (name: string): Promise<string> =>
    text(
      await world.ok("iam.IdentitiesService/CreateIdentity", {
        parent: world.organization,
        identity: { name, claimMatch: { issuer: "https://issuer.example.test", subject: name } },
      }),
      "uid",
    );
  const reader = await identity("reader");
  const role = text(
    await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "reader", capabilities: ["CAP_LIBRARIES_ARTIFACTS_LIST"] } }),
    "uid",
  );
  const team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team" } }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: team, roleBinding: { identityUid: reader, roleUid: role } });
  const [allowed, stranger] = [await world.token(reader), await world.token(await identity("stranger"))];
  const artifactId = await uidOf("python");
  for (const protocol of protocols) {
    for (const [name, request] of [
      [listArtifacts, python],
      [listVersions, { artifactId }],
      [count, python],
    ] as const) {
      assert.equal(
        (await world.call(name, { ...request, ...(name === count ? { ecosystems: [...python.ecosystems] } : {}) } as JsonObject, { protocol, token: allowed }))
          .code,
        0,
        name,
      );
      assert.equal((await world.call(name, request as JsonObject, { protocol, token: stranger })).code, 7, name);
      assert.equal((await world.call(name, request as JsonObject, { protocol, token: undefined })).code, 16, name);
    }
  }
  assert.equal(timestamp(world.clock.now).length, 24);
});
