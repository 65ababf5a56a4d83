// Exports of advisories as OSV, OpenVEX and CSAF, at stable public addresses.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { recordKey } from "#advisories/store";
import { withdrawVanished } from "../../server/advisories/feeds/write-records.ts";
import { openWorld, type World } from "../world.ts";
import { advisory, eventAt, everyKind, writeTestRecords } from "./records.ts";

let world: World;

before(async () => {
  world = await openWorld();
  world.clock.now = Date.parse("2026-02-01T00:00:00Z");
  await writeTestRecords(world, [
    advisory("CGA-every", {
      artifactName: "every",
      aliases: ["GHSA-1", "CVE-2024-0001"],
      namespace: "wolfi",
      events: everyKind.slice(0, 9).map((data, index) => eventAt(`2024-01-0${index + 1}T00:00:00Z`, data)),
    }),
    advisory("CGA-fixed", {
      artifactName: "gtk+3.0/x",
      origin: "gtk+3.0",
      aliases: ["CVE-2024-0002"],
      artifactArchitecture: "x86_64",
      events: [eventAt("2024-01-01T00:00:00Z", { fixed: { fixedVersion: "3.0-r1" } })],
    }),
    advisory("CGA-safe", {
      artifactName: "every",
      aliases: ["CVE-2024-0003"],
      events: [eventAt("2024-01-01T00:00:00Z", { falsePositiveDetermination: { type: "TYPE_COMPONENT_VULNERABILITY_MISMATCH", note: "another" } })],
    }),
    {
      kind: "vulnerability",
      id: "CVE-2024-0002",
      aliases: [],
      state: "PUBLISHED",
      summary: "",
      details: "",
      references: [],
      severities: [
        { type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:L/A:L" },
        { type: "TYPE_CVSS_V2", score: "5.0" },
      ],
    },
  ]);
  await writeTestRecords(world, [advisory("CGA-private", { artifactName: "private", origin: "private" })], { public: false });
});
after(() => world?.close());

const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> => fetch(`${world.url}/advisory/v2/${path}`, { headers });
const json = async (path: string): Promise<JsonObject> => {
  const response = await ask(path);
  assert.equal(response.status, 200, path);
  const body = (await response.json()) as Json;
  return isObject(body) ? body : { list: body };
};
const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

test("an advisory is exported as an OSV record with its range, aliases and severities", async () => {
  assert.deepEqual(await json("osv/CGA-fixed.json"), {
    schema_version: "1.7.0",
    id: "CGA-fixed",
    modified: "2026-02-01T00:00:00.000Z",
    published: "2024-01-01T00:00:00.000Z",
    upstream: ["CVE-2024-0002"],
    severity: [{ type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:L/A:L" }],
    affected: [
      {
        package: { ecosystem: "Wolfi", name: "gtk+3.0/x", purl: "pkg:apk/wolfi/gtk%2B3.0/x?arch=x86_64" },
        ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed: "3.0-r1" }] }],
      },
    ],
    database_specific: { author: "Wolfi", statuses: [{ package: "pkg:apk/wolfi/gtk%2B3.0/x?arch=x86_64", status: "fixed" }] },
  });
  const safe = await json("osv/CGA-safe.json");
  assert.equal(safe.affected, undefined);
  const every = await json("osv/CGA-every.json");
  assert.deepEqual(objects(objects(every.affected)[0]?.ranges), [{ type: "ECOSYSTEM", events: [{ introduced: "0" }] }]);
});

test("a package is exported as an OpenVEX document with the current status of each vulnerability, ordered by time", async () => {
  const document = await json("openvex/every.json");
  assert.equal(document["@context"], "https://openvex.dev/ns/v0.2.0");
  const statements = objects(document.statements);
  assert.deepEqual(
    statements.map(({ vulnerability, status }) => [isObject(vulnerability) ? vulnerability.name : "", status]),
    [
      ["CVE-2024-0003", "not_affected"],
      ["CVE-2024-0001", "affected"],
    ],
  );
  assert.deepEqual(
    statements.map((statement) => text(statement, "timestamp")),
    statements.map((statement) => text(statement, "timestamp")).sort(),
  );
  for (const statement of statements) {
    const status = text(statement, "status");
    // OpenVEX requires a reason for not_affected and an action for affected.
    if (status === "not_affected") assert(text(statement, "justification") !== "" || text(statement, "impact_statement") !== "");
    if (status === "affected") assert.notEqual(text(statement, "action_statement"), "");
    assert(["not_affected", "affected", "fixed", "under_investigation"].includes(status));
  }
  assert.deepEqual(statements[1]?.vulnerability, { name: "CVE-2024-0001", aliases: ["GHSA-1", "CGA-every"] });
  const [fixed] = objects((await json("openvex/gtk%2B3.0.json")).statements);
  const purl = "pkg:apk/wolfi/gtk%2B3.0/x@3.0-r1?arch=x86_64";
  assert.deepEqual([fixed?.status, fixed?.products], ["fixed", [{ "@id": purl, identifiers: { purl } }]]);
});

test("a package is exported as a CSAF document with all products and what the VEX profile requires for each status", async () => {
  for (const name of ["every", "gtk%2B3.0"]) {
    const document = await json(`csaf/${name}.json`);
    const head = isObject(document.document) ? document.document : {};
    assert.equal(head.category, "csaf_vex");
    const products = new Set(
      objects(isObject(document.product_tree) ? document.product_tree.full_product_names : []).map((product) => text(product, "product_id")),
    );
    const vulnerabilities = objects(document.vulnerabilities);
    assert(vulnerabilities.length > 0);
    for (const vulnerability of vulnerabilities) {
      assert(text(vulnerability, "cve") !== "" || objects(vulnerability.ids).length > 0);
      assert(objects(vulnerability.notes).length > 0);
      const [[status, named] = ["", null]] = Object.entries(isObject(vulnerability.product_status) ? vulnerability.product_status : {});
      for (const product of Array.isArray(named) ? named : []) assert(products.has(String(product)));
      if (status === "known_not_affected") assert(objects(vulnerability.flags).length + objects(vulnerability.threats).length > 0);
      if (status === "known_affected") assert(objects(vulnerability.remediations).length > 0);
    }
  }
});

test("lists are ordered by time of change and contain withdrawals", async () => {
  const ids = async (path: string): Promise<string[]> => objects((await json(path)).list).map((entry) => text(entry, "id"));
  assert.deepEqual(await ids("osv/all.json"), ["CGA-every", "CGA-fixed", "CGA-safe"]);
  assert.deepEqual(await ids("openvex/all.json"), ["every", "gtk+3.0"]);
  assert.equal(await (await ask("csaf/index.txt")).text(), "2024/gtk+3_0.json\n2024/every.json\n");
  const target = { group: world.organization, public: true, feed: "leaving", nowMs: (world.clock.now += 1000) };
  const [stays, leaves] = [advisory("CGA-stays", { artifactName: "leaving" }), advisory("CGA-leaves", { artifactName: "leaving" })];
  await writeTestRecords(world, [stays, leaves], target);
  const since = timestamp((world.clock.now += 1000));
  const key = recordKey(stays);
  await world.server.application.services.store.write((rows) =>
    withdrawVanished(rows, { ...target, nowMs: world.clock.now + 1 }, "advisory", () => Promise.resolve(new Set([key]))),
  );
  assert.deepEqual(await ids(`osv/all.json?since=${since}`), ["CGA-leaves"]);
  assert.equal((await json("osv/CGA-leaves.json")).withdrawn, timestamp(world.clock.now + 1));
  assert.deepEqual(await ids(`csaf/all.json?since=${since}`), ["leaving"]);
  assert.equal((await ask("osv/all.json?since=yesterday")).status, 400);
  assert.match(await (await ask("csaf/changes.csv")).text(), /^"\d{4}\/leaving\.json","2026-02-01T/);
  const metadata = await json("csaf/provider-metadata.json");
  assert.equal(metadata.role, "csaf_provider");
});

test("documents are public with stable address and ETag, and contain nothing private", async () => {
  const first = await ask("osv/CGA-fixed.json");
  const etag = first.headers.get("etag") ?? "";
  assert.equal((await ask("osv/CGA-fixed.json", { "if-none-match": etag })).status, 304);
  assert.equal((await fetch(`${world.url}/advisory/v2/osv/CGA-fixed.json`, { method: "HEAD" })).status, 200);
  assert.equal((await fetch(`${world.url}/advisory/v2/osv/CGA-fixed.json`, { method: "POST" })).status, 405);
  for (const path of [
    "osv/CGA-private.json",
    "openvex/private.json",
    "csaf/private.json",
    "osv/none.json",
    "osv/",
    "osv/CGA-fixed",
    "osv/%00.json",
    "osv/..%2f.json",
    "nothing/CGA-fixed.json",
  ]) {
    const response = await ask(path);
    assert.equal(response.status, 404, path);
    const body = (await response.json()) as JsonObject;
    assert.equal(body.code, 5, path);
  }
  assert(!texts({ all: objects((await json("osv/all.json")).list).map((entry) => text(entry, "id")) }, "all").includes("CGA-private"));
});
