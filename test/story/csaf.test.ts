// CSAF for its readers: provider metadata, documents with checksums and signatures, and an aggregator for other issuers' documents.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createMessage, readKey, readSignature, verify } from "openpgp";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { recordKey } from "#advisories/store";
import { withdrawVanished } from "../../server/advisories/feeds/write-records.ts";
import { csafDocument } from "../csaf-documents.ts";
import { asOwner } from "../database.ts";
import { openWorld, type World } from "../world.ts";
import { fixtures, runImport } from "./import.ts";
import { advisory, eventAt, writeTestRecords } from "./records.ts";

const site = "https://advisories.example.com";
const settings = (folder: string): Record<string, string> => ({
  GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
  GANTRY_PUBLIC_URL: site,
  GANTRY_PUBLISHER_NAME: "Example Yard",
  GANTRY_PUBLISHER_NAMESPACE: "https://yard.example.com",
  GANTRY_PUBLISHER_CONTACT: "security@example.com",
  GANTRY_PUBLISHER_CATEGORY: "vendor",
  GANTRY_SECURITY_CONTACT: "mailto:security@example.com, https://example.com/security",
});

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-csaf-"));
  await writeFile(join(scratch, "secret.key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  world = await openWorld(settings(scratch), undefined, Date.parse("2026-02-01T12:00:00Z"));
  await writeTestRecords(world, [
    advisory("CGA-one", {
      artifactName: "gtk+3.0",
      origin: "gtk+3.0",
      aliases: ["CVE-2024-0001"],
      events: [
        eventAt("2023-05-06T07:08:09Z", { detection: { manual: {} } }),
        eventAt("2024-01-01T00:00:00Z", { truePositiveDetermination: {} }),
        eventAt("2024-02-03T04:05:06Z", { fixed: { fixedVersion: "3.0-r1" } }),
      ],
    }),
    advisory("CGA-two", { artifactName: "curl", origin: "curl", aliases: ["CVE-2024-0002"], events: [eventAt("2024-01-01T00:00:00Z", { fixNotPlanned: {} })] }),
    advisory("CGA-odd", { artifactName: "Odd_Name", origin: "Odd_Name", events: [eventAt("2025-01-01T00:00:00Z", { detection: { manual: {} } })] }),
  ]);
  await writeTestRecords(world, [advisory("CGA-hidden", { artifactName: "hidden", origin: "hidden" })], { public: false });
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

/** Requests an address of the public site at the server's own address. */
const ask = (address: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> =>
  fetch(address.replace(site, world.url).replace(/^\//, `${world.url}/`), { headers, method });
const read = async (address: string): Promise<string> => {
  const response = await ask(address);
  assert.equal(response.status, 200, address);
  return response.text();
};
const json = async (address: string): Promise<JsonObject> => {
  const value = JSON.parse(await read(address)) as Json;
  return isObject(value) ? value : {};
};
const refusal = async (address: string): Promise<string> => {
  const response = await ask(address);
  assert.equal(response.status, 404, address);
  return text((await response.json()) as JsonObject, "message");
};
const lines = async (address: string): Promise<string[]> => (await read(address)).split("\n").filter((line) => line !== "");

const base = `${site}/.well-known/csaf/`;
const white = `${base}white/`;

test("the provider metadata names publisher, role and locations, and every location exists", async () => {
  const [metadata = {}, ...same] = await Promise.all(Array.from({ length: 5 }, () => json(`${base}provider-metadata.json`)));
  for (const each of same) assert.deepEqual(each, metadata);
  assert.equal(metadata.canonical_url, `${base}provider-metadata.json`);
  assert.equal(metadata.role, "csaf_trusted_provider");
  assert.deepEqual(metadata.publisher, {
    category: "vendor",
    contact_details: "security@example.com",
    name: "Example Yard",
    namespace: "https://yard.example.com",
  });
  assert.deepEqual(metadata.distributions, [
    {
      rolie: {
        categories: [`${white}category-white.json`],
        feeds: [{ summary: "Public advisories", tlp_label: "WHITE", url: `${white}csaf-feed-tlp-white.json` }],
        services: [`${base}service.json`],
      },
    },
    { directory_url: white },
  ]);
  const [key] = objectList(metadata, "public_openpgp_keys");
  const found = await readKey({ armoredKey: await read(text(key ?? {}, "url")) });
  assert.equal(found.getFingerprint().toUpperCase(), text(key ?? {}, "fingerprint"));
  assert.equal(found.isPrivate(), false);
  assert.deepEqual(found.getUserIDs(), ["Example Yard"]);
  const { service } = await json(`${base}service.json`);
  assert.match(JSON.stringify(service), /csaf-feed-tlp-white\.json/);
  assert.match(await read(`${white}category-white.json`), /urn:ietf:params:rolie:category:information-type/);
  assert.deepEqual(await json("/advisory/v2/csaf/provider-metadata.json"), metadata);
  assert.equal(await read("/advisory/v2/csaf/index.txt"), await read(`${white}index.txt`));
});

test("index, changes, directories and feed list the same public documents, latest change first", async () => {
  world.clock.now += 60_000;
  await writeTestRecords(world, [
    advisory("CGA-late", {
      artifactName: "late",
      origin: "late",
      aliases: ["CVE-2024-0009"],
      events: [eventAt("2024-06-01T00:00:00Z", { fixed: { fixedVersion: "1" } })],
    }),
  ]);
  const paths = await lines(`${white}index.txt`);
  assert.equal(paths[0], "2024/late.json");
  assert.equal(paths.length, 4);
  assert(paths.includes("2023/gtk+3_0.json") && paths.includes("2024/curl.json"));
  const changes = (await lines(`${white}changes.csv`)).map((line) => JSON.parse(`[${line}]`) as [string, string]);
  assert.deepEqual(
    changes.map(([path]) => path),
    paths,
  );
  const listed = new Set<string>();
  const hrefs = async (folder: string): Promise<string[]> => [...(await read(folder)).matchAll(/href="([^"]*)"/g)].map(([, href = ""]) => href);
  const top = await hrefs(white);
  for (const year of top.filter((href) => href.endsWith("/"))) for (const href of await hrefs(white + year)) listed.add(`${year}${href}`);
  assert.deepEqual([...listed].sort(), paths.flatMap((path) => ["", ".asc", ".sha256", ".sha512"].map((ending) => path + ending)).sort());
  for (const href of top) await read(white + href);
  const feed = part(await json(`${white}csaf-feed-tlp-white.json`), "feed");
  const entries = objectList(feed, "entry");
  assert.deepEqual(
    entries.map((entry) => text(part(entry, "content"), "src")),
    paths.map((path) => white + path),
  );
  assert.equal(feed.updated, changes[0]?.[1]);
  for (const [index, entry] of entries.entries()) {
    const { document } = await json(text(part(entry, "content"), "src"));
    const tracking = part(isObject(document) ? document : {}, "tracking");
    assert.deepEqual(
      [entry.id, entry.published, entry.updated, changes[index]?.[1]],
      [tracking.id, tracking.initial_release_date, tracking.current_release_date, tracking.current_release_date],
    );
    for (const link of objectList(entry, "link")) await read(text(link, "href"));
  }
  assert.doesNotMatch(JSON.stringify([paths, feed]), /hidden/);
});

test("each document has checksums and a signature by the published key, identical on every server of the database", async () => {
  const metadata = await json(`${base}provider-metadata.json`);
  const [key] = objectList(metadata, "public_openpgp_keys");
  const verificationKeys = await readKey({ armoredKey: await read(text(key ?? {}, "url")) });
  const signatures = new Map<string, string>();
  for (const path of await lines(`${white}index.txt`)) {
    const content = await read(white + path);
    const name = path.split("/")[1];
    for (const algorithm of ["sha256", "sha512"])
      assert.equal(await read(`${white}${path}.${algorithm}`), `${createHash(algorithm).update(content).digest("hex")}  ${name}\n`);
    const armoredSignature = await read(`${white}${path}.asc`);
    signatures.set(path, armoredSignature);
    const message = await createMessage({ binary: Buffer.from(content) });
    const { signatures: results } = await verify({ message, signature: await readSignature({ armoredSignature }), verificationKeys });
    assert.equal(await results[0]?.verified, true);
    const { signatures: others } = await verify({
      message: await createMessage({ binary: Buffer.from(`${content} `) }),
      signature: await readSignature({ armoredSignature }),
      verificationKeys,
    });
    await assert.rejects(async () => others[0]?.verified);
  }
  const second = await openWorld({ ...settings(scratch), DATABASE_URL: world.databaseUrl });
  try {
    for (const [path, signature] of signatures) assert.equal(await (await fetch(`${second.url}/.well-known/csaf/white/${path}.asc`)).text(), signature);
  } finally {
    await second.close();
  }
  const { store } = world.server.application.services;
  const rows = await store.read.query("select private_key_sealed from document_signing_keys");
  assert.equal(rows.length, 1);
  assert.doesNotMatch(String(rows[0]?.[0]), /PGP/);
});

test("a retired key signs nothing new and remains published, and the next one is created on demand", async () => {
  const before = objectList(await json(`${base}provider-metadata.json`), "public_openpgp_keys");
  world.clock.now += 86_400_000;
  await asOwner(world.databaseUrl, "update document_signing_keys set retire_time = now() where retire_time is null");
  const now = objectList(await json(`${base}provider-metadata.json`), "public_openpgp_keys");
  assert.deepEqual(now.slice(1), before);
  const [key] = now;
  const verificationKeys = await readKey({ armoredKey: await read(text(key ?? {}, "url")) });
  const content = await read(`${white}2024/curl.json`);
  const signature = await readSignature({ armoredSignature: await read(`${white}2024/curl.json.asc`) });
  const { signatures } = await verify({ message: await createMessage({ binary: Buffer.from(content) }), signature, verificationKeys });
  assert.equal(await signatures[0]?.verified, true);
  await read(text(before[0] ?? {}, "url"));
});

test("a document has the times of its origin, and every change increments its version", async () => {
  const trackingOf = async (): Promise<JsonObject> => part(part(await json(`${white}2023/gtk+3_0.json`), "document"), "tracking");
  const first = await trackingOf();
  assert.equal(first.id, "gtk+3.0");
  assert.deepEqual(
    objectList(first, "revision_history").map(({ date, summary }) => [date, summary]),
    [
      ["2023-05-06T07:08:09.000Z", "CVE-2024-0001 under investigation"],
      ["2024-01-01T00:00:00.000Z", "CVE-2024-0001 affected"],
      ["2024-02-03T04:05:06.000Z", "CVE-2024-0001 fixed"],
      ["2026-02-01T12:00:00.000Z", "As published at this time"],
    ],
  );
  const numberOf = (version: Json | undefined): number[] => String(version).split(".").map(Number);
  const isGreater = (one: Json | undefined, other: Json | undefined): boolean => {
    const [left, right] = [numberOf(one), numberOf(other)];
    const index = left.findIndex((each, at) => each !== right[at]);
    return index >= 0 && (left[index] ?? 0) > (right[index] ?? 0);
  };
  const more = { artifactName: "gtk+3.0", origin: "gtk+3.0", aliases: ["CVE-2024-0003"] };
  const target = { group: world.organization, public: true, feed: "leaving" };
  world.clock.now += 1000;
  const leaving = advisory("CGA-leaving", { ...more, events: [eventAt("2025-01-01T00:00:00Z", { fixNotPlanned: {} })] });
  await writeTestRecords(world, [leaving], { ...target, nowMs: world.clock.now });
  const second = await trackingOf();
  assert(isGreater(second.version, first.version));
  // A withdrawal changes the document but keeps its history.
  world.clock.now += 1000;
  await world.server.application.services.store.write((rows) =>
    withdrawVanished(
      rows,
      { ...target, form: "wolfi", nowMs: world.clock.now },
      "advisory",
      async (keys) => new Set(keys.filter((key) => key !== recordKey(leaving))),
    ),
  );
  const third = await trackingOf();
  assert(isGreater(third.version, second.version));
  assert.deepEqual([third.initial_release_date, third.current_release_date], [first.initial_release_date, timestamp(world.clock.now)]);
  assert.match(JSON.stringify(third.revision_history), /CVE-2024-0003 affected/);
  assert.doesNotMatch(await read(`${white}2023/gtk+3_0.json`), /"cve":"CVE-2024-0003"/);
});

test("lists, documents, checksums and signatures have ETags, answer 304, and support HEAD", async () => {
  for (const path of ["index.txt", "changes.csv", "csaf-feed-tlp-white.json", "", "2024/", "2024/curl.json", "2024/curl.json.sha512", "2024/curl.json.asc"]) {
    const response = await ask(white + path);
    await response.arrayBuffer();
    const etag = response.headers.get("etag") ?? "";
    assert.notEqual(etag, "", path);
    assert.equal((await ask(white + path, { "if-none-match": etag })).status, 304, path);
    const head = await ask(white + path, {}, "HEAD");
    assert.deepEqual([head.status, head.headers.get("etag"), head.headers.get("content-type")], [200, etag, response.headers.get("content-type")], path);
    assert.equal((await ask(white + path, {}, "POST")).status, 405, path);
  }
  const document = await ask(`${white}2024/curl.json`);
  const modified = document.headers.get("last-modified") ?? "";
  assert.equal(Date.parse(modified), Date.parse("2026-02-01T12:00:00Z"));
  assert.equal((await ask(`${white}2024/curl.json`, { "if-modified-since": modified })).status, 304);
  assert.equal((await ask(`${white}2024/curl.json`, { "if-modified-since": "Sun, 01 Feb 2026 11:59:59 GMT" })).status, 200);
  // An ETag takes precedence over the modification time.
  assert.equal((await ask(`${white}2024/curl.json`, { "if-modified-since": modified, "if-none-match": '"other"' })).status, 200);
  for (const path of [
    "2023/curl.json",
    "2024/none.json",
    "2024/CURL.json",
    "2024/curl.json.md5",
    "2024/hidden.json",
    "2024/gtk%2B3_0.json",
    "../index.txt",
    "amber/index.txt",
  ])
    assert.equal((await ask(white + path)).status, 404, path);
});

const imported = async (name: string, document: JsonObject, options: Parameters<typeof runImport>[3] = {}): Promise<string> => {
  world.clock.now += 1000;
  const content = JSON.stringify(document, null, 1);
  await writeFile(join(scratch, name), content);
  const done = await runImport(world, "advisories", [join(scratch, name)], { public: true, ...options });
  assert.deepEqual([done.failed, done.refused], [[], []]);
  return content;
};

const aggregator = `${site}/.well-known/csaf-aggregator/`;

test("other issuers' documents are served unchanged, in a directory for each issuer, if there are at least two", async () => {
  assert.match(
    await refusal(`${aggregator}aggregator.json`),
    /two other issuers are needed|an aggregator needs public CSAF documents of two other issuers, and this server has documents of none/,
  );
  const content = await imported("yard.json", csafDocument("YARD-2025:1", "yard"));
  await imported("closed.json", csafDocument("CLOSED-1", "closed"), { license: "CC-BY-NC-4.0" });
  await imported("private.json", csafDocument("PRIVATE-1", "private"), { public: undefined });
  assert.match(await refusal(`${aggregator}aggregator.json`), /documents of one/);
  await imported("dock.json", csafDocument("DOCK-1", "dock", { label: "WHITE" }));
  const { csaf_publishers: publishers, aggregator: own } = await json(`${aggregator}aggregator.json`);
  assert.deepEqual(own, { category: "aggregator", contact_details: "security@example.com", name: "Example Yard", namespace: "https://yard.example.com" });
  const folders = (Array.isArray(publishers) ? publishers.filter(isObject) : []).map((each) => text(part(each, "metadata"), "url"));
  assert.deepEqual(folders, [`${aggregator}dock_example_org/provider-metadata.json`, `${aggregator}yard_example_org/provider-metadata.json`]);
  const metadata = await json(folders[1] ?? "");
  assert.deepEqual(metadata.publisher, { category: "vendor", name: "yard", namespace: "https://yard.example.org" });
  const folder = `${aggregator}yard_example_org/unlabeled/`;
  assert.deepEqual(await lines(`${folder}index.txt`), ["2025/yard-2025_1.json"]);
  assert.deepEqual(await lines(`${folder}changes.csv`), ['"2025/yard-2025_1.json","2025-05-02T00:00:00.000Z"']);
  const address = `${folder}2025/yard-2025_1.json`;
  assert.equal(await read(address), content);
  assert.equal((await read(`${address}.sha256`)).split(" ")[0], createHash("sha256").update(content).digest("hex"));
  const [key] = objectList(metadata, "public_openpgp_keys");
  const { signatures } = await verify({
    message: await createMessage({ binary: Buffer.from(content) }),
    signature: await readSignature({ armoredSignature: await read(`${address}.asc`) }),
    verificationKeys: await readKey({ armoredKey: await read(text(key ?? {}, "url")) }),
  });
  assert.equal(await signatures[0]?.verified, true);
  assert.deepEqual(await lines(`${aggregator}dock_example_org/white/index.txt`), ["2025/dock-1.json"]);
  assert.deepEqual(await lines(`${aggregator}dock_example_org/unlabeled/index.txt`), []);
  const feed = part(await json(`${aggregator}dock_example_org/white/csaf-feed-tlp-white.json`), "feed");
  assert.deepEqual(
    objectList(feed, "entry").map(({ id, title }) => [id, title]),
    [["DOCK-1", "About DOCK-1"]],
  );
  assert.doesNotMatch(await read(`${white}index.txt`), /yard|dock/);
});

test("a document that an issuer's lists cannot include is listed with the reason in the full list", async () => {
  await imported("newer.json", csafDocument("YARD-2025:9", "yard", { csafVersion: "2.1" }));
  await imported("nowhere.json", csafDocument("NOWHERE-1", "nowhere", { namespace: "somewhere" }));
  await imported("clash.json", csafDocument("yard-2025_1", "yard"));
  const entries = JSON.parse(await read("/advisory/v2/csaf/all.json")) as JsonObject[];
  const unlisted = (id: string): string => String(entries.find((entry) => entry.id === id)?.unlisted ?? "");
  assert.match(unlisted("YARD-2025:9"), /CSAF 2\.1/);
  assert.match(unlisted("NOWHERE-1"), /no namespace/);
  assert.match(unlisted("yard-2025_1"), /the name of another document's: YARD-2025:1/);
  assert.equal(unlisted("YARD-2025:1"), "");
  assert.deepEqual(await lines(`${aggregator}yard_example_org/unlabeled/index.txt`), ["2025/yard-2025_1.json"]);
  assert.match(await read(`${aggregator}yard_example_org/unlabeled/2025/yard-2025_1.json`), /"YARD-2025:1"/);
  assert.match(await read("/advisory/v2/csaf/yard-2025_1.json"), /"yard-2025_1"/);
});

test("documents imported by a previous version are listed after the next import of their source", async () => {
  await asOwner(world.databaseUrl, "delete from csaf_documents");
  await asOwner(world.databaseUrl, "update feed_files set digest = ''");
  await refusal(`${aggregator}aggregator.json`);
  for (const name of ["yard.json", "dock.json"]) {
    world.clock.now += 1000;
    await runImport(world, "advisories", [join(scratch, name)]);
  }
  assert.deepEqual(await lines(`${aggregator}yard_example_org/unlabeled/index.txt`), ["2025/yard-2025_1.json"]);
});

test("security.txt has the operator's contact and expiry, and is absent without settings", async () => {
  assert.deepEqual(await lines("/.well-known/security.txt"), [
    "Contact: mailto:security@example.com",
    "Contact: https://example.com/security",
    `Expires: ${timestamp(Math.floor(world.clock.now / 86_400_000 + 180) * 86_400_000)}`,
    `Canonical: ${site}/.well-known/security.txt`,
    `CSAF: ${base}provider-metadata.json`,
  ]);
  const other = await openWorld(
    { GANTRY_SECURITY_CONTACT: "tel:+1-201-555-0123", GANTRY_SECURITY_EXPIRES: "2026-06-30T00:00:00Z" },
    undefined,
    Date.parse("2026-02-01T00:00:00Z"),
  );
  try {
    const path = `${other.url}/.well-known/security.txt`;
    assert.equal(await (await fetch(path)).text(), "Contact: tel:+1-201-555-0123\nExpires: 2026-06-30T00:00:00.000Z\n");
    other.clock.now = Date.parse("2026-06-30T00:00:00Z");
    assert.equal((await fetch(path)).status, 404);
    const metadata = (await (await fetch(`${other.url}/.well-known/csaf/provider-metadata.json`)).json()) as JsonObject;
    assert.equal(metadata.role, "csaf_provider");
    assert.deepEqual(metadata.publisher, { category: "other", name: new URL(other.url).host, namespace: other.url });
    assert.equal(await (await fetch(`${other.url}/.well-known/csaf/white/index.txt`)).text(), "");
    const empty = (await (await fetch(`${other.url}/.well-known/csaf/white/csaf-feed-tlp-white.json`)).json()) as JsonObject;
    assert.deepEqual(part(empty, "feed").entry, []);
  } finally {
    await other.close();
  }
  const plain = await openWorld();
  try {
    const response = await fetch(`${plain.url}/.well-known/security.txt`);
    assert.equal(response.status, 404);
    assert.match(await response.text(), /GANTRY_SECURITY_CONTACT/);
  } finally {
    await plain.close();
  }
});

test("a document imported as CSAF is served unchanged, whatever other records exist", async () => {
  const content = (await readFile(join(fixtures, "csaf.json"), "utf8")).trim();
  world.clock.now += 1000;
  await runImport(world, "advisories", [join(fixtures, "csaf.json")], { public: true });
  assert.equal(await read(`${aggregator}example_com/unlabeled/2025/yard-2025_1.json`), content);
});

test("an ID with inner spaces, which CSAF allows, is imported, listed and read; one with outer spaces is refused by path", async () => {
  const content = await imported("spaced.json", csafDocument("Pier Notice 2025 / 7", "pier"));
  await imported("beside.json", csafDocument("QUAY-1", "quay"));
  const folder = `${site}/.well-known/csaf-aggregator/pier_example_org/unlabeled/`;
  assert.deepEqual(await lines(`${folder}index.txt`), ["2025/pier_notice_2025_7.json"]);
  assert.equal(await read(`${folder}2025/pier_notice_2025_7.json`), content);
  assert.equal(await read(`${site}/advisory/v2/csaf/${encodeURIComponent("Pier Notice 2025 / 7")}.json`), content);
  await writeFile(join(scratch, "around.json"), JSON.stringify(csafDocument(" PIER-8", "pier")));
  const { refused } = await runImport(world, "advisories", [join(scratch, "around.json")], { public: true });
  assert.match(refused[0] ?? "", /around\.json:1: document\.tracking\.id must not begin or end with blanks/);
});
