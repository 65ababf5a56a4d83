// Request groups: from a requirements file to missing libraries and a completed request, and the lists of what an organization requests.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import type { LibraryArtifactRecord } from "#advisories/store";
import type { Protocol } from "../client.ts";
import { openWorld, type World } from "../world.ts";
import { bind, createIdentity } from "./installation.ts";
import { writeTestRecords } from "./records.ts";

const service = "chainguard.platform.libraries.v2beta1.RequestGroupsService";
const protocols: readonly Protocol[] = ["rest", "grpc"];
const [python, java] = ["INPUT_FORMAT_REQUIREMENTS_TXT", "INPUT_FORMAT_MAVEN_GAV_LIST"];

let world: World;

const library = (name: string, versions: readonly string[], ecosystem: LibraryArtifactRecord["ecosystem"] = "ECOSYSTEM_PYTHON"): LibraryArtifactRecord => ({
  kind: "library",
  ecosystem,
  name,
  versions: versions.map((version) => ({ version })),
});

before(async () => {
  world = await openWorld();
  await writeTestRecords(world, [
    library("Django", ["4.2", "4.2.9", "5.0"]),
    library("zope.interface", ["6.0"]),
    library("requests", ["2.31.0", "2.32.3"]),
    library("org.example:lib", ["1.0", "1.1"], "ECOSYSTEM_JAVA"),
  ]);
});
after(() => world?.close());

const call = (rpc: string, request: JsonObject, protocol: Protocol = "rest", token?: string): Promise<JsonObject> =>
  world.ok(`${service}/${rpc}`, request, { protocol, ...(token === undefined ? {} : { token }) });

const refused = async (rpc: string, request: JsonObject, token?: string): Promise<{ code: number; message: string }> => {
  const { code, message } = await world.call(`${service}/${rpc}`, request, token === undefined ? {} : { token });
  return { code, message };
};

const folder = async (parent = world.organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "folder" } }), "uid");

const itemsOf = async (uid: string, more: JsonObject = {}): Promise<JsonObject[]> =>
  objectList(await call("ListRequestGroupItems", { uid, ...more }), "requestGroupItems");

const content = ["Django==4.2", "Zope_Interface==6.0.0", "requests==2.30.0", "flask>=2", "-r other.txt", "left-pad==1.0 ; python_version < '3.9'"].join("\n");

for (const protocol of protocols) {
  test(`a file becomes a draft with an item for each library, compared with the catalogue (${protocol})`, async () => {
    const parent = await folder();
    const group = await call("CreateRequestGroup", { parent, name: "backend", content, filename: "requirements.txt", forCveRemediation: true }, protocol);
    assert.deepEqual(
      [group.status, group.ecosystem, group.source, group.parentId, group.forCveRemediation],
      ["REQUEST_GROUP_STATUS_PENDING", "ECOSYSTEM_PYTHON", "REQUEST_SOURCE_MANUAL_UPLOAD", parent, true],
    );
    const input = part(group, "input");
    assert.deepEqual([input.filename, input.format, input.itemCount], ["requirements.txt", python, 6]);
    assert.match(text(input, "contentHash"), /^sha256:[0-9a-f]{64}$/);
    assert.deepEqual(group.availabilitySummary, { built: 2, canBeRequested: 2, invalidRequirement: 2, blockingSubmit: 2 });
    assert.deepEqual(
      (await itemsOf(text(group, "uid"))).map((item) => [item.packageName ?? "", item.version ?? "", text(item, "availability").slice(13), item.upgrade]),
      [
        ["django", "4.2", "BUILT", { closestVersion: "4.2.9", latestVersion: "5.0" }],
        ["zope-interface", "6.0.0", "BUILT", undefined],
        ["requests", "2.30.0", "CAN_BE_REQUESTED", { closestVersion: "2.31.0", latestVersion: "2.32.3" }],
        ["flask", "", "INVALID_REQUIREMENT", undefined],
        ["", "", "INVALID_REQUIREMENT", undefined],
        ["left-pad", "1.0", "CAN_BE_REQUESTED", undefined],
      ],
    );
    assert.deepEqual(await call("GetRequestGroup", { uid: text(group, "uid") }, protocol), group);
  });
}

test("a draft can be submitted once every item has an exact version, and is then immutable", async () => {
  const parent = await folder();
  const uid = text(await call("CreateRequestGroup", { parent, content, format: python }), "uid");
  const early = await refused("SubmitRequestGroup", { uid });
  assert.equal(early.code, codes.FAILED_PRECONDITION, early.message);
  assert.match(early.message, /2 items have no exact version/);

  const invalid = (await itemsOf(uid, { availability: "AVAILABILITY_INVALID_REQUIREMENT" })).map((item) => text(item, "uid"));
  const removed = await call("RemoveItems", { uid, itemUids: invalid }, "grpc");
  assert.deepEqual([removed.removedCount, removed.uid, removed.parentId], [2, uid, parent]);
  assert.deepEqual(removed.availabilitySummary, { built: 2, canBeRequested: 2, removed: 2 });
  assert.equal((await itemsOf(uid)).length, 4);
  assert.equal((await itemsOf(uid, { includeRemoved: true })).length, 6);
  assert.equal((await call("RestoreItems", { uid, itemUids: invalid.slice(0, 1) })).restoredCount, 1);
  assert.equal((await refused("SubmitRequestGroup", { uid })).code, codes.FAILED_PRECONDITION);
  await call("RemoveItems", { uid, itemUids: invalid });

  const submitted = await call("SubmitRequestGroup", { uid, forCveRemediation: true }, "grpc");
  assert.deepEqual([submitted.status, submitted.forCveRemediation], ["REQUEST_GROUP_STATUS_PROCESSING", true]);
  assert.notEqual(text(submitted, "submitTime"), "");
  for (const [rpc, more] of [
    ["RemoveItems", { itemUids: invalid }],
    ["RestoreItems", { itemUids: invalid }],
    ["SubmitRequestGroup", {}],
  ] as const)
    assert.equal((await refused(rpc, { uid, ...more })).code, codes.FAILED_PRECONDITION, rpc);
  assert.equal((await call("UpdateRequestGroup", { requestGroup: { uid, name: "renamed" }, updateMask: "name" })).name, "renamed");
});

test("libraries added to the catalogue are found by the next refresh, and a fully covered request is completed", async () => {
  const parent = await folder();
  const uid = text(await call("CreateRequestGroup", { parent, items: ["late==1.0", "django==4.2.0"], format: python }), "uid");
  await call("SubmitRequestGroup", { uid });
  const before = await world.events();
  assert.equal((await call("RefreshCoverage", { uid })).status, "REQUEST_GROUP_STATUS_PROCESSING");
  assert.equal((await world.events()).length, before.length, "what changes nothing is not told");
  await writeTestRecords(world, [library("Late", ["1.0.0"])]);
  const done = await call("RefreshCoverage", { uid }, "grpc");
  assert.deepEqual([done.status, done.availabilitySummary], ["REQUEST_GROUP_STATUS_COMPLETED", { built: 2 }]);
  assert.equal((await world.events()).at(-1)?.type, "dev.chainguard.api.libraries.request_group.coverage_refreshed.v1");
});

test("a caller who can delete drafts cannot delete submitted requests; the operator can", async () => {
  const parent = await folder();
  const identity = await createIdentity(world, world.organization, "owner", { issuer: "https://issuer.example.com", subject: "owner" });
  await bind(world, world.organization, identity, "owner");
  const token = await world.token(identity);
  const [draft, submitted] = await Promise.all(
    ["a==1", "b==1"].map(async (item) => text(await call("CreateRequestGroup", { parent, items: [item], format: python }, "rest", token), "uid")),
  );
  await call("SubmitRequestGroup", { uid: submitted ?? "" }, "rest", token);
  await call("DeleteRequestGroup", { uid: draft ?? "" }, "rest", token);
  assert.equal((await refused("DeleteRequestGroup", { uid: submitted ?? "" }, token)).code, codes.PERMISSION_DENIED);
  await call("DeleteRequestGroup", { uid: submitted ?? "" });
  const { store } = world.server.application.services;
  assert.deepEqual(await store.read.query("select uid from request_group_items where uid > $1 and uid < $2", [`${parent}/`, `${parent}0`]), []);
});

test("request groups are listed for a group and its subgroups, by state, with pages", async () => {
  const parent = await folder();
  const inner = await folder(parent);
  const made: string[] = [];
  for (let index = 0; index < 7; index++) {
    world.clock.now += 1;
    const group = await call("CreateRequestGroup", { parent: index % 2 ? inner : parent, name: `n${index}`, items: ["a==1"], format: python });
    made.push(text(group, "uid"));
  }
  await call("SubmitRequestGroup", { uid: made[0] ?? "" });
  const walked: string[] = [];
  for (const protocol of protocols) {
    for (let pageToken = ""; ; ) {
      const page = await call("ListRequestGroups", { parent, pageSize: 3, orderBy: "create_time desc", ...(pageToken ? { pageToken } : {}) }, protocol);
      walked.push(...objectList(page, "requestGroups").map((group) => text(group, "uid")));
      assert.equal(String(page.totalCount), "7");
      pageToken = text(page, "nextPageToken");
      if (pageToken === "") break;
    }
  }
  assert.deepEqual(walked, [...made.toReversed(), ...made.toReversed()]);
  const found = async (more: JsonObject): Promise<number> => objectList(await call("ListRequestGroups", { parent, ...more }), "requestGroups").length;
  assert.deepEqual(
    [
      await found({ state: "REQUEST_GROUP_STATE_DRAFT" }),
      await found({ state: "REQUEST_GROUP_STATE_SUBMITTED" }),
      await found({ state: "REQUEST_GROUP_STATE_ALL" }),
      await found({ uidp: { childrenOf: inner } }),
      await found({ name: "n3" }),
      await found({ ecosystem: "ECOSYSTEM_JAVA" }),
      await found({ forCveRemediation: true }),
      await found({ source: "REQUEST_SOURCE_API" }),
    ],
    [6, 1, 7, 3, 1, 0, 0, 7],
  );
});

test("items of submitted requests are listed by library and version, in any spelling of the name", async () => {
  const parent = await folder();
  const inner = await folder(parent);
  const submit = async (place: string, items: readonly string[], format = python): Promise<string> => {
    world.clock.now += 1000;
    const uid = text(await call("CreateRequestGroup", { parent: place, name: items[0] ?? "", items: [...items], format: format ?? "" }), "uid");
    await call("SubmitRequestGroup", { uid });
    return uid;
  };
  const first = await submit(parent, ["Django==4.2", "requests==2.9", "requests==2.32.3"]);
  const second = await submit(inner, ["django==9.9", "requests==2.10"]);
  await submit(parent, ["org.example:lib:1.1"], java);
  await call("CreateRequestGroup", { parent, items: ["draft==1"], format: python });

  const libraries = objectList(await call("ListRequestedLibraries", { parent }, "grpc"), "requestedLibraries");
  assert.deepEqual(
    libraries.map(({ name, buildStatus, requestedVersionCount, builtVersionCount, contributingGroupCount }) => [
      name,
      String(buildStatus).slice(31),
      requestedVersionCount,
      builtVersionCount ?? 0,
      contributingGroupCount,
    ]),
    [
      ["django", "IN_PROGRESS", 2, 1, 2],
      ["org.example:lib", "COMPLETE", 1, 1, 1],
      ["requests", "IN_PROGRESS", 3, 1, 2],
    ],
  );
  assert.deepEqual(
    objectList(libraries[0] ?? {}, "contributingGroups").map((group) => group.uid),
    [second, first],
  );
  const named = async (more: JsonObject): Promise<unknown[]> =>
    objectList(await call("ListRequestedLibraries", { parent, ...more }), "requestedLibraries").map(({ name }) => name);
  assert.deepEqual(await named({ query: "JANG" }), ["django"]);
  assert.deepEqual(await named({ ecosystem: "ECOSYSTEM_JAVA" }), ["org.example:lib"]);
  assert.deepEqual(await named({ buildStatus: "REQUESTED_LIBRARY_BUILD_STATUS_REVIEWING" }), []);
  assert.deepEqual(await named({ uidp: { descendantsOf: inner } }), ["django", "requests"]);
  assert.deepEqual(await named({ orderBy: "requested_version_count desc", pageSize: 1 }), ["requests"]);
  assert.deepEqual(await named({ cveStatus: "REQUESTED_LIBRARY_CVE_STATUS_COMPLETE" }), []);

  const versions = objectList(
    await call("ListRequestedLibraryVersions", { parent, name: "Requests", ecosystem: "ECOSYSTEM_PYTHON" }),
    "requestedLibraryVersions",
  );
  assert.deepEqual(
    versions.map(({ version, availability }) => [version, String(availability).slice(13)]),
    [
      ["2.9", "CAN_BE_REQUESTED"],
      ["2.10", "CAN_BE_REQUESTED"],
      ["2.32.3", "BUILT"],
    ],
  );
  assert.deepEqual(versions[0]?.upgrade, { closestVersion: "2.31.0", latestVersion: "2.32.3" });
});
