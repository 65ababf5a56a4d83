// Attacks 279 to 285: by the holder of a registry token, and by a tenant to whom such a token might be redirected.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { codes } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { noRegistryAccess } from "#base/registry-access.ts";
import { releaseName } from "#application";
import { registerPerson } from "../../server/application/person.ts";
import { askForTokens } from "../authorization.ts";
import { callOver } from "../client.ts";
import { digestOf } from "../distribution.ts";
import { basic, indexType, openRegistry, type RegistryClient } from "../registry.ts";
import { accessIn, askRegistryToken, challengeIn, registryToken } from "../registry-token.ts";
import { openScimProvider, makeOwners } from "../scim.ts";
import { openWorld, type World } from "../world.ts";

interface Tenant {
  readonly uid: string;
  readonly token: string;
  readonly client: RegistryClient;
}

let world: World;
let [victim, attacker]: [Tenant | undefined, Tenant | undefined] = [undefined, undefined];
const of = (tenant: Tenant | undefined): Tenant => tenant ?? assert.fail("not begun");
const empty = { schemaVersion: 2, mediaType: indexType, manifests: [] };
const none = `sha256:${"0".repeat(64)}`;

const robotIn = async (place: string, role: string, token: string): Promise<{ readonly uid: string; readonly token: string }> => {
  const identity = { name: "robot", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity }, { token }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding: { identityUid: uid, roleUid: builtInRoleUid(role) } }, { token });
  return { uid, token: await world.token(uid) };
};

const tenant = async (name: string): Promise<Tenant> => {
  const uid = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  const { token } = await robotIn(uid, "owner", await world.token());
  return { uid, token, client: openRegistry(world.url, `Bearer ${token}`) };
};

const withToken = (token: string): RegistryClient => openRegistry(world.url, `Bearer ${token}`);

/** Returns all rows except audit entries of refusals, which an attempt may leave. */
const rowsOf = async (): Promise<string> => {
  const sums = [];
  for (const table of ["repos", "tags", "groups", "role_bindings", "identities", "blobs", "repo_blobs", "repo_manifests", "uploads"]) {
    const [row] = await world.server.application.services.store.read.query(
      `select count(*), md5(string_agg(t::text, '|' order by t::text)) from ${table} as t`,
    );
    sums.push(`${table} ${row?.join(" ")}`);
  }
  return sums.join("\n");
};

/** Returns a response without its request-specific parts. */
const contentOf = async (response: Response): Promise<string> => `${response.status} ${await response.text()} ${response.headers.get("www-authenticate")}`;

before(async () => {
  world = await openWorld();
  [victim, attacker] = [await tenant("victim"), await tenant("attacker")];
  for (const name of ["victim/app", "victim/base"]) await victim.client.pushImage(name, "latest", { layer: `the layer of ${name}` });
});
after(() => world?.close());

test("attack 279: a pull token for one repo cannot push, delete, or read another repo", async () => {
  const { token: password, uid, client } = of(victim);
  const token = await registryToken(world.url, password, "repository:victim/app:pull");
  const holder = withToken(token);
  const upload = (await client.send("POST", "victim/app/blobs/uploads/")).headers.get("location") ?? "";
  const before = await rowsOf();
  const manifest = { body: JSON.stringify(empty), headers: { "content-type": indexType } };
  for (const [verb, path, request] of [
    ["PUT", "victim/app/manifests/latest", manifest],
    ["PUT", `victim/app/manifests/${digestOf(JSON.stringify(empty))}?tag=latest`, manifest],
    ["POST", "victim/app/blobs/uploads/", {}],
    ["POST", `victim/app/blobs/uploads/?digest=${digestOf("x")}`, { body: "x" }],
    ["POST", `victim/app/blobs/uploads/?mount=${digestOf("the layer of victim/base")}&from=victim/base`, {}],
    ["PATCH", upload, { body: "x" }],
    ["PUT", `${upload}?digest=${digestOf("")}`, {}],
    ["DELETE", upload, {}],
    ["DELETE", "victim/app/manifests/latest", {}],
    ["DELETE", `victim/app/blobs/${none}`, {}],
    ["GET", "victim/base/manifests/latest", {}],
    ["GET", `victim/base/blobs/${digestOf("the layer of victim/base")}`, {}],
    ["GET", "victim/base/tags/list", {}],
    ["GET", `victim/base/referrers/${none}`, {}],
    ["DELETE", "victim/base/manifests/latest", {}],
    ["PUT", "victim/base/manifests/latest", manifest],
    ["PUT", "victim/new/manifests/latest", manifest],
    ["PUT", `${uid}/manifests/latest`, manifest],
    ["POST", "victim/app/new/blobs/uploads/", {}],
  ] as const)
    for (const authorization of [`Bearer ${token}`, basic("_token", token)])
      assert.equal((await holder.send(verb, path, { ...request, authorization })).status, 401, `${verb} ${path}`);
  assert.equal(await rowsOf(), before);
  assert.equal((await holder.send("GET", "victim/app/manifests/latest")).status, 200);
});

test("attack 280: a registry token works only in the registry, and cannot renew itself", async () => {
  const { token: password, uid } = of(victim);
  await makeOwners(world);
  const provider = await openScimProvider(world);
  const operator = await world.token();
  const subjects = [
    await registryToken(world.url, password, "repository:victim/app:*"),
    await registryToken(world.url, operator),
    await registryToken(world.url, operator, "repository:victim/app:*"),
  ];
  const json = { "content-type": "application/json" };
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  for (const token of subjects) {
    // Also after the registry has seen and cached it.
    assert.equal((await withToken(token).send("GET", "/v2/")).status, 200);
    const before = await rowsOf();
    const authorization = `Bearer ${token}`;
    const send = async (verb: string, path: string, request: { body?: string | URLSearchParams; headers?: Record<string, string> } = {}): Promise<number> => {
      const response = await fetch(`${world.url}${path}`, {
        method: verb,
        body: request.body ?? null,
        headers: { authorization, ...request.headers },
        redirect: "manual",
      });
      await response.arrayBuffer();
      return response.status;
    };
    for (const [verb, path, request] of [
      ["GET", "/iam/v2/groups", {}],
      ["GET", `/iam/v2/groups/${uid}`, {}],
      ["POST", `/iam/v2/groups/${uid}`, { body: '{"name":"made"}', headers: json }],
      ["GET", "/iam/v2/identities", { headers: { "gantry-identity": uid } }],
      ["GET", "/registry/v2/repos", {}],
      ["GET", "/registry/v2/tags", {}],
      ["GET", "/registry/v2beta1/repos", {}],
      ["GET", "/registry/v1/repos", {}],
      ["GET", "/gantry/v1/audit/entries", {}],
      ["GET", `/sts/exchange?aud=${encodeURIComponent(world.url)}`, {}],
      ["POST", `/sts/exchange?aud=${encodeURIComponent(world.url)}`, {}],
      ["POST", `/sts/exchange_refresh_token?aud=${encodeURIComponent(world.url)}`, {}],
      ["POST", "/mcp", { body: ping, headers: { ...json, accept: "application/json, text/event-stream" } }],
      ["GET", `/scim/v2/${provider.uid}/Users`, {}],
      ["POST", "/osv/v1/query", { body: '{"package":{"name":"a","ecosystem":"npm"}}', headers: json }],
      ["GET", "/v2/token", {}],
      ["GET", "/v2/token?scope=repository:victim/app:pull", {}],
      ["GET", "/v2/token?scope=repository:victim/app:pull", { headers: { authorization: basic("_token", token) } }],
      ["POST", "/v2/token", { body: new URLSearchParams({ grant_type: "password", username: "_token", password: token }) }],
      ["POST", "/v2/token", { body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: token }) }],
    ] as const) {
      const status = await send(verb, path, request);
      assert.ok(status === 401 || (status === 404 && path === "/gantry/v1/audit/entries"), `${verb} ${path}: ${status}`);
    }
    const { status, body } = await askForTokens(world, {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    });
    assert.deepEqual([status, text(body, "error"), body.access_token], [400, "invalid_request", undefined], "as a subject token");
    const calls: readonly (readonly [string, JsonObject])[] = [
      ["chainguard.platform.iam.v2.GroupsService/ListGroups", {}],
      ["chainguard.platform.registry.v2.ReposService/ListRepos", {}],
      ["chainguard.platform.oidc.SecurityTokenService/Exchange", { aud: [world.url] }],
      ["chainguard.platform.registry.v2.ReposService/CreateRepo", { parent: uid, repo: { name: "made" } }],
    ];
    for (const [name, request] of calls) assert.equal((await callOver("grpc", world.url, name, request, { token })).code, 16, name);
    assert.equal(await rowsOf(), before);
  }
  // Conversely, the API's cached access token stays an access token.
  const access = await world.token();
  assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token: access })).code, 0);
  assert.equal((await withToken(access).send("GET", "victim/app/manifests/latest")).status, 200);
});

test("attack 281: a token never follows a name to another tenant's repo, whether the repo existed or not", async () => {
  const kernel = world.server.application.kernel;
  const user = await registerPerson(kernel, { issuer: "https://people.example.com", subject: "user", email: "user@example.com", name: "" });
  const honest = await tenant("honest");
  const roleBinding = { identityUid: user, roleUid: builtInRoleUid("owner") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: honest.uid, roleBinding }, { token: honest.token });
  await world.ok("gantry.memberships.v1.MembershipsService/AcceptMembership", { group: honest.uid }, { token: await world.token(user) });
  await honest.client.pushImage("honest/app", "latest");
  // The user is a member of both: the token decides, not the permissions.
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: of(attacker).uid, roleBinding }, { token: of(attacker).token });
  await world.ok("gantry.memberships.v1.MembershipsService/AcceptMembership", { group: of(attacker).uid }, { token: await world.token(user) });
  const password = await world.token(user);
  const token = await registryToken(world.url, password, "repository:honest/app:pull,push,delete", "repository:honest/new:pull,push");
  assert.deepEqual(
    accessIn(token).map(({ path = "" }) => path),
    ["", "honest/new"],
  );
  const rename = (whose: Tenant, name: string) =>
    world.call("iam.GroupsService/UpdateGroup", { group: { uid: whose.uid, name }, updateMask: "name" }, { token: whose.token });
  assert.equal((await rename(honest, "honest-moved")).code, 0);
  assert.equal((await rename(of(attacker), "honest")).code, codes.ALREADY_EXISTS);
  await releaseName(kernel, "honest");
  const taken = await rename(of(attacker), "honest");
  assert.equal(taken.code, 0, taken.message);
  for (const name of ["app", "new"])
    await world.ok("registry.ReposService/CreateRepo", { parent: of(attacker).uid, repo: { name, anonymousPull: true } }, { token: of(attacker).token });
  // Public repos, so that only the token keeps its bearer from the attacker's image.
  for (const name of ["honest/app", "honest/new"]) await of(attacker).client.pushImage(name, "latest");
  const before = await rowsOf();
  const holder = withToken(token);
  for (const name of ["honest/app", "honest/new", "honest/newer"]) {
    for (const [verb, path] of [
      ["GET", "manifests/latest"],
      ["POST", "blobs/uploads/"],
      ["PUT", "manifests/latest"],
      ["DELETE", "manifests/latest"],
    ] as const) {
      const request = verb === "PUT" ? { body: JSON.stringify(empty), headers: { "content-type": indexType } } : {};
      assert.ok([401, 404].includes((await holder.send(verb, `${name}/${path}`, request)).status), `${verb} ${name}/${path}`);
    }
  }
  assert.equal(await rowsOf(), before);
  assert.equal((await rename(of(attacker), "attacker")).code, 0);
});

test("attack 281: a repo that was deleted and recreated, or moved away, is a different one for a token", async () => {
  const { uid, token: password, client } = of(victim);
  await client.pushImage("victim/moved", "latest");
  const token = await registryToken(world.url, password, "repository:victim/moved:pull,push,delete");
  const [{ repo = "" } = {}] = accessIn(token);
  await world.ok("registry.ReposService/DeleteRepo", { uid: repo }, { token: password });
  await world.ok("registry.ReposService/CreateRepo", { parent: uid, repo: { name: "moved" } }, { token: password });
  const before = await rowsOf();
  const statuses = [];
  for (const name of ["victim/moved", repo]) statuses.push((await withToken(token).send("POST", `${name}/blobs/uploads/`)).status);
  assert.deepEqual(statuses, [401, 404]);
  assert.equal(await rowsOf(), before);
  const again = await registryToken(world.url, password, "repository:victim/moved:pull,push");
  assert.notEqual(accessIn(again)[0]?.repo, repo);
  assert.equal((await withToken(again).send("POST", "victim/moved/blobs/uploads/")).status, 202, "a client requests a token again");
});

test("attack 282: scopes for another tenant's repo and for a missing one look the same, in the token and in use", async () => {
  const { client } = of(victim);
  const { token: password } = of(attacker);
  await client.pushImage("victim/secret", "latest");
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name: "secret" });
  const uid = (repos as { uid: string }[])[0]?.uid ?? assert.fail();
  const names = ["victim/secret", "victim/absent", "nobodys/secret", uid, `${of(victim).uid}/${"0".repeat(16)}`, "0".repeat(40)];
  const answers = new Set<string>();
  for (const name of names)
    for (const actions of ["pull", "pull,push", "*"]) {
      const token = await registryToken(world.url, password, `repository:${name}:${actions}`);
      assert.deepEqual(accessIn(token), [], name);
      for (const held of [token, await registryToken(world.url, "", `repository:${name}:${actions}`)]) {
        for (const [verb, path] of [
          ["GET", "manifests/latest"],
          ["GET", "tags/list"],
          ["GET", `referrers/${none}`],
          ["POST", "blobs/uploads/"],
          ["DELETE", "manifests/latest"],
        ] as const)
          answers.add(`${held === token} ${verb} ${path} ${(await contentOf(await withToken(held).send(verb, `${name}/${path}`))).replaceAll(name, "NAME")}`);
      }
    }
  assert.equal(answers.size, 10, [...answers].join("\n"));
  for (const answer of answers) assert.match(answer, / 401 /);
});

test("attack 283: neither a changed type, a changed list nor an odd scope widens a token", async () => {
  const { token: password } = of(victim);
  const token = await registryToken(world.url, password, "repository:victim/app:pull");
  const [head = "", body = "", signature = ""] = token.split(".");
  const read = (part: string): JsonObject => {
    const value = JSON.parse(Buffer.from(part, "base64url").toString("utf8")) as Json;
    return isObject(value) ? value : {};
  };
  const write = (part: JsonObject): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const [claims, header] = [read(body), read(head)];
  const all = accessIn(token).map((entry) => ({ ...entry, actions: ["pull", "push", "delete"] }));
  const { gantry_access: _, ...unlisted } = claims;
  for (const forged of [
    `${write({ ...header, typ: "JWT" })}.${body}.${signature}`,
    `${write({ ...header, typ: "GANTRY-REGISTRY+JWT" })}.${body}.${signature}`,
    `${write({ ...header, alg: "none" })}.${body}.`,
    `${head}.${write({ ...claims, gantry_access: all })}.${signature}`,
    `${head}.${write({ ...claims, aud: world.url })}.${signature}`,
    `${head}.${write({ ...claims, sub: "" })}.${signature}`,
    `${head}.${write(unlisted)}.${signature}`,
  ]) {
    assert.equal((await withToken(forged).send("GET", "victim/app/manifests/latest")).status, 401);
    assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token: forged })).code, 16);
  }
  // Other tokens signed with the server's key stay invalid for the registry.
  const { authn } = world.server.application.services;
  const narrow = await authn.mint({ uid: of(victim).uid, audience: [world.url], registry: noRegistryAccess });
  assert.equal(
    (await world.call("iam.GroupsService/ListGroups", {}, { token: narrow })).code,
    16,
    "the audience of a registry token is the registry's, whatever is asked",
  );
  for (const scope of [
    "repository:victim/*:*",
    "repository:*:*",
    "*",
    "*:*:*",
    "repository:victim:*",
    "repository:victim/app/..:pull",
    "repository::*",
    "registry:*:*",
    "group:victim:*",
  ])
    assert.deepEqual(accessIn(await registryToken(world.url, password, scope)), [], scope);
});

test("attack 284: a registry token is narrowed, revoked and expired with the credential that it was issued for", async () => {
  const { uid, token: password } = of(victim);
  const scope = "repository:victim/app:pull,push,delete";
  const status = async (token: string, verb = "GET", path = "victim/app/manifests/latest"): Promise<number> => (await withToken(token).send(verb, path)).status;
  const robot = await robotIn(uid, "owner", password);
  const pulls = await world.token(robot.uid, { capabilities: ["manifest.list", "repo.list"] });
  const narrow = await registryToken(world.url, pulls, scope);
  assert.deepEqual(accessIn(narrow)[0]?.actions, ["pull"]);
  assert.deepEqual(
    [await status(narrow), await status(narrow, "GET", "victim/app/tags/list"), await status(narrow, "POST", "victim/app/blobs/uploads/")],
    [200, 403, 401],
  );
  const elsewhere = text(await world.ok("iam.GroupsService/CreateGroup", { parent: uid, group: { name: "elsewhere" } }, { token: password }), "uid");
  const scoped = await registryToken(
    world.url,
    await world.token(robot.uid, { scopes: [elsewhere] }),
    scope,
    "repository:victim/elsewhere/new:push",
    "repository:victim/new:push",
  );
  assert.deepEqual(accessIn(scoped), [{ path: "victim/elsewhere/new", group: elsewhere, actions: ["push"] }]);
  const held = await registryToken(world.url, robot.token, scope, "repository:victim/fresh:pull,push");
  assert.equal(await status(held), 200);
  const created = await registryToken(world.url, robot.token, "repository:victim/fresh:pull,push");
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: robot.uid }, { token: password });
  const before = await rowsOf();
  for (const token of [narrow, scoped, held, created])
    for (const [verb, path] of [
      ["GET", "/v2/"],
      ["GET", "victim/app/manifests/latest"],
      ["POST", "victim/fresh/blobs/uploads/"],
    ] as const)
      assert.equal(await status(token, verb, path), 401, `${verb} ${path}`);
  assert.equal(await rowsOf(), before);
  const late = await registryToken(world.url, password, scope);
  assert.equal(await status(late), 200);
  world.clock.now += 10 * 60_000;
  assert.equal(await status(late), 401);
  world.clock.now -= 10 * 60_000;
});

test("attack 285: a challenge repeats no text that could be parsed as another one, and no token is issued for another service", async () => {
  const login = withToken(await registryToken(world.url, of(victim).token));
  for (const from of ['a",realm="https://evil.example', "a\r\nset-cookie: x=1", "a b repository:victim/app:*", "a:b", "ü", "x".repeat(2_000)]) {
    const refused = await login.send("POST", `victim/app/blobs/uploads/?mount=${none}&from=${encodeURIComponent(from)}`);
    assert.equal(refused.status, 401);
    assert.equal(challengeIn(refused).realm, `${world.url}/v2/token`);
    assert.equal(challengeIn(refused).scope, "repository:victim/app:pull,push", from);
    assert.equal(refused.headers.get("set-cookie"), null);
  }
  for (const service of ["evil.example", "https://evil.example", `${new URL(world.url).host}@evil.example`])
    assert.equal((await askRegistryToken(world.url, of(victim).token, ["repository:victim/app:pull"], { service })).status, 400, service);
});
