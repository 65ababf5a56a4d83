// Attacks on the text of a token, against this server's tokens and, if possible, foreign ones.

import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { exportSPKI, importJWK, SignJWT, type CryptoKey, type JWK } from "jose";
import type { JsonObject } from "#base/json.ts";
import { newRoot } from "#base/uid.ts";
import { readBearer, readToken } from "./token.ts";
import { claimsOf, headerOf, hour, makeKey, openTestServices, publicUrl, refusalOf, startIssuer, type TestServices } from "./testing.ts";

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const assemble = (header: unknown, claims: unknown, signature: string): string => `${part(header)}.${part(claims)}.${signature}`;
const hmac = (header: unknown, claims: unknown, secret: string | Buffer): string => {
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};
const refusedBy = (services: TestServices, token: string, identity?: string): Promise<string> =>
  refusalOf(() => services.authn.authenticate(`Bearer ${token}`, identity));
const publishedKey = async (services: TestServices): Promise<JWK> => (((await services.authn.keys()).keys ?? []) as JsonObject[])[0] as JWK;

test('attack 14, algorithm confusion: a public key is no shared secret, and "none" is refused', async (t) => {
  const services = await openTestServices(t);
  const own = await services.authn.mint({ uid: newRoot(), audience: [publicUrl] });
  const claims = claimsOf(own);
  const { kid } = headerOf(own);
  const jwk = await publishedKey(services);
  const pem = await exportSPKI((await importJWK(jwk, "RS256", { extractable: true })) as CryptoKey);
  for (const secret of [pem, pem.trim(), JSON.stringify(jwk), Buffer.from(jwk.n ?? "", "base64url"), ""])
    for (const alg of ["HS256", "hs256", "HS256 ", "\tHS256"])
      assert.match(await refusedBy(services, hmac({ alg, kid }, claims, secret)), /^UNAUTHENTICATED: the token's algorithm is not accepted/);
  for (const alg of ["none", "None", "NONE", "nOnE", "", " ", null, 0, ["RS256"], undefined, "RS256\u0000", "__proto__", "toString"]) {
    assert.match(await refusedBy(services, assemble({ alg, kid }, claims, "")), /^UNAUTHENTICATED: /);
    assert.match(await refusedBy(services, assemble({ alg, kid }, claims, "AA")), /^UNAUTHENTICATED: the token's algorithm is not accepted/);
  }
  const [, payload = "", signature = ""] = own.split(".");
  for (const alg of ["PS256", "RS512", "ES256", "EdDSA"])
    assert.match(
      await refusedBy(services, `${part({ alg, kid })}.${payload}.${signature}`),
      /^UNAUTHENTICATED: the token's algorithm is not accepted; expected RS256/,
    );
});

test("attack 280: the type alone keeps a registry token out, whatever its audience and issuer", () => {
  const claims = part({ iss: publicUrl, sub: newRoot(), aud: publicUrl, exp: 10, iat: 0 });
  const text = `${part({ alg: "RS256", typ: "gantry-registry+jwt" })}.${claims}.AA`;
  assert.throws(() => readToken(text, 0), /it is accepted only below \/v2\//);
  assert.equal(readToken(text, 0, true).isForRegistry, true);
});

test("attack 14, a foreign key is valid only for its own algorithm", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot" });
  const rsa = await makeKey("rsa", "RS256");
  issuer.keys = [rsa, await makeKey("ec", "ES384"), await makeKey("ed", "EdDSA")];
  const claims = { iss: issuer.url, sub: "robot", aud: publicUrl, ...hour(services.time.nowMs) };
  for (const key of issuer.keys) {
    const token = await new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, typ: "at+jwt" }).sign(key.private);
    assert.equal((await services.authn.authenticate(`Bearer ${token}`, uid)).uid, uid);
  }
  const bare = { n: rsa.public.n, e: rsa.public.e, kty: "RSA", kid: "rsa" } as JWK;
  issuer.keys = [{ ...rsa, public: bare }];
  services.time.nowMs += 600_000;
  for (const secret of [JSON.stringify(bare), rsa.public.n ?? ""])
    assert.match(await refusedBy(services, hmac({ alg: "HS256", kid: "rsa" }, claims, secret), uid), /algorithm is not accepted/);
  const ec = await makeKey("rsa", "ES256");
  const crossed = await new SignJWT({ ...claims, ...hour(services.time.nowMs) }).setProtectedHeader({ alg: "ES256", kid: "rsa" }).sign(ec.private);
  assert.match(await refusedBy(services, crossed, uid), /^UNAUTHENTICATED: the token's key is not among its issuer's keys/);
  // Too short for RS256: the library's refusal counts as the token's fault, never as a 500.
  const short = generateKeyPairSync("rsa", { modulusLength: 1024 });
  issuer.keys = [{ ...rsa, kid: "short", public: { ...(short.publicKey.export({ format: "jwk" }) as JWK), kid: "short" } }];
  services.time.nowMs += 600_000;
  const weak = assemble({ alg: "RS256", kid: "short" }, { ...claims, ...hour(services.time.nowMs) }, "AAAA");
  assert.match(await refusedBy(services, weak, uid), /^UNAUTHENTICATED: /);
});

test("attack 15, embedded key: a header that carries or points to its own key is refused", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const { kid } = headerOf(await services.authn.mint({ uid: newRoot(), audience: [publicUrl] }));
  const mine = await makeKey(String(kid), "RS256");
  const claims = { iss: publicUrl, sub: newRoot(), aud: publicUrl, ...hour(services.time.nowMs) };
  for (const header of [{ jwk: mine.public }, { jku: `${issuer.url}/keys` }, { x5c: ["MIIB"] }, { x5u: issuer.url }, { jwk: null }]) {
    const token = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: mine.kid }).sign(mine.private);
    const [, payload = "", signature = ""] = token.split(".");
    assert.match(
      await refusedBy(services, `${part({ alg: "RS256", kid, ...header })}.${payload}.${signature}`),
      /^UNAUTHENTICATED: the token's header "(jwk|jku|x5c|x5u)" is not accepted/,
    );
  }
  const same = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: mine.kid }).sign(mine.private);
  assert.equal(await refusedBy(services, same), "UNAUTHENTICATED: the token's signature is wrong", "the name of a key is not the key");
  assert.deepEqual(issuer.requestedPaths, []);
});

test("attack 16, unknown crit: a critical header is refused, and so is an unencoded payload", async (t) => {
  const services = await openTestServices(t);
  const own = await services.authn.mint({ uid: newRoot(), audience: [publicUrl] });
  const [, payload, signature] = own.split(".");
  for (const more of [{ crit: ["exp"] }, { crit: [] }, { crit: ["b64"], b64: false }, { b64: false }, { b64: true }])
    assert.match(
      await refusedBy(services, `${part({ ...headerOf(own), ...more })}.${payload}.${signature}`),
      /^UNAUTHENTICATED: the token's header "(crit|b64)" is not accepted/,
    );
});

test("a token has one spelling: whitespace, padding, extra or missing parts and other schemes are refused", async (t) => {
  const services = await openTestServices(t);
  const own = await services.authn.mint({ uid: newRoot(), audience: [publicUrl] });
  const [header = "", payload = "", signature = ""] = own.split(".");
  const spellings = [
    "",
    " ",
    ".",
    "..",
    "...",
    "a.b",
    "a.b.c",
    `${own} `,
    ` ${own}.`,
    `${own}=`,
    `${own}.`,
    `${own}.${own}`,
    `${header} .${payload}.${signature}`,
    `${header}.${payload}\n.${signature}`,
    `${header}.${payload}.`,
    `${header}..${signature}`,
    own.replaceAll(".", ".\t"),
    `${own}\u0000`,
    `${Buffer.from("[]").toString("base64url")}.${payload}.${signature}`,
    `${header}.${part(null)}.${signature}`,
    `${header}.${part("x")}.${signature}`,
    `${header}.${Buffer.from([0xff, 0xfe]).toString("base64url")}.${signature}`,
    `${header}.${payload}.${signature}AA`,
    `x${own}`,
    `${own}${"A".repeat(16 * 1024)}`,
  ];
  for (const token of spellings) assert.match(await refusedBy(services, token), /^UNAUTHENTICATED: /, JSON.stringify(token.slice(0, 60)));
  for (const header of [undefined, "", own, `Basic ${own}`, `Bearer${own}`, `Token ${own}`, `Bearer\t${own}`, "Bearer", "Bearer "])
    assert.match(await refusalOf(() => services.authn.authenticate(header, undefined)), /^UNAUTHENTICATED: /, JSON.stringify(header?.slice(0, 20)));
  for (const scheme of ["Bearer", "bearer", "BEARER"]) assert.equal(readBearer(`${scheme} ${own}`), own);
});

test("expired, not yet valid and malformed times are refused with the reason", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot" });
  const now = Math.floor(services.time.nowMs / 1000);
  const refused = async (claims: Record<string, unknown>): Promise<string> =>
    refusedBy(services, await issuer.token({ sub: "robot", aud: publicUrl, ...claims }), uid);
  assert.equal(await refused({ exp: now - 60 }), "UNAUTHENTICATED: the token has expired");
  assert.equal(await refused({ nbf: now + 61 }), "UNAUTHENTICATED: the token is not valid yet");
  assert.equal(await refused({ iat: now + 61 }), "UNAUTHENTICATED: the token is not valid yet");
  assert.match(await refused({ exp: undefined }), /it has no claim "exp"/);
  for (const wrong of ["1", null, {}, [], true]) {
    assert.match(await refused({ exp: wrong }), /its claim "exp" is not a number/);
    assert.match(await refused({ nbf: wrong }), /its claim "nbf" is not a number/);
  }
  assert.match(
    await refusedBy(services, `${part({ alg: "ES256" })}.${Buffer.from('{"iss":"x","sub":"y","exp":1e999}').toString("base64url")}.AA`),
    /"exp" is not a number/,
  );
  const within = { sub: "robot", aud: publicUrl, exp: now - 59, nbf: now + 60 };
  assert.equal((await services.authn.authenticate(`Bearer ${await issuer.token(within)}`, uid)).uid, uid);
  const forEver = await services.authn.authenticate(`Bearer ${await issuer.token({ sub: "robot", aud: publicUrl, exp: 1e300 })}`, uid);
  assert.ok(new Date(forEver.expireTimeMs).toISOString(), "the last instant that can be written");
});

test("attack 17, issuer and audience of other types: lists, numbers and objects are refused", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuerPattern: ".*", subject: "robot" });
  const refused = async (claims: Record<string, unknown>): Promise<string> =>
    refusedBy(services, await issuer.token({ sub: "robot", aud: publicUrl, ...claims }), uid);
  for (const iss of [[issuer.url], [issuer.url, publicUrl], { toString: issuer.url }, 1, null, "", undefined, "a\nb", "a\u0000"])
    assert.match(await refused({ iss }), /^UNAUTHENTICATED: the token is malformed: its claim "iss"/);
  for (const sub of [["robot"], 1, null, "", undefined, "robot\u0000", "\ud800"])
    assert.match(await refused({ sub }), /^UNAUTHENTICATED: the token is malformed: its claim "sub"/);
  for (const aud of [{ 0: publicUrl }, 1, [publicUrl, 1], [[publicUrl]], null])
    assert.match(await refused({ aud }), /^UNAUTHENTICATED: the token is malformed: its claim "aud"/);
  assert.deepEqual(issuer.requestedPaths, []);
});

test("attack 30, prototype pollution: claims named after prototypes are data", () => {
  const text = '{"__proto__":{"aud":"x"},"constructor":1,"iss":"i","sub":"s","exp":4e9}';
  const token = readToken(`${part({ alg: "RS256" })}.${Buffer.from(text).toString("base64url")}.AA`, 0);
  assert.deepEqual(token.audience, []);
  assert.equal(({} as Record<string, unknown>).aud, undefined);
});

test("every accepted spelling of this server's audience works, and none that only resembles it", async (t) => {
  const services = await openTestServices(t, { audiences: ["api.internal"] });
  const uid = newRoot();
  const tried = async (audience: string[]): Promise<boolean> => {
    const token = await services.authn.mint({ uid, audience });
    try {
      return (await services.authn.authenticate(`Bearer ${token}`, undefined)).uid === uid;
    } catch (thrown) {
      assert.match(String(thrown), /the token has the wrong audience/);
      return false;
    }
  };
  for (const one of [publicUrl, `${publicUrl}/`, "gantry.example", "gantry.example:8443", "api.internal"]) {
    assert.ok(await tried([one]), one);
    assert.ok(await tried(["https://other.example", one]), one);
  }
  for (const one of ["https://gantry.example", "GANTRY.EXAMPLE", `${publicUrl}//`, `${publicUrl}.evil.example`, "gantry.example.evil", "", "*"])
    assert.ok(!(await tried([one])), one);
  assert.ok(!(await tried([])));
});
