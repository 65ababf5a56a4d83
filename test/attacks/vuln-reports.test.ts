// Attacks with scanner reports: by content, by encoding, and on other organizations' image data.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { importReports, type ReportImportSummary } from "#advisories/feeds";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { openPusher, type Pusher } from "../pusher.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder: string;
let [theirs, stranger, repo] = ["", "", ""];

before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), "gantry-hostile-reports-"));
  repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "ours" } }), "uid");
  theirs = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } }), "uid");
  stranger = await createIdentity(world, theirs, "owner", { issuer: "https://issuer.example.com", subject: "owner" });
  await bind(world, theirs, stranger, "owner");
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const vulnerabilities = "chainguard.platform.registry.Vulnerabilities";
const getReport = "chainguard.platform.registry.Registry/GetVulnReport";
const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const match = (id: string, name = "one"): JsonObject => ({
  vulnerability: { id, severity: "High" },
  artifact: { name, version: "1", purl: `pkg:npm/${name}@1` },
});
const grype = (matches: readonly JsonObject[], time = "2026-02-01T10:00:00Z"): string =>
  JSON.stringify({ matches, descriptor: { name: "grype", version: "1", timestamp: time } });

const take = (sources: readonly string[], digest: string | undefined, into: string | undefined = repo): Promise<ReportImportSummary> =>
  importReports(world.server.application.services, { group: world.organization, sources, repo: into, digest, progress: () => {} });
const write = async (name: string, content: string | Uint8Array): Promise<string> => {
  await writeFile(join(folder, name), content);
  return join(folder, name);
};
const reportsOf = async (request: JsonObject, token?: string): Promise<JsonObject[]> =>
  objectList(await world.ok(`${vulnerabilities}/ListVulnReports`, request, token === undefined ? {} : { token }), "items");

test("attack 126: reports that are too deep, too large, truncated or lie about their size are refused by name; others are accepted", async () => {
  const digest = digestOf("a");
  const lines = await take(
    [
      await write("1-deep.json", `{"matches":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
      await write("2-packed.json.gz", gzipSync(Buffer.alloc(limits.sbomBytesMax + 1, 0x20))),
      await write("3-large.json", `{"matches":[],"padding":"${"x".repeat(limits.reportBytesMax)}"}`),
      await write("4-values.json", `{"matches":[${"0,".repeat(limits.sbomValuesMax)}0]}`),
      await write("5-cut.json", grype([match("CVE-2026-0001")]).slice(0, -20)),
      await write("6-bytes.json", Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
      await write("7-cut.json.gz", gzipSync(grype([match("CVE-2026-0001")])).subarray(0, 60)),
      await write("8-id.json", grype([match(`CVE-${"9".repeat(600)}`)])),
      await write("9-good.json", grype([match("CVE-2026-0002")])),
    ],
    digest,
  );
  assert.deepEqual([lines.new, lines.refused.length], [1, 8]);
  for (const [at, words] of [
    /nested deeper/,
    /when it is unpacked/,
    /has more than \d+ bytes/,
    /values/,
    /not valid JSON/,
    /is not UTF-8/,
    /cannot be unpacked/,
    /at most 512/,
  ].entries())
    assert.match(lines.refused[at] ?? "", words);
  assert.deepEqual(
    (await reportsOf({ digest })).flatMap((each) => objectList(each, "vulnerabilities").map((one) => text(one, "id"))),
    ["CVE-2026-0002"],
  );
});

test("attack 126: prototype names in a report are data, and terminal control characters are removed on output", async () => {
  const digest = digestOf("b");
  const names = ["__proto__", "constructor", "hasOwnProperty"];
  const report = grype([...names.map((name) => match(name, name)), match("CVE-2026-0003", "red\u001b[31m\u0000")]);
  const polluted = `${report.slice(0, -1)},"__proto__":{"polluted":true}}`;
  assert.deepEqual((await take([await write("names.json", polluted)], digest)).refused, []);
  assert.equal(({} as JsonObject).polluted, undefined);
  const [shown = {}] = await reportsOf({ digest });
  assert.deepEqual(
    objectList(shown, "vulnerabilities").map((each) => text(each, "id")),
    [...names, "CVE-2026-0003"],
  );
  assert.doesNotMatch(JSON.stringify(shown), /\\u001b|\\u0000/);
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "names", digest } });
  const [day = {}] = objectList(await world.ok(`${vulnerabilities}/ListVulnCountReports`, { repo: "ours", tag: "names" }), "items");
  assert.deepEqual([...(day.highCveIds as string[])].sort(), ["CVE-2026-0003", ...names].sort());
  const [refused = ""] = (await take([await write("ro\u001b[31mt.json", "{}")], digest)).refused;
  assert.doesNotMatch(refused, /\u001b/);
});

test("attack 127: image findings are visible to their organization only, by digest, repo uid, name or count", async () => {
  const digest = digestOf("c");
  assert.equal((await take([await write("ours.json", grype([match("CVE-2026-0004")]))], digest)).new, 1);
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "v1", digest } });
  const token = await world.token(stranger);
  // The other organization has an image with the same digest and names.
  const twin = text(await world.ok("registry.ReposService/CreateRepo", { parent: theirs, repo: { name: "ours" } }), "uid");
  await world.ok("registry.TagsService/CreateTag", { parent: twin, tag: { name: "v1", digest } });
  for (const request of [{ digest }, { repoId: repo }, { repoId: repo, tag: "v1" }, { digest, repoId: repo }, { repoId: twin }, { repoId: twin, tag: "v1" }])
    assert.deepEqual(await reportsOf(request, token), [], JSON.stringify(request));
  const raw = await world.call(`${vulnerabilities}/GetRawVulnReport`, { digest }, { token });
  const absent = await world.call(`${vulnerabilities}/GetRawVulnReport`, { digest: digestOf("d") }, { token });
  assert.equal(raw.code, codes.NOT_FOUND);
  assert.equal(raw.message.replaceAll(digest, "DIGEST"), absent.message.replaceAll(digestOf("d"), "DIGEST"));
  for (const method of ["ListVulnCountReports", "ListCumulativeVulnCountReports"]) {
    for (const name of ["ours", "first-organization/ours", repo, "rival/ours", twin])
      assert.deepEqual((await world.ok(`${vulnerabilities}/${method}`, { repo: name, tag: "v1" }, { token })).items, [], name);
  }
  for (const request of [
    { repoId: repo, digest },
    { repoId: repo, digest: digestOf("d") },
  ])
    assert.equal((await world.call(getReport, request, { token })).code, codes.PERMISSION_DENIED);
  assert.equal((await world.call(getReport, { repoId: twin, digest }, { token })).code, codes.NOT_FOUND);
  assert.equal((await reportsOf({ digest })).length, 1);
});

test("attack 128: an import for one group writes to no repo of another, even if the report names its image or repo", async () => {
  const digest = digestOf("e");
  const elsewhere = text(await world.ok("registry.ReposService/CreateRepo", { parent: theirs, repo: { name: "elsewhere" } }), "uid");
  await world.ok("registry.TagsService/CreateTag", { parent: elsewhere, tag: { name: "v1", digest } });
  const content = JSON.parse(grype([match("CVE-2026-0005")])) as JsonObject;
  const file = await write("elsewhere.json", JSON.stringify({ ...content, source: { type: "image", target: { manifestDigest: digest } } }));
  assert.match(
    (await importReports(world.server.application.services, { group: world.organization, sources: [file], progress: () => {} })).refused[0] ?? "",
    /no repo of the group/,
  );
  for (const name of [elsewhere, "elsewhere", "rival/elsewhere"]) await assert.rejects(take([file], digest, name), /not found in the group/);
  assert.deepEqual(await reportsOf({ digest }), []);
});

test("attack 128: a pushed report applies only to its own repo's image, whatever its statement and subject name", async () => {
  const ours = (name: string): Pusher => openPusher(world, `first-organization/${name}`, () => world.token(), "same");
  const [own, other] = [ours("pushed"), ours("other")];
  const [image, twin] = [await own.image("amd64", "v1"), await other.image("amd64", "v1")];
  assert.equal(image.digest, twin.digest);
  await own.artifact([await own.blob(grype([match("CVE-2026-0006")]), "application/vnd.grype+json")], { subject: image });
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name: "another", digest: { sha256: "c".repeat(64) } }],
    predicateType: "https://cosign.sigstore.dev/attestation/vuln/v1",
    predicate: {
      scanner: {
        uri: "pkg:github/anchore/grype",
        version: "0.80.0",
        result: JSON.parse(grype([match("CVE-2026-6666")], "2026-02-02T10:00:00Z")) as JsonObject,
      },
    },
  };
  await own.artifact([await own.blob(JSON.stringify(statement), "application/vnd.in-toto+json")], { subject: image });
  await world.server.sboms.turn();
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "other" });
  assert.deepEqual(await reportsOf({ repoId: text((repos as JsonObject[])[0] ?? {}, "uid") }), []);
  const { repos: pushed } = await world.ok("registry.ReposService/ListRepos", { name: "pushed" });
  const told = JSON.stringify(await reportsOf({ repoId: text((pushed as JsonObject[])[0] ?? {}, "uid") }));
  assert.match(told, /CVE-2026-0006/);
  assert.doesNotMatch(told, /CVE-2026-6666/);
});

test("attack 129: a report dated in the future does not override later ones", async () => {
  const digest = digestOf("f");
  await take([await write("future.json", grype([match("CVE-2026-0007")], "2999-01-01T00:00:00Z"))], digest);
  world.clock.now += 60_000;
  await take([await write("later.json", grype([match("CVE-2026-0008")], timestamp(world.clock.now)))], digest);
  const shown = await world.ok(getReport, { repoId: repo, digest });
  assert.deepEqual(
    objectList(shown, "vulnerabilityMatches").map((each) => text(part(each, "vulnerability"), "id")),
    ["CVE-2026-0008"],
  );
});

test("attack 129: the number of reports per image is limited, and the latest of each tool is kept", async () => {
  const digest = digestOf("0");
  const { store } = world.server.application.services;
  await take([await write("first.json", grype([match("CVE-2026-0009")], "2026-02-01T00:00:00Z"))], digest);
  await store.write((rows) =>
    rows.query(
      `insert into vuln_reports (repo_uid, digest, scanner, tool, version, create_time, seen_time, document_digest, finding_count, severities, findings, raw,
         raw_bytes, manifest_digest, replace_time)
       select repo_uid, digest, scanner, tool, version, create_time - number * interval '1 minute', seen_time, 'sha256:' || number, finding_count, severities,
         findings, raw, raw_bytes, '', create_time from vuln_reports, generate_series(1, $2::integer) as number where digest = $1`,
      [digest, limits.reportsOfImageMax + 5],
    ),
  );
  await take([await write("last.json", grype([match("CVE-2026-0010")], "2026-02-02T00:00:00Z"))], digest);
  assert.deepEqual((await store.read.query("select count(*) from vuln_reports where digest = $1", [digest]))[0], [String(limits.reportsOfImageMax + 1)]);
  const shown = await world.ok(getReport, { repoId: repo, digest });
  assert.deepEqual(
    objectList(shown, "vulnerabilityMatches").map((each) => text(part(each, "vulnerability"), "id")),
    ["CVE-2026-0010"],
  );
});

test("attack 129: report counts that exceed a total are refused before they are read, and fewer days work", async () => {
  const digest = digestOf("9");
  const { store } = world.server.application.services;
  await world.ok("registry.TagsService/CreateTag", { parent: repo, tag: { name: "much", digest } });
  await take([await write("much.json", grype([match("CVE-2026-0011")], "2026-02-01T00:00:00Z"))], digest);
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`CVE-2026-${index + 10_000}`, "HIGH"]));
  const days = Math.ceil(limits.countedReportsBytesMax / JSON.stringify(many).length) + 1;
  await store.write((rows) =>
    rows.query(
      `insert into vuln_reports (repo_uid, digest, scanner, tool, version, create_time, seen_time, document_digest, finding_count, severities, findings, raw,
         raw_bytes, manifest_digest, replace_time)
       select repo_uid, digest, scanner, tool, version, create_time - number * interval '1 day', seen_time, 'sha256:' || number, finding_count, $3::jsonb,
         findings, raw, raw_bytes, '', create_time from vuln_reports, generate_series(1, $2::integer) as number where digest = $1`,
      [digest, days, JSON.stringify(many)],
    ),
  );
  const counts = `${vulnerabilities}/ListVulnCountReports`;
  const refused = await world.call(counts, { repo: "ours", tag: "much" });
  assert.equal(refused.code, codes.FAILED_PRECONDITION, refused.message);
  assert.match(refused.message, /Request fewer tags, or a later start day$/);
  const [last] = objectList(await world.ok(counts, { repo: "ours", tag: "much", from: "2026-02-01T00:00:00Z", to: "2026-02-01T00:00:00Z" }), "items");
  assert.deepEqual(texts(last ?? {}, "cveIds"), ["CVE-2026-0011"]);
});
