// Attacks through imported lifecycles, and through documents that version 1 shows.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openPusher } from "../pusher.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { runImport } from "../story/import.ts";
import { openWorld, type World } from "../world.ts";

const registry = "chainguard.platform.registry.Registry";

let world: World;
let folder: string;
before(async () => {
  world = await openWorld({}, undefined, Date.parse("2026-01-01T00:00:00Z"));
  folder = await mkdtemp(join(tmpdir(), "gantry-lifecycle-attacks-"));
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const organization = async (name: string): Promise<{ readonly group: string; readonly token: string }> => {
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const identity = await createIdentity(world, group, "owner", { issuer: "https://issuer.example.com", subject: name });
  await bind(world, group, identity, "owner");
  return { group, token: await world.token(identity) };
};

const importLifecycle = async (group: string, document: object): Promise<string[]> => {
  const path = join(folder, `${crypto.randomUUID()}.json`);
  await writeFile(path, JSON.stringify(document));
  return [...(await runImport(world, "lifecycle", [path], { group })).refused];
};

const release = (eol: string | boolean, releaseCycle = "1"): JsonObject => ({ releaseCycle, releaseDate: "2020-01-01", eol });

test("attack 124: an organization's lifecycle affects and reveals nothing in another's tags and versions, whatever its names", async () => {
  const [victim, rival] = [await organization("victim"), await organization("rival")];
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: victim.group, repo: { name: "nginx" } }), "uid");
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "1", digest: `sha256:${"a".repeat(64)}` } });
  const seen = async (): Promise<unknown[]> => {
    const answers: unknown[] = [];
    for (const protocol of ["rest", "grpc"] as const) {
      const options = { token: victim.token, protocol };
      answers.push(objectList(await world.ok(`${registry}/ListEolTags`, { uidp: { descendantsOf: victim.group } }, options), "items"));
      for (const name of ["nginx", "httpd", victim.group]) {
        const { code, message, reply } = await world.call(`${registry}/GetPackageVersionMetadata`, { package: name }, options);
        answers.push([code, message, reply]);
      }
    }
    return answers;
  };
  const own = { product: "nginx", releases: [release("2030-01-01")] };
  for (const known of [[], [own]]) {
    for (const each of known) assert.deepEqual(await importLifecycle(victim.group, each), []);
    const before = await seen();
    // The rival claims the same product, its names, and a product for each of the victim's texts.
    assert.deepEqual(
      await importLifecycle(rival.group, { product: "nginx", names: ["httpd", victim.group], gracePeriodMonths: 0, releases: [release(true)] }),
      [],
    );
    assert.deepEqual(await importLifecycle(rival.group, { product: "httpd", names: ["nginx"], releases: [release("2000-01-01")] }), []);
    const below = text(await world.ok("iam.GroupsService/CreateGroup", { parent: rival.group, group: { name: "below" } }), "uid");
    assert.deepEqual(await importLifecycle(below, { product: "nginx", releases: [release(true)] }), []);
    assert.deepEqual(await seen(), before);
  }
  const [tag = {}] = objectList(await world.ok(`${registry}/ListEolTags`, { uidp: { childrenOf: repo } }), "items");
  assert.equal(text(part(tag, "mainPackageVersion"), "eolDate"), "2030-01-01");
});

test("attack 125: hostile lifecycles are refused individually, and a hostile document is an error that blocks no other", async () => {
  const { group, token } = await organization("hostile");
  for (const [document, reason] of [
    [{ product: "a", releases: Array.from({ length: limits.lifecycleReleasesMax + 1 }, (_, index) => release(false, String(index))) }, /at most 2000 releases/],
    [{ product: "a", names: Array.from({ length: limits.lifecycleNamesMax }, (_, index) => `n${index}`), releases: [release(false)] }, /at most 500 names/],
    [{ product: "a\u001b[31m", releases: [release(false)] }, /control characters/],
    [{ product: "a", releases: [release("9999-99-99")] }, /must be a day/],
    [{ product: "a", releases: [{ ...release(false), releaseCycle: "x".repeat(limits.feedIdLengthMax + 1) }] }, /at most 512 characters/],
    [{ product: "a", gracePeriodMonths: -1, releases: [release(false)] }, /whole number from 0/],
  ] as const) {
    const [refused = "", ...others] = await importLifecycle(group, document);
    assert.match(refused, reason);
    assert.deepEqual(others, []);
  }
  assert.deepEqual(await importLifecycle(group, { product: "__proto__", names: ["constructor"], releases: [release(true, "toString")] }), []);
  const { eolVersions } = await world.ok(`${registry}/GetPackageVersionMetadata`, { package: "constructor" }, { token });
  assert.equal(JSON.stringify(eolVersions).includes("toString"), true);
  assert.equal((await world.call(`${registry}/GetPackageVersionMetadata`, { package: "valueOf" }, { token })).code, codes.NOT_FOUND);

  // A graph above the display limit, in a document below the size limit.
  const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: "graphs" } }), "uid");
  const pusher = openPusher(world, repo, () => world.token());
  const image = await pusher.image("amd64");
  const components = Array.from({ length: limits.shownSbomNodesMax + 1 }, (_, index) => ({ type: "library", name: `p${index}`, purl: `pkg:npm/p${index}@1` }));
  const document = await pusher.blob(JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components }), "application/vnd.cyclonedx+json");
  await pusher.artifact([document], { subject: image });
  await world.server.sboms.turn();
  let answered = 0;
  const asked = { repoId: repo, digest: image.digest };
  const showing = Promise.all(Array.from({ length: 2 }, () => world.call(`${registry}/GetSbom`, asked, { token })));
  const isOver = showing.then(() => true);
  while (!(await Promise.race([isOver, world.ok("iam.GroupsService/GetGroup", { uid: world.organization }).then(() => false)]))) answered++;
  assert.ok(answered > 10, `${answered} requests were answered meanwhile`);
  for (const { code, message } of await showing) {
    assert.equal(code, codes.FAILED_PRECONDITION);
    assert.match(message, /more than 50000 packages/);
  }
  const small = await pusher.image("arm64");
  const short = await pusher.blob(
    JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: components.slice(0, 1) }),
    "application/vnd.cyclonedx+json",
  );
  await pusher.artifact([short], { subject: small });
  await world.server.sboms.turn();
  // Excess requests get a retry error, and other tenants' slots stay free.
  const flood = await Promise.all(Array.from({ length: 30 }, () => world.call(`${registry}/GetRawSbom`, { repoId: repo, digest: small.digest }, { token })));
  const told = flood.map(({ code }) => code);
  assert.ok(
    told.every((code) => code === 0 || code === codes.RESOURCE_EXHAUSTED),
    String(told),
  );
  assert.ok(told.includes(0) && told.includes(codes.RESOURCE_EXHAUSTED), String(told));
});
