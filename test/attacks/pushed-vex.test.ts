// Attacks with pushed VEX documents.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openOwners, type Owners } from "../owner.ts";
import { openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "../story/import.ts";

const cve = "CVE-2026-5555";

let world: World;
let folder: string;
let owners: Owners;
const logged: (readonly [document: unknown, problem: unknown])[] = [];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-vex-attacks-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") }, (event, fields) => {
    if (event === "vex.unreadable") logged.push([fields?.document, fields?.problem]);
  });
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const openGroup = async (name: string): Promise<string> => text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");

const openRepo = (group: string, path: string): Pusher => openPusher(world, path, () => owners.token(group), "the same image");

const attach = async (registry: Pusher, subject: Pushed, content: string, mediaType: string): Promise<Pushed> => {
  const blob = await registry.blob(content, mediaType);
  await registry.artifact([blob], { subject });
  return blob;
};

/** Pushes the same image with a vulnerable package. */
const pushVulnerable = async (group: string, registry: Pusher): Promise<Pushed> => {
  const image = await registry.image("amd64", "v1");
  const components = [{ type: "library", name: "lantern", purl: "pkg:npm/lantern@1.0.0" }];
  await attach(registry, image, JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components }), "application/vnd.cyclonedx+json");
  await world.server.sboms.turn();
  const file = join(folder, `${group.replaceAll("/", "-")}.json`);
  const affected = [{ package: { ecosystem: "npm", name: "lantern" }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }];
  writeFileSync(file, JSON.stringify({ schema_version: "1.7.0", id: cve, modified: "2026-01-01T00:00:00Z", affected }));
  assert.deepEqual((await runImport(world, "advisories", [file], { group })).refused, []);
  return image;
};

const openvex = (statements: readonly JsonObject[]): string =>
  JSON.stringify({ "@context": "https://openvex.dev/ns/v0.2.0", author: "You", timestamp: "2026-01-15T00:00:00Z", version: 1, statements: [...statements] });

const silencing = { vulnerability: { name: cve }, status: "not_affected", justification: "component_not_present" };

const vexType = "application/openvex+json";

const listFindings = async (group: string, request: JsonObject = {}): Promise<JsonObject> =>
  world.ok("gantry.findings.v1.FindingsService/ListFindings", { uidp: { descendantsOf: group }, ...request }, { token: await owners.token(group) });

test("attack 348: a pushed VEX document silences no finding, whatever it claims and however often it is pushed", async () => {
  const group = await openGroup("silenced");
  const registry = openRepo(group, "silenced/web");
  const image = await pushVulnerable(group, registry);
  const before = await listFindings(group);
  for (const status of ["not_affected", "fixed", "under_investigation"])
    for (const products of [undefined, ["pkg:npm/lantern@1.0.0"], [{ "@id": "pkg:oci/web", subcomponents: [{ "@id": "pkg:npm/lantern" }] }]])
      await attach(registry, image, openvex([{ ...silencing, status, ...(products === undefined ? {} : { products }) }]), vexType);
  await world.server.sboms.turn();
  const now = await listFindings(group);
  const [finding = {}] = objectList(now, "findings");
  assert.equal(objectList(finding, "vexStatements").length, 9);
  const { vexStatements: _shown, ...rest } = finding;
  assert.deepEqual({ ...now, findings: [rest] }, before);
  for (const states of [["AFFECTED_IMAGE_STATE_SUPPRESSED"], ["AFFECTED_IMAGE_STATE_RESOLVED"], ["AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION"]])
    assert.deepEqual(objectList(await listFindings(group, { states }), "findings"), []);
});

test("attack 377: a VEX document appears at no other repo's or organization's image with the same digest", async () => {
  const [ours, theirs] = [await openGroup("vex-ours"), await openGroup("vex-theirs")];
  const [own, foreign] = [openRepo(ours, "vex-ours/web"), openRepo(theirs, "vex-theirs/web")];
  const [image, copy] = [await pushVulnerable(ours, own), await pushVulnerable(theirs, foreign)];
  assert.equal(image.digest, copy.digest);
  const beside = openRepo(ours, "vex-ours/beside");
  await pushVulnerable(ours, beside);
  await attach(foreign, copy, openvex([silencing]), vexType);
  // Both organizations have a document, so that both are searched.
  for (const registry of [own, beside]) await attach(registry, image, openvex([{ ...silencing, vulnerability: "CVE-2026-1" }]), vexType);
  await world.server.sboms.turn();
  const shown = async (group: string): Promise<number[]> =>
    objectList(await listFindings(group), "findings").map((each) => objectList(each, "vexStatements").length);
  assert.deepEqual([await shown(ours), await shown(theirs)], [[0, 0], [1]]);
});

test("attack 380: hostile VEX documents are refused individually, and another document is read", async () => {
  const group = await openGroup("vex-hostile");
  const registry = openRepo(group, "vex-hostile/web");
  const image = await pushVulnerable(group, registry);
  const ids = Array.from({ length: 200 }, (_, index) => `CVE-2026-${10_000 + index}`);
  const parts = Array.from({ length: 200 }, (_, index) => `pkg:npm/p${index}`);
  const product = { "@id": "web", subcomponents: parts };
  const many = Array.from({ length: 100 }, () => ({ ...silencing, vulnerability: { name: cve, aliases: ids } }));
  const hostile: readonly (readonly [content: string, problem: RegExp])[] = [
    [openvex(many), new RegExp(`^has more than ${limits.vexStatementsMax} statements`)],
    [openvex([{ ...silencing, vulnerability: { name: cve, aliases: ids }, products: [product] }]), /^names more than 20000 packages$/],
    [openvex([{ ...silencing, status: "harmless" }]), /^statements\[0\]\.status must be not_affected, affected, fixed or under_investigation$/],
    [openvex([{ ...silencing, impact_statement: "\u001b[31m" }]), /must not contain control characters$/],
    [openvex([]), /^statements must be a list that is not empty$/],
    [`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`, /nested deeper/],
    ["{}", /^is not an OpenVEX document$/],
  ];
  const pushed = await Promise.all(hostile.map(async ([content]) => (await attach(registry, image, content, vexType)).digest));
  await attach(registry, image, openvex([silencing]), vexType);
  await world.server.sboms.turn();
  for (const [index, [, problem]] of hostile.entries()) {
    const [, said = ""] = logged.find(([document]) => document === pushed[index]) ?? [];
    assert.match(String(said), problem);
  }
  const [finding = {}] = objectList(await listFindings(group), "findings");
  assert.equal(objectList(finding, "vexStatements").length, 1);
  const { store } = world.server.application.services;
  const states = await store.read.query("select state, count(*) from vex_documents where left(repo_uid, 40) = $1 group by state order by state", [group]);
  assert.deepEqual(states, [
    ["READ", "1"],
    ["UNREADABLE", String(hostile.length)],
  ]);
});
