// Attacks with pushed image data, and on the credentials that push and pull it.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { createClient } from "#contract-client";
import { answerCredentialRequest } from "#login";
import { createPullToken, findGroup, listPullTokens, revokePullToken } from "#pull-tokens";
import { openPusher, type Pusher } from "../pusher.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let folder: string;
let [theirs, stranger] = ["", ""];

before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), "gantry-pushed-facts-"));
  theirs = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "rival" } }), "uid");
  stranger = await createIdentity(world, theirs, "owner", { issuer: "https://issuer.example.com", subject: "owner" });
  await bind(world, theirs, stranger, "owner");
});
after(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const ours = (name: string, seed = name): Pusher => openPusher(world, `first-organization/${name}`, () => world.token(), seed);
const document = (...purls: readonly string[]): string =>
  JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", components: purls.map((purl) => ({ type: "library", name: purl, purl })) });
const cyclonedxType = "application/vnd.cyclonedx+json";

const sbomsOf = async (digest: string, token?: string): Promise<JsonObject[]> =>
  objectList(await world.ok("gantry.images.v1.ImageSbomsService/ListImageSboms", { digest }, token === undefined ? {} : { token }), "imageSboms");

test("attack 107: hostile SBOMs are refused individually, the server keeps responding, and other pushed SBOMs are read", async () => {
  const registry = ours("hostile");
  const image = await registry.image("amd64", "v1");
  const hostile: readonly (readonly [content: string | Uint8Array, problem: RegExp])[] = [
    [gzipSync(Buffer.alloc(limits.sbomBytesMax + 1, 0x20)), /when it is unpacked$/],
    [`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`, /nested deeper/],
    [`{"a":[${"0,".repeat(limits.sbomValuesMax)}0]}`, /values$/],
    ['{"bomFormat":"CycloneDX","components":[{"purl":"pkg:npm/a\\u001b[31m@1"}]}', /control characters$/],
  ];
  for (const [content] of hostile) await registry.artifact([await registry.blob(content, cyclonedxType)], { subject: image });
  const polluted = await registry.blob(document("pkg:npm/__proto__@1.0.0", "pkg:npm/constructor@1.0.0"), cyclonedxType);
  await registry.artifact([polluted], { subject: image });
  let answered = 0;
  const reading = world.server.sboms.turn().then(() => true);
  while (!(await Promise.race([reading, world.ok("iam.GroupsService/GetGroup", { uid: world.organization }).then(() => false)]))) answered++;
  assert.ok(answered > 10, `${answered} requests were answered meanwhile`);
  const found = await sbomsOf(image.digest);
  for (const [, problem] of hostile) assert.equal(found.filter((each) => problem.test(text(each, "problem"))).length, 1, String(problem));
  assert.deepEqual(
    found.filter((each) => text(each, "state") === "IMAGE_SBOM_STATE_READ").map((each) => [text(each, "documentDigest"), each.packageCount]),
    [[polluted.digest, 2]],
  );
  assert.equal(({} as Record<string, unknown>)["1.0.0"], undefined);
});

test("attack 108: an SBOM neither affects nor appears on another repo's image with the same digest", async () => {
  const place = text(await world.ok("registry.ReposService/CreateRepo", { parent: theirs, repo: { name: "same" } }), "uid");
  const attacker = openPusher(world, place, () => world.token(stranger), "same");
  const [mine, copy] = [await ours("same").image("amd64", "v1"), await attacker.image("amd64", "v1")];
  assert.equal(mine.digest, copy.digest);
  await attacker.artifact([await attacker.blob(document("pkg:npm/made-up@1.0.0"), cyclonedxType)], { subject: copy });
  const own = ours("same");
  await own.artifact([await own.blob(document("pkg:npm/secret-project@1.0.0"), cyclonedxType)], { subject: mine });
  // An SBOM about another repo's digest, attached to the attacker's own image.
  const foreign = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ digest: { sha256: "0".repeat(64) } }],
    predicate: JSON.parse(document("pkg:npm/x@1")) as object,
  };
  await attacker.artifact([await attacker.blob(JSON.stringify(foreign), "application/vnd.in-toto+json")], { subject: copy });
  await world.server.sboms.turn();
  const seen = await sbomsOf(mine.digest, await world.token(stranger));
  assert.ok(seen.every((each) => text(each, "repoUid") === place));
  assert.deepEqual(seen.map((each) => text(each, "state")).sort(), ["IMAGE_SBOM_STATE_READ", "IMAGE_SBOM_STATE_UNREADABLE"]);
  const { store } = world.server.application.services;
  const rows = await store.read.query("select repo_uid, packages::text from image_sboms where digest = $1 and state = 'IMAGE_SBOM_STATE_READ'", [mine.digest]);
  for (const [repo = "", packages = ""] of rows) assert.equal(repo === place, packages?.includes("made-up"), `${repo} ${packages}`);
  assert.equal(rows.length, 2);
});

const storeInCache = async (cache: string, issuer: string, claims: object): Promise<void> => {
  const file = join(cache, "chainguard", issuer.replaceAll("/", "-"), "oidc-token");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`);
};

test("attack 109: the credential helper gives a token only to the host that issued it", async () => {
  const cache = join(folder, "cache");
  const environment = { XDG_CACHE_HOME: cache };
  const exp = Math.floor(Date.now() / 1000) + 3600;
  await storeInCache(cache, "https://gantry.example.com", { iss: "https://gantry.example.com", exp, of: "gantry" });
  // A sign-in at another server that issued a token in this server's name, and one for another audience.
  await storeInCache(cache, "https://evil.example", { iss: "https://gantry.example.com", exp, of: "evil" });
  await storeInCache(cache, "https://api.example", { iss: "https://gantry.example.com", exp, of: "api" });
  const get = async (input: string): Promise<string> => {
    const { status, out } = await answerCredentialRequest({ action: "get", input, environment });
    if (status !== 0) return out.trim();
    const secret = text(JSON.parse(out) as JsonObject, "Secret");
    return text(JSON.parse(Buffer.from(secret.split(".")[1] ?? "", "base64url").toString("utf8")) as JsonObject, "of");
  };
  assert.equal(await get("gantry.example.com"), "gantry");
  const others = [
    "evil.example",
    "api.example",
    "gantry.example.com.evil.example",
    "evil.example/gantry.example.com",
    "https://gantry.example.com@evil.example",
    "gantry.example.com:8443",
    "../gantry.example.com",
    "%67antry.example.com.evil",
  ];
  for (const other of others) assert.equal(await get(other), "credentials not found in native keychain", other);
});

test("attack 110: a pull token only pulls, stops working on expiry or revocation, and is shown once", async () => {
  const client = createClient({ server: world.url, token: await world.token() });
  const group = await findGroup(client, world.organization);
  const draft = { group, name: "ci", description: "", lifetimeMs: 60 * 60 * 1000 };
  const made = await createPullToken(client, world.url, draft);
  const owner = ours("pulled");
  await owner.image("amd64", "v1");
  const basic = { authorization: `Basic ${Buffer.from(`${made.uid}:${made.password}`).toString("base64")}` };
  const ask = async (method: string, path: string): Promise<number> =>
    (await fetch(`${world.url}/v2/first-organization/pulled/${path}`, { method, headers: basic })).status;
  assert.equal(await ask("GET", "manifests/v1"), 200);
  assert.ok([401, 403, 404].includes(await ask("POST", "blobs/uploads/")));
  assert.ok([401, 403, 404].includes(await ask("DELETE", "manifests/v1")));
  assert.ok(!JSON.stringify([await listPullTokens(client, world.url, undefined), await world.events()]).includes(made.password.slice(-40)));
  await revokePullToken(client, world.url, made.uid);
  assert.equal(await ask("GET", "manifests/v1"), 401);
  const brief = await createPullToken(client, world.url, draft);
  world.clock.now += 2 * 60 * 60 * 1000;
  const header = { authorization: `Basic ${Buffer.from(`${brief.uid}:${brief.password}`).toString("base64")}` };
  assert.equal((await fetch(`${world.url}/v2/first-organization/pulled/manifests/v1`, { headers: header })).status, 401);
});
