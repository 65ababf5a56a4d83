// The public feed: documents and vulnerability records without a token, and vulnerabilities resolved in images by day (resources: Advisory).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject, type JsonObject, text } from "#base/json.ts";
import type { FeedRecord, VulnerabilityRecord } from "#advisories/store";
import { callHttp } from "../client.ts";
import { openWorld, type World } from "../world.ts";
import { advisory, eventAt, everyKind, writeTestRecords } from "./records.ts";

const protocols = ["rest", "grpc"] as const;
const documents = "advisory.SecurityAdvisoryService/ListDocuments";
const metadata = "advisory.SecurityAdvisoryService/ListVulnerabilityMetadata";
const resolved = "advisory.SecurityAdvisoryService/ListResolvedVulnsReports";

let world: World;

const nobody = { token: undefined };

const vulnerability = (id: string, more: Partial<VulnerabilityRecord> = {}): VulnerabilityRecord => ({
  kind: "vulnerability",
  id,
  aliases: [],
  state: "PUBLISHED",
  summary: `about ${id}`,
  details: "",
  severities: [],
  references: [],
  ...more,
});

const fixes = (time: string, fixedVersion: string) => eventAt(time, { fixed: { fixedVersion } });

const records: readonly FeedRecord[] = [
  ...Array.from({ length: 60 }, (_, n) =>
    advisory(`CGA-${n}`, { artifactName: `package-${String(n % 55).padStart(2, "0")}`, aliases: [`CVE-1-${n}`], namespace: "wolfi" }),
  ),
  advisory("CGA-every", { artifactName: "everything", events: everyKind.map((data, index) => eventAt(`2024-01-0${(index % 9) + 1}T00:00:00Z`, data)) }),
  advisory("CGA-pending", {
    artifactName: "everything",
    events: [eventAt("2024-01-01T00:00:00Z", { fixed: { fixedVersion: "9" } }, { reviewState: "REVIEW_STATE_PENDING" })],
  }),
  { kind: "origin", name: "libcrypto3", origin: "openssl" },
  advisory("CGA-o1", { artifactName: "openssl", aliases: ["GHSA-o1", "CVE-o1"], events: [fixes("2024-03-01T10:00:00Z", "3.0.9-r1")] }),
  advisory("CGA-o2", { artifactName: "openssl", aliases: ["CVE-o2"], events: [fixes("2024-03-02T23:59:59Z", "3.0.10-r0")] }),
  advisory("CGA-o3", {
    artifactName: "openssl",
    aliases: ["CVE-o3"],
    events: [fixes("2024-03-02T00:00:00Z", "3.0.10_rc1-r0"), fixes("2024-03-09T00:00:00Z", "3.0.9-r2")],
  }),
  advisory("CGA-z1", { artifactName: "zlib", aliases: ["CVE-o1"], events: [fixes("2024-03-01T01:00:00Z", "1.2")] }),
  advisory("CGA-b1", { artifactName: "busybox", aliases: ["CVE-b1"], events: [fixes("2024-03-01T01:00:00Z", "1")] }),
  {
    kind: "image",
    repo: "public/nginx",
    tag: "latest",
    architecture: "amd64",
    packages: [
      { name: "libcrypto3", version: "3.0.10_rc2-r0" },
      { name: "zlib", version: "1.3.1-r0" },
    ],
  },
  { kind: "image", repo: "public/nginx", tag: "old", architecture: "amd64", packages: [{ name: "libcrypto3", version: "3.0.9-r1" }] },
  vulnerability("CVE-o1", {
    severities: [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/X" }],
    references: [
      { type: "TYPE_FIX", url: "https://example.test/" },
      { type: "TYPE_UNSPECIFIED", url: "https://example.test/2" },
    ],
    details: "long",
  }),
  vulnerability("CVE-rejected", { state: "REJECTED" }),
  vulnerability("CVE-withdrawn", { withdrawnTime: "2024-01-01T00:00:00Z" }),
  ...Array.from({ length: 60 }, (_, n) => vulnerability(`CVE-5-${String(n).padStart(2, "0")}`)),
];

before(async () => {
  world = await openWorld();
  await writeTestRecords(world, records);
  await writeTestRecords(
    world,
    [
      advisory("CGA-private", { artifactName: "private" }),
      vulnerability("CVE-private"),
      { kind: "image", repo: "private", tag: "latest", architecture: "", packages: [{ name: "busybox", version: "2" }] },
    ],
    { public: false },
  );
});
after(() => world?.close());

const list = (reply: JsonObject, key: string): JsonObject[] => (Array.isArray(reply[key]) ? reply[key].filter(isObject) : []);

const everyPage = async (name: string, request: JsonObject, key: string, pageSize: number): Promise<JsonObject[]> => {
  const found: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const reply = await world.ok(name, { ...request, pageSize, ...(pageToken ? { pageToken } : {}) }, nobody);
    found.push(...list(reply, key));
    pageToken = text(reply, "nextPageToken");
    if (!pageToken) {
      assert.equal(Number(reply.totalCount), found.length);
      return found;
    }
  }
};

test("documents are public, one for each origin package, and contain approved events only", async () => {
  const everything = await world.ok(documents, {}, { ...nobody, protocol: "grpc" });
  const ids = list(everything, "documents").map((each) => text(each, "id"));
  assert.equal(ids.length, 59);
  assert.deepEqual(ids, [...ids].sort());
  assert(!ids.includes("private"));
  const paged = await everyPage(documents, {}, "documents", 7);
  assert.deepEqual(
    paged.map((each) => text(each, "id")),
    ids,
  );
  assert.deepEqual(
    (await everyPage(documents, { orderBy: "id desc" }, "documents", 50)).map((each) => text(each, "id")),
    [...ids].reverse(),
  );
  const first = await world.ok(documents, {}, nobody);
  assert.equal(list(first, "documents").length, 50);
  assert.equal(first.totalCount, "59");
});

test("a document contains every kind of event under the feed's names", async () => {
  for (const protocol of protocols) {
    const [document] = list(await world.ok(documents, { id: "everything" }, { ...nobody, protocol }), "documents");
    const [whole, pending] = list(document ?? {}, "advisories");
    assert.deepEqual(
      list(whole ?? {}, "events").map(({ timestamp: _timestamp, ...data }) => data),
      [
        { detection: { nvdapi: { cpeSearched: "cpe:2.3:a:nginx:*", cpeFound: "cpe:2.3:a:nginx:nginx:1.0" } } },
        { detection: { manual: {} } },
        {
          detection: {
            scanv1: {
              scanner: "grype",
              subpackageName: "nginx-mod",
              componentId: "c7a0b32f7640e957",
              componentName: "stdlib",
              componentVersion: "go1.22.5",
              componentType: "go-module",
              componentLocation: "/usr/bin/nginx",
              artifactVersion: "1.0-r1",
              scannerVersion: "0.80",
              grypeDbBuilt: "2024-01-01",
              grypeDbChecksum: "sha256:0",
            },
          },
        },
        { fixed: { fixedVersion: "1.0-r2", scannerVersion: "0.80", grypeDbBuilt: "2024-01-01", grypeDbChecksum: "sha256:1" } },
        { falsePositiveDetermination: { type: "TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH", note: "never runs" } },
        { analysisNotPlanned: { note: "too old" } },
        { fixNotPlanned: { note: "end of life" } },
        { pendingUpstreamFix: { note: "awaited" } },
        { truePositiveDetermination: { note: "it applies" } },
      ],
      protocol,
    );
    assert.deepEqual(pending, { id: "CGA-pending" }, "what is not approved is not told");
  }
  const about = await world.ok(documents, { cves: ["CVE-1-3", "CVE-1-58", "nothing"] }, nobody);
  assert.deepEqual(
    list(about, "documents").map((each) => text(each, "id")),
    ["package-03"],
  );
  assert.deepEqual((await world.ok(documents, { id: "private" }, nobody)).documents, []);
});

test("vulnerability records are public; rejected and withdrawn ones show only their ID, and private ones are hidden", async () => {
  const all = (await everyPage(metadata, {}, "vulnerabilityMetadata", 25)).map((each) => text(each, "id"));
  assert.equal(all.length, 61);
  assert.deepEqual(all, [...all].sort());
  for (const protocol of protocols) {
    const named = await world.ok(
      metadata,
      { id: "CVE-o1", ids: ["CVE-rejected", "CVE-withdrawn", "CVE-private", "CVE-o1", "nothing"] },
      { ...nobody, protocol },
    );
    assert.deepEqual(
      list(named, "vulnerabilityMetadata").map((each) => text(each, "id")),
      ["CVE-o1", "CVE-rejected", "CVE-withdrawn"],
    );
    const { uid, createTime, updateTime, ...first } = list(named, "vulnerabilityMetadata")[0] ?? {};
    assert.match(String(uid), /^[0-9a-f]{40}$/);
    assert.equal(new Date(String(createTime)).getTime(), new Date(String(updateTime)).getTime());
    assert.deepEqual(first, {
      id: "CVE-o1",
      summary: "about CVE-o1",
      details: "long",
      references: [{ type: "TYPE_FIX", url: "https://example.test/" }, { url: "https://example.test/2" }],
      severities: [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/X" }],
    });
  }
  const ids = Array.from({ length: 1000 }, (_, n) => `CVE-${n}`);
  assert.equal((await world.call(metadata, { id: "CVE-o1", ids }, { ...nobody, protocol: "grpc" })).code, 3);
  assert.equal((await world.call(metadata, { id: "CVE-1", ids }, { ...nobody, protocol: "grpc" })).code, 0);
});

test("of two sources' records with one ID the later modified wins, in any order of import", async () => {
  const old = vulnerability("CVE-7", { summary: "old", modifyTime: "2024-01-01T00:00:00Z" });
  const young = vulnerability("CVE-7", { summary: "young", modifyTime: "2024-01-02T00:00:00Z" });
  const summary = async (): Promise<string> => text(list(await world.ok(metadata, { id: "CVE-7" }, nobody), "vulnerabilityMetadata")[0] ?? {}, "summary");
  await writeTestRecords(world, [old], { feed: "one" });
  assert.equal((await writeTestRecords(world, [young], { feed: "two" })).changed, 1);
  assert.equal((await writeTestRecords(world, [old], { feed: "one" })).unchanged, 1);
  assert.equal(await summary(), "young");
});

const rowOf = async (called: string, plural: string, request: JsonObject): Promise<JsonObject> =>
  list(await world.ok(called, request, nobody), plural)[0] ?? assert.fail(`${plural} are empty`);
const at = (offsetMs: number): string => new Date(world.clock.now + offsetMs).toISOString();

test("a vulnerability record keeps its UID and creation time, and lists order by and filter on its times", async () => {
  const get = (): Promise<JsonObject> => rowOf(metadata, "vulnerabilityMetadata", { id: "CVE-timed" });
  world.clock.now += 60_000;
  const made = at(0);
  await writeTestRecords(world, [vulnerability("CVE-timed")]);
  const first = await get();
  assert.deepEqual([first.createTime, first.updateTime], [made, made]);
  const listed = async (request: JsonObject): Promise<string[]> =>
    list(await world.ok(metadata, request, nobody), "vulnerabilityMetadata").map((each) => text(each, "id"));
  assert.equal((await listed({ orderBy: "created_at desc", pageSize: 1 }))[0], "CVE-timed");
  assert.deepEqual(await listed({ updatedSince: made }), []);
  world.clock.now += 60_000;
  await writeTestRecords(world, [vulnerability("CVE-timed", { summary: "more" })]);
  const later = await get();
  assert.deepEqual([later.uid, later.createTime, later.updateTime], [first.uid, made, at(0)]);
  for (const name of ["updatedSince", "updated_since"]) {
    const answer = await callHttp(world.url, "GET", `/advisory/v2/metadata?${name}=${made}`);
    assert.deepEqual(
      list(answer.reply, "vulnerabilityMetadata").map((each) => text(each, "id")),
      ["CVE-timed"],
    );
    assert.equal(answer.reply.totalCount, "1");
  }
  assert.equal((await listed({ orderBy: "updated_at desc", pageSize: 1 }))[0], "CVE-timed");
});

test("a document has the creation time of its first advisory, and every change of an advisory updates it", async () => {
  const get = (id = "timed"): Promise<JsonObject> => rowOf(documents, "documents", { id });
  const listed = async (id: string): Promise<number> => Number((await world.ok(documents, { id }, nobody)).totalCount);
  const total = async (): Promise<number> => Number((await world.ok(documents, { pageSize: 1 }, nobody)).totalCount);
  const before = await total();
  const tick = (): string => {
    world.clock.now += 60_000;
    return at(0);
  };
  const about = (key: string, more = {}) => advisory(key, { artifactName: "timed", ...more });
  const made = tick();
  await writeTestRecords(world, [about("CGA-t1"), about("CGA-t2")]);
  const first = await get();
  assert.match(text(first, "uid"), /^[0-9a-f]{40}$/);
  assert.deepEqual([first.createTime, first.updateTime], [made, made]);
  assert.equal((await rowOf(documents, "documents", { orderBy: "created_at desc", pageSize: 1 })).id, "timed");
  const changed = tick();
  await writeTestRecords(world, [about("CGA-t2", { aliases: ["CVE-t2"] })]);
  const second = await get();
  assert.deepEqual([second.uid, second.createTime, second.updateTime], [first.uid, made, changed]);
  const withdrawn = tick();
  await writeTestRecords(world, [about("CGA-t2", { withdrawnTime: withdrawn })]);
  assert.equal((await get()).updateTime, withdrawn);
  assert.equal(await total(), before + 1);
  tick();
  await writeTestRecords(world, [about("CGA-t1", { withdrawnTime: withdrawn })]);
  assert.deepEqual([await listed("timed"), await total()], [0, before]);
  const back = tick();
  await writeTestRecords(world, [about("CGA-t1")]);
  const third = await get();
  assert.deepEqual([third.uid, third.createTime, third.updateTime], [first.uid, made, back]);
  const moved = tick();
  await writeTestRecords(world, [about("CGA-t1", { artifactName: "moved" })]);
  assert.deepEqual([await listed("timed"), (await get("moved")).updateTime, await total()], [0, moved, before + 1]);
  tick();
  await writeTestRecords(world, [about("CGA-t1", { artifactName: "moved" })], { public: false });
  assert.deepEqual([await listed("moved"), await total()], [0, before]);
  await writeTestRecords(world, [about("CGA-t1", { artifactName: "moved" })]);
  assert.equal(await listed("moved"), 1);
  await world.server.application.services.store.write((rows) => rows.query("delete from advisories where advisory_id = 'CGA-t1'", []));
  assert.deepEqual([await listed("moved"), await total()], [0, before]);
});

test("documents equal their advisories, whichever writer and order of writes", async () => {
  const { store } = world.server.application.services;
  const [kept, counted] = await Promise.all(
    [
      `select origin, listed, create_time <= first, update_time >= last from advisory_documents
       join (select origin, min(create_time) as first, max(update_time) as last from advisories where public group by 1) as told using (origin)
       where listed > 0 order by 1`,
      "select origin, count(*), true, true from advisories where public and delete_time is null group by origin order by 1",
    ].map((statement) => store.read.query(statement)),
  );
  assert.deepEqual(kept, counted);
});

const reportsOf = (reply: JsonObject): Record<string, string[]> =>
  Object.fromEntries(
    list(reply, "resolvedVulnsReports").map((report) => [text(report, "date").slice(0, 10), list(report, "resolvedVulns").map((each) => text(each, "id"))]),
  );

const days = { startTime: "2024-03-01T12:00:00Z", endTime: "2024-03-03T01:00:00Z" };

test("a daily report names the fixes in the image's packages, in apk's version order", async () => {
  for (const protocol of protocols) {
    const latest = await world.ok(resolved, { imageRefs: [{ repo: "nginx" }], ...days }, { protocol });
    assert.deepEqual(reportsOf(latest), { "2024-03-01": ["CVE-o1"], "2024-03-02": ["CVE-o3"], "2024-03-03": [] }, protocol);
    const [first] = list(latest, "resolvedVulnsReports");
    assert.deepEqual(list(first ?? {}, "resolvedVulns"), [
      { id: "CVE-o1", aliases: ["CGA-o1", "CGA-z1", "GHSA-o1"], cvssSeverities: [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/X" }] },
    ]);
    const old = await world.ok(resolved, { imageRefs: [{ repo: "public/nginx", tags: ["old", "none"] }], ...days }, { protocol });
    assert.deepEqual(reportsOf(old), { "2024-03-01": ["CVE-o1"], "2024-03-02": [], "2024-03-03": [] });
  }
});

test("a query names images as repo, repo:tag,tag or JSON, and days are paginated", async () => {
  const token = await world.token();
  const path = "/advisory/v2/images/resolvedVulns?startTime=2024-03-01T00:00:00Z&endTime=2024-03-02T00:00:00Z";
  const ask = async (refs: string) => (await callHttp(world.url, "GET", `${path}&${refs}`, { token })).reply;
  const wanted = { "2024-03-01": ["CVE-o1"], "2024-03-02": ["CVE-o3"] };
  for (const refs of [
    "imageRefs=nginx",
    "image_refs=public/nginx:latest",
    "imageRefs=nginx:old,latest",
    `imageRefs=${encodeURIComponent('{"repo": "nginx", "tags": ["latest"]}')}`,
    "imageRefs=none&imageRefs=nginx",
  ]) {
    assert.deepEqual(reportsOf(await ask(refs)), wanted, refs);
  }
  for (const refs of ["", "imageRefs=", "imageRefs={", 'imageRefs={"repo":1}', 'imageRefs={"tags":[]}', "imageRefs=:latest"]) {
    assert.equal((await callHttp(world.url, "GET", `${path}&${refs}`, { token })).status, 400, refs);
  }
  const year = { imageRefs: [{ repo: "nginx" }], startTime: "2024-01-01T00:00:00Z", endTime: "2024-12-31T00:00:00Z" };
  const first = await world.ok(resolved, { ...year, pageSize: 61 });
  const second = await world.ok(resolved, { ...year, pageSize: 61, pageToken: text(first, "nextPageToken") });
  assert.equal(first.totalCount, "366");
  assert.deepEqual(reportsOf(second)["2024-03-02"], ["CVE-o3"]);
  assert.equal(list(await world.ok(resolved, year, { protocol: "grpc" }), "resolvedVulnsReports").length, 366);
  for (const wrong of [{ endTime: "2023-01-01T00:00:00Z" }, { startTime: "1900-01-01T00:00:00Z" }])
    assert.equal((await world.call(resolved, { ...year, ...wrong })).code, 3);
});

test("a report has a UID for its day and images and times within its day, and every order sorts by them", async () => {
  const ask = async (request: JsonObject): Promise<JsonObject[]> =>
    list(await world.ok(resolved, { imageRefs: [{ repo: "nginx" }], ...days, ...request }), "resolvedVulnsReports");
  const reports = await ask({});
  assert.deepEqual(
    reports.map(({ createTime, updateTime }) => [createTime, updateTime]),
    [
      ["2024-03-01T00:00:00.000Z", "2024-03-01T10:00:00.000Z"],
      ["2024-03-02T00:00:00.000Z", "2024-03-02T00:00:00.000Z"],
      ["2024-03-03T00:00:00.000Z", "2024-03-03T00:00:00.000Z"],
    ],
  );
  const uids = (rows: readonly JsonObject[]): string[] => rows.map((row) => text(row, "uid"));
  assert.equal(new Set(uids(reports)).size, 3);
  assert.deepEqual(uids(await ask({ imageRefs: [{ repo: "nginx", tags: ["latest"] }] })), uids(reports), "the same images");
  assert.ok(!uids(reports).includes(uids(await ask({ imageRefs: [{ repo: "nginx", tags: ["old"] }] }))[0] ?? ""), "other images");
  for (const orderBy of ["created_at desc", "updated_at desc", "date desc"]) assert.deepEqual(uids(await ask({ orderBy })), uids(reports).reverse(), orderBy);
});

test("reports of a group cover the group's images, with or without descendants, and no public images", async () => {
  const inner = text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "inner" } }), "uid");
  const image = (repo: string, version: string): FeedRecord => ({
    kind: "image",
    repo,
    tag: "latest",
    architecture: "",
    packages: [{ name: "busybox", version }],
  });
  await writeTestRecords(world, [image("inside", "1")], { group: inner, public: false });
  const first = async (repo: string, uidp?: JsonObject): Promise<string[] | undefined> =>
    reportsOf(await world.ok(resolved, { imageRefs: [{ repo }], ...days, ...(uidp ? { uidp } : {}) }))["2024-03-01"];
  for (const [repo, uidp, found] of [
    ["inside", undefined, true],
    ["inside", { descendantsOf: world.organization }, true],
    ["inside", { descendantsOf: inner }, true],
    ["inside", { childrenOf: inner }, true],
    ["inside", { childrenOf: world.organization }, false],
    ["private", { childrenOf: world.organization }, true],
    ["private", { descendantsOf: inner }, false],
    ["inside", { descendantsOf: world.organization, childrenOf: inner }, true],
    ["private", { descendantsOf: inner, childrenOf: world.organization }, false],
  ] as const)
    assert.deepEqual(await first(repo, uidp), found ? ["CVE-b1"] : [], `${repo} ${JSON.stringify(uidp)}`);
  assert.deepEqual(await first("nginx"), ["CVE-o1"]);
  assert.deepEqual(await first("nginx", { descendantsOf: world.organization }), []);
});

test("reports require a permission and hide images and advisories of other groups", async () => {
  assert.equal((await world.call(resolved, { imageRefs: [{ repo: "nginx" }], ...days }, nobody)).code, 16);
  assert.deepEqual(reportsOf(await world.ok(resolved, { imageRefs: [{ repo: "private" }], ...days }))["2024-03-01"], ["CVE-b1"]);
  const other = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "other" } }), "uid");
  const identity = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: other,
      identity: { name: "reader", claimMatch: { issuer: "https://issuer.example.test", subject: "reader" } },
    }),
    "uid",
  );
  const token = await world.token(identity);
  assert.equal((await world.call(resolved, { imageRefs: [{ repo: "private" }], ...days }, { token })).code, 7);
  const capabilities = ["CAP_APK_LIST", "CAP_REPO_LIST", "CAP_MANIFEST_METADATA_LIST", "CAP_TAG_LIST"];
  const role = text(await world.ok("iam.RolesService/CreateRole", { parent: other, role: { name: "reader", capabilities } }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: other, roleBinding: { identityUid: identity, roleUid: role } });
  assert.deepEqual(reportsOf(await world.ok(resolved, { imageRefs: [{ repo: "private" }], ...days }, { token })), {
    "2024-03-01": [],
    "2024-03-02": [],
    "2024-03-03": [],
  });
});
