// Advisories from imports: event kinds, filters, orders, derived severities, and withdrawal instead of deletion (resources:
// Advisories).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject, type JsonObject, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type AdvisoryRecord, recordKey } from "#advisories/store";
import { withdrawVanished } from "../../server/advisories/feeds/write-records.ts";
import { openWorld, type World } from "../world.ts";
import { advisory, eventAt, everyKind, withdrawnBy, writeTestRecords } from "./records.ts";

const protocols = ["rest", "grpc"] as const;
const list = "vulnerabilities.AdvisoriesService/ListAdvisories";
const get = "vulnerabilities.AdvisoriesService/GetAdvisory";

let world: World;
let team: string;

/** 210 advisories with few distinct values, so that every filter matches some of them. */
const many: AdvisoryRecord[] = Array.from({ length: 210 }, (_, n) =>
  advisory(`CGA-${String((n * 37) % 211).padStart(4, "0")}`, {
    author: "Wolfi",
    artifactName: `package-${n % 7}`,
    artifactType: ["apk", "go", "pypi"][n % 3] ?? "",
    artifactArchitecture: ["x86_64", "aarch64"][n % 2] ?? "",
    componentName: ["stdlib", "Openssl", "50%_off", ""][n % 4] ?? "",
    componentLocation: `/usr/lib/${n % 5}`,
    componentType: ["go-module", "apk"][n % 2] ?? "",
    ...(n % 9 === 0 ? { legacyAdvisoryId: `OLD-${n}` } : {}),
    aliases: [`CVE-2024-${n % 30}`, `CVE-${2020 + (n % 3)}-12${10 + (n % 20)}`, ...(n % 2 === 0 ? [`GHSA-${n % 11}`] : [])],
    events: [
      eventAt("2024-01-01T00:00:00Z", { detection: { manual: {} } }, { author: `scanner ${n % 3}` }),
      ...(n % 2 === 0 ? [eventAt("2024-02-01T00:00:00Z", { fixed: { fixedVersion: "1" } }, { reviewer: `reviewer ${n % 4}` })] : []),
      ...(n % 5 === 0 ? [eventAt("2024-03-01T00:00:00Z", { pendingUpstreamFix: {} }, { reviewState: "REVIEW_STATE_PENDING" })] : []),
      ...(n % 6 === 0 ? [eventAt("2024-02-01T00:00:00Z", { patched: {} })] : []),
    ],
  }),
);

const strange = "2024-05-05T00:00:00.000Z";
let half: string;
before(async () => {
  world = await openWorld();
  world.clock.now = Date.parse("2026-01-01T00:00:00Z");
  team = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "team" } }), "uid");
  await writeTestRecords(world, [
    { kind: "origin", name: "package-1", origin: "package-0" },
    { kind: "origin", name: "package-2", origin: "package-0" },
  ]);
  await writeTestRecords(world, many.slice(0, 100), { group: team, public: false });
  world.clock.now += 3_600_000;
  half = timestamp(world.clock.now - 1);
  await writeTestRecords(world, many.slice(100));
});
after(() => world?.close());

const rowsOf = (reply: JsonObject): JsonObject[] => (Array.isArray(reply.advisories) ? reply.advisories.filter(isObject) : []);

const listAll = async (request: JsonObject, protocol: (typeof protocols)[number] = "rest", pageSize = 200, token?: string): Promise<JsonObject[]> => {
  const found: JsonObject[] = [];
  let pageToken = "";
  do {
    const reply = await world.ok(list, { ...request, pageSize, ...(pageToken ? { pageToken } : {}) }, { protocol, ...(token ? { token } : {}) });
    found.push(...rowsOf(reply));
    pageToken = text(reply, "nextPageToken");
    if (!pageToken) assert.equal(Number(reply.totalCount), found.length, `total of ${JSON.stringify(request)}`);
  } while (pageToken);
  return found;
};

const ids = (rows: readonly JsonObject[]): string[] => rows.map((row) => text(row, "advisoryId")).sort();

const typesOf = (record: AdvisoryRecord): string[] => record.events.map(({ data }) => Object.keys(data)[0] ?? "");
const latestOf = (record: AdvisoryRecord): string | undefined => {
  const approved = record.events.filter(({ reviewState }) => reviewState === undefined);
  const sorted = [...approved].sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
  return Object.keys(sorted.at(-1)?.data ?? {})[0];
};

const filters: readonly (readonly [JsonObject, (record: AdvisoryRecord) => boolean])[] = [
  [{}, () => true],
  [{ advisoryIds: ["CGA-0007", "CGA-0100", "nobody"] }, ({ advisoryId }) => ["CGA-0007", "CGA-0100"].includes(advisoryId)],
  [{ legacyAdvisoryIds: ["OLD-9", "OLD-180"] }, ({ legacyAdvisoryId = "" }) => ["OLD-9", "OLD-180"].includes(legacyAdvisoryId)],
  [{ artifactNames: ["package-3", "package-5"] }, ({ artifactName }) => ["package-3", "package-5"].includes(artifactName)],
  [{ artifactTypes: ["go", "pypi"] }, ({ artifactType }) => artifactType !== "apk"],
  [{ artifactArchitectures: ["aarch64"] }, ({ artifactArchitecture }) => artifactArchitecture === "aarch64"],
  [{ componentNames: ["stdlib", "Openssl"] }, ({ componentName = "" }) => ["stdlib", "Openssl"].includes(componentName)],
  [{ componentTypes: ["apk"] }, ({ componentType }) => componentType === "apk"],
  [{ componentLocations: ["/usr/lib/2"] }, ({ componentLocation }) => componentLocation === "/usr/lib/2"],
  [{ aliases: ["CVE-2024-3", "GHSA-4"] }, ({ aliases }) => aliases.includes("CVE-2024-3") || aliases.includes("GHSA-4")],
  [{ origin: "package-0" }, ({ artifactName }) => ["package-0", "package-1", "package-2"].includes(artifactName)],
  [{ origin: "package-0", artifactNames: ["package-6"] }, ({ artifactName }) => ["package-0", "package-1", "package-2"].includes(artifactName)],
  [{ origin: "package-1" }, ({ artifactName }) => artifactName === "package-1"],
  [{ eventReviewStates: ["REVIEW_STATE_PENDING"] }, ({ events }) => events.some(({ reviewState }) => reviewState === "REVIEW_STATE_PENDING")],
  [{ eventAuthors: ["scanner 1", "scanner 2"] }, ({ events }) => events.some(({ author = "" }) => ["scanner 1", "scanner 2"].includes(author))],
  [{ excludeEventAuthors: ["scanner 1"] }, ({ events }) => !events.some(({ author }) => author === "scanner 1")],
  [{ excludeEventAuthors: ["scanner 0", "scanner 1", "scanner 2"] }, () => false],
  [{ eventReviewers: ["reviewer 2"] }, ({ events }) => events.some(({ reviewer }) => reviewer === "reviewer 2")],
  [{ eventTypes: ["EVENT_TYPE_FILTER_FIXED", "EVENT_TYPE_FILTER_PATCHED"] }, (record) => typesOf(record).some((type) => ["fixed", "patched"].includes(type))],
  [{ latestEventType: "EVENT_TYPE_FILTER_PATCHED" }, (record) => latestOf(record) === "patched"],
  [{ latestEventType: "EVENT_TYPE_FILTER_DETECTION" }, (record) => latestOf(record) === "detection"],
  [{ latestEventType: "EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX" }, () => false],
  [{ query: "OPENSSL" }, ({ componentName }) => componentName === "Openssl"],
  [{ query: "%_" }, ({ componentName }) => componentName === "50%_off"],
  [{ query: "ghsa-1" }, ({ aliases }) => aliases.some((alias) => alias.startsWith("GHSA-1"))],
  [{ query: "CVE-2021-121" }, ({ aliases }) => aliases.some((alias) => alias.startsWith("CVE-2021-121"))],
  [{ query: "e-6" }, ({ artifactName }) => artifactName === "package-6"],
];

test("each filter, alone or with another, lists exactly the matching advisories", async () => {
  for (const [index, [request, holds]] of filters.entries()) {
    for (const [other, alsoHolds] of [filters[0], filters[(index * 7 + 3) % filters.length]] as typeof filters) {
      const both = { ...request, ...other };
      if (Object.keys(both).length < Object.keys(request).length + Object.keys(other).length) continue;
      if (both.origin !== undefined && both.artifactNames !== undefined && !("origin" in request && "artifactNames" in request)) continue;
      const wanted = many
        .filter((record) => holds(record) && alsoHolds(record))
        .map(({ advisoryId }) => advisoryId)
        .sort();
      assert.deepEqual(ids(await listAll(both)), wanted, JSON.stringify(both));
    }
    assert.deepEqual(
      ids(await listAll(request, "grpc")),
      many
        .filter(holds)
        .map(({ advisoryId }) => advisoryId)
        .sort(),
      `gRPC ${JSON.stringify(request)}`,
    );
  }
});

test("each order holds across pages and filters, sorted by bytes without duplicates", async () => {
  const orders = {
    uid: "uid",
    advisory_id: "advisoryId",
    artifact_name: "artifactName",
    component_name: "componentName",
    create_time: "createTime",
    update_time: "updateTime",
    legacy_advisory_id: "legacyAdvisoryId",
  };
  for (const [request, holds] of [filters[0], filters[4], filters[9], filters[22]] as typeof filters) {
    const wanted = many.filter(holds).length;
    for (const [column, json] of Object.entries(orders)) {
      for (const direction of ["", " desc"]) {
        const rows = await listAll({ ...request, orderBy: `${column}${direction}` }, "rest", 41);
        const keys = rows.map((row) => `${text(row, json)}\u0000${text(row, "uid")}`);
        assert.equal(new Set(keys).size, wanted);
        const sorted = [...keys].sort((one, other) => (one < other ? -1 : 1));
        assert.deepEqual(keys, direction ? sorted.reverse() : sorted, `${JSON.stringify(request)} by ${column}${direction}`);
      }
    }
  }
});

test("a list is limited to the given group and to the caller's subtree", async () => {
  const inTeam = many
    .slice(0, 100)
    .map(({ advisoryId }) => advisoryId)
    .sort();
  const beside = many
    .slice(100)
    .map(({ advisoryId }) => advisoryId)
    .sort();
  assert.deepEqual(ids(await listAll({ uidp: { childrenOf: world.organization } })), beside);
  assert.deepEqual(ids(await listAll({ uidp: { descendantsOf: team } })), inTeam);
  assert.deepEqual(
    ids(await listAll({ uidp: { descendantsOf: world.organization }, eventTypes: ["EVENT_TYPE_FILTER_DETECTION"] })),
    [...inTeam, ...beside].sort(),
  );
  const identity = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: team,
      identity: { name: "reader", claimMatch: { issuer: "https://issuer.example.test", subject: "reader" } },
    }),
    "uid",
  );
  const role = text(
    await world.ok("iam.RolesService/CreateRole", { parent: world.organization, role: { name: "reader", capabilities: ["CAP_ADVISORIES_LIST"] } }),
    "uid",
  );
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: team, roleBinding: { identityUid: identity, roleUid: role } });
  const token = await world.token(identity);
  assert.deepEqual(ids(await listAll({}, "rest", 200, token)), inTeam);
  assert.deepEqual(
    ids(await listAll({ query: "openssl" }, "grpc", 200, token)),
    many
      .slice(0, 100)
      .filter(({ componentName }) => componentName === "Openssl")
      .map(({ advisoryId }) => advisoryId)
      .sort(),
  );
  const [outside] = await listAll({ uidp: { childrenOf: world.organization } });
  assert.equal((await world.call(get, { uid: text(outside ?? {}, "uid") }, { token })).code, 7);
});

test("every kind of event is returned as its own message, ordered by time, then as in its source", async () => {
  const times = ["2024-03-01T00:00:00Z", "2024-01-01T00:00:00.5Z", "2024-02-01T00:00:00Z"];
  const record = advisory("CGA-every-kind", { events: everyKind.map((data, index) => eventAt(times[index % 3] ?? "", data, { issue: `issue ${index}` })) });
  await writeTestRecords(world, [record]);
  const sorted = [...record.events].sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
  for (const protocol of protocols) {
    const [listed] = await listAll({ advisoryIds: ["CGA-every-kind"] }, protocol);
    const got = await world.ok(get, { uid: text(listed ?? {}, "uid") }, { protocol });
    assert.deepEqual(got, listed);
    const events = Array.isArray(got.events) ? got.events.filter(isObject) : [];
    // gRPC encodes a time as seconds and nanoseconds; the test client converts it to JSON.
    assert.deepEqual(
      events.map(({ uid: _uid, ...event }) => ({ ...event, createTime: new Date(text(event, "createTime")).toISOString() })),
      sorted.map(({ time, data, issue }) => ({
        createTime: new Date(time).toISOString(),
        author: "Wolfi",
        reviewState: "REVIEW_STATE_APPROVED",
        issue,
        ...data,
      })),
      protocol,
    );
    assert.equal(new Set(events.map((event) => text(event, "uid"))).size, everyKind.length);
  }
});

test("severities combine the records of the advisory's ID and aliases, and change with them", async () => {
  const severe = (id: string, score: string, aliases: readonly string[] = []) =>
    ({
      kind: "vulnerability",
      id,
      aliases,
      state: "PUBLISHED",
      summary: "",
      details: "",
      references: [],
      severities: [{ type: "TYPE_CVSS_V3", score }],
    }) as const;
  await writeTestRecords(world, [advisory("CGA-severe", { aliases: ["GHSA-s1", "CVE-s2"] })]);
  const severities = async (): Promise<string[]> => {
    const [row] = await listAll({ advisoryIds: ["CGA-severe"] });
    return (Array.isArray(row?.severities) ? row.severities.filter(isObject) : []).map((each) => text(each, "score"));
  };
  assert.deepEqual(await severities(), []);
  await writeTestRecords(world, [severe("CVE-s2", "CVSS:3.1/A")]);
  assert.deepEqual(await severities(), ["CVSS:3.1/A"]);
  await writeTestRecords(world, [
    severe("GHSA-s1", "CVSS:3.1/B", ["CVE-s3"]),
    severe("CVE-s3", "CVSS:3.1/C"),
    severe("CVE-other", "CVSS:3.1/D"),
    { ...severe("CGA-severe", "CVSS:3.1/E"), state: "REJECTED" },
  ]);
  assert.deepEqual(await severities(), ["CVSS:3.1/A", "CVSS:3.1/B", "CVSS:3.1/C"]);
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "other" } }), "uid");
  await writeTestRecords(world, [severe("CVE-s2", "CVSS:3.1/F")], { group: other, public: false });
  assert.deepEqual(await severities(), ["CVSS:3.1/A", "CVSS:3.1/B", "CVSS:3.1/C"], "another organization's records are its own");
  await writeTestRecords(world, [severe("CVE-s2", "CVSS:3.1/G")], { public: false, group: team });
  assert.deepEqual(await severities(), ["CVSS:3.1/A", "CVSS:3.1/B", "CVSS:3.1/C", "CVSS:3.1/G"]);
});

test("importing unchanged records writes nothing, and events of a changed advisory keep their UIDs", async () => {
  const records = [advisory("CGA-twice", { events: [eventAt(strange, { detection: { manual: {} } })] }), advisory("CGA-once")];
  world.clock.now += 1000;
  assert.deepEqual(await writeTestRecords(world, records, { feed: "again" }), { new: 2, changed: 0, withdrawn: 0, unchanged: 0 });
  const before = await listAll({ advisoryIds: ["CGA-twice", "CGA-once"] });
  world.clock.now += 1000;
  assert.deepEqual(await writeTestRecords(world, records, { feed: "again" }), { new: 0, changed: 0, withdrawn: 0, unchanged: 2 });
  assert.deepEqual(await listAll({ advisoryIds: ["CGA-twice", "CGA-once"] }), before);
  const grown = advisory("CGA-twice", { events: [eventAt("2024-05-04T00:00:00Z", { fixNotPlanned: {} }), eventAt(strange, { detection: { manual: {} } })] });
  assert.deepEqual(await writeTestRecords(world, [grown, records[1] ?? grown], { feed: "again" }), { new: 0, changed: 1, withdrawn: 0, unchanged: 1 });
  const eventsOf = (rows: readonly JsonObject[]): string[] =>
    rows.flatMap((row) =>
      Array.isArray(row.events)
        ? row.events
            .filter(isObject)
            .filter((event) => "detection" in event)
            .map((event) => text(event, "uid"))
        : [],
    );
  const changed = await listAll({ advisoryIds: ["CGA-twice", "CGA-once"] });
  assert.deepEqual(eventsOf(changed), eventsOf(before));
  assert.equal(changed.filter((row) => text(row, "updateTime") === timestamp(world.clock.now)).length, 1);
});

test("an advisory that its source no longer publishes is withdrawn: unlisted, readable by ID, and exported as withdrawn", async () => {
  const kept = advisory("CGA-kept", { artifactName: "vanishing" });
  const gone = advisory("CGA-gone", { artifactName: "vanishing" });
  const target = { group: world.organization, public: true, feed: "vanishing", nowMs: world.clock.now };
  await writeTestRecords(world, [kept, gone], target);
  world.clock.now += 60_000;
  const seen = new Set([recordKey(kept)]);
  const withdraw = (): Promise<number> =>
    withdrawnBy(world, (rows) => withdrawVanished(rows, { ...target, nowMs: world.clock.now }, "advisory", () => Promise.resolve(seen)));
  assert.equal(await withdraw(), 1);
  assert.equal(await withdraw(), 0);
  assert.deepEqual(ids(await listAll({ artifactNames: ["vanishing"] })), ["CGA-kept"]);
  const [row] = await listAll({ advisoryIds: ["CGA-gone"] });
  assert.equal(text(row ?? {}, "deleteTime"), timestamp(world.clock.now));
  assert.equal(text(await world.ok(get, { uid: text(row ?? {}, "uid") }), "deleteTime"), timestamp(world.clock.now));
  assert.deepEqual(ids(await listAll({ updatedSince: timestamp(world.clock.now - 1) })), ["CGA-gone"]);
  assert.deepEqual(ids(await listAll({ artifactNames: ["vanishing"], updatedSince: timestamp(world.clock.now - 60_001) })), ["CGA-gone", "CGA-kept"]);
  assert.deepEqual(await writeTestRecords(world, [kept, gone], target), { new: 0, changed: 1, withdrawn: 0, unchanged: 1 });
  assert.deepEqual(ids(await listAll({ artifactNames: ["vanishing"] })), ["CGA-gone", "CGA-kept"]);
  await writeTestRecords(world, [{ ...gone, withdrawnTime: strange }], target);
  assert.deepEqual(ids(await listAll({ artifactNames: ["vanishing"] })), ["CGA-kept"]);
});

test("a filter by time lists the advisories changed since then, over both protocols", async () => {
  const wanted = many.slice(100).map(({ advisoryId }) => advisoryId);
  for (const protocol of protocols) {
    const found = new Set(ids(await listAll({ updatedSince: half, orderBy: "update_time" }, protocol)));
    assert.deepEqual(
      wanted.filter((id) => !found.has(id)),
      [],
    );
    for (const record of many.slice(0, 100)) assert(!found.has(record.advisoryId));
  }
  assert.deepEqual(texts((await listAll({ advisoryIds: ["CGA-0007"] }))[0] ?? {}, "aliases"), [...(many.find(({ key }) => key === "CGA-0007")?.aliases ?? [])]);
});

test("deleting a group deletes its advisories and records", async () => {
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "leaving" } }), "uid");
  await writeTestRecords(
    world,
    [
      advisory("CGA-goes-along"),
      { kind: "vulnerability", id: "CVE-goes-along", aliases: [], state: "PUBLISHED", summary: "", details: "", severities: [], references: [] },
    ],
    { group, public: false },
  );
  assert.equal((await listAll({ advisoryIds: ["CGA-goes-along"] })).length, 1);
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  assert.equal((await listAll({ advisoryIds: ["CGA-goes-along"] })).length, 0);
  const left = await world.server.application.services.store.read.query("select id from vulnerabilities where owner = $1", [group]);
  assert.deepEqual(left, []);
});
