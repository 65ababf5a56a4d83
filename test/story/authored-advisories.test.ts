// Advisories that an organization writes about its own artifacts: authoring, review and publication as one more source (decision 0089).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { runGantry } from "../command-line.ts";
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

for (const protocol of ["rest", "grpc"] as const) {
  test(`Create of version 1 adds the events of its body in one transaction, with the checks of CreateAdvisoryEvent (${protocol})`, async () => {
    const own = await stage.newTenant(`initial-${protocol}`);
    const create = (events: readonly JsonObject[], token = own.author, validateOnly = false) => {
      const advisory = { artifactType: "apk", artifactName: "curl", aliases: ["CVE-2026-7"], events: [...events] };
      return stage.world.call(`${v1}/Create`, { parentId: own.group, advisory }, { token, protocol, validateOnly });
    };
    const sent: readonly JsonObject[] = [
      { detection: { manual: {} }, author: "somebody else", reviewer: "somebody else", issue: "SEC-1" },
      { truePositiveDetermination: { note: "It applies." } },
      { componentLocationChanged: { previousLocation: "/a", newLocation: "/b" } },
      { fixed: { fixedVersion: "8.1-r0" } },
    ];
    const { code, reply } = await create(sent);
    assert.equal(code, 0, JSON.stringify(reply));
    const events = objectList(reply, "events");
    const ofServer = { author: own.authorUid, status: "PENDING" };
    assert.deepEqual(
      events.map(({ id: _id, timestamp: _timestamp, ...event }) => event),
      sent.map(({ author: _author, reviewer: _reviewer, ...event }) => ({ ...event, ...ofServer })),
    );
    assert.deepEqual(
      objectList(await stage.world.ok(`${v1}/ListAdvisoryEvents`, { parentId: text(reply, "id") }, { token: own.author, protocol }), "items"),
      events,
    );
    const created = (await stage.world.events()).filter(({ type }) => type === "dev.gantry.vulnerabilities.authored_advisory_event.created.v1");
    const told = created.filter(({ subject }) => subject.startsWith(text(reply, "id")));
    assert.deepEqual(told.map(({ subject }) => subject).sort(), events.map((event) => text(event, "id")).sort());
    assert.equal(objectList(await stage.world.ok(`${service}/ListAuthoredAdvisories`, {}, { token: own.author }), "authoredAdvisories").length, 1);
    // The whole create is refused.
    const refusals: readonly (readonly [JsonObject, number, string])[] = [
      [{ fixed: {} }, codes.INVALID_ARGUMENT, "fixedVersion"],
      [{ note: "" }, codes.INVALID_ARGUMENT, "is required"],
      [{ ...falsePositive, falsePositiveDetermination: {} }, codes.INVALID_ARGUMENT, "type"],
      [{ componentLocationChanged: {} }, codes.INVALID_ARGUMENT, "newLocation"],
      [{ detection: {}, status: "REJECTED" }, codes.INVALID_ARGUMENT, "must be pending"],
      [{ fixed: { fixedVersion: "8.1-r0" }, status: "APPROVED" }, codes.PERMISSION_DENIED, "author"],
    ];
    for (const [event, expected, words] of refusals) {
      const { note: _note, ...one } = event;
      const refused = await create([{ detection: {} }, one]);
      assert.equal(refused.code, expected, JSON.stringify([event, refused.reply]));
      assert.ok(JSON.stringify(refused).includes(words), JSON.stringify(refused));
    }
    const rehearsed = await create(sent, own.author, true);
    assert.equal(rehearsed.code, 0, JSON.stringify(rehearsed.reply));
    assert.equal(objectList(await stage.world.ok(`${service}/ListAuthoredAdvisories`, {}, { token: own.author }), "authoredAdvisories").length, 1);
    // A full update includes the events, which stay unchanged.
    const updated = await stage.world.ok(`${v1}/Update`, { ...reply, componentName: "libcurl", events: [] }, { token: own.author, protocol });
    assert.deepEqual(objectList(updated, "events"), events);
  });
}

test("commands create, review, update and delete an authored advisory, next to the commands that list advisories", async () => {
  const own = await stage.newTenant("commanded");
  const gantry = async (words: string, token = own.author): Promise<string> => {
    const environment = { GANTRY_SERVER: stage.world.url, GANTRY_TOKEN: token, XDG_CONFIG_HOME: "/nowhere" };
    const { status, out, err } = await runGantry(`vulnerabilities advisories ${words}`.split(" "), { environment });
    assert.equal(status, 0, `${words}: ${err}`);
    return out.trim().replaceAll("\r", "");
  };
  const uid = await gantry("create --parent commanded --artifact-name curl --artifact-type apk --aliases CVE-2026-7 -o uid");
  assert.equal(await gantry(`update ${uid} --component-name libcurl -o csv --columns componentName`), "componentName\nlibcurl");
  const event = await gantry(`events create --parent ${uid} --review-state pending --fixed-fixed-version 8.1-r0 -o uid`);
  await gantry(`events update ${event} --review-state approved`, own.approver);
  assert.equal(await gantry(`events list --children-of ${uid} -o csv --columns uid,reviewState`), `uid,reviewState\n${event},REVIEW_STATE_APPROVED`);
  for (const words of [`get ${uid}`, "list", `get-authored ${uid}`, "list-authored"])
    assert.equal(await gantry(`${words} -o csv --columns advisoryId`), "advisoryId\nCOMMANDED-ADV-000001", words);
  const detected = JSON.stringify([{ reviewState: "REVIEW_STATE_PENDING", detection: {} }]);
  const withEvents = await gantry(
    `create --parent commanded --artifact-name curl --artifact-type apk --aliases CVE-2026-8 -o uid --initial-events ${detected}`,
  );
  assert.equal((await gantry(`events list --children-of ${withEvents} -o uid`)).split("\n").length, 1);
  await gantry(`delete ${uid} --yes`);
  assert.equal(await gantry("list-authored -o uid"), withEvents);
});

test("events created with an advisory are approved and effective if the organization opted out of reviews", async () => {
  const own = await stage.newTenant("initial-approved");
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-iiii-iiii-iiii", "CVE-2026-1");
  const optOut = { group: { uid: own.group, authorApproval: true }, updateMask: "author_approval" };
  await stage.world.ok("iam.GroupsService/UpdateGroup", optOut, { token: own.author });
  await stage.createAdvisory(own, { initialEvents: [{ ...falsePositive, reviewState: "REVIEW_STATE_APPROVED" }] });
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-iiii-iiii-iiii web suppressed"]);
});

test("a component move changes no verdict, and appears in lists and outputs", async () => {
  const own = await stage.newTenant("moved");
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-mmmm-mmmm-mmmm", "CVE-2026-1");
  const advisory = await stage.createAdvisory(own);
  const [uid, id] = [text(advisory, "uid"), text(advisory, "advisoryId")];
  const move = { componentLocationChanged: { previousLocation: "/usr/lib/a.so", newLocation: "/usr/lib/b.so" } };
  const files = () => Promise.all([`osv/x_${id}`, "openvex/openssl", "csaf/openssl"].map((path) => stage.file(own.author, `/advisory/v2/${path}.json`)));
  const approve = async (event: JsonObject) => stage.review(own, text(await stage.createEvent(own, uid, event), "uid"));
  await approve(move);
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-mmmm-mmmm-mmmm web affected"], "a move alone states nothing");
  for (const { body } of await files()) assert.ok(!body.includes(id) && !body.includes("b.so"), body);
  await approve(falsePositive);
  await approve(move);
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-mmmm-mmmm-mmmm web suppressed"], "a move does not overrule a decision");
  const [osv, vex, csaf] = await files();
  for (const file of [osv, vex, csaf]) assert.ok(file?.body.includes("Component moved from /usr/lib/a.so to /usr/lib/b.so."), file?.body);
  const statements = objectList(JSON.parse(vex?.body ?? "") as JsonObject, "statements").filter((each) => JSON.stringify(each).includes(id));
  assert.deepEqual(
    statements.map(({ status }) => status),
    ["not_affected"],
  );
  const filter = { uidp: { childrenOf: own.group }, eventTypes: ["EVENT_TYPE_FILTER_COMPONENT_LOCATION_CHANGED"] };
  const v2 = objectList(await stage.world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", filter, { token: own.author }), "advisories");
  const older = objectList(await stage.world.ok(`${v1}/List`, filter, { token: own.author }), "items");
  for (const list of [v2, older])
    assert.deepEqual(
      list.map((each) => objectList(each, "events").flatMap((event) => event.componentLocationChanged ?? [])),
      [[move.componentLocationChanged, move.componentLocationChanged]],
    );
});

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
    { componentLocationChanged: { previousLocation: "/usr/lib/a.so", newLocation: "/usr/lib/b.so", note: "Renamed." } },
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

/** For each ecosystem, an advisory and packages in images: "affected", "fixed", or "other" for a package that it does not cover. */
const byEcosystem: readonly {
  readonly artifactType: string;
  readonly artifactName: string;
  readonly distribution?: string;
  readonly fixed: string;
  readonly affected: readonly string[];
  readonly others: readonly string[];
}[] = [
  {
    artifactType: "apk",
    artifactName: "harbour",
    fixed: "1.10-r0",
    affected: ["harbour=1.9-r3"],
    others: ["harbour=1.10-r0", "pkg:apk/alpine/harbour@1.9-r3"],
  },
  {
    artifactType: "apk",
    artifactName: "harbour",
    distribution: "alpine",
    fixed: "1.10-r0",
    affected: ["pkg:apk/alpine/harbour@1.9-r3"],
    others: ["harbour=1.9-r3", "pkg:apk/alpine/harbour@1.10-r1"],
  },
  {
    artifactType: "deb",
    artifactName: "harbour",
    distribution: "debian",
    fixed: "1:2.0-1",
    affected: ["pkg:deb/debian/harbour@9.0-1?distro=debian-12", "pkg:deb/debian/harbour@1:2.0~rc1-1"],
    others: ["pkg:deb/debian/harbour@1:2.0-1", "pkg:deb/ubuntu/harbour@1.0-1", "pkg:rpm/debian/harbour@1.0-1"],
  },
  {
    artifactType: "rpm",
    artifactName: "harbour",
    distribution: "redhat",
    fixed: "2.0-10.el9",
    affected: ["pkg:rpm/redhat/harbour@2.0-9.el9"],
    others: ["pkg:rpm/redhat/harbour@2.0-10.el9", "pkg:rpm/rocky/harbour@2.0-9.el9"],
  },
  {
    artifactType: "npm",
    artifactName: "@acme/harbour",
    fixed: "1.10.0",
    affected: ["pkg:npm/%40acme/harbour@1.9.0"],
    others: ["pkg:npm/%40acme/harbour@1.10.0"],
  },
  { artifactType: "pypi", artifactName: "Acme_Harbour", fixed: "1.0", affected: ["pkg:pypi/acme-harbour@1.0rc1"], others: ["pkg:pypi/acme-harbour@1.0.post1"] },
  {
    artifactType: "golang",
    artifactName: "example.com/harbour",
    fixed: "v1.10.0",
    affected: ["pkg:golang/example.com/harbour@v1.9.0"],
    others: ["pkg:golang/example.com/harbour@v1.10.0"],
  },
  {
    artifactType: "maven",
    artifactName: "com.example:harbour",
    fixed: "1.0",
    affected: ["pkg:maven/com.example/harbour@1.0-alpha"],
    others: ["pkg:maven/com.example/harbour@1.0.0"],
  },
  { artifactType: "gem", artifactName: "harbour", fixed: "1.10", affected: ["pkg:gem/harbour@1.9"], others: ["pkg:gem/harbour@1.10.0"] },
  { artifactType: "cargo", artifactName: "harbour", fixed: "1.10.0", affected: ["pkg:cargo/harbour@1.10.0-rc.1"], others: ["pkg:cargo/harbour@1.10.0"] },
  { artifactType: "nuget", artifactName: "Acme.Harbour", fixed: "1.10", affected: ["pkg:nuget/acme.harbour@1.9.0"], others: ["pkg:nuget/Acme.Harbour@1.10.0"] },
  {
    artifactType: "composer",
    artifactName: "acme/harbour",
    fixed: "1.10",
    affected: ["pkg:composer/acme/harbour@1.10-beta1"],
    others: ["pkg:composer/acme/harbour@1.10"],
  },
  { artifactType: "hex", artifactName: "harbour", fixed: "1.10.0", affected: ["pkg:hex/harbour@1.9.0"], others: ["pkg:hex/harbour@1.10.0"] },
  { artifactType: "pub", artifactName: "harbour", fixed: "1.10.0", affected: ["pkg:pub/harbour@1.9.0"], others: ["pkg:pub/harbour@1.10.0"] },
  { artifactType: "hackage", artifactName: "harbour", fixed: "1.10", affected: ["pkg:hackage/harbour@1.9.9"], others: ["pkg:hackage/harbour@1.10"] },
  { artifactType: "cran", artifactName: "harbour", fixed: "1.10", affected: ["pkg:cran/harbour@1.9"], others: ["pkg:cran/harbour@1.10"] },
  { artifactType: "opam", artifactName: "harbour", fixed: "1.10", affected: ["pkg:opam/harbour@1.9"], others: ["pkg:opam/harbour@1.10"] },
  { artifactType: "bitnami", artifactName: "harbour", fixed: "1.10.0", affected: ["pkg:bitnami/harbour@1.9.0-3"], others: ["pkg:bitnami/harbour@1.10.0"] },
  { artifactType: "julia", artifactName: "Harbour", fixed: "1.10.0", affected: ["pkg:julia/Harbour@1.9.0"], others: ["pkg:julia/Harbour@1.10.0"] },
  {
    artifactType: "swift",
    artifactName: "github.com/acme/harbour",
    fixed: "1.10.0",
    affected: ["pkg:swift/github.com/acme/harbour@1.9.0"],
    others: ["pkg:swift/github.com/acme/harbour@1.10.0"],
  },
  {
    artifactType: "githubactions",
    artifactName: "Acme/harbour",
    fixed: "1.10.0",
    affected: ["pkg:githubactions/acme/harbour@1.9.0"],
    others: ["pkg:githubactions/acme/harbour@1.10.0"],
  },
  // Without a version order, a fix says nothing about other versions.
  { artifactType: "conan", artifactName: "harbour", fixed: "2", affected: [], others: ["pkg:conan/harbour@1", "pkg:conan/harbour@2"] },
];

for (const [index, { artifactType, artifactName, distribution = "", fixed, affected, others }] of byEcosystem.entries()) {
  test(`an authored advisory on ${artifactType} ${distribution} is judged by the order of its versions, and counts for its packages alone`, async () => {
    const own = await stage.newTenant(`ecosystem-${index}`);
    await Promise.all(affected.map((label, at) => stage.importImage(own.group, `affected-${at}`, [label])));
    await Promise.all(others.map((label, at) => stage.importImage(own.group, `other-${at}`, [label])));
    const { uid } = await stage.createAdvisory(own, { artifactType, artifactName, ...(distribution === "" ? {} : { distribution }) });
    const event = await stage.createEvent(own, String(uid), { fixed: { fixedVersion: fixed } });
    await stage.match();
    assert.deepEqual(await stage.affected(own), [], "what is pending has no verdict");
    await stage.review(own, text(event, "uid"));
    await stage.match();
    const rows = await stage.affected(own);
    assert.deepEqual(
      rows.map((row) => [text(row, "repo"), text(row, "fixedVersion")]).sort(),
      affected.map((_, at) => [`affected-${at}`, fixed]),
    );
    await stage.review(own, text(await stage.createEvent(own, String(uid)), "uid"));
    await stage.match();
    const states = await stage.states(own);
    assert.ok(
      states.every((state) => state.endsWith(" resolved")),
      states.join(),
    );
  });
}

test("an authored advisory on one architecture matches only images of that architecture", async () => {
  const own = await stage.newTenant("architecture");
  await stage.importImage(own.group, "web", ["pkg:npm/harbour@1.0.0"]);
  for (const artifactArchitecture of ["x86_64", "aarch64"]) {
    const { uid } = await stage.createAdvisory(own, { artifactType: "npm", artifactName: "harbour", artifactArchitecture });
    await stage.review(own, text(await stage.createEvent(own, String(uid), { truePositiveDetermination: {} }), "uid"));
  }
  await stage.match();
  assert.deepEqual(await stage.states(own), ["ARCHITECTURE-ADV-000001 web affected"]);
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
