// Attacks on approvals of decisions about findings: one person who acts as two, or avoids the approval (docs/decisions/0092).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { type Authoring, openAuthoring, type Tenant } from "../authoring.ts";
import { type FakeProvider, openProvider, registerProvider, signIn } from "../provider.ts";
import { bind, createIdentity } from "../story/installation.ts";

const service = "gantry.decisions.v1.DecisionsService";
const policies = "gantry.decisions.v1.DecisionApprovalPoliciesService";
const pending = "FINDING_DECISION_APPROVAL_STATE_PENDING";

let stage: Authoring;
let provider: FakeProvider;
let made = 0;

before(async () => {
  stage = await openAuthoring();
  provider = await openProvider(() => stage.world.clock.now);
});
after(async () => {
  await stage?.close();
  await provider?.close();
});

const falsePositive = { vulnerability: "CVE-2026-1", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "Not reachable." };

/** Creates an organization with an affected image and an approval policy. */
const newTenant = async (): Promise<Tenant & { readonly policy: string }> => {
  const own = await stage.newTenant(`tenant-${++made}`);
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  const request = { parent: own.group, decisionApprovalPolicy: {} };
  return { ...own, policy: text(await stage.world.ok(`${policies}/CreateDecisionApprovalPolicy`, request, { token: own.author }), "uid") };
};

const decide = async (token: string, parent: string): Promise<string> => {
  const decision = await stage.world.ok(`${service}/CreateFindingDecision`, { parent, findingDecision: falsePositive }, { token });
  assert.equal(decision.approvalState, pending);
  await stage.match();
  return text(decision, "uid");
};

const approve = async (token: string, uid: string): Promise<number> => {
  const { code } = await stage.world.call(`${service}/ApproveFindingDecision`, { uid }, { token });
  await stage.match();
  return code;
};

const open = async ({ group, author }: Tenant): Promise<string[]> => {
  const reply = await stage.world.ok("gantry.findings.v1.FindingsService/ListFindings", { uidp: { descendantsOf: group } }, { token: author });
  return objectList(reply, "findings").map((row) => text(row, "repo"));
};

/** Creates an owner that a token of this server with the subject can assume. */
const newAssumable = async (group: string, subject: string): Promise<string> => {
  const uid = await createIdentity(stage.world, group, `assumed-${++made}`, { issuer: stage.world.url, subject });
  await bind(stage.world, group, uid, "owner");
  return uid;
};

const assume = async (identity: string, token: string): Promise<string> =>
  text(await stage.world.ok("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity, aud: [stage.world.url] }, { token }), "token");

/** Signs a user in, and returns the token. */
const arrive = async (idp: string, claims: Readonly<Record<string, string | boolean>>): Promise<string> => {
  const { token, error } = await signIn(stage.world, provider, idp, claims);
  assert.equal(error, "");
  return token;
};

/** Likewise, for the first time: the user is an owner of the group from then on. */
const join = async (group: string, idp: string, claims: Readonly<Record<string, string | boolean>>): Promise<string> => {
  const token = await arrive(idp, claims);
  await bind(stage.world, group, text(claimsOf(token), "sub"), "owner");
  return token;
};

test("attack 381: the author of a decision cannot approve it by another token, a narrowed one or an identity that they assume", async () => {
  const own = await newTenant();
  const uid = await decide(own.author, own.group);
  const assumable = await newAssumable(own.group, own.authorUid);
  const tokens = [
    own.author,
    await stage.world.token(own.authorUid),
    await stage.world.token(own.authorUid, { capabilities: ["gantry.findings.decide"], scopes: [own.group] }),
    await assume(assumable, own.author),
  ];
  for (const [index, token] of tokens.entries()) assert.equal(await approve(token, uid), codes.PERMISSION_DENIED, String(index));
  // The other way round: the author is the assumed identity.
  const other = await decide(await assume(assumable, own.author), own.group);
  assert.equal(await approve(own.author, other), codes.PERMISSION_DENIED);
  assert.deepEqual(await open(own), ["web"]);
  assert.equal(await approve(own.approver, uid), 0);
  assert.deepEqual(await open(own), []);
});

test("attack 381: a user cannot approve their own decision in another session, through several assumed identities or by a second account", async () => {
  const own = await newTenant();
  const idp = await registerProvider(stage.world, provider, { parent: own.group });
  const email = { email: "ada@example.com", email_verified: true };
  const author = await join(own.group, idp, { sub: "ada", ...email });
  const uid = await decide(author, own.group);
  const first = await newAssumable(own.group, text(claimsOf(author), "sub"));
  const second = await newAssumable(own.group, first);
  const again = await arrive(idp, { sub: "ada", ...email });
  const tokens = [
    again,
    await assume(second, await assume(first, again)),
    await join(own.group, idp, { sub: "ada-2", email: "Ada@Example.com", email_verified: true }),
  ];
  for (const [index, token] of tokens.entries()) assert.equal(await approve(token, uid), codes.PERMISSION_DENIED, String(index));
  assert.deepEqual(await open(own), ["web"]);
  assert.equal(await approve(await join(own.group, idp, { sub: "bob", email: "bob@example.com", email_verified: true }), uid), 0);
  assert.deepEqual(await open(own), []);
});

test("attack 384: a decider neither removes the requirement nor avoids it in a group below or by a restored decision", async () => {
  const own = await newTenant();
  const team = text(await stage.world.ok("iam.GroupsService/CreateGroup", { parent: own.group, group: { name: "team" } }, { token: own.author }), "uid");
  await stage.importImage(team, "api", ["openssl=3.0.9-r1"]);
  const capabilities = ["gantry.findings.decide", "gantry.finding_decisions.list", "gantry.deletions.list", "gantry.deletions.undelete"];
  const role = { name: "decider", capabilities: capabilities.map((name) => `CAP_${name.toUpperCase().replaceAll(".", "_")}`) };
  const roleUid = text(await stage.world.ok("iam.RolesService/CreateRole", { parent: own.group, role }, { token: own.author }), "uid");
  const identityUid = await createIdentity(stage.world, own.group, "decider", { issuer: "https://issuer.example.com", subject: "decider" });
  await stage.world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: own.group, roleBinding: { identityUid, roleUid } }, { token: own.author });
  const decider = await stage.world.token(identityUid);
  const teamOwner = (await stage.newOwner(team, "team")).token;
  for (const token of [decider, teamOwner])
    assert.equal((await stage.world.call(`${policies}/DeleteDecisionApprovalPolicy`, { uid: own.policy }, { token })).code, codes.PERMISSION_DENIED);
  await decide(teamOwner, team);
  const uid = await decide(decider, own.group);
  assert.deepEqual((await open(own)).sort(), ["api", "web"]);
  assert.equal(await approve(own.approver, uid), 0);
  assert.deepEqual(await open(own), []);
  await stage.world.ok(`${service}/DeleteFindingDecision`, { uid }, { token: decider });
  const deletions = await stage.world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [uid] }, { token: decider });
  const [deletion = {}] = objectList(deletions, "deletions");
  await stage.world.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid: text(deletion, "uid") }, { token: decider });
  await stage.match();
  assert.deepEqual((await open(own)).sort(), ["api", "web"]);
});

test("attack 384: a pending decision silences no scanner, and neither viewers nor other tenants approve it or see it", async () => {
  const [own, rival] = [await newTenant(), await newTenant()];
  const uid = await decide(own.author, own.group);
  assert.equal((await stage.world.call(`${service}/ExportFindingDecisions`, { parent: own.group }, { token: own.author })).code, codes.FAILED_PRECONDITION);
  assert.deepEqual(await stage.states(own), ["CGA-aaaa-aaaa-aaaa web affected"]);
  const viewer = (await stage.newOwner(own.group, "viewer", "viewer")).token;
  for (const token of [viewer, rival.author]) assert.equal(await approve(token, uid), codes.PERMISSION_DENIED);
  const filter: JsonObject = { approvalState: pending };
  assert.equal((await stage.world.ok(`${service}/ListFindingDecisions`, filter, { token: rival.author })).totalCount, "0");
  assert.equal((await stage.world.ok(`${service}/ListFindingDecisions`, filter, { token: viewer })).totalCount, "1");
  assert.deepEqual(await open(own), ["web"]);
});

test("a decision that is created while a policy is committed is pending, or was created before it", async () => {
  const own = await stage.newTenant(`tenant-${++made}`);
  const request = { parent: own.group, decisionApprovalPolicy: {} };
  const findingDecision: JsonObject = falsePositive;
  const [, ...answers] = await Promise.all([
    stage.world.ok(`${policies}/CreateDecisionApprovalPolicy`, request, { token: own.author }),
    ...Array.from({ length: 8 }, () => stage.world.ok(`${service}/CreateFindingDecision`, { parent: own.group, findingDecision }, { token: own.author })),
  ]);
  const policy = await stage.world.ok(`${policies}/ListDecisionApprovalPolicies`, { uidp: { descendantsOf: own.group } }, { token: own.author });
  assert.equal(policy.totalCount, "1");
  const order = (await stage.world.events()).filter(({ group, type }) => group === own.group && /finding_decision\.|approval_policy\./.test(type));
  const position = order.findIndex(({ type }) => type.includes("approval_policy"));
  for (const answer of answers) {
    const isLater = order.findIndex(({ subject }) => subject === text(answer, "uid")) > position;
    assert.equal(answer.approvalState === pending, isLater);
  }
});
