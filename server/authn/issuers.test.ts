// Foreign issuers: key rotation, failures, stalls, and issuers that must not be contacted.

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "#base/limits.ts";
import { makeKey, openTestServices, publicUrl, refusalOf, startIssuer, type TestServices, type TestIssuer } from "./testing.ts";
import type { TestContext } from "node:test";

interface Scene {
  readonly services: TestServices;
  readonly issuer: TestIssuer;
  readonly uid: string;
  /** Exchanges a fresh token of the issuer; returns "" or the refusal. */
  tries(header?: Record<string, unknown>): Promise<string>;
}

const scene = async (t: TestContext): Promise<Scene> => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot" });
  let count = 0;
  const tries: Scene["tries"] = async (header) => {
    // Tokens differ, so that no cached signature helps.
    const token = await issuer.token({ sub: "robot", aud: publicUrl, jti: String(count++) }, header);
    return services.exchange(token, { identity: uid }).then(
      () => "",
      (thrown: unknown) => refusalOf(() => Promise.reject(thrown)),
    );
  };
  return { services, issuer, uid, tries };
};

const unreadable = (issuer: TestIssuer): string =>
  `UNAVAILABLE: the keys of issuer "${issuer.url}" cannot be read: its /.well-known/openid-configuration must be reachable from this server, ` +
  "and so must the key set that it names; this server's log says what failed";
const unknownKey = /^UNAUTHENTICATED: the token's key is not among its issuer's keys: its header "kid" is "[^"]*", and its "alg" is \w+$/;

test("concurrent tokens cause one request to their issuer, and expired keys another", async (t) => {
  const { services, issuer, tries } = await scene(t);
  assert.deepEqual(await Promise.all(Array.from({ length: 20 }, () => tries())), Array(20).fill(""));
  assert.deepEqual(issuer.requestedPaths, ["/.well-known/openid-configuration", "/keys"]);
  services.time.nowMs += limits.issuerKeysLifetimeMs;
  assert.equal(await tries(), "");
  assert.equal(issuer.requestedPaths.length, 4);
});

test("an issuer's new key works at once, and a withdrawn one stops with its key set", async (t) => {
  const { services, issuer, uid, tries } = await scene(t);
  const old = await issuer.token({ sub: "robot", aud: publicUrl });
  assert.equal((await services.authn.authenticate(`Bearer ${old}`, uid)).uid, uid);
  services.time.nowMs += limits.issuerRetryMs;
  issuer.keys = [await makeKey("two")];
  assert.equal(await tries(), "");
  assert.equal(issuer.requestedPaths.length, 4);
  services.time.nowMs += limits.issuerKeysLifetimeMs;
  assert.match(await refusalOf(() => services.authn.authenticate(`Bearer ${old}`, uid)), unknownKey);
});

test("attack 18, a storm of made-up key IDs causes at most one request to the issuer per interval", async (t) => {
  const { services, issuer, tries } = await scene(t);
  assert.equal(await tries(), "");
  services.time.nowMs += limits.issuerRetryMs;
  issuer.requestedPaths.length = 0;
  const storm = await Promise.all(Array.from({ length: 100 }, (_, n) => tries({ kid: `made-up-${n}` })));
  for (const each of storm) assert.match(each, unknownKey);
  for (let n = 0; n < 10; n++) assert.match(await tries({ kid: `again-${n}` }), unknownKey);
  assert.deepEqual(issuer.requestedPaths, ["/.well-known/openid-configuration", "/keys"]);
  assert.equal(await tries(), "", "true tokens pass all the while");
});

test("attack 18, an issuer that no identity names is never contacted", async (t) => {
  const { services, uid } = await scene(t);
  const stranger = await startIssuer(t, () => services.time.nowMs);
  const token = await stranger.token({ sub: "robot", aud: publicUrl });
  for (const identity of [uid, ""]) assert.match(await refusalOf(() => services.exchange(token, { identity })), /^(PERMISSION_DENIED|UNAUTHENTICATED): /);
  for (const identity of [uid, undefined]) assert.match(await refusalOf(() => services.authn.authenticate(`Bearer ${token}`, identity)), /^UNAUTHENTICATED: /);
  assert.deepEqual(stranger.requestedPaths, []);
});

test("attack 17, an issuer pattern never leads to a URL that parsers read differently", async (t) => {
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

test("attack 20, a redirect of the discovery document or key set is not followed", async (t) => {
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

test("attack 19, an issuer at a private address is not contacted unless the operator allows it", async (t) => {
  const { services, issuer, uid } = await scene(t);
  const strict = await services.replica({ egressAllow: "sink=127.0.0.0/8" });
  const token = await issuer.token({ sub: "robot", aud: publicUrl });
  assert.equal(await refusalOf(() => strict.authenticate(`Bearer ${token}`, uid)), unreadable(issuer));
  assert.deepEqual(issuer.requestedPaths, []);
  assert.equal((await services.authn.authenticate(`Bearer ${token}`, uid)).uid, uid);

  // The address of jwks_uri is checked too, because discovery could name any.
  const lured = await services.replica({ egressAllow: `issuer=127.0.0.1:${new URL(issuer.url).port}` });
  const inside = await startIssuer(t, () => services.time.nowMs);
  issuer.instead = (_, response) => {
    response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${inside.url}/keys` }));
    return true;
  };
  assert.equal(await refusalOf(() => lured.authenticate(`Bearer ${token}`, uid)), unreadable(issuer));
  assert.deepEqual(inside.requestedPaths, []);
});

test("attack 23, an issuer with invalid responses verifies no token, and the reason is logged", async (t) => {
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
    services.time.nowMs += limits.issuerPauseMaxMs;
  }
  issuer.instead = undefined;
  assert.equal(await tries(), "");
});

test("an issuer that is down is not contacted on every request, and recovers", async (t) => {
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

test("keys survive a short outage: they are renewed early and used until they expire", async (t) => {
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

test("a stalled issuer does not delay requests for others", async (t) => {
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

/** An identity with a pattern for every path of the issuer, and exchanges of tokens with made-up issuers. */
const patternScene = async (t: TestContext) => {
  const here = await scene(t);
  const stranger = await startIssuer(t, () => here.services.time.nowMs);
  const uid = await here.services.claimMatch({ issuerPattern: `${stranger.url.replaceAll(".", "\\.")}/.*`, subject: "robot" });
  const guess = async (name: string): Promise<string> => {
    const token = await stranger.token({ iss: `${stranger.url}/${name}`, sub: "robot", aud: publicUrl });
    return services.exchange(token, { identity: uid }).then(
      () => "",
      (thrown: unknown) => refusalOf(() => Promise.reject(thrown)),
    );
  };
  const { services } = here;
  return { ...here, stranger, guess };
};

test("attack 38, 1,500 made-up issuers that match a pattern cause few requests and evict neither keys nor failures", async (t) => {
  const { services, issuer, tries, stranger, guess } = await patternScene(t);
  assert.equal(await tries(), "");
  // A third issuer, known to be down.
  const down = await startIssuer(t, () => services.time.nowMs);
  down.instead = (request) => {
    request.destroy();
    return true;
  };
  const other = await services.claimMatch({ issuer: down.url, subject: "robot" });
  const tryDown = async (): Promise<string> =>
    refusalOf(async () => services.exchange(await down.token({ sub: "robot", aud: publicUrl }), { identity: other }));
  assert.equal(await tryDown(), unreadable(down));

  const refusals = new Set<string>();
  for (let n = 0; n < 1500; n++) refusals.add((await guess(`made-up-${n}`)).split(":")[0] ?? "");
  assert.deepEqual([...refusals], ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]);
  assert.equal(stranger.requestedPaths.length, limits.issuerTriesMax);

  assert.equal(await tries(), "");
  assert.equal(issuer.requestedPaths.length, 2);
  assert.equal(await tryDown(), unreadable(down));
  assert.equal(down.requestedPaths.length, 1);
  services.time.nowMs += limits.issuerRetryMs;
  await guess("later");
  assert.equal(stranger.requestedPaths.length, limits.issuerTriesMax + 1, "others are tried again after a while");
});

test("attack 38, made-up issuers with valid keys evict only each other", async (t) => {
  const { issuer, tries, stranger, guess } = await patternScene(t);
  assert.equal(await tries(), "");
  stranger.instead = (request, response) => {
    const [, name = ""] = /^\/(good-\d+)\//.exec(request.url ?? "") ?? [];
    if (name === "") return false;
    response.end(JSON.stringify({ issuer: `${stranger.url}/${name}`, jwks_uri: `${stranger.url}/keys` }));
    return true;
  };
  for (let n = 0; n <= limits.issuerShareKiB; n++) assert.equal(await guess(`good-${n}`), "");
  assert.equal(await tries(), "");
  assert.equal(issuer.requestedPaths.length, 2);
  stranger.requestedPaths.length = 0;
  assert.equal(await guess(`good-${limits.issuerShareKiB}`), "");
  assert.deepEqual(stranger.requestedPaths, []);
});

test("attack 38, forty exchanges with unresponsive issuers do not delay another organization", async (t) => {
  const { tries, stranger, guess } = await patternScene(t);
  const held: { destroy(): void }[] = [];
  let allArrived = (): void => {};
  const arrived = new Promise<void>((done) => (allArrived = done));
  stranger.instead = (_, response) => {
    held.push(response);
    if (held.length === limits.issuerFetchesEachMax) allArrived();
    return true;
  };
  const stalled = Array.from({ length: 40 }, (_, n) => guess(`slow-${n}`));
  await arrived;
  assert.equal(await tries(), "");
  assert.equal(held.length, limits.issuerFetchesEachMax, "the others wait behind their own");
  stranger.instead = (_, response) => {
    response.destroy();
    return true;
  };
  for (const response of held) response.destroy();
  for (const refusal of await Promise.all(stalled)) assert.match(refusal, /^(?:UNAVAILABLE|RESOURCE_EXHAUSTED)/);
});

test("repeated failures of an issuer back off up to a limit", async (t) => {
  const { services, issuer, tries } = await scene(t);
  issuer.instead = (request) => {
    request.destroy();
    return true;
  };
  const asked: number[] = [];
  const begin = services.time.nowMs;
  while (services.time.nowMs < begin + 8 * limits.issuerPauseMaxMs) {
    const { length } = issuer.requestedPaths;
    assert.equal(await tries(), unreadable(issuer));
    if (issuer.requestedPaths.length > length) asked.push((services.time.nowMs - begin) / limits.issuerRetryMs);
    services.time.nowMs += limits.issuerRetryMs / 2;
  }
  assert.deepEqual(asked.slice(0, 6), [0, 1, 3, 7, 11, 15]);
});

test("attack 39, an issuer that matches a pattern is contacted only if the pattern contains its host", async (t) => {
  const { services, issuer } = await scene(t);
  const token = await issuer.token({ sub: "robot", aud: publicUrl });
  for (const issuerPattern of [".*", "http://.*", "http://[0-9.]+:\\d+", "http://127.0.0.1:\\d+"]) {
    const uid = await services.claimMatch({ issuerPattern, subject: "robot" });
    const refusal = await refusalOf(() => services.exchange(token, { identity: uid }));
    assert.match(refusal, /^PERMISSION_DENIED: the identity's issuerPattern fits .*, but does not name its host literally/, issuerPattern);
  }
  assert.deepEqual(issuer.requestedPaths, []);
  const listing = await services.replica({ issuerHosts: "127.0.0.1" });
  const uid = await services.claimMatch({ issuerPattern: ".*", subject: "robot" });
  assert.equal((await listing.authenticate(`Bearer ${token}`, uid)).uid, uid);
});
