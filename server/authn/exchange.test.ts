// Token exchange, from a foreign token to an authenticated caller.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import { newChild, newRoot } from "#base/uid.ts";
import { claimsOf, headerOf, hour, makeKey, openTestServices, publicUrl, refusalOf, startIssuer } from "./testing.ts";
import { SignJWT } from "jose";

test("a token of an identity's issuer is exchanged for a token of this server that acts as the identity", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "repo:acme/app" });
  const foreign = await issuer.token({
    sub: "repo:acme/app",
    aud: "gantry.example",
    email: "ci@acme.example",
    email_verified: true,
  });

  const issued = await services.authn.exchange({
    authorization: `bearer ${foreign}`,
    audience: [],
    identity: uid,
    capabilities: [],
    scopes: [],
  });
  assert.equal(issued.expireTimeMs, services.time.nowMs + 3_600_000);
  assert.deepEqual(claimsOf(issued.token), {
    iss: publicUrl,
    sub: uid,
    aud: publicUrl,
    ...hour(services.time.nowMs),
    act: { iss: issuer.url, sub: "repo:acme/app", aud: "gantry.example", email: "ci@acme.example" },
  });
  assert.equal(headerOf(issued.token).alg, "RS256");

  const caller = await services.authn.authenticate(`Bearer ${issued.token}`, undefined);
  assert.equal(caller.uid, uid);
  assert.equal(caller.act?.sub, "repo:acme/app");
  assert.equal(caller.capabilities, undefined);
  assert.equal(caller.email, undefined, "an assumed identity has no e-mail address of its own");
  const [seen] = await services.store.read.query("select extract(epoch from last_seen_time)::bigint from identities where uid = $1", [uid]);
  assert.deepEqual(seen, [String(services.time.nowMs / 1000)]);
});

test("a verified token returns the same frozen caller synchronously until it expires", async (t) => {
  const services = await openTestServices(t);
  const header = `Bearer ${await services.authn.mint({ uid: newRoot(), audience: [publicUrl] })}`;
  const caller = await services.authn.authenticate(header, undefined);
  assert.ok(Object.isFrozen(caller) && Object.isFrozen(caller.audience));
  assert.equal(services.authn.authenticate(header, undefined), caller);
  assert.equal(services.authn.authenticate(header, ""), caller);
  assert.equal(services.authn.authenticate(header, caller.uid), caller);
  services.time.nowMs += 3_600_000 + 60_000;
  assert.equal(await refusalOf(() => services.authn.authenticate(header, undefined)), "UNAUTHENTICATED: the token has expired");
});

test("a mismatch names its claim, and an unknown identity looks like one of another issuer", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const good = { sub: "robot", aud: publicUrl, team: ["a", "b"], admin: true };
  const uid = await services.claimMatch({
    issuer: issuer.url,
    subjectPattern: "rob.t",
    claims: { team: "b", admin: "true" },
    claimPatterns: { team: "[a-z]" },
  });
  const patterned = await services.claimMatch({
    issuerPattern: `http://127\\.0\\.0\\.1:\\d+`,
    subject: "robot",
    audiencePattern: "sts\\..*",
  });
  const text = (claim: string, found: string): string => `PERMISSION_DENIED: the token cannot assume this identity: invalid "${claim}": ${found}`;
  const settings = "callers that can read the identity see the expected value";
  const ours = `one of "${publicUrl}", "${publicUrl}/", "gantry.example:8443", "gantry.example"`;
  const unknown = text("iss", `no identity of this uid takes tokens of the issuer "${issuer.url}"`);
  const refused = async (claims: Record<string, unknown>, identity = uid): Promise<string> =>
    refusalOf(async () => services.exchange(await issuer.token({ ...good, ...claims }), { identity }));

  assert.equal(claimsOf(await services.exchange(await issuer.token(good), { identity: uid })).sub, uid);
  assert.equal(claimsOf(await services.exchange(await issuer.token({ ...good, aud: ["x", "sts.example"] }), { identity: patterned })).sub, patterned);
  assert.equal(await refused({ sub: "robot-2" }), text("sub", `the token has "robot-2"; ${settings}`));
  assert.equal(await refused({ aud: "https://elsewhere.example" }), text("aud", `the token has "https://elsewhere.example"; expected ${ours}`));
  assert.equal(await refused({ aud: undefined }), text("aud", `the token does not have it; expected ${ours}`));
  assert.equal(await refused({ team: ["c", 1] }), text("team", `the token has ["c",1]; ${settings}`));
  assert.equal(await refused({ admin: false }), text("admin", `the token has false; ${settings}`));
  assert.equal(await refused({ admin: undefined }), text("admin", `the token does not have it; ${settings}`));
  assert.equal(await refused({}, patterned), text("aud", `the token has "${publicUrl}"; expected one that the pattern ${JSON.stringify("sts\\..*")} fits`));
  assert.equal(
    await refused({ aud: "x", team: "c" }),
    text("aud", `the token has "x"; ${settings}`),
    "a token that fits in nothing else is not told the audience",
  );

  const elsewhere = await services.claimMatch({ issuer: "https://issuer.example", subject: "robot" });
  for (const identity of [elsewhere, newChild(newRoot()), newRoot()]) assert.equal(await refused({}, identity), unknown);
});

test("attack 79: service, AWS and user identities cannot be assumed with a token, and look unknown", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const aws = await services.identity({ relationship_type: "RELATIONSHIP_TYPE_AWS_IDENTITY" });
  const service = await services.identity({ relationship_type: "RELATIONSHIP_TYPE_SERVICE_PRINCIPAL" });
  const human = await services.person(issuer.url, "ann");
  const token = await issuer.token({ sub: "ann", aud: publicUrl });
  const unknown = await refusalOf(() => services.exchange(token, { identity: newChild(newRoot()) }));
  assert.match(unknown, /^PERMISSION_DENIED: /);
  for (const identity of [aws, service, human]) assert.equal(await refusalOf(() => services.exchange(token, { identity })), unknown);
  assert.deepEqual(issuer.requestedPaths, [], "their issuers are not even contacted");
});

test("an exchange neither waits for nor fails because of a lock on the identity's row", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot" });
  const token = await issuer.token({ sub: "robot", aud: publicUrl });
  await services.store.write(async (rows) => {
    await rows.query("select 1 from identities where uid = $1 for update", [uid]);
    await services.exchange(token, { identity: uid });
  });
  assert.deepEqual(
    services.logged.map((line) => line.event),
    ["authn.key.made"],
  );
});

test("a change of an identity applies to the next exchange", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot" });
  const token = await issuer.token({ sub: "robot", aud: publicUrl });
  await services.exchange(token, { identity: uid });
  await services.store.write((rows) =>
    rows.query("update identities set claim_match = $2 where uid = $1", [uid, JSON.stringify({ issuer: issuer.url, subject: "other" })]),
  );
  assert.match(await refusalOf(() => services.exchange(token, { identity: uid })), /invalid "sub"/);
  await services.store.write((rows) => rows.query("delete from identities where uid = $1", [uid]));
  assert.match(await refusalOf(() => services.exchange(token, { identity: uid })), /invalid "iss"/);
});

test("static keys authenticate only their own identity until they expire, and no issuer is contacted", async (t) => {
  const services = await openTestServices(t);
  const [mine, theirs] = [await makeKey("k"), await makeKey("k")];
  const expires = new Date(services.time.nowMs + 600_000).toISOString();
  const withKeys = (key: typeof mine, more = {}) =>
    services.identity({
      relationship_type: "RELATIONSHIP_TYPE_STATIC",
      static_keys: {
        issuer: "https://vault.internal",
        subject: "robot",
        issuerKeys: JSON.stringify({ keys: [key.public] }),
        expirationTime: expires,
        ...more,
      },
    });
  const [one, other, named] = [await withKeys(mine), await withKeys(theirs), await withKeys(mine, { audiences: ["pulls"] })];
  const token = (claims = {}) =>
    new SignJWT({
      iss: "https://vault.internal",
      sub: "robot",
      aud: "gantry.example:8443",
      ...hour(services.time.nowMs),
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .sign(mine.private);

  assert.equal(claimsOf(await services.exchange(await token(), { identity: one })).sub, one);
  assert.equal(await refusalOf(async () => services.exchange(await token(), { identity: other })), "UNAUTHENTICATED: the token's signature is wrong");
  assert.match(await refusalOf(async () => services.exchange(await token(), { identity: named })), /invalid "aud"/);
  await services.exchange(await token({ aud: ["pulls"] }), { identity: named });
  // Attack 79: a wrong signature reveals nothing about the keys' conditions.
  const [head, body] = (await token({ sub: "x" })).split(".");
  for (const identity of [one, named])
    assert.equal(
      await refusalOf(() => services.exchange(`${head}.${body}.${"A".repeat(86)}`, { identity })),
      "UNAUTHENTICATED: the token's signature is wrong",
    );
  assert.match(await refusalOf(async () => services.exchange(await token({ sub: "x" }), { identity: one })), /invalid "sub"/);
  assert.match(await refusalOf(async () => services.exchange(await token({ iss: "https://vault.internal/" }), { identity: one })), /invalid "iss"/);
  services.time.nowMs += 600_000;
  assert.match(await refusalOf(async () => services.exchange(await token(), { identity: one })), /^PERMISSION_DENIED: the identity's keys have expired/);
});

test("static keys that are no key set are stored unchanged, and the exchange reports them", async (t) => {
  const services = await openTestServices(t);
  const mine = await makeKey("k");
  const token = await new SignJWT({ iss: "https://vault.internal", sub: "robot", aud: "gantry.example:8443", ...hour(services.time.nowMs) })
    .setProtectedHeader({ alg: "ES256", kid: "k" })
    .sign(mine.private);
  for (const issuerKeys of ["placeholder", "{}", "[]", "null", '{"keys":[]}', '{"keys":"none"}', '{"keys":[1]}', JSON.stringify(mine.public)]) {
    const keys = { issuer: "https://vault.internal", subject: "robot", issuerKeys };
    const identity = await services.identity({ relationship_type: "RELATIONSHIP_TYPE_STATIC", static_keys: keys });
    const refusal = await refusalOf(() => services.exchange(token, { identity }));
    assert.match(refusal, /^UNAUTHENTICATED: this identity cannot be assumed: its staticKeys\.issuerKeys are not a JSON Web Key Set/, issuerKeys);
  }
});

test("attack 11, cache key: a token verified by one tenant's static keys is refused elsewhere, cached or not", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const evil = await makeKey("one");
  const match = { issuer: issuer.url, subject: "robot" };
  const evils = await services.identity({
    relationship_type: "RELATIONSHIP_TYPE_STATIC",
    static_keys: { ...match, issuerKeys: JSON.stringify({ keys: [evil.public] }) },
  });
  const victims = await services.claimMatch(match);
  await services.person(issuer.url, "robot");
  const forged = await new SignJWT({ iss: issuer.url, sub: "robot", aud: publicUrl, ...hour(services.time.nowMs) })
    .setProtectedHeader({ alg: "ES256", kid: "one" })
    .sign(evil.private);
  const as = (identity: string | undefined) => services.authn.authenticate(`Bearer ${forged}`, identity);
  for (let n = 0; n < 2; n++) {
    assert.equal((await as(evils)).uid, evils);
    assert.equal(await refusalOf(() => as(victims)), "UNAUTHENTICATED: the token's signature is wrong");
    assert.equal(await refusalOf(() => as(undefined)), "UNAUTHENTICATED: the token's signature is wrong");
  }
  const right = await issuer.token({ sub: "robot", aud: publicUrl });
  assert.equal((await services.authn.authenticate(`Bearer ${right}`, victims)).uid, victims);
  assert.match(await refusalOf(() => services.authn.authenticate(`Bearer ${right}`, evils)), /signature is wrong/);
});

test("a registered user signs in by issuer and subject, and another user of the issuer must register", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const other = await startIssuer(t, () => services.time.nowMs);
  const ann = await services.person(issuer.url, "ann");
  const claims = { sub: "ann", aud: publicUrl, email: "ann@acme.example", email_verified: true };

  const token = await services.exchange(await issuer.token(claims));
  assert.equal(claimsOf(token).sub, ann);
  assert.equal(claimsOf(token).email, "ann@acme.example");
  assert.equal((await services.authn.authenticate(`Bearer ${token}`, undefined)).email, "ann@acme.example");
  const unverified = await services.exchange(await issuer.token({ ...claims, email_verified: false }));
  assert.equal(claimsOf(unverified).email, undefined, "an address that nobody verified is not passed on");

  assert.equal(
    await refusalOf(async () => services.exchange(await issuer.token({ ...claims, sub: "bob" }))),
    "NOT_FOUND: account not found, registration required",
  );
  assert.match(
    await refusalOf(async () => services.exchange(await issuer.token({ ...claims, aud: "other-app" }))),
    /^UNAUTHENTICATED: the token has the wrong audience/,
  );
  assert.match(await refusalOf(async () => services.exchange(await other.token(claims))), /^UNAUTHENTICATED: the token's issuer .* is not known here/);
  assert.deepEqual(other.requestedPaths, [], "an issuer that nobody named is not contacted");
  // Attack 18: nor by a registration, unless a provider of the group names it.
  const newcomer = `Bearer ${await other.token(claims)}`;
  assert.match(
    await refusalOf(() => services.authn.upstream(newcomer, async () => undefined)),
    /^UNAUTHENTICATED: the token's issuer .* is not allowed to register users on this server/,
  );
  assert.deepEqual(other.requestedPaths, []);
  await services.authn.upstream(newcomer, async () => ["other-app"]);
  assert.notDeepEqual(other.requestedPaths, []);
});

test("a token is downscoped by capabilities and groups, and its derivatives can only be narrower", async (t) => {
  const services = await openTestServices(t);
  const root = newRoot();
  const team = newChild(root);
  const uid = await services.identity({}, newChild(root));
  const own = await services.authn.mint({ uid, audience: [publicUrl], act: { iss: "https://up.example", sub: "x" } });
  const first = await services.exchange(own, { capabilities: ["repo.list", "group.list"], scopes: [root] });
  const caller = await services.authn.authenticate(`Bearer ${first}`, undefined);
  assert.deepEqual(caller.capabilities, ["repo.list", "group.list"]);
  assert.deepEqual(caller.scopes, [root]);
  assert.deepEqual(caller.act, { iss: "https://up.example", sub: "x" });

  const second = claimsOf(await services.exchange(first, { capabilities: ["repo.list", "repo.create"], scopes: [team] }));
  assert.deepEqual([second.gantry_cap, second.gantry_scopes], [["repo.list"], [team]]);
  const same = claimsOf(await services.exchange(first));
  assert.deepEqual([same.gantry_cap, same.gantry_scopes], [["repo.list", "group.list"], [root]]);
  assert.match(await refusalOf(() => services.exchange(first, { capabilities: ["repo.create"] })), /^PERMISSION_DENIED: .* cap /);
  assert.match(await refusalOf(() => services.exchange(first, { scopes: [newRoot()] })), /^PERMISSION_DENIED: .* scopes /);
  assert.equal(
    await refusalOf(() => services.exchange(own, { capabilities: ["repo.destroy"], scopes: ["x"], identity: "y" })),
    'INVALID_ARGUMENT: Invalid argument: cap: "repo.destroy" is not a capability',
  );
});

test("an exchange reports all invalid parameters at once, in bounded texts", async (t) => {
  const services = await openTestServices(t);
  const own = await services.authn.mint({ uid: newRoot(), audience: [publicUrl] });
  const long = "x".repeat(100_000);
  await assert.rejects(
    services.exchange(own, {
      capabilities: ["repo.list", long],
      scopes: [newRoot(), long],
      identity: long,
      audience: ["a\n"],
    }),
    (thrown: unknown) => {
      assert.ok(thrown instanceof Fault);
      const [detail] = thrown.details;
      assert.ok(detail?.kind === "fields");
      assert.deepEqual(new Set(detail.violations.map((one) => one.field)), new Set(["aud", "cap", "scopes", "identity"]));
      assert.ok(JSON.stringify(detail.violations).length < 4_000);
      return true;
    },
  );
  const many = Array.from({ length: 1_000 }, newRoot);
  assert.match(await refusalOf(() => services.exchange(own, { scopes: many })), /scopes: more than one token can carry/);
});

test("an exchange of this server's token keeps its downscoping, expiry and audience", async (t) => {
  const services = await openTestServices(t);
  const uid = await services.identity({});
  const wide = await services.claimMatch({ issuer: publicUrl, subject: uid });
  const own = await services.authn.mint({ uid, audience: [publicUrl], capabilities: ["repo.list"], lifetimeMs: 600_000 });

  const assumed = claimsOf(await services.exchange(own, { identity: wide }));
  assert.equal(assumed.sub, wide);
  assert.deepEqual(assumed.gantry_cap, ["repo.list"], "another identity does not widen it");
  assert.equal(assumed.exp, services.time.nowMs / 1000 + 600);
  assert.deepEqual(assumed.act, { iss: publicUrl, sub: uid, aud: publicUrl });

  // Within the clock skew an expired token is readable, but its derivatives are expired too.
  services.time.nowMs += 630_000;
  assert.equal(claimsOf(await services.exchange(own)).exp, (services.time.nowMs - 30_000) / 1000);

  const forSink = await services.authn.mint({ uid, audience: ["https://sink.example"] });
  assert.match(await refusalOf(() => services.exchange(forSink)), /wrong audience/);
  assert.match(await refusalOf(() => services.exchange(forSink, { identity: wide })), /invalid "aud"/);
  assert.match(
    await refusalOf(() => services.authn.authenticate(`Bearer ${forSink}`, undefined)),
    /wrong audience \("https:\/\/sink.example"\); expected one of "https:\/\/gantry.example:8443"/,
  );

  const fresh = await services.authn.mint({ uid, audience: [publicUrl] });
  await services.store.write((rows) => rows.query("delete from identities where uid = $1", [uid]));
  assert.match(await refusalOf(() => services.exchange(fresh)), /^UNAUTHENTICATED: the identity .* does not exist any more/);
  assert.match(await refusalOf(() => services.exchange(fresh, { identity: wide })), /does not exist any more/);
});

test("a foreign token authenticates directly, as its user or as the requested identity", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const ann = await services.person(issuer.url, "ann");
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "ann" });
  const token = await issuer.token({ sub: "ann", aud: "https://gantry.example:8443/" });
  const as = (identity?: string) => services.authn.authenticate(`Bearer ${token}`, identity);

  const human = await as();
  assert.equal(human.uid, ann);
  const robot = await as(uid);
  assert.equal(robot.uid, uid);
  assert.equal(await as(uid), robot, "the same caller again");
  assert.equal(await as(), human);
  assert.equal(issuer.requestedPaths.length, 2, "discovery and keys, once");

  await services.store.write((rows) => rows.query("delete from identities where uid = $1", [uid]));
  assert.match(await refusalOf(() => as(uid)), /^UNAUTHENTICATED: .* invalid "iss"/);
  await services.store.write((rows) => rows.query("delete from identities where uid = $1", [ann]));
  assert.match(await refusalOf(() => as()), /^UNAUTHENTICATED: account not found|^UNAUTHENTICATED: .* is not known here/);
  assert.match(await refusalOf(() => as("nobody")), /^UNAUTHENTICATED: the header Gantry-Identity is not the uid/);
  const own = await services.authn.mint({ uid: newRoot(), audience: [publicUrl] });
  // Before and after caching.
  for (let n = 0; n < 2; n++) {
    assert.match(await refusalOf(() => services.authn.authenticate(`Bearer ${own}`, uid)), /^UNAUTHENTICATED: a token of this server acts as its own subject/);
    await services.authn.authenticate(`Bearer ${own}`, undefined);
  }
});

test("two tenants can register the same issuer and subject, and a token acts only as the requested identity", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const match = { issuer: issuer.url, subject: "robot" };
  const [one, other] = [await services.claimMatch(match), await services.claimMatch(match)];
  const header = `Bearer ${await issuer.token({ sub: "robot", aud: publicUrl })}`;
  assert.equal((await services.authn.authenticate(header, one)).uid, one);
  assert.equal((await services.authn.authenticate(header, other)).uid, other);
  assert.match(await refusalOf(() => services.authn.authenticate(header, undefined)), /^UNAUTHENTICATED: /);
});

test("RFC 8693: the form returns a bearer token, and each invalid parameter is named", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot" });
  const root = newRoot();
  const urn = "urn:ietf:params:oauth:";
  const form = {
    grant_type: `${urn}grant-type:token-exchange`,
    subject_token: await issuer.token({ sub: "robot", aud: publicUrl }),
    subject_token_type: `${urn}token-type:id_token`,
    audience: "https://registry.example",
    scope: root,
    identity: uid,
  };
  const { answer } = await services.authn.exchangeForm(new URLSearchParams(form), undefined);
  const { access_token: token, ...rest } = answer;
  assert.deepEqual(rest, {
    issued_token_type: `${urn}token-type:access_token`,
    token_type: "Bearer",
    expires_in: 3600,
  });
  assert.deepEqual([claimsOf(String(token)).aud, claimsOf(String(token)).gantry_scopes], ["https://registry.example", [root]]);

  const refused = (more: Record<string, string>) => refusalOf(() => services.authn.exchangeForm(new URLSearchParams({ ...form, ...more }), undefined));
  assert.match(await refused({ grant_type: "password" }), /^INVALID_ARGUMENT: Invalid argument: grant_type: /);
  assert.match(await refused({ requested_token_type: `${urn}token-type:refresh_token` }), /requested_token_type/);
  assert.match(await refused({ subject_token_type: `${urn}token-type:saml2` }), /subject_token_type/);
  assert.match(await refused({ actor_token: "x" }), /actor_token/);
  assert.match(await refused({ subject_token: "" }), /subject_token: is required/);
  assert.match(await refused({ subject_token: "not a token" }), /^UNAUTHENTICATED: the token is malformed/);
  const twice = new URLSearchParams(form);
  twice.append("identity", root);
  assert.match(await refusalOf(() => services.authn.exchangeForm(twice, undefined)), /identity: must be given once/);
});

test("a user's UID depends on the boundary of issuer and subject, and both spellings of Google share one", async (t) => {
  const { authn } = await openTestServices(t);
  assert.match(authn.personUid("https://a", "bc"), /^[0-9a-f]{40}$/);
  assert.notEqual(authn.personUid("https://a", "bc"), authn.personUid("https://ab", "c"));
  assert.notEqual(authn.personUid("https://a", "1:b"), authn.personUid("https://a1:", "b"));
  assert.equal(authn.personUid("accounts.google.com", "1"), authn.personUid("https://accounts.google.com", "1"));
  assert.notEqual(authn.personUid("https://accounts.google.com/", "1"), authn.personUid("https://accounts.google.com", "1"));
  // UIDs are stored, so the function must never change.
  assert.equal(authn.personUid("https://issuer.example", "subject"), "1ad048511999223c6a8f355dd2202cdd3d5a1a20");
});

test("claims in an error are one bounded line, whatever they contain", async (t) => {
  const services = await openTestServices(t);
  const issuer = await startIssuer(t, () => services.time.nowMs);
  const uid = await services.claimMatch({ issuer: issuer.url, subject: "robot", claims: { team: "secret-team" } });
  const refused = async (claims: Record<string, unknown>): Promise<string> =>
    refusalOf(async () => services.exchange(await issuer.token({ sub: "robot", aud: publicUrl, ...claims }), { identity: uid }));
  for (const team of [
    "a\nb\u0000\u009b31m",
    "\u202Egnp.exe",
    "\u2028",
    "\ud800",
    "x".repeat(4_000),
    Array.from({ length: 500 }, () => "y\u202E"),
    { deep: "z".repeat(900) },
  ]) {
    const said = await refused({ team });
    assert.match(said, /^PERMISSION_DENIED: .* invalid "team": the token has /);
    assert.doesNotMatch(said, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|secret-team/u);
    assert.ok(said.isWellFormed() && said.length < 1_500, said);
  }
  assert.match(await refused({ sub: "mallory", team: "secret-team" }), /invalid "sub": the token has "mallory"; callers that can read/);
});
