// Pushed OpenVEX documents: their statements are shown next to the findings of their image in their repo, and change none of them.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { openOwners, type Owners } from "../owner.ts";
import { descriptorOf, ociIndex, openPusher, type Pushed, type Pusher } from "../pusher.ts";
import { openWorld, type World } from "../world.ts";
import { runImport } from "./import.ts";

let world: World;
let folder: string;
let owners: Owners;
let made = 0;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gantry-pushed-vex-"));
  world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") }, undefined, Date.UTC(2026, 1, 1, 9));
  owners = openOwners(world);
});
after(async () => {
  await world?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const vexType = "application/openvex+json";
const deletions = "gantry.deletions.v1.DeletionsService";
const cve = "CVE-2026-4444";
const ghsa = "GHSA-vexed";

interface Place {
  readonly group: string;
  readonly registry: Pusher;
  readonly image: Pushed;
}

const attach = async (
  { registry, image }: Pick<Place, "registry" | "image">,
  content: string,
  mediaType: string,
  annotations?: JsonObject,
): Promise<Pushed> => {
  const blob = await registry.blob(content, mediaType);
  const manifest = await registry.artifact([blob], { subject: image, ...(annotations ? { annotations } : {}) });
  await world.server.sboms.turn();
  return manifest;
};

/** Creates a group with an image in which two packages, lantern 1.0.0 and lamp 2.0.0, have the same vulnerability. */
const openPlace = async (platform = false): Promise<Place> => {
  const name = `vex-${++made}`;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const registry = openPusher(world, `${name}/web`, () => owners.token(group));
  const image = await registry.image("amd64", platform ? undefined : "v1");
  const manifests = [{ ...descriptorOf(image), platform: { os: "linux", architecture: "amd64" } }];
  if (platform) await registry.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, "v1");
  const components = ["pkg:npm/lantern@1.0.0", "pkg:npm/lamp@2.0.0"].map((purl) => ({ type: "library", name: purl, purl }));
  await attach({ registry, image }, JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components }), "application/vnd.cyclonedx+json");
  const file = join(folder, `${name}.json`);
  const affected = ["lantern", "lamp"].map((each) => ({
    package: { ecosystem: "npm", name: each },
    ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }],
  }));
  writeFileSync(file, JSON.stringify({ schema_version: "1.7.0", id: ghsa, aliases: [cve], modified: "2026-01-01T00:00:00Z", affected }));
  assert.deepEqual((await runImport(world, "advisories", [file], { group })).refused, []);
  return { group, registry, image };
};

const openvex = (statements: readonly JsonObject[], author = "Supplier Inc."): string =>
  JSON.stringify({
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://supplier.example/vex/1",
    author,
    timestamp: "2026-01-15T00:00:00Z",
    version: 1,
    statements: [...statements],
  });

const notAffected = (products: readonly (JsonObject | string)[], vulnerability: JsonObject = { name: cve }): JsonObject => ({
  vulnerability,
  ...(products.length === 0 ? {} : { products: [...products] }),
  status: "not_affected",
  justification: "vulnerable_code_not_present",
  impact_statement: "The parser is not built.",
});

const findings = async ({ group }: Place, protocol: "rest" | "grpc" = "rest"): Promise<JsonObject[]> =>
  objectList(
    await world.ok(
      "gantry.findings.v1.FindingsService/ListFindings",
      { uidp: { descendantsOf: group }, orderBy: "package_name desc" },
      { token: await owners.token(group), protocol },
    ),
    "findings",
  );

/** Returns the statuses that are shown next to the findings in lantern and lamp. */
const statuses = async (place: Place): Promise<string[]> => {
  const found = await findings(place);
  assert.deepEqual(
    found.map((each) => [text(each, "packageName"), text(each, "state")]),
    [
      ["pkg:npm/lantern", "AFFECTED_IMAGE_STATE_AFFECTED"],
      ["pkg:npm/lamp", "AFFECTED_IMAGE_STATE_AFFECTED"],
    ],
  );
  return found.map((each) =>
    objectList(each, "vexStatements")
      .map((one) => text(one, "status").replace("VEX_STATUS_", ""))
      .join(" "),
  );
};

for (const protocol of ["rest", "grpc"] as const)
  test(`a pushed OpenVEX statement is shown next to the finding with its document and claimed author, and the finding stays open (${protocol})`, async () => {
    const place = await openPlace();
    const document = openvex([notAffected([{ "@id": "pkg:oci/web", subcomponents: [{ "@id": "pkg:npm/lantern@1.0.0" }] }])]);
    const manifest = await attach(place, document, vexType);
    const [lantern = {}, lamp = {}] = await findings(place, protocol);
    const [statement = {}] = objectList(lantern, "vexStatements");
    const content = await (await place.registry.send("GET", `blobs/${text(statement, "documentDigest")}`)).text();
    assert.equal(content, document);
    assert.deepEqual(statement, {
      documentDigest: text(statement, "documentDigest"),
      manifestDigest: manifest.digest,
      claimedAuthor: "Supplier Inc.",
      vulnerability: cve,
      status: "VEX_STATUS_NOT_AFFECTED",
      justification: "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT",
      note: "The parser is not built.",
      statementTime: text(statement, "statementTime"),
      pushTime: text(statement, "pushTime"),
    });
    assert.match(text(statement, "statementTime"), /^2026-01-15T00:00:00/);
    assert.deepEqual(objectList(lamp, "vexStatements"), []);
    assert.deepEqual([text(lantern, "state"), part(lantern, "decision")], ["AFFECTED_IMAGE_STATE_AFFECTED", {}]);
  });

test("a statement is shown with the packages and images that it names only, however the document names them", async () => {
  const place = await openPlace();
  const digest = place.image.digest;
  const other = `sha256:${"0".repeat(64)}`;
  const cases: readonly (readonly [products: readonly (JsonObject | string)[], shown: readonly string[]])[] = [
    [[], ["NOT_AFFECTED", "NOT_AFFECTED"]],
    [["pkg:npm/lantern"], ["NOT_AFFECTED", ""]],
    [["pkg:npm/lantern@1.0.1"], ["", ""]],
    [[{ "@id": "x", identifiers: { purl: "pkg:npm/lamp@2.0.0?arch=amd64" } }], ["", "NOT_AFFECTED"]],
    [[`pkg:oci/web@${digest.replace(":", "%3A")}`], ["NOT_AFFECTED", "NOT_AFFECTED"]],
    [[`pkg:oci/web@${other.replace(":", "%3A")}`], ["", ""]],
    [
      [`gantry.example.com/web@${other}`, `gantry.example.com/web@${digest}`],
      ["NOT_AFFECTED", "NOT_AFFECTED"],
    ],
    [[{ "@id": "web", hashes: { "sha-256": "0".repeat(64) } }], ["", ""]],
    [[{ "@id": "pkg:oci/web", subcomponents: [{ "@id": "pkg:npm/unrelated" }] }], ["", ""]],
    [[{ "@id": "pkg:oci/web", subcomponents: [{ "@id": "a name" }] }], ["", ""]],
  ];
  for (const [products, shown] of cases) {
    const manifest = await attach(place, openvex([notAffected(products)]), vexType);
    assert.deepEqual(await statuses(place), shown, JSON.stringify(products));
    // A deleted document takes its statements along.
    assert.equal((await place.registry.send("DELETE", `manifests/${manifest.digest}`)).status, 202);
    assert.deepEqual(await statuses(place), ["", ""]);
  }
  await attach(place, openvex([notAffected([], { name: "CVE-2026-1", aliases: ["CVE-2026-2"] })]), vexType);
  assert.deepEqual(await statuses(place), ["", ""]);
  // Several IDs of the same vulnerability are one statement.
  await attach(place, openvex([notAffected([], { name: cve, aliases: [ghsa] })]), vexType);
  assert.deepEqual(await statuses(place), ["NOT_AFFECTED", "NOT_AFFECTED"]);
});

test("an attestation with an OpenVEX predicate is read as cosign attaches it, also for one platform of an image", async () => {
  const place = await openPlace(true);
  const hex = place.image.digest.slice("sha256:".length);
  const statement = (predicateType: string, sha256 = hex): string =>
    JSON.stringify({
      _type: "https://in-toto.io/Statement/v0.1",
      predicateType,
      subject: [{ name: "image", digest: { sha256 } }],
      predicate: JSON.parse(openvex([{ ...notAffected([]), status: "under_investigation", justification: null }])) as JsonObject,
    });
  const envelope = (payload: string): JsonObject => ({
    payloadType: "application/vnd.in-toto+json",
    payload: Buffer.from(payload).toString("base64"),
    signatures: [{ sig: "" }],
  });
  const type = "https://openvex.dev/ns/v0.2.0";
  const { registry } = place;
  const layer = await registry.blob(JSON.stringify(envelope(statement(type))), "application/vnd.dsse.envelope.v1+json");
  await registry.artifact([layer], { reference: `sha256-${hex}.att`, annotations: { predicateType: type } });
  await world.server.sboms.turn();
  assert.deepEqual(await statuses(place), ["UNDER_INVESTIGATION", "UNDER_INVESTIGATION"]);
  const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";
  await attach(place, JSON.stringify({ mediaType: bundleType, dsseEnvelope: envelope(statement(type)) }), bundleType, {
    "dev.sigstore.bundle.predicateType": type,
  });
  assert.deepEqual(await statuses(place), ["UNDER_INVESTIGATION UNDER_INVESTIGATION", "UNDER_INVESTIGATION UNDER_INVESTIGATION"]);
  // A statement about another image, and one of another kind.
  await attach(place, JSON.stringify(envelope(statement(type, "0".repeat(64)))), "application/vnd.in-toto+json");
  await attach(place, JSON.stringify(envelope(statement("https://slsa.dev/provenance/v1"))), "application/vnd.in-toto+json");
  assert.deepEqual(await statuses(place), ["UNDER_INVESTIGATION UNDER_INVESTIGATION", "UNDER_INVESTIGATION UNDER_INVESTIGATION"]);
});

test("the latest statements come first, and a claimed time after the push counts as that of the push", async () => {
  const place = await openPlace();
  const dated = (status: string, timestamp: string): JsonObject => ({ vulnerability: cve, status, timestamp });
  const many = Array.from({ length: limits.findingVexMax }, () => dated("fixed", "2026-01-10T00:00:00Z"));
  await attach(place, openvex([dated("affected", "2999-01-01T00:00:00Z"), ...many]), vexType);
  world.clock.now += 1_000;
  await attach(place, openvex([dated("under_investigation", "2026-01-01T00:00:00Z"), dated("not_affected", "2999-01-01T00:00:00Z")]), vexType);
  const [shown = ""] = await statuses(place);
  assert.deepEqual(shown.split(" "), ["NOT_AFFECTED", "AFFECTED", ...Array.from({ length: limits.findingVexMax - 2 }, () => "FIXED")]);
});

for (const protocol of ["rest", "grpc"] as const)
  test(`the contents of an image name its pushed documents with state and problem, also those of its index (${protocol})`, async () => {
    const place = await openPlace(true);
    const listed = async (): Promise<JsonObject[]> => {
      const token = await owners.token(place.group);
      const request = { uidp: { descendantsOf: place.group }, digest: place.image.digest };
      const reply = await world.ok("gantry.images.v1.ImageContentsService/ListImageContents", request, { token, protocol });
      return objectList(reply, "imageContents").flatMap((each) => objectList(each, "vexDocuments"));
    };
    assert.deepEqual(await listed(), []);
    const blob = await place.registry.blob(openvex([notAffected([])]), vexType);
    const read = await place.registry.artifact([blob], { subject: place.image });
    const shownOf = (each: JsonObject): string[] => [text(each, "manifestDigest"), text(each, "state"), text(each, "problem")];
    assert.deepEqual((await listed()).map(shownOf), [[read.digest, "VEX_DOCUMENT_STATE_WAITING", ""]]);
    await world.server.sboms.turn();
    world.clock.now += 1_000;
    const token = await owners.token(place.group);
    const [{ digest = "" } = {}] = objectList(
      await world.ok("registry.TagsService/ListTags", { uidp: { descendantsOf: place.group }, name: "v1" }, { token }),
      "tags",
    );
    const index = { ...place.image, mediaType: ociIndex, digest: String(digest) };
    const unreadable = await attach({ registry: place.registry, image: index }, openvex([{ ...notAffected([]), status: "harmless" }]), vexType);
    const shown = await listed();
    const problem = "statements[0].status must be not_affected, affected, fixed or under_investigation";
    assert.deepEqual(shown.map(shownOf), [
      [unreadable.digest, "VEX_DOCUMENT_STATE_UNREADABLE", problem],
      [read.digest, "VEX_DOCUMENT_STATE_READ", ""],
    ]);
    const content = await (await place.registry.send("GET", `blobs/${text(shown[1] ?? {}, "documentDigest")}`)).text();
    assert.equal(content, openvex([notAffected([])]));
    assert.match(text(shown[0] ?? {}, "pushTime"), /^2026-02-01T/);
    assert.equal((await place.registry.send("DELETE", `manifests/${unreadable.digest}`)).status, 202);
    assert.deepEqual((await listed()).map(shownOf), [[read.digest, "VEX_DOCUMENT_STATE_READ", ""]]);
  });

test("a deleted repo is restored with the statements of its images", async () => {
  const place = await openPlace();
  await attach(place, openvex([notAffected(["pkg:npm/lamp"])]), vexType);
  const [{ repoUid = "" } = {}] = await findings(place);
  const token = await owners.token(place.group);
  await world.ok("registry.ReposService/DeleteRepo", { uid: repoUid }, { token });
  const [{ uid = "" } = {}] = objectList(await world.ok(`${deletions}/ListDeletions`, { resourceUids: [repoUid] }, { token }), "deletions");
  await world.ok(`${deletions}/UndeleteDeletion`, { uid }, { token });
  await world.server.sboms.turn();
  assert.deepEqual(await statuses(place), ["", "NOT_AFFECTED"]);
});
