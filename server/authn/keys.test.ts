// Signing keys: creation, sharing between replicas, rotation, and secrecy.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRemoteJWKSet, jwtVerify } from "jose";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { newRoot } from "#base/uid.ts";
import { type Row, type Store, vaultOf } from "#db";
import type { Authn } from "./index.ts";
import { claimsOf, headerOf, openTestServices, publicUrl, refusalOf, startHttpServer } from "./testing.ts";

const overlapMs = limits.issuerRetryMs + limits.clockSkewMs;
const published = async (authn: Authn): Promise<JsonObject[]> => (await authn.keys()).keys as JsonObject[];
const kids = async (authn: Authn): Promise<unknown[]> => (await published(authn)).map((key) => key.kid);
const mint = (authn: Authn): Promise<string> => authn.mint({ uid: newRoot(), audience: [publicUrl] });
const takes = async (authn: Authn, token: string): Promise<boolean> => (await authn.authenticate(`Bearer ${token}`, undefined)).uid === claimsOf(token).sub;

test("servers that start concurrently on an empty store share one key, and a restart keeps it", async (t) => {
  const services = await openTestServices(t);
  await services.store.write((rows) => rows.query("delete from signing_keys"));
  const replicas = await Promise.all([services.replica(), services.replica(), services.replica()]);
  const [one] = await Promise.all(replicas.map(kids));
  assert.equal(one?.length, 1);
  for (const replica of replicas) assert.deepEqual(await kids(replica), one);
  const [first, second] = replicas;
  assert.ok(first && second && (await takes(second, await mint(first))));
  const token = await mint(first);
  const restarted = await services.replica();
  assert.deepEqual(await kids(restarted), one);
  assert.ok(await takes(restarted, token));
});

test("only public members are published, and private keys are sealed in the store", async (t) => {
  const { authn, store, vault } = await openTestServices(t);
  for (const key of await published(authn)) {
    assert.deepEqual(Object.keys(key).sort(), ["alg", "e", "kid", "kty", "n", "use"]);
    assert.ok(Buffer.from(String(key.n), "base64url").length >= 256);
  }
  const rows = await store.read.query("select public_jwk, private_jwk_sealed, kid from signing_keys");
  const [jwk, sealed, kid] = rows[0] ?? [];
  assert.ok(!("d" in (JSON.parse(jwk ?? "") as object)));
  const secret = JSON.parse(vault.open("signing-key", sealed ?? "", [kid ?? ""]) ?? "") as JsonObject;
  for (const name of ["d", "p", "q", "dp", "dq", "qi"]) assert.ok(!JSON.stringify(rows).includes(String(secret[name])));
  assert.equal(vault.open("page-token", sealed ?? "", [kid ?? ""]), undefined);
});

test("a rotation refuses no token: both keys are published, every replica accepts both, and the old one is deleted last", async (t) => {
  const services = await openTestServices(t);
  const other = await services.replica();
  const before = await mint(other);
  const [oldKid] = await kids(services.authn);
  await services.authn.rotate();
  const newKid = (await kids(services.authn)).find((kid) => kid !== oldKid);
  assert.ok(newKid);

  // The other replica has not reloaded, and unknown keys cannot make it reload often.
  assert.equal(headerOf(await mint(services.authn)).kid, oldKid, "the new key is published before it signs");
  services.time.nowMs += overlapMs;
  const late = await mint(other);
  const after = await mint(services.authn);
  assert.equal(headerOf(after).kid, newKid);
  for (const authn of [services.authn, other]) for (const token of [before, late, after]) assert.ok(await takes(authn, token));
  assert.deepEqual(new Set(await kids(other)), new Set([oldKid, newKid]));

  services.time.nowMs += limits.accessTokenLifetimeMs + limits.clockSkewMs;
  assert.deepEqual(await kids(services.authn), [newKid]);
  await services.authn.rotate();
  assert.equal((await services.store.read.query("select 1 from signing_keys where kid = $1", [String(oldKid)])).length, 0);
});

test("a replica flooded with made-up key IDs still accepts the first token of a new key", async (t) => {
  const services = await openTestServices(t);
  let looks = 0;
  const store: Store = {
    ...services.store,
    read: {
      query: (text, values) => {
        looks++;
        return services.store.read.query(text, values);
      },
    },
  };
  const other = await services.replica({ store });
  const forged = (await mint(services.authn)).replace(/^[^.]+/, Buffer.from('{"alg":"RS256","kid":"made-up"}').toString("base64url"));
  const storm = async (): Promise<void> => {
    assert.equal(await refusalOf(() => other.authenticate(`Bearer ${forged}`, undefined)), "UNAUTHENTICATED: the token's key is not among this server's keys");
  };
  services.time.nowMs += limits.issuerRetryMs;
  looks = 0;
  for (let n = 0; n < 20; n++) await storm();
  assert.equal(looks, 1);
  await services.authn.rotate();
  for (let elapsed = 0; elapsed < overlapMs; elapsed += 10_000) {
    services.time.nowMs += 10_000;
    await storm();
  }
  const token = await mint(services.authn);
  assert.equal((await published(services.authn)).length, 2);
  assert.ok(await takes(other, token));
});

test("concurrent or repeated rotations leave one signing key", async (t) => {
  const services = await openTestServices(t);
  // Delays the writes until both have generated a key.
  let waiting: (() => void) | undefined;
  const store: Store = {
    ...services.store,
    write: (work) =>
      services.store.write(async (rows) => {
        if (waiting === undefined) await new Promise<void>((go) => (waiting = go));
        else waiting();
        return work(rows);
      }),
  };
  const [one, other] = await Promise.all([services.replica({ store }), services.replica({ store })]);
  const last = (): Promise<Row[]> => services.store.read.query("select kid from signing_keys where retire_time is null");
  await Promise.all([one.rotate(), other.rotate()]);
  assert.equal((await last()).length, 1);
  await services.authn.rotate();
  services.time.nowMs += overlapMs;
  const signing = await last();
  assert.equal(signing.length, 1);
  for (const authn of [services.authn, other]) assert.equal(headerOf(await mint(authn)).kid, signing[0]?.[0]);
});

test("a different secret key stops the start with one line", async (t) => {
  const services = await openTestServices(t);
  await assert.rejects(services.replica({ vault: vaultOf(new Uint8Array(32)) }), (error: Error) =>
    /^the signing keys cannot be opened: GANTRY_SECRET_KEY_FILE .*$/.test(error.message),
  );
  await assert.rejects(services.replica({ egressAllow: "nowhere" }), /^Fault: GANTRY_EGRESS_ALLOW: "nowhere" is not an address range/);
});

test("a library that knows only the issuer verifies tokens through discovery", async (t) => {
  let authn: Authn | undefined;
  const url = await startHttpServer(t, async (request, response) => {
    const body = request.url === "/.well-known/openid-configuration" ? authn?.discovery() : await authn?.keys();
    response.end(JSON.stringify(body));
  });
  const services = await openTestServices(t, { issuer: url });
  authn = services.authn;
  const discovery = (await (await fetch(`${url}/.well-known/openid-configuration`)).json()) as JsonObject;
  assert.equal(discovery.issuer, url);
  const token = await authn.mint({ uid: newRoot(), audience: ["a", "b"] });
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(String(discovery.jwks_uri))), {
    issuer: url,
    audience: "b",
    currentDate: new Date(services.time.nowMs),
    algorithms: ["RS256"],
  });
  assert.deepEqual(payload.aud, ["a", "b"]);
});

test("a token is valid for at most an hour, acts as a UID, and permits nothing if its lists are empty", async (t) => {
  const { authn, time } = await openTestServices(t);
  const nobody = await authn.mint({ uid: "nobody", audience: [publicUrl] });
  assert.match(await refusalOf(() => authn.authenticate(`Bearer ${nobody}`, undefined)), /its claim "sub" is not a uid/);
  const long = claimsOf(await authn.mint({ uid: newRoot(), audience: [publicUrl], lifetimeMs: 1e12 }));
  assert.equal(long.exp, time.nowMs / 1000 + 3600);
  const nothing = await authn.mint({ uid: newRoot(), audience: [publicUrl], capabilities: [], scopes: [] });
  const caller = await authn.authenticate(`Bearer ${nothing}`, undefined);
  assert.deepEqual([caller.capabilities, caller.scopes], [[], []], "an empty list is nothing, not everything");
  const scopes = Array.from({ length: 500 }, newRoot);
  assert.match(await refusalOf(() => authn.mint({ uid: newRoot(), audience: [publicUrl], scopes })), /^INVALID_ARGUMENT: .* too many/);
});

test("a rotation happens once the key's lifetime is over, and no sooner", async (t) => {
  const services = await openTestServices(t);
  const [first] = await kids(services.authn);
  services.time.nowMs += limits.signingKeyLifetimeMs;
  await services.authn.rotateIfDue();
  assert.deepEqual(await kids(services.authn), [first]);
  services.time.nowMs += 1;
  await services.authn.rotateIfDue();
  const both = await kids(services.authn);
  assert.equal(both.length, 2);
  await services.authn.rotateIfDue();
  assert.deepEqual(await kids(services.authn), both);
});
