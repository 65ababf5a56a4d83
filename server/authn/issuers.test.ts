// Foreign issuers that rotate, break, stall or were never ours to ask.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { makeKey, openTestServices, publicUrl, refusalOf, startIssuer, type TestServices, type TestIssuer } from "./testing.ts";
import type { TestContext } from "node:test";

interface Scene {
  readonly services: TestServices;
  readonly issuer: TestIssuer;
  readonly uid: string;
  /** Tries a fresh token of the issuer; gives "" or the refusal. */
  tries(header?: Record<string, unknown>): Promise<string>;
}

const scene = async (t: TestContext): Promise<Scene> => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot" });
  let count = 0;
  const tries: Scene["tries"] = async (header) => {
    // Each token is another one: nothing is answered from what was verified before.
    const token = await issuer.token({ sub: "robot", aud: publicUrl, jti: String(count++) }, header);
    return services.exchange(token, { identity: uid }).then(
      () => "",
      (thrown: unknown) => refusalOf(() => Promise.reject(thrown)),
    );
  };
  return { services, issuer, uid, tries };
};

const unreadable = (issuer: TestIssuer): string => `UNAVAILABLE: the keys of issuer "${issuer.url}" cannot be read`;
const unknownKey = "UNAUTHENTICATED: the token's key is not among its issuer's keys";

test("an issuer is asked once for many tokens at once, and again when its keys are old", async (t) => {
  const { services, issuer, tries } = await scene(t);
  assert.deepEqual(await Promise.all(Array.from({ length: 20 }, () => tries())), Array(20).fill(""));
  assert.deepEqual(issuer.requestedPaths, ["/.well-known/openid-configuration", "/keys"]);
  services.time.nowMs += limits.issuerKeysLifetimeMs;
  assert.equal(await tries(), "");
  assert.equal(issuer.requestedPaths.length, 4);
});

test("a new key of an issuer is found at once, and a withdrawn one stops counting with its key set", async (t) => {
  const { services, issuer, uid, tries } = await scene(t);
  const old = await issuer.token({ sub: "robot", aud: publicUrl });
  assert.equal((await services.authn.authenticate(`Bearer ${old}`, uid)).uid, uid);
  services.time.nowMs += limits.issuerRetryMs;
  issuer.keys = [await makeKey("two")];
  assert.equal(await tries(), "");
  assert.equal(issuer.requestedPaths.length, 4);
  services.time.nowMs += limits.issuerKeysLifetimeMs;
  assert.equal(await refusalOf(() => services.authn.authenticate(`Bearer ${old}`, uid)), unknownKey);
});

test("attack 18, a storm of made-up key names asks the issuer at most once per interval", async (t) => {
  const { services, issuer, tries } = await scene(t);
  assert.equal(await tries(), "");
  services.time.nowMs += limits.issuerRetryMs;
  issuer.requestedPaths.length = 0;
  const storm = await Promise.all(Array.from({ length: 100 }, (_, n) => tries({ kid: `made-up-${n}` })));
  assert.deepEqual(new Set(storm), new Set([unknownKey]));
  for (let n = 0; n < 10; n++) assert.equal(await tries({ kid: `again-${n}` }), unknownKey);
  assert.deepEqual(issuer.requestedPaths, ["/.well-known/openid-configuration", "/keys"]);
  assert.equal(await tries(), "", "true tokens pass all the while");
});

test("attack 18, an issuer that nobody named is never asked", async (t) => {
  const { services, uid } = await scene(t);
  const stranger = await startIssuer(t, () => services.time.nowMs);
  const token = await stranger.token({ sub: "robot", aud: publicUrl });
  for (const identity of [uid, ""]) assert.match(await refusalOf(() => services.exchange(token, { identity })), /^(PERMISSION_DENIED|UNAUTHENTICATED): /);
  for (const identity of [uid, undefined]) assert.match(await refusalOf(() => services.authn.authenticate(`Bearer ${token}`, identity)), /^UNAUTHENTICATED: /);
  assert.deepEqual(stranger.requestedPaths, []);
});

test("attack 17, an issuer pattern never leads to a URL that two readers read differently", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuerPattern: "(?s).*", subject: "robot" });
  const { port } = new URL(issuer.url);
  for (const iss of [
    `http://issuer.example@127.0.0.1:${port}`,
    `HTTP://127.0.0.1:${port}`,
    `http://127.1:${port}`,
    `http://127.0.0.1:${port}?`,
    `http://127.0.0.1:${port}#`,
    `http://127.0.0.1:${port}/?x=`,
    `http://127.0.0.1:${port}/a/../b`,
    `http://127.0.0.1:${port}\\@evil.example`,
    `http://127.0.0.1:0${port}`,
    "https://issuer.example:443",
    "https://ISSUER.example",
    "https://ıssuer.example",
    "https://issuer。example",
    "ftp://127.0.0.1",
    "127.0.0.1",
    "data:,x",
    " ",
  ]) {
    const token = await issuer.token({ iss, sub: "robot", aud: publicUrl });
    assert.match(
      await refusalOf(() => services.exchange(token, { identity: uid })),
      /^UNAUTHENTICATED: the token's issuer .* is not the URL of an issuer/,
      iss,
    );
  }
  assert.deepEqual(issuer.requestedPaths, []);
});

test("attack 20, a redirect of discovery or of the key set is not followed", async (t) => {
  for (const moved of ["/.well-known/openid-configuration", "/keys"]) {
    const { services, issuer, tries } = await scene(t);
    const other = await startIssuer(t, () => services.time.nowMs);
    issuer.instead = (request, response) => {
      if (request.url !== moved) return false;
      response.writeHead(302, { location: `${other.url}${moved}` }).end();
      return true;
    };
    assert.equal(await tries(), unreadable(issuer));
    assert.deepEqual(other.requestedPaths, []);
  }
});

test("attack 19, an issuer at a private address is not asked unless the operator allows it", async (t) => {
  const { services, issuer, uid } = await scene(t);
  const strict = await services.replica({ egressAllow: "sink=127.0.0.0/8" });
  const token = await issuer.token({ sub: "robot", aud: publicUrl });
  assert.equal(await refusalOf(() => strict.authenticate(`Bearer ${token}`, uid)), unreadable(issuer));
  assert.deepEqual(issuer.requestedPaths, []);
  assert.equal((await services.authn.authenticate(`Bearer ${token}`, uid)).uid, uid);

  // The keys' own address is checked as well: discovery of a public issuer could name any.
  const lured = await services.replica({ egressAllow: `issuer=127.0.0.1:${new URL(issuer.url).port}` });
  const inside = await startIssuer(t, () => services.time.nowMs);
  issuer.instead = (_, response) => {
    response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${inside.url}/keys` }));
    return true;
  };
  assert.equal(await refusalOf(() => lured.authenticate(`Bearer ${token}`, uid)), unreadable(issuer));
  assert.deepEqual(inside.requestedPaths, []);
});

test("attack 23, an issuer that answers wrongly vouches for nobody, and the reason is in the log", async (t) => {
  const { services, issuer, tries } = await scene(t);
  const keys = async (): Promise<object[]> => [(await makeKey("one")).public];
  const answers: readonly [string, number, string | object][] = [
    ["/.well-known/openid-configuration", 429, {}],
    ["/.well-known/openid-configuration", 500, {}],
    ["/.well-known/openid-configuration", 204, ""],
    ["/.well-known/openid-configuration", 200, "<html>"],
    ["/.well-known/openid-configuration", 200, "[]"],
    ["/.well-known/openid-configuration", 200, { issuer: "https://other.example", jwks_uri: `${issuer.url}/keys` }],
    ["/.well-known/openid-configuration", 200, {}],
    ["/keys", 200, "null"],
    ["/keys", 200, { keys: {} }],
    ["/keys", 200, { keys: [1] }],
    ["/keys", 404, { keys: await keys() }],
    ["/keys", 200, { keys: await keys(), padding: "x".repeat(limits.outboundBytesMax) }],
  ];
  for (const [path, status, body] of answers) {
    issuer.instead = (request, response) => {
      if (request.url !== path) return false;
      response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
      return true;
    };
    services.logged.length = 0;
    assert.equal(await tries(), unreadable(issuer), JSON.stringify([path, status, body]).slice(0, 200));
    assert.deepEqual(
      services.logged.map((line) => line.event),
      ["authn.issuer.failed"],
    );
    services.time.nowMs += limits.issuerRetryMs;
  }
  issuer.instead = undefined;
  assert.equal(await tries(), "");
});

test("an issuer that is down is not asked with every request, and is found again when it is back", async (t) => {
  const { services, issuer, tries } = await scene(t);
  issuer.instead = (request) => {
    request.destroy();
    return true;
  };
  for (let n = 0; n < 5; n++) assert.equal(await tries(), unreadable(issuer));
  assert.equal(issuer.requestedPaths.length, 1);
  issuer.instead = undefined;
  services.time.nowMs += limits.issuerRetryMs;
  assert.equal(await tries(), "");
});

test("a short outage is not noticed: keys are renewed before they are too old, and used until then", async (t) => {
  const { services, issuer, tries } = await scene(t);
  assert.equal(await tries(), "");
  issuer.instead = (request) => {
    request.destroy();
    return true;
  };
  services.time.nowMs += limits.issuerKeysLifetimeMs / 2;
  assert.equal(await tries(), "", "the keys are good for as long again");
  services.time.nowMs += limits.issuerKeysLifetimeMs / 2;
  assert.equal(await tries(), unreadable(issuer));
});

test("an issuer that stalls keeps nobody else waiting", async (t) => {
  const { services, issuer, tries } = await scene(t);
  const other = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: other.url, subject: "robot" });
  let arrived: () => void = () => {};
  const asked = new Promise<void>((done) => (arrived = done));
  let answer: () => void = () => {};
  issuer.instead = (_, response) => {
    answer = () => response.destroy();
    arrived();
    return true;
  };
  const stalled = tries();
  await asked;
  await services.exchange(await other.token({ sub: "robot", aud: publicUrl }), { identity: uid });
  await services.authn.authenticate(`Bearer ${await services.authn.mint({ uid, audience: [publicUrl] })}`, undefined);
  answer();
  assert.equal(await stalled, unreadable(issuer));
});
