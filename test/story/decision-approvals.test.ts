// Approvals of decisions about findings: when they are required, who approves, and what a pending decision changes (docs/decisions/0092).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { type Authoring, openAuthoring, type Tenant } from "../authoring.ts";

const service = "gantry.decisions.v1.DecisionsService";
const policies = "gantry.decisions.v1.DecisionApprovalPoliciesService";
const dayMs = 86_400_000;
const pending = "FINDING_DECISION_APPROVAL_STATE_PENDING";
const approved = "FINDING_DECISION_APPROVAL_STATE_APPROVED";
const notRequired = "FINDING_DECISION_APPROVAL_STATE_NOT_REQUIRED";

let stage: Authoring;
let made = 0;

before(async () => {
  stage = await openAuthoring();
});
after(() => stage.close());

const falsePositive = { vulnerability: "CVE-2026-1", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "The package is another one." };

const newTenant = async (): Promise<Tenant> => {
  const own = await stage.newTenant(`tenant-${++made}`);
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  return own;
};

const setPolicy = async ({ author, group }: Tenant, parent = group): Promise<string> =>
  text(await stage.world.ok(`${policies}/CreateDecisionApprovalPolicy`, { parent, decisionApprovalPolicy: {} }, { token: author }), "uid");

const deletePolicy = ({ author }: Tenant, uid: string) => stage.world.ok(`${policies}/DeleteDecisionApprovalPolicy`, { uid }, { token: author });

const decide = async ({ author, group }: Tenant, decision: JsonObject = {}, parent = group): Promise<JsonObject> => {
  const reply = await stage.world.ok(`${service}/CreateFindingDecision`, { parent, findingDecision: { ...falsePositive, ...decision } }, { token: author });
  await stage.match();
  return reply;
};

const attempt = ({ approver }: Tenant, uid: string, token = approver) => stage.world.call(`${service}/ApproveFindingDecision`, { uid }, { token });

const approve = async ({ approver }: Tenant, uid: string, token = approver): Promise<JsonObject> => {
  const reply = await stage.world.ok(`${service}/ApproveFindingDecision`, { uid }, { token });
  await stage.match();
  return reply;
};

/** Returns "repo decision" for each open finding. */
const open = async ({ author, group }: Tenant): Promise<string[]> => {
  const reply = await stage.world.ok("gantry.findings.v1.FindingsService/ListFindings", { uidp: { descendantsOf: group } }, { token: author });
  return objectList(reply, "findings").map(
    (row) => `${text(row, "repo")} ${text(part(row, "decision"), "state").replace("FINDING_DECISION_STATE_", "") || "-"}`,
  );
};

const list = async ({ author, group }: Tenant, filter: JsonObject = {}): Promise<string[]> => {
  const reply = await stage.world.ok(`${service}/ListFindingDecisions`, { uidp: { descendantsOf: group }, ...filter }, { token: author });
  assert.equal(Number(reply.totalCount), objectList(reply, "findingDecisions").length);
  return objectList(reply, "findingDecisions").map((row) => text(row, "uid"));
};

const restore = async ({ author }: Tenant, resource: string): Promise<void> => {
  const deletions = await stage.world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [resource] }, { token: author });
  const [deletion = {}] = objectList(deletions, "deletions");
  await stage.world.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid: text(deletion, "uid") }, { token: author });
  await stage.match();
};

test("a decision that needs an approval counts for nothing until another user approves it, and names the approver", async () => {
  const own = await newTenant();
  await setPolicy(own);
  const preview = await stage.world.ok(
    `${service}/CreateFindingDecision`,
    { parent: own.group, findingDecision: falsePositive },
    { token: own.author, validateOnly: true },
  );
  assert.equal(preview.approvalState, pending);
  const decision = await decide(own);
  const uid = text(decision, "uid");
  assert.deepEqual([decision.approvalState, decision.approver, decision.approveTime, decision.findingCount], [pending, undefined, undefined, 1]);
  assert.deepEqual(await open(own), ["web -"]);
  assert.deepEqual([await list(own), await list(own, { approvalState: pending }), await list(own, { approvalState: approved })], [[uid], [uid], []]);
  const reply = await approve(own, uid);
  assert.deepEqual([reply.approvalState, reply.approver, reply.author], [approved, own.approverUid, own.authorUid]);
  assert.equal(reply.approveTime, new Date(stage.world.clock.now).toISOString());
  assert.deepEqual(await open(own), []);
  assert.deepEqual([await list(own, { approvalState: pending }), await list(own, { approvalState: approved })], [[], [uid]]);
});

test("an approval has its own event, and a repeated one changes nothing", async () => {
  const own = await newTenant();
  await setPolicy(own);
  const uid = text(await decide(own), "uid");
  const first = await approve(own, uid);
  const third = await stage.newOwner(own.group, "third");
  assert.deepEqual(await approve(own, uid, third.token), first);
  const events = (await stage.world.events()).filter(({ subject }) => subject === uid);
  assert.deepEqual(
    events.map(({ type, actor, body }) => [type.replace("dev.gantry.findings.finding_decision.", ""), actor, body.approvalState]),
    [
      ["created.v1", own.authorUid, pending],
      ["approved.v1", own.approverUid, approved],
    ],
  );
});

test("a policy applies to its group and the groups below, and a group below cannot change that", async () => {
  const own = await newTenant();
  const newGroup = async (parent: string, name: string): Promise<string> =>
    text(await stage.world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }, { token: own.author }), "uid");
  const team = await newGroup(own.group, "team");
  const [inner, sibling] = [await newGroup(team, "inner"), await newGroup(own.group, "sibling")];
  const policy = await setPolicy(own, team);
  const states = async (): Promise<unknown[]> => {
    const all: unknown[] = [];
    for (const group of [own.group, team, inner, sibling]) all.push((await decide(own, {}, group)).approvalState);
    return all;
  };
  assert.deepEqual(await states(), [notRequired, pending, pending, notRequired]);
  const { token } = await stage.newOwner(inner, "inner");
  const answers = [
    await stage.world.call(`${policies}/DeleteDecisionApprovalPolicy`, { uid: policy }, { token }),
    await stage.world.call(`${service}/CreateFindingDecision`, { parent: inner, findingDecision: falsePositive }, { token }),
  ];
  assert.deepEqual([answers[0]?.code, answers[1]?.reply.approvalState], [codes.PERMISSION_DENIED, pending]);
  await deletePolicy(own, policy);
  assert.deepEqual(await states(), [notRequired, notRequired, notRequired, notRequired]);
});

test("existing decisions stay in force when a policy is created, and pending ones stay pending when it is deleted", async () => {
  const own = await newTenant();
  await decide(own);
  const policy = await setPolicy(own);
  await stage.match();
  assert.deepEqual(await open(own), []);
  const rival = await newTenant();
  const theirs = await setPolicy(rival);
  const uid = text(await decide(rival), "uid");
  await deletePolicy(rival, theirs);
  await stage.match();
  assert.deepEqual(await open(rival), ["web -"]);
  assert.equal((await attempt(rival, uid, rival.author)).code, codes.PERMISSION_DENIED);
  await approve(rival, uid);
  assert.deepEqual(await open(rival), []);
  await deletePolicy(own, policy);
});

test("UNDER_INVESTIGATION needs no approval, and a decision is withdrawn without one", async () => {
  const own = await newTenant();
  await setPolicy(own);
  assert.equal((await decide(own, { state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" })).approvalState, notRequired);
  assert.deepEqual(await open(own), ["web UNDER_INVESTIGATION"]);
  const uid = text(await decide(own, { packageName: "openssl" }), "uid");
  await approve(own, uid);
  assert.deepEqual(await open(own), []);
  await stage.world.ok(`${service}/DeleteFindingDecision`, { uid }, { token: own.author });
  await stage.match();
  assert.deepEqual(await open(own), ["web UNDER_INVESTIGATION"]);
});

test("a decision that is restored while a policy applies is pending, also if it was approved", async () => {
  const own = await newTenant();
  await setPolicy(own);
  const uid = text(await decide(own), "uid");
  await approve(own, uid);
  await stage.world.ok(`${service}/DeleteFindingDecision`, { uid }, { token: own.author });
  await restore(own, uid);
  assert.deepEqual(await open(own), ["web -"]);
  const restored = await stage.world.ok(`${service}/GetFindingDecision`, { uid }, { token: own.author });
  assert.deepEqual([restored.approvalState, restored.approver, restored.approveTime], [pending, undefined, undefined]);
  assert.equal((await attempt(own, uid, own.author)).code, codes.PERMISSION_DENIED);
  await approve(own, uid);
  assert.deepEqual(await open(own), []);
});

test("an approval covers the advisories as the author saw them", async () => {
  const own = await newTenant();
  await setPolicy(own);
  const uid = text(await decide(own), "uid");
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1", { version: "3.0.9-r3" });
  assert.equal((await approve(own, uid)).reopened, "FINDING_DECISION_REOPENING_ADVISORY_CHANGED");
  assert.deepEqual(await open(own), ["web -"]);
});

test("a decision that has expired or needs no approval cannot be approved", async () => {
  const own = await newTenant();
  const counting = text(await decide(own, { vulnerability: "CVE-2026-2" }), "uid");
  assert.equal((await attempt(own, counting)).code, codes.FAILED_PRECONDITION);
  await setPolicy(own);
  const expireTime = new Date(stage.world.clock.now + dayMs).toISOString();
  const uid = text(await decide(own, { state: "FINDING_DECISION_STATE_ACCEPTED", expireTime }), "uid");
  stage.world.clock.now += 2 * dayMs;
  try {
    const refused = await attempt(own, uid, await stage.world.token(own.approverUid));
    assert.equal(refused.code, codes.FAILED_PRECONDITION);
    assert.ok(refused.message.includes("has expired"), refused.message);
    await stage.match();
    const types = (await stage.world.events()).filter(({ group }) => group === own.group).map(({ type }) => type);
    assert.equal(types.filter((type) => /decisions_expir/.test(type)).length, 0);
  } finally {
    stage.world.clock.now -= 2 * dayMs;
  }
  assert.equal((await attempt(own, `${own.group}/${"0".repeat(16)}`)).code, codes.NOT_FOUND);
});

test("an organization has a limited number of approval policies", async () => {
  const own = await stage.newTenant(`tenant-${++made}`);
  for (let count = 0; count < limits.approvalPoliciesEach; count++) await setPolicy(own);
  const more = await stage.world.call(`${policies}/CreateDecisionApprovalPolicy`, { parent: own.group, decisionApprovalPolicy: {} }, { token: own.author });
  assert.equal(more.code, codes.RESOURCE_EXHAUSTED);
});
