// Headless sign-in: a client fetches its token encrypted for its own key (authentication.md: 7).

import assert from "node:assert/strict";
import { createCipheriv, createPrivateKey, generateKeyPairSync, type KeyObject, webcrypto } from "node:crypto";
import { after, before, test } from "node:test";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { encryptFor, isHeadlessCode } from "../../server/iam/signin/headless.ts";
import { decryptSession } from "../../cli/login/headless.ts";
import type { Protocol } from "../client.ts";
import { type FakeProvider, openBrowser, openProvider, registerProvider } from "../provider.ts";
import { confirmAs, hiddenFields, submitForm } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let provider: FakeProvider;
let idp: string;

before(async () => {
  world = await openWorld();
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
});
after(async () => {
  await world?.close();
  await provider?.close();
});

const getSession = "chainguard.platform.auth.Auth/GetHeadlessSession";

interface Client {
  readonly code: string;
  readonly privateKey: KeyObject;
}

const newClient = (): Client => {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  return { privateKey, code: publicKey.export({ format: "jwk" }).x ?? "" };
};

const addressOf = (code: string, more: Readonly<Record<string, string>> = {}): string =>
  `${world.url}/oauth?${new URLSearchParams({ headless_code: code, idp_id: idp, ...more })}`;

const fetchSession = (code: string, protocol: Protocol = "rest") => world.call(getSession, { code }, { protocol, token: undefined });

/** Decrypts a session with an independent implementation: WebCrypto's key agreement and cipher. */
const readWithWebCrypto = async (session: JsonObject, privateKey: KeyObject): Promise<string> => {
  const raw = Buffer.from(Buffer.from(text(session, "ecdhPublicKey"), "base64").toString("utf8"), "base64url");
  assert.equal(raw.length, 32);
  const { subtle } = webcrypto;
  const own = await subtle.importKey("pkcs8", privateKey.export({ type: "pkcs8", format: "der" }), { name: "X25519" }, false, ["deriveBits"]);
  const theirs = await subtle.importKey("raw", raw, { name: "X25519" }, true, []);
  const secret = await subtle.deriveBits({ name: "X25519", public: theirs }, own, 256);
  const key = await subtle.importKey("raw", secret, "AES-GCM", false, ["decrypt"]);
  const bytes = Buffer.from(text(session, "encryptedIdtoken"), "base64");
  return Buffer.from(await subtle.decrypt({ name: "AES-GCM", iv: bytes.subarray(0, 12) }, key, bytes.subarray(12))).toString("utf8");
};

for (const protocol of ["rest", "grpc"] as const) {
  test(`over ${protocol} a client fetches the token of a browser sign-in once, and only it can decrypt the token`, async () => {
    const client = newClient();
    assert.equal((await fetchSession(client.code, protocol)).code, 5);
    const last = await confirmAs(world, provider, addressOf(client.code), { sub: "ada", email: "ada@example.test", email_verified: true });
    assert.match(last.text, /Your terminal is signed in.*Signed in as.*ada@example\.test.*through 127\.0\.0\.1:/);
    const { code, reply } = await fetchSession(client.code, protocol);
    assert.equal(code, 0);
    const token = await readWithWebCrypto(reply, client.privateKey);
    assert.equal(token, decryptSession(reply, client.privateKey));
    assert.equal(claimsOf(token).aud, world.url);
    assert.equal((await world.call("chainguard.platform.auth.Auth/Validate", {}, { token, protocol })).reply.email, "ada@example.test");
    assert.throws(() => decryptSession(reply, newClient().privateKey), /cannot be decrypted/);
    assert.equal((await fetchSession(client.code, protocol)).code, 5);
  });
}

test("of 50 concurrent fetches one gets the session", async () => {
  const { code } = newClient();
  await confirmAs(world, provider, addressOf(code), { sub: "ada" });
  const codes = await Promise.all(Array.from({ length: 50 }, async () => (await fetchSession(code)).code));
  assert.deepEqual(
    codes.sort((one, other) => one - other),
    [0, ...Array<number>(49).fill(5)],
  );
});

test("the token has the audience from the address, which the page shows the user", async () => {
  const client = newClient();
  const address = addressOf(client.code, { audience: "registry.example.test" });
  assert.match((await openBrowser().get(address)).text, /It can act on your behalf at registry\.example\.test\./);
  await confirmAs(world, provider, address, { sub: "ada" });
  assert.equal(claimsOf(decryptSession((await fetchSession(client.code)).reply, client.privateKey)).aud, "registry.example.test");
});

test("without a provider in the address the user names one, and a refused sign-in leaves no session", async () => {
  const { code } = newClient();
  const address = `${world.url}/oauth?headless_code=${code}`;
  assert.match((await confirmAs(world, provider, address, { sub: "ada" }, { idp_id: "nobody" })).text, /No organization or identity provider found/);
  assert.equal((await fetchSession(code)).code, 5);
  const browser = openBrowser();
  const shown = await browser.get(address);
  assert.match((await submitForm(world, browser, "/oauth/headless", { ...hiddenFields(shown.text), answer: "refuse" })).text, /<h1>Refused/);
  provider.lies = { nonce: "another" };
  const failed = await confirmAs(world, provider, address, { sub: "ada" }, { idp_id: idp });
  provider.lies = {};
  assert.match(failed.text, /<h1>Not signed in<\/h1>/);
  assert.equal((await fetchSession(code)).code, 5);
  await confirmAs(world, provider, address, { sub: "ada" }, { idp_id: idp });
  assert.equal((await fetchSession(code)).code, 0);
});

test("an unfetched session expires after five minutes", async () => {
  const { code } = newClient();
  await confirmAs(world, provider, addressOf(code), { sub: "ada" });
  world.clock.now += limits.headlessSessionLifetimeMs;
  assert.equal((await fetchSession(code)).code, 5);
});

test("of two sign-ins with one address the first is used", async () => {
  const client = newClient();
  await confirmAs(world, provider, addressOf(client.code), { sub: "ada" });
  const second = await confirmAs(world, provider, addressOf(client.code), { sub: "mallory" });
  assert.deepEqual([second.status, /<h1>Too late<\/h1>/.test(second.text)], [409, true]);
  const token = decryptSession((await fetchSession(client.code)).reply, client.privateKey);
  assert.equal(claimsOf(token).sub, world.server.application.services.authn.personUid(provider.url, "ada"));
});

test("an invalid X25519 key is refused: wrong length or letters, a second encoding, points of small order", async () => {
  const small = ["00".repeat(32), `01${"00".repeat(31)}`, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"];
  const codes = [
    "x",
    "A".repeat(42),
    "A".repeat(44),
    `${"A".repeat(42)}!`,
    `${newClient().code.slice(0, 42)}B`,
    ...small.map((hex) => Buffer.from(hex, "hex").toString("base64url")),
  ];
  for (const code of codes) {
    assert.equal(isHeadlessCode(code), false, code);
    const shown = await openBrowser().get(`${world.url}/oauth?${new URLSearchParams({ headless_code: code, idp_id: idp })}`);
    assert.equal(shown.status, 400, code);
  }
});

// RFC 7748 §6.1: Bob's key pair, Alice's public key and their shared secret.
const bob = {
  private: "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
  public: "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
};
const alicePublic = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
const common = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";

test("the AES-256-GCM key is the plain shared secret of RFC 7748 §6.1 on both sides", async () => {
  const privateKey = createPrivateKey({ key: Buffer.from(`302e020100300506032b656e04220420${bob.private}`, "hex"), format: "der", type: "pkcs8" });
  const cipher = createCipheriv("aes-256-gcm", Buffer.from(common, "hex"), Buffer.alloc(12, 1));
  const encrypted = Buffer.concat([Buffer.alloc(12, 1), cipher.update("a token"), cipher.final(), cipher.getAuthTag()]).toString("base64");
  const fromAlice = { ecdhPublicKey: btoa(Buffer.from(alicePublic, "hex").toString("base64url")), encryptedIdtoken: encrypted };
  assert.equal(decryptSession(fromAlice, privateKey), "a token");
  const fromUs = encryptFor(Buffer.from(bob.public, "hex").toString("base64url"), "another token");
  assert.ok(fromUs);
  assert.equal(
    await readWithWebCrypto({ ecdhPublicKey: btoa(fromUs.publicKey), encryptedIdtoken: fromUs.encrypted.toString("base64") }, privateKey),
    "another token",
  );
});
