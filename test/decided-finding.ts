// A group with an image, a finding in it, and a decision that counts for the finding; and a decision that waits for an approval.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { rootOf } from "#base/uid.ts";
import { pushImage } from "./image-layers.ts";
import { openPusher } from "./pusher.ts";
import { runImport } from "./story/import.ts";
import { createIdentity } from "./story/installation.ts";
import type { World } from "./world.ts";

const record = {
  schema_version: "1.7.0",
  id: "GHSA-sample",
  aliases: ["CVE-2026-9999"],
  modified: "2026-01-01T00:00:00Z",
  affected: [{ package: { ecosystem: "npm", name: "sample" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
};

const service = "gantry.decisions.v1.DecisionsService";

const findingDecision = { vulnerability: "CVE-2026-9999", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "The package is another one." };

/** Creates a decision of another owner in a new group with an approval policy, and returns its uid. `token` is an owner's. */
export const createPendingDecision = async (world: World, parent: string, token: () => Promise<string>): Promise<string> => {
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name: "approvals" } }, { token: await token() }), "uid");
  const policy = { parent: group, decisionApprovalPolicy: {} };
  await world.ok("gantry.decisions.v1.DecisionApprovalPoliciesService/CreateDecisionApprovalPolicy", policy, { token: await token() });
  const author = await createIdentity(world, group, "author", { issuer: "https://issuer.example.com", subject: "author" });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: group, roleBinding: { identityUid: author, roleUid: builtInRoleUid("owner") } });
  return text(await world.ok(`${service}/CreateFindingDecision`, { parent: group, findingDecision }, { token: await world.token(author) }), "uid");
};

/** Creates them in the group. `token` is an owner's. */
export const decideFinding = async (world: World, group: string, token: () => Promise<string>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-decided-"));
  try {
    const file = join(folder, "record.json");
    await writeFile(file, JSON.stringify(record));
    await runImport(world, "advisories", [file], { group: rootOf(group), public: false });
  } finally {
    await rm(folder, { recursive: true });
  }
  const made = await world.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "decided" } }, { token: await token() });
  const content = JSON.stringify({ name: "sample", version: "1.0.0" });
  await pushImage(openPusher(world, text(made, "uid"), token), "1", [{ name: "app/node_modules/sample/package.json", content }]);
  const decision = await world.ok(`${service}/CreateFindingDecision`, { parent: group, findingDecision }, { token: await token() });
  if (text(decision, "approvalState").endsWith("_PENDING"))
    await world.ok(`${service}/ApproveFindingDecision`, { uid: text(decision, "uid") }, { token: await world.token() });
  await world.server.contents.turn();
  await world.server.sboms.turn();
};
