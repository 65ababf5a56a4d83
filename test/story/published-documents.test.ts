// Other issuers' records are published under their IDs unchanged, or converted if every version keeps its verdict. Complete lists name the rest.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { openWorld, type World } from "../world.ts";
import { counts, fixtures, runImport } from "./import.ts";
import { advisory, eventAt, writeTestRecords } from "./records.ts";

let world: World;
let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "gantry-published-"));
  world = await openWorld();
  world.clock.now = Date.parse("2026-02-01T00:00:00Z");
});
after(async () => {
  await world?.close();
  await rm(scratch, { recursive: true, force: true });
});

const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> => fetch(`${world.url}/advisory/v2/${path}`, { headers });
const document = async (kind: string, name: string): Promise<Json> => {
  const response = await ask(`${kind}/${encodeURIComponent(name)}.json`);
  assert.equal(response.status, 200, `${kind} ${name}: ${response.status === 200 ? "" : await response.clone().text()}`);
  return (await response.json()) as Json;
};
const missing = async (kind: string, name: string): Promise<string> => {
  const response = await ask(`${kind}/${encodeURIComponent(name)}.json`);
  assert.equal(response.status, 404, `${kind} ${name}`);
  return text((await response.json()) as JsonObject, "message");
};
const list = async (kind: string, query = ""): Promise<Map<string, JsonObject>> => {
  const entries = (await (await ask(`${kind}/all.json${query}`)).json()) as Json;
  assert(Array.isArray(entries));
  return new Map(entries.filter(isObject).map((entry) => [text(entry, "id"), entry]));
};

const overHttp2 = async (path: string): Promise<string> => {
  const session = connect(world.url);
  try {
    const stream = session.request({ ":path": path });
    stream.setEncoding("utf8");
    let body = "";
    for await (const piece of stream) body += String(piece);
    return body;
  } finally {
    session.close();
  }
};

const put = async (name: string, content: string): Promise<string> => {
  const path = join(scratch, name);
  await writeFile(path, content);
  return path;
};
const imported = async (sources: readonly string[], options: Parameters<typeof runImport>[3] = {}) => {
  world.clock.now += 1000;
  const done = await runImport(world, "advisories", sources, { public: true, ...options });
  assert.deepEqual([done.failed, done.refused], [[], []]);
  return done;
};

const osv = (id: string, more: JsonObject = {}): string =>
  JSON.stringify({
    id,
    modified: "2025-01-01T00:00:00Z",
    affected: [{ package: { ecosystem: "Go", name: `example.com/${id}` }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "1.0" }] }] }],
    ...more,
  });

test("an OSV record of any shape is published unchanged, with all ranges, events, lists and times", async () => {
  const source = join(fixtures, "shapes.jsonl");
  const lines = (await readFile(source, "utf8")).trim().split("\n");
  assert.equal(lines.length, 10);
  await imported([source]);
  for (const line of lines) {
    const record = JSON.parse(line) as JsonObject;
    assert.deepEqual(await document("osv", text(record, "id")), record);
  }
  // A parser of numbers would lose this precision.
  assert.match(await (await ask("osv/SHAPE-several-ranges.json")).text(), /"number": ?12345678901234567890, "float": 7\.0/);
  const entries = await list("osv");
  for (const line of lines) assert.equal(entries.get(text(JSON.parse(line) as JsonObject, "id"))?.leftOut, undefined);
});

test("an OSV record in YAML is published with its texts as texts and the numbers of its free-form parts", async () => {
  await imported([join(fixtures, "shape.yaml")]);
  assert.deepEqual(await document("osv", "SHAPE-yaml"), {
    id: "SHAPE-yaml",
    modified: "2025-01-01T00:00:00Z",
    details: "Folded text.",
    affected: [
      {
        package: { name: "lantern", ecosystem: "PyPI" },
        ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, { fixed: "1.10" }] }],
        versions: ["1.0", "1.1"],
        database_specific: { score: 7.5, known: true, text: "7.5", hexadecimal: 31, nothing: null },
      },
    ],
  });
});

test("the latest modified record of several sources is published, and one that its sources drop remains unchanged", async () => {
  const [a, b] = [await put("a.jsonl", `${osv("LATE-1", { summary: "a" })}\n${osv("LATE-0")}\n`), join(scratch, "b.jsonl")];
  const newer = osv("LATE-1", { summary: "b", modified: "2025-06-01T00:00:00Z" });
  await put("b.jsonl", `${newer}\n${osv("LATE-0")}\n`);
  await imported([b]);
  await imported([a]);
  assert.deepEqual(await document("osv", "LATE-1"), JSON.parse(newer));
  await put("b.jsonl", `${osv("LATE-0")}\n${osv("LATE-2")}\n`);
  await imported([b]);
  assert.deepEqual(await document("osv", "LATE-1"), JSON.parse(osv("LATE-1", { summary: "a" })));
  assert.equal((await list("osv")).get("LATE-1")?.noLongerTold, undefined);
  await put("a.jsonl", `${osv("LATE-0")}\n${osv("LATE-3")}\n`);
  const since = timestamp(world.clock.now);
  assert.equal((await imported([a])).withdrawn, 1);
  assert.deepEqual(await document("osv", "LATE-1"), JSON.parse(osv("LATE-1", { summary: "a" })));
  assert.deepEqual([(await list("osv")).get("LATE-1")?.noLongerTold, (await list("osv", `?since=${since}`)).has("LATE-1")], [true, true]);
});

test("a list has each record's format, import time and license, and nothing private", async () => {
  await imported([await put("known.json", osv("KNOWN-1"))], { license: "CC-BY-4.0" });
  await imported([await put("unknown.json", osv("UNKNOWN-1"))]);
  await imported([await put("private.json", osv("PRIVATE-1"))], { public: undefined });
  const entries = await list("osv");
  assert.deepEqual(entries.get("KNOWN-1"), {
    id: "KNOWN-1",
    modified: timestamp(world.clock.now - 2000),
    form: "osv",
    imported: timestamp(world.clock.now - 2000),
    license: "CC-BY-4.0",
  });
  assert.equal(entries.get("UNKNOWN-1")?.license, "unknown");
  assert.equal(entries.has("PRIVATE-1"), false);
  assert.match(await missing("osv", "PRIVATE-1"), /^document not found/);
});

test("a record with a license that forbids publication is omitted from every format, and the list says why", async () => {
  await imported([await put("nc.json", osv("NC-1"))], { license: "CC-BY-NC-ND-4.0" });
  await imported([join(fixtures, "harbour.yaml")], { license: "CC-BY-ND-4.0" });
  assert.match(await missing("osv", "NC-1"), /its licence CC-BY-NC-ND-4\.0 does not allow to publish it/);
  await missing("osv", "CGA-2222-3333-4444");
  for (const kind of ["osv", "openvex", "csaf"]) {
    await missing(kind, "harbour");
    for (const id of ["NC-1", "harbour"]) assert.match(String((await list(kind)).get(id)?.leftOut), /does not allow to publish it/);
  }
  const { documents } = await world.ok("advisory.SecurityAdvisoryService/ListDocuments", { id: "harbour" });
  assert.deepEqual(documents ?? [], []);
  // A record's own license overrides that of its source.
  const rust = (await readFile(join(fixtures, "rustsec.md"), "utf8")).replace('id = "RUSTSEC-2025-9001"', 'id = "RUSTSEC-2025-9009"\nlicense = "CC-BY-NC-4.0"');
  await imported([await put("own-licence.md", rust)], { license: "CC0-1.0" });
  assert.match(await missing("osv", "RUSTSEC-2025-9009"), /CC-BY-NC-4\.0/);
  await imported([join(fixtures, "harbour.yaml")], { license: "Apache-2.0" });
  await document("openvex", "harbour");
});

test("a RustSec record is published as OSV with ranges that cover exactly the affected versions", async () => {
  await imported([join(fixtures, "rustsec.md")]);
  assert.deepEqual(await document("osv", "RUSTSEC-2025-9001"), {
    schema_version: "1.7.0",
    id: "RUSTSEC-2025-9001",
    modified: "2025-03-04T00:00:00.000Z",
    published: "2025-03-04T00:00:00.000Z",
    aliases: ["CVE-2025-3001"],
    summary: "Masts break in a gale",
    details: "Only the long ones.",
    severity: [{ type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H" }],
    affected: [
      {
        package: { ecosystem: "crates.io", name: "mast", purl: "pkg:cargo/mast" },
        database_specific: { cvss: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H" },
        ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "0.4.2" }, { introduced: "0.5.0" }, { fixed: "0.5.3" }] }],
      },
    ],
    references: [
      { type: "WEB", url: "https://example.com/mast" },
      { type: "WEB", url: "https://example.com/more" },
    ],
    database_specific: { license: "CC0-1.0" },
  });
  const unclear = (await readFile(join(fixtures, "rustsec.md"), "utf8")).replace("2025-9001", "2025-9002").replace('">= 0.5.3"', '">= 0.5.*"');
  await imported([await put("unclear.md", unclear)]);
  assert.match(await missing("osv", "RUSTSEC-2025-9002"), /">= 0\.5\.\*" is not a Cargo requirement/);
  assert.match(String((await list("osv")).get("RUSTSEC-2025-9002")?.leftOut), /is not a Cargo requirement/);
});

test("content that a format cannot express is omitted and named: ranges in OpenVEX and CSAF, others' statements and fixes in OSV", async () => {
  const files = ["secdb.json", "openvex-0.2.0.json", "csaf.json"];
  await imported(files.map((name) => join(fixtures, name)));
  const [, openvex, csaf] = (await Promise.all(files.map((name) => readFile(join(fixtures, name), "utf8")))).map(
    (content) => JSON.parse(content) as JsonObject,
  );
  const number = text(openvex ?? {}, "@id");
  const tracking = text(part(part(csaf ?? {}, "document"), "tracking"), "id");
  // In their own format they are published unchanged.
  assert.deepEqual(await document("openvex", number), openvex);
  assert.deepEqual(await document("csaf", tracking), csaf);
  for (const [kind, id] of [
    ["osv", number],
    ["osv", tracking],
    ["osv", "v9.1/main"],
    ["openvex", tracking],
    ["csaf", number],
    ["openvex", "SHAPE-last-affected"],
    ["csaf", "RUSTSEC-2025-9001"],
  ] as const) {
    assert.notEqual(String((await list(kind)).get(id)?.leftOut ?? ""), "", `${kind} ${id}`);
    await missing(kind, id);
  }
  // None of their packages has a document that looks like ours.
  for (const name of ["anchor", "mast", "lantern", "example.com/limit"]) for (const kind of ["openvex", "csaf"]) await missing(kind, name);
  await missing("osv", "CVE-2025-4001");
});

test("records of GitHub, Debian, CycloneDX and the NVD are kept under their IDs, and OSV's list says why it omits them", async () => {
  const github = { ghsa_id: "GHSA-left-outt-here", published_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z", vulnerabilities: [] };
  const tracker = { keel: { "CVE-2036-0001": { releases: { trixie: { status: "resolved", fixed_version: "1.0-1" } } } } };
  const bom = {
    bomFormat: "CycloneDX",
    serialNumber: "urn:uuid:left-out",
    vulnerabilities: [{ id: "CVE-2036-0002", analysis: { state: "exploitable" }, affects: [{ ref: "pkg:npm/keel@1.0" }] }],
  };
  const nvd = { format: "NVD_CVE", vulnerabilities: [{ cve: { id: "CVE-2036-0003", lastModified: "2026-01-01T00:00:00", descriptions: [] } }] };
  await imported([
    await put("github.json", JSON.stringify(github)),
    await put("tracker.json", JSON.stringify(tracker)),
    await put("bom.json", JSON.stringify(bom)),
  ]);
  await runImport(world, "vulnerabilities", [await put("nvd.json", JSON.stringify(nvd))], { public: true });
  const listed = await list("osv");
  for (const [id, form, reason] of [
    [github.ghsa_id, "github", /names no package/],
    ["debian/keel", "debian", /no advisory IDs/],
    [bom.serialNumber, "cyclonedx", /lists single versions/],
    ["CVE-2036-0003", "nvd", /not for package versions/],
  ] as const) {
    assert.equal(listed.get(id)?.form, form, id);
    assert.match(String(listed.get(id)?.leftOut), reason);
    assert.match(await missing("osv", id), reason);
  }
});

test("an advisory of GitHub's API is published as OSV if every version keeps its verdict, otherwise its omission is listed", async () => {
  const advisory = (ghsa_id: string, ecosystem: string, range: string, patched: string | null, more: JsonObject = {}): JsonObject => ({
    ghsa_id,
    updated_at: "2026-02-01T00:00:00Z",
    vulnerabilities: [{ package: { ecosystem, name: "keel" }, vulnerable_version_range: range, first_patched_version: patched }],
    ...more,
  });
  const whole = advisory("GHSA-whol-whol-whol", "pip", ">= 1.0, <= 1.4", "1.5", {
    cve_id: "CVE-2036-0004",
    summary: "A leak",
    description: "Water comes in.",
    severity: "high",
    html_url: "https://github.com/advisories/GHSA-whol-whol-whol",
    identifiers: [
      { type: "GHSA", value: "GHSA-whol-whol-whol" },
      { type: "CVE", value: "CVE-2036-0004" },
    ],
    references: ["https://example.com/leak"],
    published_at: "2026-01-01T00:00:00Z",
    cvss_severities: { cvss_v3: { vector_string: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", score: 9.8 }, cvss_v4: { vector_string: null } },
    cwes: [{ cwe_id: "CWE-20", name: "x" }],
    credits: [
      { user: { login: "finder" }, type: "remediation_developer" },
      { user: { login: "other" }, type: "unheard" },
    ],
  });
  const leftOut: readonly (readonly [JsonObject, RegExp])[] = [
    [advisory("GHSA-left-left-0001", "actions", "< 2", "2"), /versions of actions are in no order/],
    [advisory("GHSA-left-left-0002", "pip", "> 1.0, < 2.0", "2.0"), /begins behind a version/],
    [advisory("GHSA-left-left-0003", "npm", "<= 2.0.0", "1.9.0"), /2\.0\.0 is affected, and patched is 1\.9\.0/],
    [advisory("GHSA-left-left-0004", "npm", "< latest", null), /is not a version in npm/],
    [advisory("GHSA-left-left-0005", "npm", ">= 2.0.0, < 1.0.0", null), /ends at 1\.0\.0, before it begins/],
    [advisory("GHSA-left-left-0006", "npm", "all of them", null), /is not a version comparison/],
    [advisory("GHSA-left-left-0007", "npm", "< 1.0.0", null, { updated_at: null }), /no modification time/],
  ];
  const source = await put("github-out.json", JSON.stringify([whole, ...leftOut.map(([each]) => each)]));
  await imported([source]);
  assert.deepEqual(await document("osv", "GHSA-whol-whol-whol"), {
    schema_version: "1.7.0",
    id: "GHSA-whol-whol-whol",
    modified: "2026-02-01T00:00:00Z",
    published: "2026-01-01T00:00:00Z",
    aliases: ["CVE-2036-0004"],
    summary: "A leak",
    details: "Water comes in.",
    severity: [{ type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" }],
    affected: [{ package: { ecosystem: "PyPI", name: "keel" }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "1.0" }, { fixed: "1.5" }] }] }],
    references: [{ type: "WEB", url: "https://example.com/leak" }],
    credits: [{ name: "finder", type: "REMEDIATION_DEVELOPER" }, { name: "other" }],
    database_specific: {
      source: "https://github.com/advisories/GHSA-whol-whol-whol",
      converted_from: "GitHub's advisory API",
      severity: "HIGH",
      cwe_ids: ["CWE-20"],
    },
  });
  const listed = await list("osv");
  for (const [each, reason] of leftOut) {
    const id = String(each.ghsa_id);
    assert.match(String(listed.get(id)?.leftOut), reason);
    assert.match(await missing("osv", id), reason);
  }
  const ask = async (version: string): Promise<unknown> => {
    const answer = await fetch(`${world.url}/osv/v1/querybatch`, {
      method: "POST",
      body: JSON.stringify({ queries: [{ package: { ecosystem: "PyPI", name: "Keel" }, version }] }),
    });
    return ((await answer.json()) as { readonly results: readonly JsonObject[] }).results[0];
  };
  assert.deepEqual(await ask("1.4.9"), { vulns: [{ id: "GHSA-whol-whol-whol", modified: "2026-02-01T00:00:00Z" }] });
  assert.deepEqual([await ask("1.5"), await ask("0.9")], [{}, {}]);
  // GitHub's own OSV record of that ID is preferred.
  const better = { schema_version: "1.7.0", id: "GHSA-whol-whol-whol", modified: "2025-01-01T00:00:00Z", summary: "As it was written" };
  await imported([await put("better.json", JSON.stringify(better))]);
  assert.deepEqual(await document("osv", "GHSA-whol-whol-whol"), better);
});

test("our own advisories have IDs and ecosystems that OSV's schema knows, or are omitted", async () => {
  const fixed = eventAt("2024-01-01T00:00:00Z", { fixed: { fixedVersion: "1.0-r1" } });
  await writeTestRecords(world, [
    advisory("CVE-2024-9001", { key: "pkg CVE-2024-9001", artifactName: "pkg", origin: "pkg", events: [fixed] }),
    advisory("CGA-nowhere", { artifactName: "elsewhere", origin: "elsewhere", author: "Harbour", namespace: "harbour", events: [fixed] }),
    advisory("CGA-often", {
      artifactName: "often",
      origin: "often",
      events: [eventAt("2024-01-01T00:00:00Z", { patched: { patchedVersions: ["1.0-r1", "2.0-r1"] } })],
    }),
  ]);
  const record = await document("osv", "x_CVE-2024-9001");
  assert.equal(isObject(record) && record.id, "x_CVE-2024-9001");
  await missing("osv", "CVE-2024-9001");
  assert.match(await missing("osv", "CGA-nowhere"), /no ecosystem/);
  assert.match(await missing("osv", "CGA-often"), /several patched versions/);
  const entries = await list("osv");
  assert.deepEqual(
    ["x_CVE-2024-9001", "CGA-nowhere", "CGA-often"].map((id) => [entries.has(id), entries.get(id)?.leftOut !== undefined]),
    [
      [true, false],
      [true, true],
      [true, true],
    ],
  );
});

test("a record with unreadable ranges is kept, published unchanged, matched with nothing, and reported", async () => {
  const broken = osv("BROKEN-1").replace('{"fixed":"1.0"}', '{"fixed":"1.0","limit":"2.0"}');
  const path = await put("broken.jsonl", `${osv("BROKEN-0")}\n${broken}\n`);
  const done = await imported([path]);
  assert.deepEqual(counts(done), { new: 1, changed: 0, withdrawn: 0, unchanged: 0, refused: 0 });
  assert.deepEqual(done.unmatched, ["broken.jsonl:2: affected[0].ranges[0].events[1] must be one of introduced, fixed, last_affected, limit, with a version"]);
  assert.deepEqual(await document("osv", "BROKEN-1"), JSON.parse(broken));
  const { advisories } = await world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", { advisoryIds: ["BROKEN-1"] });
  assert.deepEqual(advisories ?? [], []);
});

test("rows of the previous version without a document are unpublished until a source has them again", async () => {
  await writeTestRecords(world, [advisory("OLD-1", { artifactName: "old", origin: "old", artifactType: "golang" })], { form: "" });
  for (const [kind, name] of [
    ["osv", "OLD-1"],
    ["openvex", "old"],
    ["csaf", "old"],
  ] as const)
    await missing(kind, name);
  await imported([await put("old.json", osv("OLD-1"))], { public: undefined });
  assert.deepEqual(await document("osv", "OLD-1"), JSON.parse(osv("OLD-1")));
});

test("lists are complete at any length, with an ETag that changes with their content", async () => {
  const count = limits.documentPageRows + 100;
  const [own, others] = [
    Array.from({ length: count }, (_, index) => advisory(`CGA-many-${index}`, { artifactName: `many-${index}`, origin: `many-${index}` })),
    Array.from({ length: count }, (_, index) => osv(`MANY-${index}`)),
  ];
  for (let from = 0; from < count; from += 1000) await writeTestRecords(world, own.slice(from, from + 1000));
  await imported([await put("many.jsonl", `${others.join("\n")}\n`)]);
  const starting = (entries: ReadonlyMap<string, JsonObject>, start: string): number => [...entries.keys()].filter((id) => id.startsWith(start)).length;
  const all = await list("osv");
  assert.deepEqual([starting(all, "CGA-many-"), starting(all, "MANY-")], [count, count]);
  assert.equal(starting(await list("openvex"), "many-"), count);
  for (const name of ["index.txt", "changes.csv"]) {
    const lines = (await (await ask(`csaf/${name}`)).text()).split("\n");
    assert.equal(new Set(lines.filter((line) => line.includes("many-"))).size, count, name);
  }
  assert.equal(JSON.parse(await overHttp2("/advisory/v2/osv/all.json")).length, all.size);
  for (const path of ["osv/all.json", "csaf/index.txt"]) {
    const first = await ask(path);
    await first.arrayBuffer();
    const tag = first.headers.get("etag") ?? "";
    assert.equal((await ask(path, { "if-none-match": tag })).status, 304, path);
    assert.equal((await fetch(`${world.url}/advisory/v2/${path}`, { method: "HEAD" })).headers.get("etag"), tag, path);
    await writeTestRecords(world, [advisory(`CGA-one-more-${path}`, { artifactName: path })]);
    const next = await ask(path, { "if-none-match": tag });
    assert.equal(next.status, 200, path);
    await next.arrayBuffer();
  }
});

test("deleting an organization removes its documents from the public ones", async () => {
  const group = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name: "leaving harbour" } })).uid);
  await imported([await put("leaving.json", osv("LEAVING-1"))], { group });
  await document("osv", "LEAVING-1");
  await world.ok("iam.GroupsService/DeleteGroup", { uid: group });
  await missing("osv", "LEAVING-1");
  assert.equal((await list("osv")).has("LEAVING-1"), false);
});
