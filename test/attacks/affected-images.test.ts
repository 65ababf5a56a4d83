// Attacks on what an organization can learn about other organizations' images.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { runImport } from "../story/import.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

const claimMatch = { issuer: "https://issuer.example.com", subject: "somebody" };
const list = "gantry.images.v1.AffectedImagesService/ListAffectedImages";
const protocols = ["rest", "grpc"] as const;

let world: World;
let scratch: string;
let theirs: string;
let [ours, both] = ["", ""];

const write = (name: string, value: unknown): string => {
  const path = join(scratch, name);
  writeFileSync(path, `${JSON.stringify(value)}\n`);
  return path;
};

const importImage = (place: string, repo: string, packages: readonly string[]) =>
  runImport(world, "images", [write(`${repo}.jsonl`, { repo, tags: ["latest"], configs: { amd64: { packages } } })], { group: place });

const importAdvisory = (place: string, name: string, number: string, isPublic?: boolean) =>
  runImport(
    world,
    "advisories",
    [
      write(`${number}.json`, {
        "schema-version": "2.0.2",
        package: { name },
        advisories: [
          { id: number, aliases: [`CVE-${number}`], events: [{ timestamp: "2026-01-01T00:00:00Z", type: "fixed", data: { "fixed-version": "2-r0" } }] },
        ],
      }),
    ],
    { group: place, public: isPublic },
  );

before(async () => {
  scratch = mkdtempSync(join(tmpdir(), "gantry-affected-"));
  world = await openWorld();
  theirs = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } })).uid);
  const [one, two] = [
    await createIdentity(world, world.organization, "one", claimMatch),
    await createIdentity(world, world.organization, "two", { ...claimMatch, subject: "two" }),
  ];
  await bind(world, world.organization, one, "viewer");
  await bind(world, world.organization, two, "owner");
  [ours, both] = [await world.token(one), await world.token(two)];
  // The same repo, package and published advisory as the rival's, and an advisory of the rival's own.
  await importImage(world.organization, "web", ["shared=1-r0", "own=1-r0"]);
  await importImage(theirs, "web-confidential", ["shared=1-r1", "own=1-r1"]);
  await importAdvisory(theirs, "shared", "CGA-shared", true);
  await importAdvisory(theirs, "own", "CGA-confidential");
});
after(async () => {
  await world?.close();
  rmSync(scratch, { recursive: true, force: true });
});

test("attack 88: another organization's images and private advisories appear in no list, count, order or event", async () => {
  const everything = await world.ok(list, {});
  assert.equal(Number(everything.totalCount), 3, "the operator sees all of them");
  for (const token of [ours, both])
    for (const protocol of protocols) {
      const requests: readonly JsonObject[] = [
        {},
        { advisoryIds: ["CGA-shared"] },
        { advisoryIds: ["CVE-CGA-shared", "CGA-confidential"] },
        { packages: ["shared", "own"] },
        { orderBy: "update_time desc" },
        { orderBy: "digest" },
        { pageSize: 1 },
        { uidp: { descendantsOf: world.organization } },
        { uidp: { childrenOf: world.organization } },
      ];
      for (const request of requests) {
        const reply = await world.ok(list, request, { protocol, token });
        assert.equal(Number(reply.totalCount), 1, JSON.stringify(request));
        assert.doesNotMatch(JSON.stringify(reply), /confidential|1-r1/, JSON.stringify(request));
        assert.equal(reply.nextPageToken ?? "", "");
      }
      const named = (everything.affectedImages as JsonObject[]).map(({ uid }) => String(uid)).filter((uid) => uid.startsWith(theirs));
      assert.equal(named.length, 2);
      for (const request of [{ uidp: { ids: named } }, { advisoryIds: ["CGA-confidential"] }]) {
        const reply = await world.ok(list, request, { protocol, token });
        assert.equal(Number(reply.totalCount), 0, JSON.stringify(request));
      }
      for (const uidp of [{ descendantsOf: theirs }, { childrenOf: theirs }]) {
        const { code, reply } = await world.call(list, { uidp }, { protocol, token });
        assert.ok(code !== 0 || Number(reply.totalCount) === 0, JSON.stringify([uidp, reply]));
      }
    }
  await world.server.delivery.enqueue();
  const events = await world.ok("gantry.events.v1.EventsService/ListEvents", { types: ["dev.gantry.images.affected.v1"] }, { token: both });
  assert.equal(Number(events.totalCount), 1);
  assert.doesNotMatch(JSON.stringify(events), /confidential|1-r1/);
  assert.match(JSON.stringify(events), /CGA-shared/);
});

test("attack 96: very long version ranges and statements about other versions or architectures affect no image", async () => {
  const place = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "stated" } })).uid);
  await importImage(place, "stated", ["pkg:npm/left-pad@1.0.0", "bash=1-r0"]);
  const importDocument = (name: string, document: JsonObject) => runImport(world, "advisories", [write(`${name}.json`, document)], { group: place });
  const purl = "pkg:npm/left-pad";
  const bounds = Array.from({ length: 50_000 }, (_, n) => `${n}.0.0`).join("|");
  const csaf = await importDocument("csaf", {
    document: {
      category: "csaf_security_advisory",
      csaf_version: "2.0",
      title: "left-pad",
      publisher: { category: "vendor", name: "somebody", namespace: "https://example.com" },
      tracking: { id: "X-2026-9", status: "final", version: "1", initial_release_date: "2026-01-01T00:00:00Z", current_release_date: "2026-01-01T00:00:00Z" },
    },
    product_tree: {
      branches: [
        { category: "product_version_range", name: `vers:npm/${bounds}`, product: { name: "A", product_id: "A", product_identification_helper: { purl } } },
      ],
    },
    vulnerabilities: [{ cve: "CVE-2026-31", product_status: { known_affected: ["A"] } }],
  });
  assert.equal(csaf.unmatched.length, 1);
  await importDocument("vex", {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://example.com/vex-9",
    author: "somebody",
    timestamp: "2026-01-01T00:00:00Z",
    version: 1,
    statements: ["pkg:npm/left-pad@1.0.1", "pkg:apk/wolfi/bash@1-r0?arch=aarch64", "pkg:apk/wolfi/bash@1-r"].map((id, n) => ({
      vulnerability: { name: `CVE-2026-4${n}` },
      status: "affected",
      action_statement: "update",
      products: [{ "@id": id }],
    })),
  });
  for (const protocol of protocols) assert.equal(Number((await world.ok(list, { uidp: { descendantsOf: place } }, { protocol })).totalCount), 0);
});
