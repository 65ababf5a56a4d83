// Attacks by exported decisions: learning what one cannot list, and statements that silence a scanner beyond the decision.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { text } from "#base/json.ts";
import {
  type DecisionsStage,
  decisionsService as service,
  documentOf,
  notAffected,
  openDecisionsStage,
  type Organization,
  stated,
} from "../decisions-stage.ts";
import { bind, createIdentity } from "../story/installation.ts";

let stage: DecisionsStage;

before(async () => {
  stage = await openDecisionsStage();
});
after(() => stage?.close());

const cve = "CVE-2026-8000";

/** Returns the token of a member with this role on a group. */
const member = async (group: string, role: string): Promise<string> => {
  const subject = randomBytes(8).toString("hex");
  const uid = await createIdentity(stage.world, group, `member-${subject}`, { issuer: "https://issuer.example.com", subject });
  await bind(stage.world, group, uid, role);
  return stage.world.token(uid);
};

const attempt = (token: string, parent: string) => stage.world.call(`${service}/ExportFindingDecisions`, { parent }, { token });

test("attack 374: an export shows no decision, image or group that its caller cannot list", async () => {
  const [own, rival] = [await stage.newOrganization(), await stage.newOrganization()];
  const team = await stage.newGroup(own, own.group, "team");
  const sibling = await stage.newGroup(own, own.group, "sibling");
  await stage.importRecord(own, "GHSA-shown", [cve], "shown");
  await stage.importRecord(own, "GHSA-secret", ["CVE-2026-8001"], "secret");
  for (const path of ["web", "team/api", "sibling/db"]) await stage.push(own, `${own.name}/${path}`, "shown", "secret");
  await stage.decide(own, { vulnerability: "CVE-2026-8001", reason: "Of the whole organization.", ...notAffected });
  for (const group of [team, sibling]) await stage.decide(own, { vulnerability: cve, ...notAffected }, group);
  const token = await member(team, "viewer");
  const { code, reply } = await attempt(token, team);
  assert.equal(code, 0);
  assert.deepEqual(stated(documentOf(reply)), [`${cve} not_affected ${own.name}/team/api pkg:npm/shown@1.0.0`]);
  assert.doesNotMatch(text(reply, "document"), /whole organization|sibling|secret/);
  for (const group of [own.group, sibling, rival.group]) assert.equal((await attempt(token, group)).code, codes.PERMISSION_DENIED);
  for (const group of [own.group, team]) assert.equal((await attempt(await rival.token(), group)).code, codes.PERMISSION_DENIED);
  assert.equal((await attempt("", own.group)).code, codes.UNAUTHENTICATED);
  // A caller that can list the decisions above gets them too.
  assert.equal((await attempt(await member(own.group, "viewer"), team)).reply.decisionCount, 2);
});

/** Creates an organization with one image, whose package has these advisories. */
const affectedBy = async (...ids: readonly (readonly [id: string, ...aliases: string[]])[]): Promise<Organization> => {
  const own = await stage.newOrganization();
  for (const [id, ...aliases] of ids) await stage.importRecord(own, id, aliases, "lib");
  await stage.push(own, `${own.name}/web`, "lib");
  return own;
};

test("attack 375: a decision is not stated while the same vulnerability of the package is open, or another decision says less", async () => {
  const own = await affectedBy(["GHSA-one", cve], ["GHSA-two", cve]);
  await stage.decide(own, { vulnerability: cve, ...notAffected });
  assert.equal((await stage.exported(own)).findingCount, 2);
  // The changed advisory is open again: a scanner knows only the CVE ID.
  const ranges = [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "2.0.0" }] }];
  await stage.importOsv(own, {
    id: "GHSA-two",
    modified: "2026-02-01T00:00:00Z",
    aliases: [cve],
    affected: [{ package: { ecosystem: "npm", name: "lib" }, ranges }],
  });
  assert.equal(await stage.exportCode(own), codes.FAILED_PRECONDITION);
  await stage.decide(own, { vulnerability: "GHSA-two", state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" });
  const reply = await stage.exported(own);
  assert.deepEqual(stated(documentOf(reply)), [`${cve} under_investigation ${own.name}/web pkg:npm/lib@1.0.0`]);
  assert.equal(reply.omittedFindingCount, 1);
});

test("attack 376: a decision about one of an advisory's vulnerabilities does not state the others", async () => {
  const own = await affectedBy(["GHSA-many", cve, "CVE-2026-8002"]);
  await stage.decide(own, { vulnerability: cve, ...notAffected });
  const document = documentOf(await stage.exported(own));
  assert.deepEqual(stated(document), [`${cve} not_affected ${own.name}/web pkg:npm/lib@1.0.0`]);
  assert.doesNotMatch(JSON.stringify(document), /CVE-2026-8002|GHSA-many/);
});
