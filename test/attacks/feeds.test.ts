// Attacks on what imports publish.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openWorld, type World } from "../world.ts";
import { runImport } from "../story/import.ts";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-published-secret-word-"));
  world = await openWorld();
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const osv = (id: string, word: string): string =>
  JSON.stringify({
    id,
    modified: "2025-01-01T00:00:00Z",
    summary: word,
    affected: [{ package: { ecosystem: "Go", name: `example.com/${id}` }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
  });

const openPaths = ["osv/all.json", "openvex/all.json", "csaf/all.json", "csaf/index.txt", "csaf/changes.csv", "csaf/provider-metadata.json"];
const everythingOpen = async (more: readonly string[]): Promise<string> => {
  const texts = await Promise.all([...openPaths, ...more].map(async (path) => (await fetch(`${world.url}/advisory/v2/${path}`)).text()));
  return texts.join("\n");
};

test("attack 81: a publication of the same ID by another organization publishes no private import", async () => {
  const other = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } })).uid);
  const paths = ["osv/SIDE-1.json", "openvex/SIDE-1.json", "csaf/SIDE-1.json", "osv/SIDE-3.json"];
  const path = join(scratch, "private.json");
  await writeFile(path, osv("SIDE-1", "confidential"));
  for (const kind of ["advisories", "vulnerabilities"] as const) await runImport(world, kind, [path]);
  // Another organization publishes the ID as either kind; so does this one under another ID.
  const theirs = join(scratch, "theirs.json");
  // One ID that this organization has already asserted, and one that it will assert.
  await writeFile(theirs, `${osv("SIDE-1", "known")}\n${osv("SIDE-3", "known")}\n`);
  for (const kind of ["advisories", "vulnerabilities"] as const) await runImport(world, kind, [theirs], { group: other, public: true });
  const mine = join(scratch, "mine.json");
  await writeFile(mine, osv("SIDE-2", "known"));
  await runImport(world, "advisories", [mine], { public: true });
  const later = join(scratch, "later.json");
  await writeFile(later, osv("SIDE-3", "confidential"));
  for (const kind of ["advisories", "vulnerabilities"] as const) await runImport(world, kind, [path, later]);
  assert.doesNotMatch(await everythingOpen(paths), /confidential/);
  const open = await Promise.all([
    world.ok("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", { ids: ["SIDE-1", "SIDE-3"] }, { token: undefined }),
    world.ok("advisory.SecurityAdvisoryService/ListDocuments", {}, { token: undefined }),
  ]);
  assert.doesNotMatch(JSON.stringify(open), /confidential/);
  assert.match(JSON.stringify(open), /known/);
});

test("attack 82: public lists reveal neither the operator's paths nor secrets in a feed's address", async () => {
  const server = createServer((_, response) => response.end(osv("ADDRESS-1", "x")));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed?key=secret-word`;
    const path = join(scratch, "local.json");
    await writeFile(path, osv("PATH-1", "x"));
    await runImport(world, "advisories", [path, address], { public: true });
    const open = await everythingOpen(["osv/PATH-1.json", "osv/ADDRESS-1.json"]);
    assert.match(open, /"source":"127\.0\.0\.1:\d+\/feed"/);
    assert.doesNotMatch(open, /secret-word/);
  } finally {
    await new Promise((done) => server.close(done));
  }
});

test("attack 240: the error for an unreachable address includes the reason but not the key in its query", async () => {
  const { failed } = await runImport(world, "advisories", ["http://127.0.0.1:9/feed?key=confidential"]);
  assert.equal(failed.length, 1);
  assert.match(failed[0] ?? "", /^127\.0\.0\.1:9\/feed: 127\.0\.0\.1:9\/feed cannot be reached: (?:127\.0\.0\.1 is not a public address|connect ECONNREFUSED)/);
  assert.doesNotMatch(failed[0] ?? "", /confidential/);
});
