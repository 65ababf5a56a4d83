// Attacks with tokens over every protocol that accepts them. The issuer is a real one in its own process; the attacker has its public key, a
// valid token of it, and their own keys.

import assert from "node:assert/strict";
import { createHmac, createPublicKey } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { column, http } from "../story/protocols.ts";
import { bind, createIdentity, openInstallation, type Installation } from "../story/installation.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";

const subject = "repo:example/app:ref:refs/heads/main";
let installation: Installation;
let issuer: Issuer;
/** An identity that tokens of the issuer and subject can assume; it can read the organization. */
let identity: string;
let evil: CryptoKey;
let evilPublic: JWK;
let published: JWK;

before(async () => {
  [installation, issuer] = await Promise.all([openInstallation(), startIssuer()]);
  const { world } = installation;
  identity = await createIdentity(world, world.organization, "app", { issuer: issuer.url, subject });
  await bind(world, world.organization, identity, "viewer");
  const pair = await generateKeyPair("ES256", { extractable: true });
  evil = pair.privateKey;
  evilPublic = await exportJWK(pair.publicKey);
  const { keys } = (await (await fetch(`${issuer.url}/keys`)).json()) as { keys: JWK[] };
  published = keys[0] ?? {};
});
after(() => Promise.all([installation?.close(), issuer?.close()]));

const claims = (): Record<string, unknown> => {
  const now = Math.floor(Date.now() / 1000);
  return { iss: issuer.url, sub: subject, aud: installation.world.url, iat: now, exp: now + 3600 };
};

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Every protocol that accepts a token, with the resulting code. */
const protocols: Readonly<Record<string, (token: string) => Promise<number>>> = {
  "/sts/exchange": async (token) => (await http(installation.world.url, "POST", `/sts/exchange?identity=${identity}`, { token })).status,
  "/oauth/token": async (token) => {
    const body = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: token, identity }).toString();
    return (await http(installation.world.url, "POST", "/oauth/token", { body, headers: { "content-type": "application/x-www-form-urlencoded" } })).status;
  },
  "REST with Gantry-Identity": async (token) =>
    (await http(installation.world.url, "GET", "/registry/v2/repos", { token, headers: { "gantry-identity": identity } })).status,
  "gRPC with Gantry-Identity": async (token) => {
    const { code } = await installation.world.call(
      "registry.ReposService/ListRepos",
      {},
      { token, protocol: "grpc", headers: { "gantry-identity": identity } },
    );
    return code === 0 ? 200 : code === 16 || code === 7 ? 401 : code === 14 ? 503 : 500;
  },
  "the exchange over gRPC": async (token) => {
    const { code } = await installation.world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity }, { token, protocol: "grpc" });
    return code === 0 ? 200 : code === 16 || code === 7 ? 401 : code === 14 ? 503 : 500;
  },
};

const taken = async (token: string): Promise<void> => {
  for (const [protocol, answer] of Object.entries(protocols)) assert.equal(await answer(token), 200, protocol);
};
const refused = async (token: string, what: string): Promise<void> => {
  for (const [protocol, answer] of Object.entries(protocols)) {
    const status = await answer(token);
    assert.ok(status === 400 || status === 401 || status === 403, `${what} through ${protocol}: ${status}`);
  }
};

test("the right token is accepted over every protocol", async () => {
  await taken(await issuer.token({ sub: subject, aud: installation.world.url }));
});

test("attack 14: algorithm none, the public key as a shared secret, and odd algorithms are refused", async () => {
  const key = createPublicKey({ key: published as never, format: "jwk" });
  const secrets = [
    key.export({ type: "spki", format: "pem" }).toString(),
    await exportSPKI((await importJWK(published, "ES256")) as CryptoKey),
    JSON.stringify(published),
    "",
  ];
  for (const algorithm of ["none", "None", "NONE", "", "HS256", "HS384", "HS512", "RS256", "RS1", "ES256K", "es256", "dir", "A128KW"]) {
    const head = part({ alg: algorithm, kid: published.kid, typ: "JWT" });
    const body = part(claims());
    await refused(`${head}.${body}.`, `${algorithm} without signature`);
    for (const secret of secrets)
      await refused(`${head}.${body}.${createHmac("sha256", secret).update(`${head}.${body}`).digest("base64url")}`, `${algorithm} with a shared secret`);
  }
});

test("attack 14: a missing, repeated or padded algorithm header is refused", async () => {
  const good = await issuer.token({ sub: subject, aud: installation.world.url });
  const [, body = "", signature = ""] = good.split(".");
  const headers = [
    `{"kid":"${published.kid}"}`,
    `{"alg":"none","alg":"ES256","kid":"${published.kid}"}`,
    `{ "alg" : "ES256" , "kid" : "${published.kid}" }`,
    `{"alg":["ES256"],"kid":"${published.kid}"}`,
    "null",
    "[]",
    '"ES256"',
    "",
  ];
  for (const header of headers) await refused(`${Buffer.from(header).toString("base64url")}.${body}.${signature}`, header);
  for (const odd of [
    `${good} `,
    ` ${good}x`,
    `${good}=`,
    good.replace(".", " ."),
    `${good}.${signature}`,
    good.split(".").slice(0, 2).join("."),
    `${good}\t`,
  ].filter((text) => text.trim() !== good))
    await refused(odd, odd.slice(-12));
});

test("attack 15: an embedded or linked key is not used, and the right kid alone proves nothing", async () => {
  const server = createServer((_request, response) => response.end(JSON.stringify({ keys: [{ ...evilPublic, kid: "evil" }] })));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let asked = 0;
  server.on("request", () => asked++);
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  const headers: readonly Record<string, unknown>[] = [
    { jwk: evilPublic },
    { jwk: evilPublic, kid: published.kid },
    { jku: address, kid: "evil" },
    { x5u: address },
    { x5c: ["MIIB"] },
    { kid: published.kid },
    { kid: "evil" },
    {},
  ];
  for (const header of headers) {
    const token = await new SignJWT(claims()).setProtectedHeader({ alg: "ES256", ...header } as never).sign(evil);
    await refused(token, JSON.stringify(Object.keys(header)));
  }
  server.close();
  server.closeAllConnections();
  assert.equal(asked, 0, "nobody asked for the key");
});

test("attack 16: an unknown critical header is refused, even with a valid signature", async () => {
  for (const header of [{ crit: ["exp"], exp: 1 }, { crit: [] }, { crit: ["b64"], b64: false }, { b64: false }, { crit: "exp" }]) {
    const token = `${part({ alg: "ES256", kid: published.kid, ...header })}.${part(claims())}.${"A".repeat(86)}`;
    await refused(token, JSON.stringify(header));
  }
});

test("attack 17: an issuer with the right prefix, or a lookalike, is refused", async () => {
  const { host } = new URL(issuer.url);
  const lookalikes = [
    `${issuer.url}/`,
    `${issuer.url}@evil.example`,
    `${issuer.url}.evil.example`,
    `${issuer.url}x`,
    `${issuer.url}/x`,
    `${issuer.url}?a`,
    `${issuer.url}#a`,
    issuer.url.replace("http:", "HTTP:"),
    issuer.url.replace("http:", "https:"),
    issuer.url.replace("127.0.0.1", "127.1"),
    issuer.url.replace("127.0.0.1", "localhost"),
    issuer.url.replace("://", "://me@"),
    ` ${issuer.url}`,
    `${issuer.url}\n`,
    `${issuer.url}\u0000`,
    host,
    issuer.url.replace("http://", ""),
  ];
  const asked = await issuer.asked();
  // The issuer itself signs them; only the name is wrong.
  for (const iss of lookalikes) await refused(await issuer.token({ sub: subject, aud: installation.world.url, iss }), JSON.stringify(iss));
  for (const iss of [[issuer.url], [issuer.url, "https://evil.example"], { url: issuer.url }, 1, true, ""])
    await refused(await issuer.token({ sub: subject, aud: installation.world.url, iss }), JSON.stringify(iss));
  assert.deepEqual(await issuer.asked(), asked, "no look-alike was asked for its keys");
});

test("attack 17: subject and audience must be equal texts, not lists or prefixes", async () => {
  for (const sub of [[subject], [subject, "x"], `${subject}/x`, subject.slice(0, -1), `${subject} `, subject.toUpperCase(), "", 7])
    await refused(await issuer.token({ sub, aud: installation.world.url }), `sub ${JSON.stringify(sub)}`);
  const { host } = new URL(installation.world.url);
  for (const aud of [
    "https://elsewhere.example",
    `${installation.world.url}.evil.example`,
    `${installation.world.url}@evil`,
    `x${host}`,
    [],
    [[installation.world.url]],
    { url: installation.world.url },
    null,
  ])
    await refused(await issuer.token({ sub: subject, aud }), `aud ${JSON.stringify(aud)}`);
  for (const aud of [installation.world.url, `${installation.world.url}/`, host, ["https://elsewhere.example", installation.world.url]])
    await taken(await issuer.token({ sub: subject, aud }));
});

test("attack 18: an issuer that no identity names is never contacted, whatever a token says", async () => {
  const stranger = await startIssuer();
  try {
    const token = await stranger.token({ sub: subject, aud: installation.world.url });
    await refused(token, "a stranger's token");
    assert.equal((await http(installation.world.url, "GET", "/registry/v2/repos", { token })).status, 401);
    assert.equal((await http(installation.world.url, "POST", "/sts/exchange", { token })).status, 401);
    assert.deepEqual(await stranger.asked(), []);
  } finally {
    await stranger.close();
  }
});

test("attack 18: invented key IDs do not cause repeated requests to the issuer", async () => {
  const before = (await issuer.asked()).length;
  for (let turn = 0; turn < 30; turn++) {
    const token = await new SignJWT(claims()).setProtectedHeader({ alg: "ES256", kid: `made-up-${turn}` }).sign(evil);
    assert.equal(await protocols["/sts/exchange"]?.(token), 401);
  }
  assert.ok((await issuer.asked()).length - before <= 2, "one renewal of two documents at most");
});

test("a token that is expired, not yet valid or signed with an unknown key is refused", async () => {
  const now = Math.floor(Date.now() / 1000);
  for (const times of [{ exp: now - 120 }, { exp: null }, { exp: "tomorrow" }, { nbf: now + 600 }, { iat: now + 600 }])
    await refused(await issuer.token({ sub: subject, aud: installation.world.url, ...times }), JSON.stringify(times));
  const good = await issuer.token({ sub: subject, aud: installation.world.url });
  const [head, , signature] = good.split(".");
  await refused(`${head}.${part({ ...claims(), sub: "admin" })}.${signature}`, "a claim changed");
});

test("attack 27: a subject pattern matches the whole subject, so that it does not admit other repositories", async () => {
  const { world } = installation;
  const pattern = "repo:example/app:ref:refs/(heads|tags)/.+";
  const wide = await createIdentity(world, world.organization, "by pattern", { issuer: issuer.url, subjectPattern: pattern });
  await bind(world, world.organization, wide, "viewer");
  const exchange = async (sub: string): Promise<number> =>
    (await http(world.url, "GET", `/sts/exchange?identity=${wide}`, { token: await issuer.token({ sub, aud: world.url }) })).status;
  for (const sub of ["repo:example/app:ref:refs/heads/main", "repo:example/app:ref:refs/tags/v1"]) assert.equal(await exchange(sub), 200, sub);
  for (const sub of [
    "repo:example/app-evil:ref:refs/heads/main",
    "xrepo:example/app:ref:refs/heads/main",
    "repo:example/app:ref:refs/heads/",
    "repo:example/app:ref:refs/pull/1/merge",
    "evil\nrepo:example/app:ref:refs/heads/main",
    "repo:example/app:ref:refs/heads/main\n",
  ])
    assert.notEqual(await exchange(sub), 200, JSON.stringify(sub));
});

test("attack 27: an issuer pattern does not make every reachable host trusted", async () => {
  const { world } = installation;
  const stranger = await startIssuer();
  try {
    const wide = await createIdentity(world, world.organization, "any issuer", { issuerPattern: "https://[a-z]+\\.example\\.com", subject });
    const token = await stranger.token({ sub: subject, aud: world.url });
    assert.equal((await http(world.url, "GET", `/sts/exchange?identity=${wide}`, { token })).status, 403);
    assert.deepEqual(await stranger.asked(), []);
  } finally {
    await stranger.close();
  }
});

test("a token with one changed letter is refused, and so are other servers' tokens", async () => {
  const { world } = installation;
  const token = await world.token(identity);
  assert.deepEqual(column((await http(world.url, "GET", "/registry/v2/repos", { token })).body, "repos", "name"), []);
  const [head = "", body = "", signature = ""] = token.split(".");
  const forged = [
    `${head}.${part({ ...(JSON.parse(Buffer.from(body, "base64url").toString()) as object), sub: world.organization })}.${signature}`,
    `${part({ alg: "none" })}.${body}.`,
    `${head}.${body}.${"A".repeat(signature.length)}`,
    `${head}.${body}.`,
  ];
  for (const each of forged) assert.equal((await http(world.url, "GET", "/registry/v2/repos", { token: each })).status, 401);
  const other = await openInstallation();
  try {
    const foreign = await other.world.token();
    assert.equal((await http(world.url, "GET", "/registry/v2/repos", { token: foreign })).status, 401);
  } finally {
    await other.close();
  }
});
