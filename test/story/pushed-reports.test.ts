// Pushed scanner reports: each belongs to its image in its repo only, however attached, and is deleted with its manifest.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { descriptorOf, ociIndex, openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let logged: { event: string; fields: Readonly<Record<string, unknown>> | undefined }[];
let token: string;

before(async () => {
  logged = [];
  world = await openWorld({}, (event, fields) => void logged.push({ event, fields }));
  token = await world.token();
});
after(async () => {
  await world?.close();
});

const repo = (name: string, seed = name): Pusher => openPusher(world, `first-organization/${name}`, token, seed);

const grype = (id: string, version = "0.80.0"): string =>
  JSON.stringify({
    matches: [{ vulnerability: { id, severity: "High" }, artifact: { name: "one", version: "1", purl: "pkg:npm/one@1" } }],
    descriptor: { name: "grype", version, timestamp: "2026-02-01T10:00:00Z" },
  });
const trivy = (id: string): string =>
  JSON.stringify({
    SchemaVersion: 2,
    ArtifactName: "app",
    Results: [{ Target: "app", Vulnerabilities: [{ VulnerabilityID: id, PkgName: "one", Severity: "LOW" }] }],
  });
const sarif = (id: string): string =>
  JSON.stringify({
    version: "2.1.0",
    runs: [{ tool: { driver: { name: "othertool", version: "1" } }, results: [{ ruleId: id, message: { text: "found" } }] }],
  });
const statement = (predicateType: string, predicate: object, of: Pushed): string =>
  JSON.stringify({
    _type: "https://in-toto.io/Statement/v1",
    predicateType,
    subject: [{ name: "image", digest: { sha256: of.digest.slice("sha256:".length) } }],
    predicate,
  });
const envelope = (payload: string): string =>
  JSON.stringify({ payloadType: "application/vnd.in-toto+json", payload: Buffer.from(payload).toString("base64"), signatures: [] });
const cosignType = "https://cosign.sigstore.dev/attestation/vuln/v1";
const cosignPredicate = (report: string): object => ({
  invocation: {},
  scanner: { uri: "pkg:github/anchore/grype", version: "0.80.0", db: {}, result: JSON.parse(report) as object },
  metadata: { scanStartedOn: "2026-02-01T10:00:00Z", scanFinishedOn: "2026-02-01T10:00:01Z" },
});

const reportsOf = async (digest: string): Promise<JsonObject[]> =>
  objectList(await world.ok("chainguard.platform.registry.Vulnerabilities/ListVulnReports", { digest }), "items");
const foundIn = async (digest: string): Promise<string[]> =>
  (await reportsOf(digest))
    .map(
      (report) =>
        `${text(part(report, "scanner"), "name")} ${objectList(report, "vulnerabilities")
          .map((each) => text(each, "id"))
          .join()}`,
    )
    .sort();

test("a report is found in every way of attachment: media type, artifact type, statement, bundle, cosign's older tags, BuildKit's index", async () => {
  const registry = repo("ways");
  const image = await registry.image("amd64", "v1");
  const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";
  await registry.artifact([await registry.blob(sarif("CVE-2026-0001"), "application/sarif+json")], { subject: image });
  await registry.artifact([await registry.blob(gzipSync(trivy("CVE-2026-0002")), "application/vnd.aquasec.trivy.report+json+gzip")], { subject: image });
  const config = descriptorOf(await registry.blob("{}", "application/vnd.oci.empty.v1+json"));
  const plain = descriptorOf(await registry.blob(grype("CVE-2026-0003", "1"), "application/json"));
  const artifact = { schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: "application/vnd.anchore.grype", config };
  await registry.manifest({ ...artifact, layers: [plain], subject: descriptorOf(image) }, artifact.mediaType);
  const signed = envelope(statement(cosignType, cosignPredicate(grype("CVE-2026-0004", "2")), image));
  await registry.artifact([await registry.blob(signed, "application/vnd.dsse.envelope.v1+json")], { reference: `${image.digest.replace(":", "-")}.att` });
  const bundle = `{"mediaType":"${bundleType}","dsseEnvelope":${envelope(statement(cosignType, cosignPredicate(grype("CVE-2026-0005", "3")), image))}}`;
  await registry.artifact([await registry.blob(bundle, bundleType)], { subject: image });
  assert.deepEqual(await reportsOf(image.digest), [], "nothing is read before the push is answered");
  await world.server.sboms.turn();
  assert.deepEqual(await foundIn(image.digest), [
    "GRYPE CVE-2026-0003",
    "GRYPE CVE-2026-0004",
    "GRYPE CVE-2026-0005",
    "TRIVY CVE-2026-0002",
    "UNKNOWN CVE-2026-0001",
  ]);

  const arm = await registry.image("arm64", "two");
  const attested = await registry.blob(statement(cosignType, cosignPredicate(grype("CVE-2026-0006")), arm), "application/vnd.in-toto+json");
  const attestation = await registry.artifact([attested], {});
  const notes = { "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": arm.digest };
  const manifests = [
    { ...descriptorOf(arm), platform: { os: "linux", architecture: "arm64" } },
    { ...descriptorOf(attestation), platform: { os: "unknown", architecture: "unknown" }, annotations: notes },
  ];
  await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "multi");
  await world.server.sboms.turn();
  assert.deepEqual(await foundIn(arm.digest), ["GRYPE CVE-2026-0006"]);
  // The report of the platform's manifest counts for the index's tag.
  const { items } = await world.ok("chainguard.platform.registry.Vulnerabilities/ListVulnCountReports", { repo: "ways", tag: "multi" });
  assert.equal(objectList({ items: items ?? [] }, "items").length > 0, true);
});

test("an artifact that is not a report leaves nothing behind, and an unreadable one is logged and delays no other", async () => {
  const registry = repo("broken");
  const image = await registry.image("amd64", "v1");
  const other = await registry.image("arm64", "v2");
  const broken = await registry.blob('{"matches":[{"vulnerability":{"id":7},"artifact":{}}]}', "application/vnd.grype+json");
  const foreign = await registry.blob(envelope(statement(cosignType, cosignPredicate(grype("CVE-2026-0010")), other)), "application/vnd.in-toto+json");
  const provenance = await registry.blob(envelope(statement("https://slsa.dev/provenance/v1", {}, image)), "application/vnd.in-toto+json");
  const good = await registry.blob(grype("CVE-2026-0011"), "application/vnd.grype+json");
  await registry.artifact([broken, foreign, provenance, good], { subject: image });
  await world.server.sboms.turn();
  assert.deepEqual(await foundIn(image.digest), ["GRYPE CVE-2026-0011"]);
  const lines = logged.filter(({ event }) => event === "report.unreadable").map(({ fields }) => [fields?.document, fields?.problem]);
  assert.deepEqual(
    new Map(lines as [string, string][]),
    new Map([
      [broken.digest, "matches[0].vulnerability.id must be a text"],
      [foreign.digest, "is a statement about other digests than this image's"],
    ]),
  );
  assert.deepEqual((await world.server.application.services.store.read.query("select count(*) from pushed_reports"))[0], ["0"]);
});

test("a report counts in its repo only and is deleted with its manifest, which restores the earlier one", async () => {
  const [own, beside] = [repo("own", "same"), repo("beside", "same")];
  const [image, twin] = [await own.image("amd64", "same"), await beside.image("amd64", "same")];
  assert.equal(image.digest, twin.digest);
  const push = async (report: string): Promise<Pushed> => own.artifact([await own.blob(report, "application/vnd.grype+json")], { subject: image });
  await push(grype("CVE-2026-0020"));
  const later = await push(grype("CVE-2026-0021"));
  await world.server.sboms.turn();
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "beside" });
  const besideUid = text((repos as JsonObject[])[0] ?? {}, "uid");
  const listed = await world.ok("chainguard.platform.registry.Vulnerabilities/ListVulnReports", { repoId: besideUid });
  assert.deepEqual(listed.items, []);
  assert.equal((await foundIn(image.digest)).length, 2);
  assert.equal((await own.send("DELETE", `manifests/${later.digest}`)).status, 202);
  assert.deepEqual(await foundIn(image.digest), ["GRYPE CVE-2026-0020"]);
  const replaced = await world.server.application.services.store.read.query(
    "select count(*) from vuln_reports where digest = $1 and replace_time is not null",
    [image.digest],
  );
  assert.deepEqual(replaced[0], ["0"]);
});
