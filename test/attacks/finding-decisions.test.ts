// Attacks on decisions about findings: hiding findings of others, after the expiry, or that nobody examined (docs/decisions/0090).

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { type Authoring, openAuthoring, type Tenant } from "../authoring.ts";
import { runImport } from "../story/import.ts";

const service = "gantry.decisions.v1.DecisionsService";
const hour = 3600_000;

let stage: Authoring;
let folder: string;
let made = 0;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-finding-decisions-"));
  stage = await openAuthoring();
});
after(async () => {
  await stage?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const newTenant = (): Promise<Tenant> => stage.newTenant(`tenant-${++made}`);

const falsePositive = { vulnerability: "CVE-2026-1", state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "Not reachable." };

const attempt = (token: string, parent: string, decision: JsonObject) =>
  stage.world.call(`${service}/CreateFindingDecision`, { parent, findingDecision: { ...falsePositive, ...decision } }, { token });

const decide = async (token: string, parent: string, decision: JsonObject = {}): Promise<string> => {
  const findingDecision = { ...falsePositive, ...decision };
  const uid = text(await stage.world.ok(`${service}/CreateFindingDecision`, { parent, findingDecision }, { token }), "uid");
  await stage.match();
  return uid;
};

const open = async ({ group, author }: Tenant, token = author): Promise<string[]> => {
  const reply = await stage.world.ok("gantry.findings.v1.FindingsService/ListFindings", { uidp: { descendantsOf: group } }, { token });
  assert.equal(Number(reply.totalCount), objectList(reply, "findings").length);
  return objectList(reply, "findings")
    .map((row) => `${text(row, "repo")} ${text(row, "advisoryId")}`)
    .sort();
};

const newGroup = async (parent: string, name: string): Promise<string> =>
  text(await stage.world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

test("attack 358: an expired acceptance hides nothing, even if its images were not matched since", async () => {
  const own = await newTenant();
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  const expireTime = new Date(stage.world.clock.now + hour / 2).toISOString();
  await decide(own.author, own.group, { state: "FINDING_DECISION_STATE_ACCEPTED", expireTime });
  assert.deepEqual(await open(own), []);
  stage.world.clock.now += hour / 2;
  assert.deepEqual(await open(own), ["web CGA-aaaa-aaaa-aaaa"]);
  stage.world.clock.now -= hour / 2;
});

test("attack 359: a decision hides nothing in other organizations, parent groups and sibling groups", async () => {
  const about = { vulnerability: "CVE-2026-9" };
  const [own, rival] = [await newTenant(), await newTenant()];
  const [team, sibling] = [await newGroup(own.group, "team"), await newGroup(own.group, "sibling")];
  for (const [group, repo] of [[own.group, "top"] as const, [team, "team"] as const, [sibling, "sibling"] as const, [rival.group, "rival"] as const])
    await stage.importImage(group, repo, ["curl=8.0-r0"]);
  await stage.importAdvisory(stage.world.organization, "curl", "CGA-pppp-pppp-pppp", "CVE-2026-9", { version: "8.1-r0", isPublic: true });
  await decide(own.author, team, about);
  assert.deepEqual(await open(own), ["sibling CGA-pppp-pppp-pppp", "top CGA-pppp-pppp-pppp"]);
  await decide(own.author, own.group, about);
  assert.deepEqual(await open(own), []);
  assert.deepEqual(await open(rival), ["rival CGA-pppp-pppp-pppp"]);
  assert.equal((await attempt(own.author, rival.group, {})).code, codes.PERMISSION_DENIED);
});

test("attack 360: a decision cannot name another organization's repo, and the error does not tell whether it exists", async () => {
  const [own, rival] = [await newTenant(), await newTenant()];
  const repo = text(await stage.world.ok("registry.ReposService/CreateRepo", { parent: rival.group, repo: { name: "web" } }), "uid");
  const answers = await Promise.all([repo, `${rival.group}/${"0".repeat(16)}`].map((repoUid) => attempt(own.author, own.group, { repoUid })));
  for (const { code } of answers) assert.equal(code, codes.INVALID_ARGUMENT);
  assert.equal(new Set(answers.map(({ message }) => message)).size, 1);
});

test("attack 361: viewers, editors and pushers neither decide nor withdraw a decision", async () => {
  const own = await newTenant();
  const uid = await decide(own.author, own.group);
  for (const role of ["viewer", "editor", "registry.push", "limited_owner"]) {
    const { token } = await stage.newOwner(own.group, "other", role);
    assert.equal((await attempt(token, own.group, {})).code, codes.PERMISSION_DENIED, role);
    assert.equal((await stage.world.call(`${service}/DeleteFindingDecision`, { uid }, { token })).code, codes.PERMISSION_DENIED, role);
  }
  await stage.world.ok(`${service}/GetFindingDecision`, { uid }, { token: own.author });
});

test("attack 362: a further tag does not bring an image under a decision about other tags", async () => {
  const own = await newTenant();
  const push = async (tags: readonly string[]): Promise<void> => {
    const file = join(folder, "web.jsonl");
    writeFileSync(file, `${JSON.stringify({ repo: "web", tags: [...tags], configs: { amd64: { packages: ["openssl=3.0.9-r1"] } } })}\n`);
    await runImport(stage.world, "images", [file], { group: own.group });
  };
  await push(["dev-1"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  await decide(own.author, own.group, { tagPattern: "dev-*" });
  assert.deepEqual(await open(own), []);
  await push(["prod", "dev-1"]);
  assert.deepEqual(await open(own), ["web CGA-aaaa-aaaa-aaaa"]);
});

test("attack 363: a decision hides neither a changed advisory nor a later one with the same alias", async () => {
  const own = await newTenant();
  await stage.importImage(own.group, "web", ["openssl=3.0.9-r1", "zlib=1.2-r0"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1");
  await decide(own.author, own.group);
  assert.deepEqual(await open(own), []);
  await stage.importAdvisory(own.group, "zlib", "CGA-zzzz-zzzz-zzzz", "CVE-2026-1", { version: "1.3-r0" });
  assert.deepEqual(await open(own), ["web CGA-zzzz-zzzz-zzzz"]);
  await stage.importAdvisory(own.group, "openssl", "CGA-aaaa-aaaa-aaaa", "CVE-2026-1", { version: "3.0.9-r4" });
  assert.deepEqual(await open(own), ["web CGA-aaaa-aaaa-aaaa", "web CGA-zzzz-zzzz-zzzz"]);
});
