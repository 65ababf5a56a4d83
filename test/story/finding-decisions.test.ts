// Decisions about findings: what they suppress, which one counts, and when a finding is open again (docs/decisions/0090).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { type Authoring, openAuthoring, type Tenant } from "../authoring.ts";

const service = "gantry.decisions.v1.DecisionsService";
const dayMs = 86_400_000;

let stage: Authoring;
let made = 0;

before(async () => {
  stage = await openAuthoring();
});
after(() => stage.close());

const newTenant = (): Promise<Tenant> => stage.newTenant(`tenant-${++made}`);

const falsePositive = { vulnerability: "CVE-2026-1", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "The package is another one." };

const accepted = (days = 30): JsonObject => ({
  vulnerability: "CVE-2026-1",
  state: "FINDING_DECISION_STATE_ACCEPTED",
  reason: "The service is internal.",
  expireTime: new Date(stage.world.clock.now + days * dayMs).toISOString(),
});

const attempt = (tenant: Tenant, decision: JsonObject, parent = tenant.group) =>
  stage.world.call(`${service}/CreateFindingDecision`, { parent, findingDecision: decision }, { token: tenant.author });

/** Creates the decision, and matches. */
const decide = async (tenant: Tenant, decision: JsonObject, parent = tenant.group): Promise<JsonObject> => {
  const reply = await stage.world.ok(`${service}/CreateFindingDecision`, { parent, findingDecision: decision }, { token: tenant.author });
  await stage.match();
  return reply;
};

const withdraw = async (tenant: Tenant, uid: string): Promise<void> => {
  await stage.world.ok(`${service}/DeleteFindingDecision`, { uid }, { token: tenant.author });
  await stage.match();
};

const get = (tenant: Tenant, uid: string): Promise<JsonObject> => stage.world.ok(`${service}/GetFindingDecision`, { uid }, { token: tenant.author });

const find = (tenant: Tenant, filter: JsonObject = {}): Promise<JsonObject> =>
  stage.world.ok("gantry.findings.v1.FindingsService/ListFindings", { uidp: { descendantsOf: tenant.group }, ...filter }, { token: tenant.author });

/** Returns "repo state decision" for each finding. */
const listed = async (tenant: Tenant, filter: JsonObject = {}): Promise<string[]> => {
  const reply = await find(tenant, filter);
  const found = objectList(reply, "findings");
  assert.equal(Number(reply.totalCount), found.length);
  return found
    .map((row) => {
      const decision = text(part(row, "decision"), "state").replace("FINDING_DECISION_STATE_", "").toLowerCase();
      return `${text(row, "repo")} ${text(row, "state").replace("AFFECTED_IMAGE_STATE_", "").toLowerCase()} ${decision || "-"}`;
    })
    .sort();
};

const suppressed = { states: ["AFFECTED_IMAGE_STATE_SUPPRESSED"] };

const newAffected = async (repos: readonly string[] = ["web"]): Promise<Tenant> => {
  const own = await newTenant();
  for (const repo of repos) await stage.importImage(own.group, repo, ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  return own;
};

test("a decision suppresses the findings in its scope, with reason, author and group, until it is deleted", async () => {
  const own = await newAffected();
  assert.deepEqual(await listed(own), ["web affected -"]);
  const decision = await decide(own, falsePositive);
  assert.equal(decision.findingCount, 1);
  assert.equal(decision.author, own.authorUid);
  assert.deepEqual(await listed(own), []);
  assert.deepEqual(await listed(own, suppressed), ["web suppressed false_positive"]);
  assert.deepEqual(await listed(own, { decisionStates: [falsePositive.state] }), ["web suppressed false_positive"]);
  assert.deepEqual(await listed(own, { decisionStates: ["FINDING_DECISION_STATE_ACCEPTED"] }), []);
  const [row = {}] = objectList(await find(own, suppressed), "findings");
  assert.deepEqual(row.decision, {
    uid: decision.uid,
    state: falsePositive.state,
    reason: falsePositive.reason,
    author: own.authorUid,
    groupUid: own.group,
  });
  assert.equal(row.undecidedState, "AFFECTED_IMAGE_STATE_AFFECTED");
  const [affected = {}] = await stage.affected(own);
  assert.deepEqual([affected.state, affected.decision], [row.state, row.decision]);
  await withdraw(own, text(decision, "uid"));
  assert.deepEqual(await listed(own), ["web affected -"]);
  assert.deepEqual(await listed(own, suppressed), []);
});

test("a decision by an advisory's own ID counts, and NOT_AFFECTED shows its justification", async () => {
  const own = await newAffected();
  const justification = "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT";
  await decide(own, { ...falsePositive, vulnerability: "CGA-aaaa-aaaa-aaaa", state: "FINDING_DECISION_STATE_NOT_AFFECTED", justification });
  const [row = {}] = objectList(await find(own, suppressed), "findings");
  assert.equal(part(row, "decision").justification, justification);
});

test("a finding under investigation stays listed with its decision", async () => {
  const own = await newAffected();
  await decide(own, { ...falsePositive, state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" });
  assert.deepEqual(await listed(own), ["web affected under_investigation"]);
});

test("an accepted finding is open again when the acceptance expires, before and after its images are matched", async () => {
  const own = await newAffected(["api", "web"]);
  const repoOf = async (): Promise<string[]> => listed(own);
  const decision = await decide(own, accepted());
  assert.deepEqual(await repoOf(), []);
  assert.equal((await get(own, text(decision, "uid"))).reopened, undefined);
  stage.world.clock.now += 31 * dayMs;
  try {
    const tokens = [stage.world.token(own.authorUid), stage.world.token(own.approverUid)] as const;
    const later = { ...own, author: await tokens[0], approver: await tokens[1] };
    for (const isMatched of [false, true]) {
      if (isMatched) await stage.match();
      assert.deepEqual(await listed(later), ["api affected -", "web affected -"], String(isMatched));
      assert.deepEqual(await listed(later, suppressed), []);
      assert.deepEqual(await listed(later, { decisionStates: ["FINDING_DECISION_STATE_ACCEPTED"] }), []);
      assert.deepEqual(await listed(later, { states: ["AFFECTED_IMAGE_STATE_AFFECTED"] }), ["api affected -", "web affected -"]);
      assert.deepEqual(
        (await stage.affected(later)).map(({ state, decision: counting }) => [state, counting]),
        [
          ["AFFECTED_IMAGE_STATE_AFFECTED", undefined],
          ["AFFECTED_IMAGE_STATE_AFFECTED", undefined],
        ],
      );
    }
    assert.equal((await get(later, text(decision, "uid"))).reopened, "FINDING_DECISION_REOPENING_EXPIRED");
  } finally {
    stage.world.clock.now -= 31 * dayMs;
  }
});

test("a finding is open again when its advisory changes, until another decision", async () => {
  const own = await newAffected();
  const decision = await decide(own, falsePositive);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1", { version: "3.0.9-r3" });
  assert.deepEqual(await listed(own), ["web affected -"]);
  assert.equal((await get(own, text(decision, "uid"))).reopened, "FINDING_DECISION_REOPENING_ADVISORY_CHANGED");
  await decide(own, falsePositive);
  assert.deepEqual(await listed(own), []);
});

test("a restored decision does not count for an advisory that changed since it was made", async () => {
  const own = await newAffected();
  const uid = text(await decide(own, falsePositive), "uid");
  await withdraw(own, uid);
  const restore = async (): Promise<void> => {
    const deletions = await stage.world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [uid] }, { token: own.author });
    const [deletion = {}] = objectList(deletions, "deletions");
    await stage.world.ok("gantry.deletions.v1.DeletionsService/UndeleteDeletion", { uid: text(deletion, "uid") }, { token: own.author });
    await stage.match();
  };
  await restore();
  assert.deepEqual(await listed(own), []);
  await withdraw(own, uid);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1", { version: "3.0.9-r3" });
  await restore();
  assert.deepEqual(await listed(own), ["web affected -"]);
});

test("the decision of the nearest group counts, then the one with more conditions, then the latest", async () => {
  const own = await newTenant();
  const team = text(await stage.world.ok("iam.GroupsService/CreateGroup", { parent: own.group, group: { name: "team" } }, { token: own.author }), "uid");
  await stage.importImage(team, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  await decide(own, { ...falsePositive, packageName: "openssl" });
  assert.deepEqual(await listed(own), []);
  const investigated = { ...falsePositive, state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" };
  const nearest = await decide(own, investigated, team);
  assert.deepEqual(await listed(own), ["web affected under_investigation"]);
  const narrower = await decide(own, { ...accepted(), packageName: "openssl" }, team);
  assert.deepEqual(await listed(own, suppressed), ["web suppressed accepted"]);
  stage.world.clock.now += 1000;
  const latest = await decide(own, { ...falsePositive, tagPattern: "*" }, team);
  assert.deepEqual(await listed(own, suppressed), ["web suppressed false_positive"]);
  for (const { uid } of [latest, narrower, nearest]) await withdraw(own, String(uid));
  assert.deepEqual(await listed(own, suppressed), ["web suppressed false_positive"]);
});

test("a tag pattern decides only about images all of whose tags match", async () => {
  const own = await newAffected();
  const other = await decide(own, { ...falsePositive, tagPattern: "dev-*" });
  assert.equal(other.findingCount, undefined);
  assert.deepEqual(await listed(own), ["web affected -"]);
  const counted = await decide(own, { ...falsePositive, tagPattern: "l*t*t" });
  assert.equal(counted.findingCount, 1);
  assert.deepEqual(await listed(own), []);
});

test("validateOnly tells how many findings a decision matches, and creates nothing", async () => {
  const own = await newAffected(["api", "web"]);
  const request = { parent: own.group, findingDecision: falsePositive };
  const reply = await stage.world.ok(`${service}/CreateFindingDecision`, request, { token: own.author, validateOnly: true });
  assert.equal(reply.findingCount, 2);
  await stage.match();
  assert.equal((await listed(own)).length, 2);
  const all = await stage.world.ok(`${service}/ListFindingDecisions`, { uidp: { descendantsOf: own.group } }, { token: own.author });
  assert.equal(Number(all.totalCount), 0);
});

test("a decision without what its state requires is refused", async () => {
  const own = await newTenant();
  const now = stage.world.clock.now;
  const at = (ms: number): string => new Date(now + ms).toISOString();
  const notAffected = { ...falsePositive, state: "FINDING_DECISION_STATE_NOT_AFFECTED" };
  const rows: readonly (readonly [field: string, decision: JsonObject])[] = [
    ["justification", notAffected],
    ["justification", { ...falsePositive, justification: "FINDING_DECISION_JUSTIFICATION_COMPONENT_NOT_PRESENT" }],
    ["expireTime", { ...falsePositive, state: "FINDING_DECISION_STATE_ACCEPTED" }],
    ["expireTime", { ...accepted(), expireTime: at(-1) }],
    ["expireTime", { ...accepted(), expireTime: at(0) }],
    ["expireTime", { ...accepted(), expireTime: at(367 * dayMs) }],
    ["reason", { ...falsePositive, reason: "" }],
    ["vulnerability", { ...falsePositive, vulnerability: "" }],
  ];
  for (const [field, decision] of rows) {
    const refused = await attempt(own, decision);
    assert.equal(refused.code, codes.INVALID_ARGUMENT, field);
    assert.ok(refused.message.includes(field), refused.message);
  }
});
