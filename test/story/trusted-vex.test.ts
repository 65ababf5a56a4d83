// Trusted sources of VEX: statements that they signed about an image decide its findings, unless the organization has decided.

import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, hash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { limits } from "#base/limits.ts";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { codes } from "#base/fault.ts";
import { runGantry } from "../command-line.ts";
import { npm, pushImageWith } from "../image-layers.ts";
import { descriptorOf, ociIndex, openPusher } from "../pusher.ts";
import {
  bundleType,
  cve,
  ed25519Key,
  envelope,
  notAffected,
  openVexStage,
  openvex,
  p256Key,
  p384Key,
  rsaKey,
  sourcesService,
  statementAbout,
  type Supplied,
  type VexStage,
} from "../signed-vex.ts";

let stage: VexStage;

before(async () => {
  stage = await openVexStage();
});
after(() => stage?.close());

const signed = (image: Supplied, key: ReturnType<typeof p256Key>, ...statements: readonly JsonObject[]): JsonObject =>
  envelope(statementAbout(image.digest, openvex(statements)), [key]);

for (const [name, newKey] of Object.entries({ "ECDSA P-256": p256Key, "ECDSA P-384": p384Key, Ed25519: ed25519Key, "RSA 2048": rsaKey }))
  test(`a statement that a trusted source signed with ${name} suppresses the finding, which names the source and the document`, async () => {
    const [image, key] = [await stage.open(), newKey()];
    const uid = await stage.trust(image, key, { name: "supplier" });
    const manifest = await stage.attach(image, signed(image, key, notAffected()));
    const [finding = {}] = await stage.findings(image);
    const [shown = {}] = objectList(finding, "vexStatements");
    assert.deepEqual(part(finding, "decision"), {
      state: "FINDING_DECISION_STATE_NOT_AFFECTED",
      justification: "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT",
      reason: "The parser is not built.",
      groupUid: image.group,
      vexSourceUid: uid,
      vexSource: "supplier",
      documentDigest: text(shown, "documentDigest"),
      manifestDigest: manifest.digest,
    });
    assert.deepEqual(
      [text(finding, "state"), text(finding, "undecidedState"), texts(shown, "vexSourceUids")],
      ["AFFECTED_IMAGE_STATE_SUPPRESSED", "AFFECTED_IMAGE_STATE_AFFECTED", [uid]],
    );
  });

test("a document that was pushed before its source was trusted counts from then on, until the source is deleted, and again if it is restored", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  const bundle = { mediaType: bundleType, dsseEnvelope: signed(image, key, notAffected({ status: "fixed" })) };
  await stage.attach(image, bundle, bundleType);
  await stage.attach(image, openvex([notAffected()]), "application/openvex+json");
  assert.deepEqual(await stage.states(image), ["AFFECTED -"]);
  const uid = await stage.trust(image, key, { name: "supplier" });
  assert.deepEqual(await stage.states(image), ["SUPPRESSED FIXED supplier"]);
  await stage.distrust(image, uid);
  assert.deepEqual(await stage.states(image), ["AFFECTED -"]);
  const token = await image.token();
  const deletions = "gantry.deletions.v1.DeletionsService";
  const [deletion = {}] = objectList(await stage.world.ok(`${deletions}/ListDeletions`, { resourceUids: [uid] }, { token }), "deletions");
  await stage.world.ok(`${deletions}/UndeleteDeletion`, { uid: text(deletion, "uid") }, { token });
  await stage.turn();
  assert.deepEqual(await stage.states(image), ["SUPPRESSED FIXED supplier"]);
});

test("a deleted document counts no longer, and counts again with its restored repo", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  await stage.trust(image, key, { name: "supplier" });
  const manifest = await stage.attach(image, signed(image, key, notAffected()));
  assert.deepEqual(await stage.states(image), ["SUPPRESSED NOT_AFFECTED supplier"]);
  const token = await image.token();
  const [finding = {}] = await stage.findings(image);
  const repo = text(finding, "repoUid");
  await stage.world.ok("registry.ReposService/DeleteRepo", { uid: repo }, { token });
  const deletions = "gantry.deletions.v1.DeletionsService";
  const [deletion = {}] = objectList(await stage.world.ok(`${deletions}/ListDeletions`, { resourceUids: [repo] }, { token }), "deletions");
  await stage.world.ok(`${deletions}/UndeleteDeletion`, { uid: text(deletion, "uid") }, { token });
  await stage.turn();
  assert.deepEqual(await stage.states(image), ["SUPPRESSED NOT_AFFECTED supplier"]);
  const response = await fetch(new URL(`/v2/${image.path}/manifests/${manifest.digest}`, stage.world.url), {
    method: "DELETE",
    headers: { authorization: `Basic ${Buffer.from(`_token:${token}`).toString("base64")}` },
  });
  assert.equal(response.status, 202);
  await stage.turn();
  assert.deepEqual(await stage.states(image), ["AFFECTED -"]);
});

test("a decision of the organization precedes a statement, whichever it is", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  await stage.trust(image, key, { name: "supplier" });
  await stage.attach(image, signed(image, key, notAffected()));
  const decision = await stage.decide(image, { vulnerability: cve, state: "FINDING_DECISION_STATE_UNDER_INVESTIGATION" });
  assert.deepEqual(await stage.states(image), ["AFFECTED UNDER_INVESTIGATION"]);
  await stage.world.ok("gantry.decisions.v1.DecisionsService/DeleteFindingDecision", { uid: text(decision, "uid") }, { token: await image.token() });
  await stage.turn();
  assert.deepEqual(await stage.states(image), ["SUPPRESSED NOT_AFFECTED supplier"]);
  assert.equal(await stage.exportCode(image), codes.FAILED_PRECONDITION, "statements of others are not exported as decisions");
});

test("the latest statement of a source counts, and a finding stays open if the latest one of any trusted source leaves it open", async () => {
  const [image, one, other] = [await stage.open(), p256Key(), ed25519Key()];
  await stage.trust(image, one, { name: "one" });
  const about = (status: string, timestamp: string): JsonObject => notAffected({ status, timestamp });
  await stage.attach(image, signed(image, one, about("not_affected", "2026-01-02T00:00:00Z"), about("affected", "2026-01-01T00:00:00Z")));
  assert.deepEqual(await stage.states(image), ["SUPPRESSED NOT_AFFECTED one"]);
  await stage.attach(image, signed(image, one, about("under_investigation", "2026-01-03T00:00:00Z")));
  assert.deepEqual(await stage.states(image), ["AFFECTED -"]);
  await stage.attach(image, signed(image, one, about("fixed", "2026-01-04T00:00:00Z")));
  assert.deepEqual(await stage.states(image), ["SUPPRESSED FIXED one"]);
  const second = await stage.trust(image, other, { name: "other" });
  await stage.attach(image, signed(image, other, about("affected", "2026-01-01T00:00:00Z")));
  assert.deepEqual(await stage.states(image), ["AFFECTED -"]);
  await stage.distrust(image, second);
  assert.deepEqual(await stage.states(image), ["SUPPRESSED FIXED one"]);
});

test("a statement counts for the products that it names only", async () => {
  const key = p256Key();
  const cases: readonly (readonly [statement: JsonObject, state: string])[] = [
    [notAffected({ products: [{ "@id": "pkg:npm/lantern@1.0.0" }] }), "SUPPRESSED NOT_AFFECTED"],
    [notAffected({ products: [{ "@id": "pkg:npm/lantern@1.0.1" }] }), "AFFECTED -"],
    [notAffected({ products: [{ "@id": "pkg:npm/other" }] }), "AFFECTED -"],
    [notAffected({ products: [{ "@id": "pkg:oci/web?repository_url=supplier.example/web" }] }), "SUPPRESSED NOT_AFFECTED"],
    [notAffected({ products: [{ "@id": "pkg:oci/worker" }] }), "AFFECTED -"],
    [notAffected({ products: [{ "@id": "pkg:oci/worker", subcomponents: [{ "@id": "pkg:npm/lantern" }] }] }), "AFFECTED -"],
    [notAffected({ products: [{ "@id": "pkg:npm/app@1", subcomponents: [{ "@id": "pkg:npm/lantern" }] }] }), "AFFECTED -"],
    [notAffected({ products: [{ "@id": `registry.example/web@sha256:${"0".repeat(64)}` }] }), "AFFECTED -"],
    [notAffected({ vulnerability: { name: "CVE-2026-7999" } }), "AFFECTED -"],
    [notAffected({ justification: null }), "AFFECTED -"],
    [notAffected({ status: "affected", justification: null }), "AFFECTED -"],
  ];
  const image = await stage.open();
  await stage.trust(image, key, { name: "s" });
  for (const [statement, state] of cases) {
    const manifest = await stage.attach(image, signed(image, key, statement));
    assert.deepEqual(
      (await stage.states(image)).map((each) => each.replace(" s", "")),
      [state],
      JSON.stringify(statement),
    );
    const response = await fetch(new URL(`/v2/${image.path}/manifests/${manifest.digest}`, stage.world.url), {
      method: "DELETE",
      headers: { authorization: `Basic ${Buffer.from(`_token:${await image.token()}`).toString("base64")}` },
    });
    assert.equal(response.status, 202);
    await stage.turn();
  }
});

test("an advisory about several CVE IDs is suppressed only if the source states each of them", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  await stage.trust(image, key, { name: "s" });
  await stage.importRecord(image, "DSA-1", ["CVE-2026-7101", "CVE-2026-7102"], "lantern");
  await stage.turn();
  await stage.attach(image, signed(image, key, notAffected(), notAffected({ vulnerability: { name: "CVE-2026-7101" } })));
  assert.deepEqual((await stage.states(image)).sort(), ["AFFECTED -", "SUPPRESSED NOT_AFFECTED s"]);
  await stage.attach(image, signed(image, key, notAffected({ vulnerability: { name: "CVE-2026-7102" } })));
  assert.deepEqual(await stage.states(image), ["SUPPRESSED NOT_AFFECTED s", "SUPPRESSED NOT_AFFECTED s"]);
});

/** Pushes an image for two platforms, with its tags and digests. */
const pushIndex = async (image: Supplied, tag: string, packages: Readonly<Record<string, readonly string[]>>): Promise<Record<string, Supplied>> => {
  const pusher = openPusher(stage.world, image.path, image.token);
  const found: Record<string, Supplied> = {};
  const manifests: JsonObject[] = [];
  for (const [architecture, names] of Object.entries(packages)) {
    const pushed = await pushImageWith(
      pusher,
      undefined,
      { architecture, annotations: { tag } },
      names.map((name) => npm(name, "1.0.0")),
    );
    manifests.push({ ...descriptorOf(pushed), platform: { os: "linux", architecture } });
    found[architecture] = { ...image, digest: pushed.digest };
  }
  const { digest } = await pusher.manifest({ schemaVersion: 2, mediaType: ociIndex, manifests }, ociIndex, tag);
  await stage.turn();
  return { ...found, index: { ...image, digest } };
};

const statesOf = async (image: Supplied, { digest }: Supplied): Promise<string[]> =>
  (await stage.findings(image)).filter((each) => text(each, "digest") === digest).map((each) => text(each, "state").replace("AFFECTED_IMAGE_STATE_", ""));

test("statements about platforms suppress a finding of their index once each platform with the package is stated", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  await stage.trust(image, key, { name: "s" });
  const { index = image, amd64 = image, arm64 = image } = await pushIndex(image, "multi", { amd64: ["lantern"], arm64: ["lantern"], s390x: ["other"] });
  assert.deepEqual(await statesOf(image, index), ["AFFECTED"]);
  await stage.attach(amd64, signed(amd64, key, notAffected()));
  assert.deepEqual(await statesOf(image, index), ["AFFECTED"]);
  await stage.attach(arm64, signed(arm64, key, notAffected({ products: [{ "@id": `registry.example/web@${arm64.digest}` }] })));
  assert.deepEqual(await statesOf(image, index), ["SUPPRESSED"]);
  // The latest statement about each platform counts, whether it is about the platform or the index.
  await stage.attach(index, signed(index, key, notAffected({ status: "affected", timestamp: "2026-01-20T00:00:00Z" })));
  assert.deepEqual(await statesOf(image, index), ["AFFECTED"]);
  await stage.attach(amd64, signed(amd64, key, notAffected({ timestamp: "2026-01-21T00:00:00Z" })));
  assert.deepEqual(await statesOf(image, index), ["AFFECTED"]);
  await stage.attach(arm64, signed(arm64, key, notAffected({ timestamp: "2026-01-21T00:00:00Z" })));
  assert.deepEqual(await statesOf(image, index), ["SUPPRESSED"]);
});

test("a document about an index may state one of its platforms as a product", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  await stage.trust(image, key, { name: "s" });
  const { index = image, amd64 = image, arm64 = image } = await pushIndex(image, "multi", { amd64: ["lantern"], arm64: ["lantern"] });
  const about = ({ digest }: Supplied): JsonObject => notAffected({ products: [{ "@id": `registry.example/web@${digest}` }] });
  await stage.attach(index, signed(index, key, about(amd64)));
  assert.deepEqual(await statesOf(image, index), ["AFFECTED"]);
  await stage.attach(index, signed(index, key, about(arm64)));
  assert.deepEqual(await statesOf(image, index), ["SUPPRESSED"]);
});

test("a statement about a tagged index counts for its platforms that have tags of their own, and is shown at them", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  await stage.trust(image, key, { name: "s" });
  const { index = image, amd64 = image, arm64 = image } = await pushIndex(image, "multi", { amd64: ["lantern"], arm64: ["lantern"] });
  const pusher = openPusher(stage.world, image.path, image.token);
  for (const [tag, { digest }] of Object.entries({ "multi-amd64": amd64, "multi-arm64": arm64 })) {
    const manifest = await pusher.send("GET", `manifests/${digest}`, undefined, { accept: "*/*" });
    const type = manifest.headers.get("content-type") ?? "";
    assert.equal((await pusher.send("PUT", `manifests/${tag}`, await manifest.text(), { "content-type": type })).status, 201);
  }
  await stage.turn();
  const all = async (): Promise<string[]> => (await Promise.all([index, amd64, arm64].map((each) => statesOf(image, each)))).flat();
  assert.deepEqual(await all(), ["AFFECTED", "AFFECTED", "AFFECTED"]);
  await stage.attach(index, signed(index, key, notAffected({ products: [{ "@id": `registry.example/web@${amd64.digest}` }] })));
  assert.deepEqual(await all(), ["AFFECTED", "SUPPRESSED", "AFFECTED"]);
  await stage.attach(index, signed(index, key, notAffected()));
  assert.deepEqual(await all(), ["SUPPRESSED", "SUPPRESSED", "SUPPRESSED"]);
  const shown = (await stage.findings(image)).filter((each) => text(each, "digest") === arm64.digest);
  assert.equal(objectList(shown[0] ?? {}, "vexStatements").length, 1);
  // Without its tag, the index is no image of which findings are listed, and its statements end with it.
  assert.equal((await pusher.send("DELETE", "manifests/multi")).status, 202);
  await stage.turn();
  assert.deepEqual(await statesOf(image, amd64), ["AFFECTED"]);
});

test("a source counts in its group and those below, and only in its repo if it names one", async () => {
  const [image, key] = [await stage.open(), p256Key()];
  const [finding = {}] = await stage.findings(image);
  const team = await stage.newGroup(image, image.group, "team");
  await stage.attach(image, signed(image, key, notAffected()));
  await stage.trust(image, key, { name: "below" }, team);
  assert.deepEqual(await stage.states(image), ["AFFECTED -"]);
  const beside = text(
    await stage.world.ok("registry.ReposService/CreateRepo", { parent: image.group, repo: { name: "beside" } }, { token: await image.token() }),
    "uid",
  );
  await stage.trust(image, key, { name: "beside", repoUid: beside });
  assert.deepEqual(await stage.states(image), ["AFFECTED -"]);
  await stage.trust(image, key, { name: "own", repoUid: text(finding, "repoUid") });
  assert.deepEqual(await stage.states(image), ["SUPPRESSED NOT_AFFECTED own"]);
});

test("only strong public keys are accepted, and each organization has a limited number of sources", async () => {
  const organization = await stage.newOrganization();
  const token = await organization.token();
  const attempt = (publicKey: string, more: JsonObject = {}) =>
    stage.world.call(`${sourcesService}/CreateVexSource`, { parent: organization.group, vexSource: { name: "key", publicKey, ...more } }, { token });
  const pem = (key: ReturnType<typeof createPublicKey>): string => key.export({ format: "pem", type: "spki" }).toString();
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const good = p256Key().publicKey;
  const refused: readonly (readonly [publicKey: string, problem: RegExp])[] = [
    [pair.privateKey.export({ format: "pem", type: "pkcs8" }).toString(), /private key/],
    [pair.privateKey.export({ format: "pem", type: "sec1" }).toString(), /private key/],
    [pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey), /2048 to 8192 bits, not 1024/],
    [pem(generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 3 }).publicKey), /exponent/],
    [pem(generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey), /ECDSA, Ed25519 or RSA/],
    [pem(generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey), /P-256 or P-384/],
    [pem(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey), /P-256 or P-384/],
    [pem(generateKeyPairSync("x25519").publicKey), /ECDSA, Ed25519 or RSA/],
    [good + p256Key().publicKey, /one public key in PEM/],
    ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE", /one public key in PEM/],
    ["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", /one public key in PEM/],
  ];
  for (const [publicKey, problem] of refused) {
    const reply = await attempt(publicKey);
    assert.equal(reply.code, codes.INVALID_ARGUMENT, publicKey);
    assert.match(JSON.stringify(reply), problem);
    assert.ok(!JSON.stringify(reply).includes(publicKey.slice(30, 60)));
  }
  assert.equal((await attempt(good, { repoUid: `${organization.group}/${"0".repeat(16)}` })).code, codes.INVALID_ARGUMENT);
  const made = await stage.world.ok(
    `${sourcesService}/CreateVexSource`,
    { parent: organization.group, vexSource: { name: "crlf", publicKey: good.replaceAll("\n", "\r\n") } },
    { token },
  );
  assert.equal(made.publicKey, good);
  assert.equal(made.keyFingerprint, hash("sha256", createPublicKey(good).export({ format: "der", type: "spki" }), "hex"));
  for (let count = 1; count < limits.vexSourcesEach; count++) assert.equal((await attempt(good, { name: `key ${count}` })).code, 0);
  assert.equal((await attempt(good, { name: "more" })).code, codes.RESOURCE_EXHAUSTED);
});

test("the command line reads the public key of a source from a file or standard input", async () => {
  const organization = await stage.newOrganization();
  const { publicKey } = p256Key();
  const file = join(stage.folder, "supplier.pub");
  await writeFile(file, publicKey);
  const environment = { GANTRY_SERVER: stage.world.url, GANTRY_TOKEN: await organization.token(), XDG_CONFIG_HOME: stage.folder, NO_COLOR: "1" };
  for (const [name, source, input] of [
    ["file", `@${file}`, ""],
    ["input", "-", publicKey],
  ] as const) {
    const command = ["findings", "vex-sources", "create", "--parent", organization.name, "--name", name, "--public-key", source, "-o", "json"];
    const made = await runGantry(command, { environment, input });
    assert.equal(made.status, 0, made.err);
    assert.equal((JSON.parse(made.out) as JsonObject).publicKey, publicKey);
  }
  const help = await runGantry(["findings", "vex-sources", "create", "--help"], { environment, columns: 200 });
  assert.match(help.out.replaceAll(/\s+/g, " "), /--public-key TEXT .*@FILE reads a file, - standard input\./);
});
