// Attacks 134 to 136: reading, confusing or exhausting files with private records.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type ClientRequest, get as httpGet, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { fromBufferPromise } from "yauzl";
import { runImport } from "../story/import.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let scratch: string;
let [ours, theirs, strangers, rival] = ["", "", "", ""];
/** The public files before any private import. */
const openBefore = new Map<string, string>();

/** Appears in every private record of the rival. */
const secret = "rivalsword";

const record = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  modified: "2025-01-01T00:00:00Z",
  affected: [{ package: { ecosystem: "npm", name: id.toLowerCase() }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
  ...more,
});
const wolfi = (name: string, number: string, cve: string, version: string): JsonObject => ({
  "schema-version": "2.0.2",
  package: { name },
  advisories: [{ id: number, aliases: [cve], events: [{ timestamp: "2026-01-01T00:00:00Z", type: "fixed", data: { "fixed-version": version } }] }],
});
const vex = (id: string): JsonObject => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": id,
  author: secret,
  timestamp: "2025-01-01T00:00:00Z",
  version: 1,
  statements: [{ vulnerability: { name: "CVE-2025-1" }, products: [{ "@id": `pkg:npm/${secret}` }], status: "fixed" }],
});
const go = record("GO-2025-7777", {
  affected: [{ package: { ecosystem: "Go", name: `example.com/${secret}` }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
});
const release: JsonObject = {
  distroversion: `v${secret.length}.${secret}`,
  reponame: "main",
  packages: [{ pkg: { name: secret, secfixes: { "1-r0": ["CVE-2025-2"] } } }],
};

const imported = async (group: string, name: string, records: readonly JsonObject[], isPublic?: boolean): Promise<void> => {
  const paths = records.map((_, index) => join(scratch, `${name}-${index}.json`));
  for (const [index, each] of records.entries()) await writeFile(paths[index] ?? "", JSON.stringify(each));
  const done = await runImport(world, "advisories", paths, { group, public: isPublic, author: "Wolfi" });
  assert.deepEqual([done.failed, done.refused], [[], []]);
};
const viewer = async (group: string, name: string): Promise<string> => {
  const identity = await createIdentity(world, group, name, { issuer: "https://issuer.example.com", subject: name });
  await bind(world, group, identity, "viewer");
  return world.token(identity);
};

const paths = [
  "/osv/all.zip",
  "/osv/npm/all.zip",
  "/osv/Wolfi/all.zip",
  "/osv/Go/all.zip",
  "/osv/modified_id.csv",
  "/osv/ecosystems.txt",
  "/osv/go/index/modules.json",
  "/osv/go/index/vulns.json.gz",
  "/advisory/v2/osv/all.json",
  "/secdb/wolfi/security.json",
  "/secdb/alpine/",
  "/advisory/v2/secdb/all.json",
  "/advisory/v2/openvex/harbour.json",
  "/advisory/v2/openvex/all.json",
  "/vex/vex-repository.tar.gz",
  "/vex/all.json",
  "/advisory/v2/csaf/harbour.json",
  "/advisory/v2/csaf/all.json",
  "/.well-known/csaf/provider-metadata.json",
  "/.well-known/csaf/service.json",
  "/.well-known/csaf/white/csaf-feed-tlp-white.json",
  "/.well-known/csaf/white/index.txt",
  "/.well-known/csaf/white/2026/harbour.json",
  "/.well-known/csaf/white/2026/harbour.json.asc",
];

const ask = (path: string, token: string, headers: Record<string, string> = {}): Promise<Response> => {
  // Resets the public rate limit, which this test does not cover.
  world.clock.now += 4_000;
  return fetch(`${world.url}${path}`, { headers: { ...(token === "" ? {} : { authorization: `Bearer ${token}` }), ...headers } });
};

/** Returns all text of a response, with archives unpacked. */
const told = async (response: Response): Promise<string> => {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = [...response.headers].filter(([name]) => !["date", "x-request-id", "x-goog-hash"].includes(name)).sort();
  let content = body.toString("latin1");
  if (body[0] === 0x1f) content += gunzipSync(body).toString("latin1");
  if (response.headers.get("content-type") === "application/zip") {
    const zip = await fromBufferPromise(body);
    for await (const entry of zip.eachEntry()) {
      content += entry.fileName;
      for await (const chunk of await zip.openReadStreamPromise(entry)) content += String(chunk);
    }
  }
  return JSON.stringify([response.status, headers, content]).replace(/\\"requestId\\":\s*\\"[^"]*\\"/g, "");
};

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-private-feed-files-attacks-"));
  world = await openWorld();
  rival = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } })).uid);
  const other = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "other" } })).uid);
  const market = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "market" } })).uid);
  [ours, theirs, strangers] = [await viewer(world.organization, "ours"), await viewer(rival, "theirs"), await viewer(other, "strangers")];
  await imported(market, "public", [record("PUB-1"), wolfi("harbour", "CGA-pppp-pppp-pppp", "CVE-2025-0001", "2-r0")], true);
  for (const path of paths) openBefore.set(path, await told(await ask(path, "")));
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

test("attack 134: no file, list, directory, number, tag or time reveals another organization's private records, and no public one changes", async () => {
  const strangerBefore = new Map<string, string>();
  for (const path of paths) strangerBefore.set(path, await told(await ask(path, strangers)));
  await imported(rival, "theirs", [
    record(`THEIRS-${secret}`),
    go,
    wolfi("harbour", "CGA-tttt-tttt-tttt", "CVE-2025-7001", `7-r0`),
    wolfi(secret, "CGA-tttt-tttt-uuuu", "CVE-2025-7002", "7-r0"),
    vex(`https://${secret}.example/1`),
    release,
  ]);
  for (const path of paths) {
    assert.equal(await told(await ask(path, "")), openBefore.get(path), path);
    assert.equal(await told(await ask(path, strangers)), strangerBefore.get(path), path);
  }
  for (const path of [
    `/osv/npm/THEIRS-${secret}.json`,
    "/osv/go/ID/GO-2025-7777.json",
    `/advisory/v2/openvex/${secret}.json`,
    `/advisory/v2/csaf/${secret}.json`,
  ])
    for (const token of ["", strangers, ours]) {
      const absent = path.replaceAll(secret, "nobodysown").replace("7777", "8888");
      const unnamed = async (asked: string): Promise<string> =>
        (await told(await ask(asked, token)))
          .replaceAll(secret, "NAME")
          .replaceAll("nobodysown", "NAME")
          .replaceAll(/7777|8888/g, "NUMBER");
      assert.equal(await unnamed(path), await unnamed(absent), path);
    }
  // The owner reads it in every file except those that are the same for all callers.
  const shown: string[] = [];
  for (const path of paths) if (new RegExp(`${secret}|CVE-2025-7001|GO-2025-7777|csaf/amber`).test(await told(await ask(path, theirs)))) shown.push(path);
  assert.deepEqual(
    paths.filter((path) => !shown.includes(path)),
    paths.filter((path) => path.includes("/csaf/white/") || path === "/osv/ecosystems.txt"),
  );
});

test("attack 135: a document with private statements is no version of the public one, and their ETags never match", async () => {
  for (const path of paths.filter((each) => !each.includes("provider-metadata"))) {
    const open = await ask(path, "");
    const tag = open.headers.get("etag") ?? "";
    await open.arrayBuffer();
    for (const known of [tag, "*"]) {
      const response = await ask(path, theirs, { "if-none-match": known, "if-modified-since": new Date(world.clock.now + 86_400_000).toUTCString() });
      assert.equal(response.status, 200, path);
      assert.match(response.headers.get("cache-control") ?? "", /(?=.*private)(?=.*no-store)/, path);
      assert.equal(response.headers.get("vary"), "authorization", path);
      assert.deepEqual([response.headers.get("etag"), response.headers.get("last-modified")], [null, null], path);
      await response.arrayBuffer();
    }
  }
  const [open, closed] = [
    (await (await ask("/advisory/v2/openvex/harbour.json", "")).json()) as JsonObject,
    (await (await ask("/advisory/v2/openvex/harbour.json", theirs)).json()) as JsonObject,
  ];
  assert.notEqual(open["@id"], closed["@id"]);
  const trackingOf = async (token: string): Promise<JsonObject> =>
    part(part((await (await ask("/advisory/v2/csaf/harbour.json", token)).json()) as JsonObject, "document"), "tracking");
  const [openId, closedId] = [text(await trackingOf(""), "id"), text(await trackingOf(theirs), "id")];
  assert.notEqual(openId, closedId);
  // Alternating callers, so that a cached response would reach the next one.
  const answers = new Map<string, Set<string>>();
  for (let round = 0; round < 2; round++)
    for (const path of paths.filter((each) => !each.endsWith(".zip") && !each.endsWith(".gz")))
      for (const [who, token] of Object.entries({ theirs, open: "", strangers, ours }))
        answers.set(`${who} ${path}`, (answers.get(`${who} ${path}`) ?? new Set()).add(await told(await ask(path, token))));
  for (const [asked, each] of answers) assert.equal(each.size, 1, asked);
});

const begin = async (path: string, token: string): Promise<{ readonly response: IncomingMessage; readonly request: ClientRequest }> => {
  const request = httpGet(`${world.url}${path}`, { headers: { authorization: `Bearer ${token}` }, agent: false });
  request.on("error", () => {});
  const response = await new Promise<IncomingMessage>((resolve) => request.once("response", resolve));
  response.on("error", () => {});
  return { response, request };
};

test("attack 136: concurrent downloads are limited per organization, and stalled ones block only its own until released", async () => {
  // More than socket buffers hold.
  const long = Array.from({ length: 160 }, (_, index) => record(`LONG-${index}`, { details: randomBytes(90_000).toString("base64") }));
  await imported(world.organization, "long", long);
  const lying = await Promise.all(Array.from({ length: limits.filesEach }, () => begin("/osv/npm/all.zip", ours)));
  for (const { response } of lying) assert.equal(response.statusCode, 200);
  let isAnswered = false;
  const next = ask("/osv/ecosystems.txt", ours).then((response) => {
    isAnswered = true;
    return response;
  });
  // It is queued; others, and this caller's other requests, are not.
  assert.equal((await ask("/osv/ecosystems.txt", theirs)).status, 200);
  assert.equal((await ask("/osv/ecosystems.txt", "")).status, 200);
  assert.equal((await ask("/osv/v1/vulns/LONG-1", ours)).status, 200);
  assert.equal(isAnswered, false);
  const [first, ...others] = lying;
  first?.request.destroy();
  assert.equal((await next).status, 200);
  for (const { request } of others) request.destroy();
  // HEAD requests and refused ones occupy no slot.
  for (let count = 0; count < limits.filesEach * 3; count++) {
    const head = await fetch(`${world.url}/osv/npm/all.zip`, { method: "HEAD", headers: { authorization: `Bearer ${ours}` } });
    assert.equal(head.status, 200);
    assert.equal((await ask("/osv/npm/NONE.json", ours)).status, 404);
  }
});
