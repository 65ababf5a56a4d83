// Advisories that an organization writes about its own artifacts: authoring, review and publication as one more source (decision 0089).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { type Authoring, falsePositive, openAuthoring, type Tenant, v1 } from "../authoring.ts";

let stage: Authoring;
let tenant: Tenant;

before(async () => {
  stage = await openAuthoring();
  tenant = await stage.newTenant("acme");
});
after(() => stage.close());

const service = "gantry.vulnerabilities.v1.AuthoredAdvisoriesService";
const eventService = "gantry.vulnerabilities.v1.AuthoredAdvisoryEventsService";

const eventsTo = async (type: string, group: string): Promise<JsonObject[]> =>
  (await stage.world.events()).filter((event) => event.type === type && event.group === group).map(({ body }) => body);

for (const protocol of ["rest", "grpc"] as const) {
  test(`the six operations of version 1 create, review, list and delete an advisory (${protocol})`, async () => {
    const own = await stage.newTenant(`six-${protocol}`);
    const call = (name: string, request: JsonObject, token = own.author): Promise<JsonObject> => stage.world.ok(`${v1}/${name}`, request, { token, protocol });
    const advisory = await call("Create", {
      parentId: own.group,
      advisory: { artifactType: "apk", artifactName: "curl", aliases: ["CVE-2026-7"], author: "somebody else" },
    });
    const id = text(advisory, "id");
    assert.match(text(advisory, "advisoryId"), new RegExp(`^SIX${protocol.toUpperCase()}-ADV-000001$`));
    assert.equal(text(advisory, "author"), own.authorUid);
    const changed = await call("Update", { ...advisory, componentName: "libcurl" });
    assert.equal(text(changed, "componentName"), "libcurl");
    const event = await call("CreateAdvisoryEvent", {
      parentId: id,
      advisoryEvent: { fixed: { fixedVersion: "8.1-r0" }, author: "somebody else", reviewer: "somebody else" },
    });
    assert.deepEqual([text(event, "author"), text(event, "reviewer"), text(event, "status")], [own.authorUid, "", "PENDING"]);
    const approved = await call("UpdateAdvisoryEvent", { ...event, status: "APPROVED" }, own.approver);
    assert.deepEqual([text(approved, "author"), text(approved, "reviewer"), text(approved, "status")], [own.authorUid, own.approverUid, "APPROVED"]);
    const { items } = await call("ListAdvisoryEvents", { parentId: id });
    assert.deepEqual(items, [approved]);
    const list = objectList(await call("List", { id }), "items");
    assert.deepEqual(
      list.map((each) => [text(each, "id"), objectList(each, "events")]),
      [[id, [approved]]],
    );
    await call("Delete", { id });
    assert.deepEqual(objectList(await call("List", { uidp: { childrenOf: own.group } }), "items"), []);
    assert.ok(text(objectList(await call("List", { id }), "items")[0] ?? {}, "deletedAt") !== "", "what is asked for by its ID is shown as deleted");
  });
}

test("every kind of event can be authored and reads back unchanged", async () => {
  const kinds: readonly JsonObject[] = [
    { detection: { manual: {} } },
    { detection: { scanv1: { scanner: "grype", component: "stdlib" } } },
    { truePositiveDetermination: { note: "It applies." } },
    falsePositive,
    { fixed: { fixedVersion: "1.2-r3" } },
    { patched: { patchedVersions: ["1.2-r2"] } },
    { pendingUpstreamFix: { note: "They know." } },
    { fixNotPlanned: {} },
    { analysisNotPlanned: {} },
  ];
  const uid = text(await stage.createAdvisory(tenant, { artifactName: "kinds" }), "uid");
  for (const kind of kinds) {
    const { uid: event } = await stage.createEvent(tenant, uid, { ...kind, findings: "AQI=", issue: "SEC-1" });
    const read = await stage.world.ok(`${eventService}/GetAuthoredAdvisoryEvent`, { uid: String(event) }, { token: tenant.author });
    assert.deepEqual({ ...read, ...kind, findings: "AQI=", issue: "SEC-1" }, read);
    await stage.review(tenant, String(event));
  }
  const shown = await stage.world.ok(`${service}/GetAuthoredAdvisory`, { uid }, { token: tenant.author });
  assert.equal(objectList(shown, "events").length, kinds.length);
});

test("an approved false positive suppresses the match, with author and reason, until the imported advisory changes", async () => {
  const own = await stage.newTenant("round");
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  assert.deepEqual(await stage.states(own), ["CGA-aaaa-aaaa-aaaa web affected"]);
  const { advisory, event } = await stage.suppress(own);
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-aaaa-aaaa-aaaa web suppressed"]);
  const [row] = await stage.affected(own);
  const suppression = {
    advisoryUid: text(advisory, "uid"),
    advisoryId: text(advisory, "advisoryId"),
    eventUid: text(event, "uid"),
    author: own.authorUid,
    reviewer: own.approverUid,
    type: "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE",
    note: "The parser is not built.",
  };
  assert.deepEqual(part(row ?? {}, "suppression"), suppression);
  const [told, ...more] = await eventsTo("dev.gantry.images.suppressed.v1", own.group);
  assert.deepEqual([part(told ?? {}, "suppression"), more], [suppression, []]);
  // A new fix changes the advisory that the reviewer approved against.
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1", { version: "3.0.9-r3" });
  assert.deepEqual(await stage.states(own), ["CGA-aaaa-aaaa-aaaa web affected"]);
  assert.equal((await eventsTo("dev.gantry.images.affected.v1", own.group)).length, 2);
  const again = await stage.createEvent(own, text(advisory, "uid"));
  await stage.review(own, text(again, "uid"));
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-aaaa-aaaa-aaaa web suppressed"]);
  await stage.world.ok(`${service}/DeleteAuthoredAdvisory`, { uid: text(advisory, "uid") }, { token: own.author });
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-aaaa-aaaa-aaaa web affected"]);
});

test("an imported advisory that is withdrawn and restored is no longer suppressed", async () => {
  const own = await stage.newTenant("withdrawn");
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-bbbb-bbbb-bbbb", "CVE-2026-1");
  await stage.suppress(own);
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-bbbb-bbbb-bbbb web suppressed"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-bbbb-bbbb-bbbb", "CVE-2026-1", { isWithdrawn: true });
  assert.deepEqual(await stage.states(own), ["CGA-bbbb-bbbb-bbbb web resolved"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-bbbb-bbbb-bbbb", "CVE-2026-1");
  assert.deepEqual(await stage.states(own), ["CGA-bbbb-bbbb-bbbb web affected"]);
});

test("a true positive that is approved later ends a false positive", async () => {
  const own = await stage.newTenant("overruled");
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-cccc-cccc-cccc", "CVE-2026-1");
  const advisory = await stage.createAdvisory(own);
  const [first, second] = [
    await stage.createEvent(own, text(advisory, "uid"), { truePositiveDetermination: {} }),
    await stage.createEvent(own, text(advisory, "uid")),
  ];
  await stage.review(own, text(second, "uid"));
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-cccc-cccc-cccc web suppressed"]);
  await stage.review(own, text(first, "uid"));
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-cccc-cccc-cccc web affected", "OVERRULED-ADV-000001 web affected"]);
});

test("an approved advisory appears in both API versions, OSV, OpenVEX, CSAF and secdb of its organization", async () => {
  const own = await stage.newTenant("outputs");
  const advisory = await stage.createAdvisory(own, { artifactName: "harbour", aliases: ["CVE-2026-9"] });
  const [uid, id] = [text(advisory, "uid"), text(advisory, "advisoryId")];
  const event = await stage.createEvent(own, uid, { fixed: { fixedVersion: "2.0-r1", note: "Upgraded." } });
  const paths = [`/advisory/v2/osv/x_${id}.json`, "/advisory/v2/openvex/harbour.json", "/advisory/v2/csaf/harbour.json", "/secdb/wolfi/security.json"];
  const readAll = (token: string) => Promise.all(paths.map((path) => stage.file(token, path)));
  const before = await readAll(own.author);
  for (const { body } of before) assert.ok(!body.includes(id) && !body.includes("CVE-2026-9"), "what is pending is in no output");
  await stage.review(own, text(event, "uid"));
  const [osv, vex, csaf, secdb] = await readAll(own.author);
  assert.deepEqual(
    [osv, vex, csaf, secdb].map((file) => file?.status),
    [200, 200, 200, 200],
  );
  const record = JSON.parse(osv?.body ?? "") as JsonObject;
  assert.deepEqual([record.id, record.upstream], [`x_${id}`, ["CVE-2026-9"]]);
  assert.deepEqual(
    objectList(record, "affected").map((each) => text(part(each, "package"), "name")),
    ["harbour"],
  );
  const statements = objectList(JSON.parse(vex?.body ?? "") as JsonObject, "statements");
  assert.deepEqual(
    statements.map(({ status, products }) => [status, (products as JsonObject[]).map((product) => product["@id"])]),
    [["fixed", ["pkg:apk/wolfi/harbour@2.0-r1"]]],
  );
  assert.ok(csaf?.body.includes("CVE-2026-9"));
  assert.ok(secdb?.body.includes('"2.0-r1":["CVE-2026-9"]'), secdb?.body);
  const v2 = objectList(await stage.world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", { advisoryIds: [id] }, { token: own.author }), "advisories");
  assert.deepEqual(
    v2.map((each) => [text(each, "uid"), objectList(each, "events").map((one) => text(one, "reviewer"))]),
    [[uid, [own.approverUid]]],
  );
  const rival = await stage.newTenant("outputs-rival");
  for (const token of ["", rival.author]) {
    const [record, ...others] = await readAll(token);
    assert.equal(record?.status, 404);
    for (const { body } of others) assert.ok(!body.includes(id) && !body.includes("CVE-2026-9"));
  }
});

test("authored advisories support filters, pages, field masks and ETags like every resource", async () => {
  const own = await stage.newTenant("paged");
  const { world } = stage;
  for (const name of ["one", "two", "three"]) await stage.createAdvisory(own, { artifactName: name });
  const page = await world.ok(`${service}/ListAuthoredAdvisories`, { pageSize: 2, orderBy: "artifact_name" }, { token: own.author });
  assert.deepEqual(
    objectList(page, "authoredAdvisories").map((each) => text(each, "artifactName")),
    ["one", "three"],
  );
  const rest = await world.ok(
    `${service}/ListAuthoredAdvisories`,
    { pageSize: 2, orderBy: "artifact_name", pageToken: text(page, "nextPageToken") },
    { token: own.author },
  );
  const [last] = objectList(rest, "authoredAdvisories");
  const uid = text(last ?? {}, "uid");
  const got = await world.call(`${service}/GetAuthoredAdvisory`, { uid }, { token: own.author });
  const stale = { "if-match": got.headers.etag ?? "" };
  const update = { authoredAdvisory: { uid, componentName: "lib" }, updateMask: "component_name" };
  const updated = await world.call(`${service}/UpdateAuthoredAdvisory`, update, { token: own.author, headers: stale });
  assert.deepEqual([updated.code, text(updated.reply, "artifactName"), text(updated.reply, "componentName")], [0, "two", "lib"]);
  const refused = await world.call(`${service}/UpdateAuthoredAdvisory`, update, { token: own.author, headers: stale });
  assert.equal(refused.code, codes.ABORTED);
});

test("an event with requested changes can be updated and is pending again", async () => {
  const { uid } = await stage.createAdvisory(tenant, { artifactName: "reviewed" });
  const event = text(await stage.createEvent(tenant, String(uid)), "uid");
  await stage.review(tenant, event, "REVIEW_STATE_REQUEST_CHANGES");
  const changed = await stage.world.ok(
    `${eventService}/UpdateAuthoredAdvisoryEvent`,
    { authoredAdvisoryEvent: { uid: event, issue: "SEC-2" }, updateMask: "issue" },
    { token: tenant.author },
  );
  assert.deepEqual([text(changed, "reviewState"), text(changed, "reviewer")], ["REVIEW_STATE_PENDING", ""]);
  await stage.review(tenant, event, "REVIEW_STATE_REJECTED");
  const final = await stage.world.call(
    `${eventService}/UpdateAuthoredAdvisoryEvent`,
    { authoredAdvisoryEvent: { uid: event, reviewState: "REVIEW_STATE_APPROVED" }, updateMask: "review_state" },
    { token: tenant.approver },
  );
  assert.equal(final.code, codes.FAILED_PRECONDITION);
});

test("an organization that opts out lets authors with advisories.approve approve their own events", async () => {
  const own = await stage.newTenant("alone");
  const optOut = (token: string) =>
    stage.world.call("iam.GroupsService/UpdateGroup", { group: { uid: own.group, authorApproval: true }, updateMask: "author_approval" }, { token });
  const editor = await stage.newOwner(own.group, "editor", "editor");
  assert.equal((await optOut(editor.token)).code, codes.PERMISSION_DENIED);
  assert.equal((await optOut(own.author)).code, 0);
  const { uid } = await stage.createAdvisory(own);
  const event = await stage.createEvent(own, String(uid));
  const approved = await stage.review(own, text(event, "uid"), "REVIEW_STATE_APPROVED", own.author);
  assert.equal(text(approved, "reviewer"), own.authorUid);
});
