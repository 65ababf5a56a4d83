// The life of an identity over REST and gRPC: create, bind, exchange a token, unbind, delete.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeJwt } from "jose";
import type { JsonObject } from "#base/json.ts";
import { callBoth, column, http, items, type RestAnswer } from "./protocols.ts";
import { bind, createIdentity, findRole, openInstallation, type Installation } from "./installation.ts";
import { type Issuer, startIssuer } from "./processes.ts";

let installation: Installation;
let issuer: Issuer;
let operator: string;
const subject = "repo:example/app:ref:refs/heads/main";
const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

before(async () => {
  [installation, issuer] = await Promise.all([openInstallation(), startIssuer()]);
  const { world } = installation;
  operator = await world.token();
  for (const name of ["nginx", "redis"]) await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name } });
});
after(() => Promise.all([installation?.close(), issuer?.close()]));

const foreign = (claims: JsonObject = {}): Promise<string> => issuer.token({ sub: subject, aud: installation.world.url, ...claims });

const repos = async (token: string): Promise<string[]> => {
  const { body } = await callBoth(
    installation.world,
    token,
    ["GET", "/registry/v2/repos?order_by=name"],
    ["registry.ReposService/ListRepos", { orderBy: "name" }],
  );
  return column(body, "repos", "name");
};

const exchanges: Readonly<Record<string, (identity: string, token: string) => Promise<RestAnswer>>> = {
  "POST /sts/exchange with a form": (identity, token) =>
    http(installation.world.url, "POST", "/sts/exchange", {
      token,
      body: new URLSearchParams({ identity, aud: installation.world.url }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    }),
  "POST /sts/exchange with a query": (identity, token) => http(installation.world.url, "POST", `/sts/exchange?identity=${identity}`, { token }),
  "GET /sts/exchange": (identity, token) =>
    http(installation.world.url, "GET", `/sts/exchange?identity=${encodeURIComponent(identity)}&aud=${installation.world.url}`, { token }),
  "gRPC SecurityTokenService/Exchange": async (identity, token) => {
    const { code, reply, message, details } = await installation.world.call(
      "chainguard.platform.oidc.SecurityTokenService/Exchange",
      { identity, aud: [installation.world.url] },
      { token, protocol: "grpc" },
    );
    return {
      status: code === 0 ? 200 : code === 7 ? 403 : 401,
      headers: new Headers(),
      text: "",
      body: code === 0 ? reply : { code, message, details: [...details] },
    };
  },
};

const oauth = (identity: string, token: string): Promise<RestAnswer> =>
  http(installation.world.url, "POST", "/oauth/token", {
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      audience: installation.world.url,
      identity,
    }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });

let identity: string;
let binding: string;
let access: string;

test("an identity is created in the root group with the issuer and subject that it matches", async () => {
  const { world } = installation;
  const { status, body } = await http(world.url, "POST", `/iam/v2/identities/${world.organization}`, {
    token: operator,
    body: JSON.stringify({ name: "app main", description: "builds of main", claimMatch: { issuer: issuer.url, subject } }),
  });
  assert.equal(status, 200);
  identity = String(body.uid);
  const { createTime, updateTime, lastSeenTime, ...rest } = body;
  assert.deepEqual(rest, { uid: identity, name: "app main", description: "builds of main", claimMatch: { issuer: issuer.url, subject } });
  assert.match(identity, new RegExp(`^${world.organization}/[0-9a-f]{16}$`));
  for (const time of [createTime, updateTime, lastSeenTime]) assert.match(String(time), timestamp);
});

test("the token of an identity without role bindings is valid but reads nothing", async () => {
  const { status, body } = (await exchanges["GET /sts/exchange"]?.(identity, await foreign())) ?? {};
  assert.equal(status, 200);
  assert.deepEqual(await repos(String(body?.token)), []);
  const denied = await callBoth(
    installation.world,
    String(body?.token),
    ["GET", `/iam/v2/groups/${installation.world.organization}`],
    ["iam.GroupsService/GetGroup", { uid: installation.world.organization }],
  );
  assert.equal(denied.status, 403);
  assert.deepEqual(denied.body, {
    code: 7,
    message: "Permission denied",
    details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "PERMISSION_DENIED", domain: "iam.example.test" }],
  });
});

test("the role viewer is listed, and a created binding has its identity, group and role", async () => {
  const { world } = installation;
  const role = await findRole(world, "viewer");
  assert.match(role, /^[0-9a-f]{40}$/);
  const { status, body } = await http(world.url, "POST", `/iam/v2/roleBindings/${world.organization}`, {
    token: operator,
    body: JSON.stringify({ identityUid: identity, roleUid: role }),
  });
  assert.equal(status, 200);
  binding = String(body.uid);
  assert.match(String(body.createTime), timestamp);
  assert.deepEqual(body.identity, { uid: identity, name: "app main", description: "builds of main", subject, issuer: issuer.url });
  assert.deepEqual(body.group, { uid: world.organization, name: "first-organization" });
  assert.deepEqual(body.role, { uid: role, name: "viewer", description: "Viewer Role (built-in)" });
  const read = await callBoth(world, operator, ["GET", `/iam/v2/roleBindings/${binding}`], ["iam.RoleBindingsService/GetRoleBinding", { uid: binding }]);
  assert.deepEqual(read.body, body);
});

for (const [way, exchange] of Object.entries(exchanges))
  test(`${way} returns a token that reads the registry over both protocols`, async () => {
    const { status, body } = await exchange(identity, await foreign());
    assert.equal(status, 200);
    const token = String(body.token);
    assert.deepEqual(await repos(token), ["nginx", "redis"]);
    const claims = decodeJwt(token);
    assert.equal(claims.iss, installation.world.url);
    assert.equal(claims.sub, identity);
    assert.equal(Number(claims.exp) - Number(claims.iat), 3600);
    assert.deepEqual(claims.act, { iss: issuer.url, sub: subject, aud: installation.world.url });
    assert.ok(Math.abs(Date.parse(String(body.expiry)) - Number(claims.exp) * 1000) < 1000);
  });

test("POST /oauth/token returns a token in the format of RFC 8693", async () => {
  const { status, body } = await oauth(identity, await foreign());
  assert.equal(status, 200);
  const { access_token: token, expires_in: seconds, ...rest } = body;
  assert.deepEqual(rest, { issued_token_type: "urn:ietf:params:oauth:token-type:access_token", token_type: "Bearer" });
  assert.ok(Number(seconds) > 3590 && Number(seconds) <= 3600);
  access = String(token);
  assert.deepEqual(await repos(access), ["nginx", "redis"]);
});

test("an exchange requires the exact issuer and subject, and its error names the claim", async () => {
  const cases: readonly (readonly [claims: JsonObject, claim: string])[] = [
    [{ sub: `${subject}x` }, "sub"],
    [{ sub: subject.toUpperCase() }, "sub"],
    [{ aud: "https://elsewhere.example" }, "aud"],
  ];
  for (const [claims, claim] of cases)
    for (const [way, exchange] of Object.entries(exchanges)) {
      const { status, body } = await exchange(identity, await foreign(claims));
      assert.equal(status, 403, way);
      assert.match(String(body.message), new RegExp(`invalid "${claim}"`), way);
    }
  const { status, body } = await oauth(identity, await foreign({ sub: "another" }));
  assert.equal(status, 400);
  assert.equal(body.error, "invalid_request");
});

test("an external token is accepted with a Gantry-Identity header, and only for that identity", async () => {
  const { world } = installation;
  const token = await foreign();
  const direct = await http(world.url, "GET", "/registry/v2/repos?order_by=name", { token, headers: { "gantry-identity": identity } });
  assert.equal(direct.status, 200);
  assert.deepEqual(column(direct.body, "repos", "name"), ["nginx", "redis"]);
  const rpc = await world.call("registry.ReposService/ListRepos", { orderBy: "name" }, { token, protocol: "grpc", headers: { "gantry-identity": identity } });
  assert.deepEqual(column(rpc.reply, "repos", "name"), ["nginx", "redis"]);
  const guess = await callBoth(world, token, ["GET", "/registry/v2/repos"], ["registry.ReposService/ListRepos", {}]);
  assert.equal(guess.status, 401);
  assert.equal(guess.headers.get("www-authenticate"), "Bearer");
});

test("lastSeenTime is the time of the identity's last request", async () => {
  const { world } = installation;
  world.clock.now += 60_000;
  await exchanges["GET /sts/exchange"]?.(identity, await foreign());
  const { body } = await http(world.url, "GET", `/iam/v2/identities/${identity}`, { token: operator });
  assert.equal(body.lastSeenTime, new Date(world.clock.now).toISOString());
});

test("an identity of a subgroup reads only its subgroup and cannot be bound in the root", async () => {
  const { world } = installation;
  const { body: group } = await http(world.url, "POST", `/iam/v2/groups/${world.organization}`, { token: operator, body: JSON.stringify({ name: "team" }) });
  const team = String(group.uid);
  const { body: repo } = await http(world.url, "POST", `/registry/v2/repos/${team}`, { token: operator, body: JSON.stringify({ name: "ours" }) });
  const member = await createIdentity(world, team, "team member", { issuer: issuer.url, subject });
  await bind(world, team, member, "owner");
  const { body } = (await exchanges["GET /sts/exchange"]?.(member, await foreign())) ?? {};
  const token = String(body?.token);
  assert.deepEqual(await repos(token), ["ours"]);
  const root = items((await http(world.url, "GET", `/registry/v2/repos?name=nginx`, { token: operator })).body, "repos")[0];
  const denied = await callBoth(
    world,
    token,
    ["GET", `/registry/v2/repos/${String(root?.uid)}`],
    ["registry.ReposService/GetRepo", { uid: String(root?.uid) }],
  );
  assert.equal(denied.status, 403);
  for (const scope of ["children_of", "descendants_of"]) {
    const { body: none } = await http(world.url, "GET", `/registry/v2/tags?uidp.${scope}=${String(root?.uid)}`, { token });
    assert.deepEqual(none, { tags: [], totalCount: "0", skipped: 0 });
  }
  const role = await findRole(world, "viewer");
  const above = await callBoth(
    world,
    operator,
    ["POST", `/iam/v2/roleBindings/${world.organization}`, { identityUid: member, roleUid: role }],
    ["iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding: { identityUid: member, roleUid: role } }],
  );
  assert.equal(above.status, 400);
  assert.deepEqual(items(above.body, "details")[1]?.fieldViolations, [{ field: "identityUid", description: "must belong to this group or to one above it" }]);
  assert.equal((await http(world.url, "GET", `/registry/v2/repos/${String(repo.uid)}`, { token })).status, 200);
});

test("creating or deleting a binding takes effect on the next request of the same token", async () => {
  const { world } = installation;
  const [repo] = items((await http(world.url, "GET", "/registry/v2/repos?name=nginx", { token: access })).body, "repos");
  const get = () => callBoth(world, access, ["GET", `/registry/v2/repos/${String(repo?.uid)}`], ["registry.ReposService/GetRepo", { uid: String(repo?.uid) }]);
  assert.equal((await get()).status, 200);
  const gone = await http(world.url, "DELETE", `/iam/v2/roleBindings/${binding}`, { token: operator });
  assert.deepEqual({ status: gone.status, text: gone.text }, { status: 200, text: "" });
  assert.equal((await get()).status, 403);
  assert.deepEqual(await repos(access), []);
  binding = await bind(world, world.organization, identity, "registry.pull");
  assert.equal((await get()).status, 200);
  assert.deepEqual(await repos(access), ["nginx", "ours", "redis"]);
});

test("the token of a deleted identity is refused by every operation", async () => {
  const { world } = installation;
  const token = await foreign();
  for (const path of [`/iam/v2/roleBindings/${binding}`, `/iam/v2/identities/${identity}`]) {
    const { status, text } = await http(world.url, "DELETE", path, { token: operator });
    assert.deepEqual({ status, text }, { status: 200, text: "" });
    assert.equal((await http(world.url, "GET", path, { token: operator })).status, 404);
  }
  const refused = await callBoth(world, access, ["GET", "/registry/v2/repos"], ["registry.ReposService/ListRepos", {}]);
  assert.equal(refused.status, 401);
  assert.equal(refused.body.code, 16);
  const direct = await http(world.url, "GET", "/registry/v2/repos", { token, headers: { "gantry-identity": identity } });
  assert.equal(direct.status, 401);
  for (const [way, exchange] of Object.entries(exchanges)) assert.equal((await exchange(identity, token)).status, 403, way);
  const narrowed = await exchanges["GET /sts/exchange"]?.("", access);
  assert.equal(narrowed?.status, 401);
});

test("deleting an identity deletes its bindings", async () => {
  const { world } = installation;
  const short = await createIdentity(world, world.organization, "short lived", { issuer: issuer.url, subject });
  const left = await bind(world, world.organization, short, "viewer");
  const { body } = (await exchanges["GET /sts/exchange"]?.(short, await foreign())) ?? {};
  assert.equal((await http(world.url, "DELETE", `/iam/v2/identities/${short}`, { token: operator })).status, 200);
  assert.equal((await http(world.url, "GET", `/iam/v2/roleBindings/${left}`, { token: operator })).status, 404);
  assert.equal((await http(world.url, "GET", "/registry/v2/repos", { token: String(body?.token) })).status, 401);
});

test("every operation that is not public requires an Authorization header", async () => {
  const { world } = installation;
  const bare = await callBoth(world, undefined, ["GET", "/registry/v2/repos"], ["registry.ReposService/ListRepos", {}]);
  assert.equal(bare.status, 401);
  assert.equal(bare.headers.get("www-authenticate"), "Bearer");
  assert.equal(items(bare.body, "details")[0]?.reason, "UNAUTHENTICATED");
  for (const authorization of ["", "Bearer", "Bearer ", operator, `Basic ${operator}`, `Bearer ${operator}x`, "Bearer a.b.c"])
    assert.equal((await http(world.url, "GET", "/registry/v2/repos", { headers: { authorization } })).status, 401, authorization.slice(0, 12));
  for (const authorization of [`bearer ${operator}`, `BEARER ${operator}`])
    assert.equal((await http(world.url, "GET", "/registry/v2/repos", { headers: { authorization } })).status, 200);
  const open = await callBoth(world, undefined, ["GET", "/ping/v2/ping"], ["ping.PingService/Ping", {}]);
  assert.deepEqual(open.body, { response: "pong" });
  assert.equal((await http(world.url, "GET", "/ping/v2/ping", { headers: { authorization: "Bearer nonsense" } })).status, 200);
});
