// Attacks on authored advisories: suppressing other tenants' findings, self-approval, and seizing IDs (docs/decisions/0089).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { type Authoring, falsePositive, openAuthoring, type Tenant, v1 } from "../authoring.ts";

const service = "gantry.vulnerabilities.v1.AuthoredAdvisoriesService";
const eventService = "gantry.vulnerabilities.v1.AuthoredAdvisoryEventsService";

let stage: Authoring;
let rival: Tenant;
let made = 0;

before(async () => {
  stage = await openAuthoring();
  rival = await stage.newTenant("rival");
});
after(() => stage.close());

const newTenant = (): Promise<Tenant> => stage.newTenant(`tenant-${++made}`);

const update = (token: string, event: JsonObject, mask: string) =>
  stage.world.call(`${eventService}/UpdateAuthoredAdvisoryEvent`, { authoredAdvisoryEvent: event, updateMask: mask }, { token });

const paths = (own: Tenant) => [
  `/gantry/v1/affectedImages?uidp.descendantsOf=${own.group}`,
  "/advisory/v2/osv/all.json",
  "/advisory/v2/openvex/all.json",
  "/advisory/v2/csaf/all.json",
  "/advisory/v2/secdb/all.json",
  "/advisory/v2/openvex/openssl.json",
  "/advisory/v2/csaf/openssl.json",
  "/secdb/wolfi/security.json",
  "/osv/Wolfi/all.zip",
  "/osv/modified_id.csv",
  "/advisory/v2/documents",
  `/vulnerabilities/v2/advisories?uidp.descendantsOf=${own.group}&latest_event_type=EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION`,
];
const outputs = async (own: Tenant, token = own.author): Promise<string[]> =>
  Promise.all(paths(own).map(async (path) => `${path} ${(await stage.file(token, path)).body}`));

test("attack 323: a tenant's false positive never suppresses another tenant's finding, even in a published advisory", async () => {
  const own = await newTenant();
  for (const group of [own.group, rival.group]) await stage.importImage(group, "web", ["openssl=3.0.9-r1", "zlib=1.2-r0"]);
  await stage.importAdvisory(stage.world.organization, "openssl", "CGA-pppp-pppp-pppp", "CVE-2026-1", { isPublic: true });
  await stage.importAdvisory(rival.group, "zlib", "CGA-rrrr-rrrr-rrrr", "CVE-2026-2", { version: "1.3-r0" });
  const before = await outputs(rival);
  await stage.suppress(own);
  await stage.suppress(own, { artifactName: "zlib", aliases: ["CVE-2026-2"] });
  await stage.match();
  assert.deepEqual(await stage.states(own), ["CGA-pppp-pppp-pppp web suppressed"]);
  assert.deepEqual(await stage.states(rival), ["CGA-pppp-pppp-pppp web affected", "CGA-rrrr-rrrr-rrrr web affected"]);
  assert.deepEqual(await outputs(rival), before);
});

test("a group's false positive does not apply to sibling or parent groups", async () => {
  const own = await newTenant();
  const [one, two] = await Promise.all(
    ["one", "two"].map(async (name) => text(await stage.world.ok("iam.GroupsService/CreateGroup", { parent: own.group, group: { name } }), "uid")),
  );
  assert.ok(one && two);
  for (const group of [own.group, one, two]) await stage.importImage(group, `web-${group.length}-${group === one}`, ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-gggg-gggg-gggg", "CVE-2026-1");
  await stage.suppress({ ...own, group: one });
  await stage.match();
  const rows = (await stage.affected(own)).filter((row) => text(row, "advisoryId") === "CGA-gggg-gggg-gggg");
  assert.equal(rows.length, 3);
  for (const row of rows) assert.equal(text(row, "state") === "AFFECTED_IMAGE_STATE_SUPPRESSED", text(row, "uid").startsWith(`${one}/`));
});

test("attack 324: an author cannot approve their own event by status, update mask, version 1, or together with other content", async () => {
  const own = await newTenant();
  const advisory = text(await stage.createAdvisory(own), "uid");
  const event = text(await stage.createEvent(own, advisory), "uid");
  const approved = { uid: event, reviewState: "REVIEW_STATE_APPROVED" };
  const attempts = [
    await update(own.author, approved, "review_state"),
    await update(own.author, { ...approved, ...falsePositive }, "*"),
    await update(own.author, { ...approved, reviewer: own.approverUid }, "review_state,reviewer"),
    await stage.world.call(
      `${v1}/UpdateAdvisoryEvent`,
      { id: event, falsePositiveDetermination: { type: "VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE", note: "The parser is not built." }, status: "APPROVED" },
      { token: own.author },
    ),
    await stage.world.call(
      `${eventService}/CreateAuthoredAdvisoryEvent`,
      { parent: advisory, authoredAdvisoryEvent: { ...falsePositive, reviewState: "REVIEW_STATE_APPROVED" } },
      { token: own.author },
    ),
    await stage.world.call(
      `${v1}/CreateAdvisoryEvent`,
      { parentId: advisory, advisoryEvent: { falsePositiveDetermination: { type: "VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE" }, status: "APPROVED" } },
      { token: own.author },
    ),
    // The approver writes other content under the author's name.
    await update(own.approver, { ...approved, issue: "SEC-9" }, "review_state,issue"),
  ];
  for (const { code } of attempts) assert.ok(code === codes.PERMISSION_DENIED || code === codes.INVALID_ARGUMENT, String(code));
  const read = await stage.world.ok(`${eventService}/ListAuthoredAdvisoryEvents`, { uidp: { childrenOf: advisory } }, { token: own.author });
  assert.deepEqual(
    objectList(read, "authoredAdvisoryEvents").map((each) => [text(each, "author"), text(each, "reviewState"), text(each, "reviewer")]),
    [[own.authorUid, "REVIEW_STATE_PENDING", ""]],
  );
});

test("an author cannot approve with a narrowed token or another identity of the same upstream subject", async () => {
  const own = await newTenant();
  const { services } = stage.world.server.application;
  const act = { iss: "https://issuer.example.com", sub: "mallory", aud: "gantry" };
  const [tokenOf, audience] = [services.authn, [stage.world.url]];
  const author = await tokenOf.mint({ uid: own.authorUid, audience, act });
  const advisory = text(await stage.createAdvisory(own, {}, author), "uid");
  const event = { uid: text(await stage.createEvent(own, advisory, falsePositive, author), "uid"), reviewState: "REVIEW_STATE_APPROVED" };
  const narrowed = await stage.world.token(own.authorUid, { capabilities: ["advisories.approve", "advisories.update"], scopes: [own.group] });
  const other = await tokenOf.mint({ uid: own.approverUid, audience, act });
  for (const token of [narrowed, other]) assert.equal((await update(token, event, "review_state")).code, codes.PERMISSION_DENIED);
  assert.equal((await update(own.approver, event, "review_state")).code, 0);
});

test("attack 325: changing an event's aliases or content prevents its author from approving it", async () => {
  const own = await newTenant();
  const advisory = text(await stage.createAdvisory(own), "uid");
  const event = text(await stage.createEvent(own, advisory), "uid");
  const change = (token: string, alias = "CVE-2026-66") =>
    stage.world.call(`${service}/UpdateAuthoredAdvisory`, { authoredAdvisory: { uid: advisory, aliases: [alias] }, updateMask: "aliases" }, { token });
  assert.equal((await change(own.approver)).code, 0);
  const approved = { uid: event, reviewState: "REVIEW_STATE_APPROVED" };
  assert.equal((await update(own.approver, approved, "review_state")).code, codes.PERMISSION_DENIED);
  const third = await stage.newOwner(own.group, "third");
  assert.equal((await update(third.token, approved, "review_state")).code, 0);
  assert.equal((await change(own.author, "CVE-2026-67")).code, codes.FAILED_PRECONDITION);
  assert.equal((await update(own.author, { uid: event, issue: "SEC-1" }, "issue")).code, codes.FAILED_PRECONDITION);
  assert.equal((await stage.world.call(`${eventService}/DeleteAuthoredAdvisoryEvent`, { uid: event }, { token: own.author })).code, codes.FAILED_PRECONDITION);
  const second = text(await stage.createEvent(own, advisory), "uid");
  assert.equal((await update(own.approver, { uid: second, issue: "SEC-2" }, "issue")).code, 0);
  assert.equal((await update(own.approver, { uid: second, reviewState: "REVIEW_STATE_APPROVED" }, "review_state")).code, codes.PERMISSION_DENIED);
});

test("attack 332: events created with an advisory follow the rules of CreateAuthoredAdvisoryEvent, and a refusal stores nothing", async () => {
  const own = await newTenant();
  const about = { artifactName: "openssl", artifactType: "apk", aliases: ["CVE-2026-1"] };
  const approved = { ...falsePositive, reviewState: "REVIEW_STATE_APPROVED" };
  const ways: readonly (readonly [string, JsonObject])[] = [
    [`${service}/CreateAuthoredAdvisory`, { parent: own.group, authoredAdvisory: { ...about, initialEvents: [approved] } }],
    [`${v1}/Create`, { parentId: own.group, advisory: { ...about, events: [{ detection: {} }, { fixed: { fixedVersion: "1" }, status: "APPROVED" }] } }],
  ];
  for (const [name, request] of ways) {
    for (const token of [own.author, own.approver]) assert.equal((await stage.world.call(name, request, { token })).code, codes.PERMISSION_DENIED, name);
    const rival = await newTenant();
    assert.equal((await stage.world.call(name, request, { token: rival.author })).code, codes.PERMISSION_DENIED, name);
  }
  const left = await stage.world.ok(`${service}/ListAuthoredAdvisories`, { uidp: { childrenOf: own.group } }, { token: own.author });
  assert.deepEqual(objectList(left, "authoredAdvisories"), []);
});

test("an event with requested changes is pending and has no reviewer after any caller changes its content", async () => {
  const own = await newTenant();
  const advisory = text(await stage.createAdvisory(own), "uid");
  for (const token of [own.author, own.approver]) {
    const uid = text(await stage.createEvent(own, advisory), "uid");
    await stage.review(own, uid, "REVIEW_STATE_REQUEST_CHANGES");
    const { code, reply } = await update(token, { uid, issue: "SEC-3" }, "issue");
    assert.deepEqual([code, text(reply, "reviewState"), text(reply, "reviewer")], [0, "REVIEW_STATE_PENDING", ""]);
    assert.equal((await update(token, { uid, reviewState: "REVIEW_STATE_APPROVED" }, "review_state")).code, codes.PERMISSION_DENIED);
  }
});

test("attack 326: an unapproved event changes no byte of any output", async () => {
  const own = await newTenant();
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-uuuu-uuuu-uuuu", "CVE-2026-1");
  const approved = await stage.createAdvisory(own, { aliases: ["CVE-2026-3"] });
  await stage.review(own, text(await stage.createEvent(own, text(approved, "uid"), { fixed: { fixedVersion: "3.0.9-r1" } }), "uid"));
  await stage.match();
  const before = await outputs(own);
  const draft = await stage.createAdvisory(own);
  stage.world.clock.now += 5_000;
  for (const advisory of [draft, approved]) {
    for (const event of [falsePositive, { patched: { patchedVersions: ["1-r0", "2-r0"] } }, { fixed: { fixedVersion: "9-r9" } }]) {
      const { uid } = await stage.createEvent(own, text(advisory, "uid"), event);
      if (event === falsePositive) await stage.review(own, String(uid), "REVIEW_STATE_REJECTED");
    }
  }
  await stage.match();
  assert.deepEqual(await outputs(own), before);
});

test("attack 327: an advisory of another organization cannot be read, changed, reviewed or deleted by uid; an unknown uid is NOT_FOUND", async () => {
  const own = await newTenant();
  const { advisory } = await stage.suppress(own);
  const pending = text(await stage.createEvent(own, text(advisory, "uid")), "uid");
  const { world } = stage;
  const attempts = async (token: string, uid: string, event: string) => {
    const calls: readonly (readonly [string, JsonObject])[] = [
      [`${service}/GetAuthoredAdvisory`, { uid }],
      [`${service}/UpdateAuthoredAdvisory`, { authoredAdvisory: { uid, componentName: "x" }, updateMask: "component_name" }],
      [`${service}/DeleteAuthoredAdvisory`, { uid }],
      [`${eventService}/CreateAuthoredAdvisoryEvent`, { parent: uid, authoredAdvisoryEvent: { ...falsePositive, reviewState: "REVIEW_STATE_PENDING" } }],
      [`${eventService}/GetAuthoredAdvisoryEvent`, { uid: event }],
      [
        `${eventService}/UpdateAuthoredAdvisoryEvent`,
        { authoredAdvisoryEvent: { uid: event, reviewState: "REVIEW_STATE_APPROVED" }, updateMask: "review_state" },
      ],
      [`${eventService}/DeleteAuthoredAdvisoryEvent`, { uid: event }],
      [`${v1}/Update`, { id: uid, artifactName: "x", artifactType: "apk", aliases: ["CVE-1"] }],
      [`${v1}/Delete`, { id: uid }],
      [`${v1}/CreateAdvisoryEvent`, { parentId: uid, advisoryEvent: { fixNotPlanned: { note: "x" } } }],
      [`${v1}/UpdateAdvisoryEvent`, { id: event, fixNotPlanned: { note: "x" } }],
    ];
    return Promise.all(calls.map(async ([name, request]) => (await world.call(name, request, { token })).code));
  };
  const there = await attempts(rival.author, text(advisory, "uid"), pending);
  const nowhere = await attempts(rival.author, `${own.group}/${"0".repeat(16)}`, `${own.group}/${"0".repeat(16)}/${"0".repeat(16)}`);
  assert.deepEqual(there, nowhere, "existence is not revealed");
  assert.deepEqual([...new Set(there)], [codes.PERMISSION_DENIED]);
  const moved = `${rival.group}${text(advisory, "uid").slice(own.group.length)}`;
  assert.deepEqual([...new Set(await attempts(rival.author, moved, `${rival.group}${pending.slice(own.group.length)}`))], [codes.NOT_FOUND]);
  for (const name of [`${v1}/ListAdvisoryEvents`]) {
    const { items } = await world.ok(name, { parentId: text(advisory, "uid") }, { token: rival.author });
    assert.deepEqual(items ?? [], []);
  }
});

test("attack 328: an ID is never reused after a deletion, undelete or rename, nor by another organization", async () => {
  const own = await stage.newTenant("numbered");
  const numberOf = (advisory: JsonObject): string => text(advisory, "advisoryId");
  const { world } = stage;
  const first = await stage.createAdvisory(own);
  assert.equal(numberOf(first), "NUMBERED-ADV-000001");
  await world.ok(`${service}/DeleteAuthoredAdvisory`, { uid: text(first, "uid") }, { token: own.author });
  assert.equal(numberOf(await stage.createAdvisory(own)), "NUMBERED-ADV-000002");
  const [deletion] = objectList(await world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [text(first, "uid")] }), "deletions");
  await world.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid: text(deletion ?? {}, "uid") }, { token: own.author });
  const back = await world.ok(`${service}/GetAuthoredAdvisory`, { uid: text(first, "uid") }, { token: own.author });
  assert.equal(numberOf(back), "NUMBERED-ADV-000001");
  await world.ok("iam.GroupsService/UpdateGroup", { group: { uid: own.group, name: "renamed" }, updateMask: "name" }, { token: own.author });
  assert.equal(numberOf(await stage.createAdvisory(own, { advisoryId: "RIVAL-ADV-000001" })), "NUMBERED-ADV-000003");
  const heir = await stage.newTenant("numbered.");
  assert.notEqual(numberOf(await stage.createAdvisory(heir)).replace(/-ADV-.*/, ""), "NUMBERED");
  // The name of a public database cannot be a prefix.
  const famous = await stage.newTenant("cve");
  assert.match(numberOf(await stage.createAdvisory(famous)), /^ORG[0-9A-F]{6}-ADV-000001$/);
});

test("an opt-out applies to its own organization and cannot be set below it", async () => {
  const own = await newTenant();
  const { world } = stage;
  const set = (uid: string, token: string) =>
    world.call("iam.GroupsService/UpdateGroup", { group: { uid, authorApproval: true }, updateMask: "author_approval" }, { token });
  const folder = text(await world.ok("iam.GroupsService/CreateGroup", { parent: own.group, group: { name: "folder" } }, { token: own.author }), "uid");
  assert.equal((await set(folder, own.author)).code, codes.INVALID_ARGUMENT);
  assert.equal((await set(own.group, rival.author)).code, codes.PERMISSION_DENIED);
  assert.equal((await set(rival.group, rival.author)).code, 0);
  const event = text(await stage.createEvent(own, text(await stage.createAdvisory(own), "uid")), "uid");
  assert.equal((await update(own.author, { uid: event, reviewState: "REVIEW_STATE_APPROVED" }, "review_state")).code, codes.PERMISSION_DENIED);
});
