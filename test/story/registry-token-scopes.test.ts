// Registry tokens permit their scopes, within the caller's permissions (decision 0069).

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { digestOf } from "../distribution.ts";
import { basic, errorsIn, indexType, openRegistry, type RegistryClient } from "../registry.ts";
import { accessIn, askRegistryToken, challengeIn, registryToken } from "../registry-token.ts";
import { openRequestLog } from "../request-log.ts";
import { openWorld, type World } from "../world.ts";

const requests = openRequestLog();
let world: World;
let owner = "";
let acme = "";
const empty = { schemaVersion: 2, mediaType: indexType, manifests: [] };
const none = `sha256:${"0".repeat(64)}`;

const organization = async (name: string): Promise<{ readonly uid: string; readonly token: string }> => {
  const uid = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
  return { uid, token: (await bound(uid, "owner")).token };
};

const bound = async (place: string, role: string | null): Promise<{ readonly uid: string; readonly token: string; readonly binding: string }> => {
  const identity = { name: "robot", claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity }), "uid");
  const roleBinding = role === null ? undefined : { identityUid: uid, roleUid: builtInRoleUid(role) };
  const binding = roleBinding ? text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding }), "uid") : "";
  return { uid, token: await world.token(uid), binding };
};

const withScopes = async (password: string, ...scopes: readonly string[]): Promise<RegistryClient> =>
  openRegistry(world.url, `Bearer ${await registryToken(world.url, password, ...scopes)}`);

const repoUid = async (name: string): Promise<string> => {
  const { repos } = await world.ok("registry.ReposService/ListRepos", { name });
  return (repos as { uid: string }[])[0]?.uid ?? assert.fail(name);
};

before(async () => {
  world = await openWorld({ GANTRY_REQUEST_LOG: "true" }, requests.log);
  ({ uid: acme, token: owner } = await organization("acme"));
  await openRegistry(world.url, `Bearer ${owner}`).pushImage("acme/app", "latest");
});
after(() => world?.close());

test("a token contains exactly the requested scopes that its caller is permitted, by the repository's UID", async () => {
  const uid = await repoUid("app");
  const reader = await bound(acme, "registry.pull");
  for (const [password, scopes, permitted] of [
    [owner, ["repository:acme/app:pull"], [{ repo: uid, actions: ["pull"] }]],
    [owner, ["repository:acme/app:pull,push"], [{ repo: uid, actions: ["pull", "push"] }]],
    [owner, ["repository:acme/app:push,pull,delete"], [{ repo: uid, actions: ["pull", "push", "delete"] }]],
    [owner, ["repository:acme/app:*"], [{ repo: uid, actions: ["pull", "push", "delete"] }]],
    [owner, [`repository:${uid}:pull`, "repository:acme/app:push"], [{ repo: uid, actions: ["pull", "push"] }]],
    [
      owner,
      ["repository:acme/app:pull repository:acme/new:pull,push"],
      [
        { repo: uid, actions: ["pull"] },
        { path: "acme/new", group: acme, actions: ["pull", "push"] },
      ],
    ],
    [owner, ["repository(plugin):acme/app:pull"], [{ repo: uid, actions: ["pull"] }]],
    [reader.token, ["repository:acme/app:pull,push,delete"], [{ repo: uid, actions: ["pull"] }]],
    [reader.token, ["repository:acme/app:push", "repository:acme/new:pull,push"], []],
    [owner, ["repository:acme/absent:pull"], []],
    [owner, ["registry:catalog:*"], [{ catalog: true }]],
    [owner, ["registry:catalog:pull", "registry:catalog", "registry:other:*"], []],
    [owner, ["repository:acme/app:pull,sign,Push"], [{ repo: uid, actions: ["pull"] }]],
    [owner, [], []],
    ...[
      "",
      " ",
      "repository",
      "repository:",
      "repository::pull",
      "repository:acme/app",
      "repository:acme/app:",
      ":acme/app:pull",
      "Repository:acme/app:pull",
      "namespace:acme/app:pull",
      "repository:ACME/app:pull",
      "repository:acme/app/:pull",
      "repository:../app:pull",
      "repository:acme/*:pull",
      "repository:*:*",
      "repository:acme:pull",
    ].map((scope) => [owner, [scope], []] as const),
  ] as const)
    assert.deepEqual(accessIn(await registryToken(world.url, password, ...scopes)), permitted, scopes.join(" and "));
});

test("a token for too many repositories is refused, and one with the maximum is below 8 KiB", async () => {
  const scopes = Array.from(
    { length: limits.registryTokenReposMax },
    (_, number) => `repository:acme/team/of/many/repositories/number-${number}:pull,push,delete`,
  );
  assert.ok((await registryToken(world.url, owner, scopes.join(" "))).length < 8 * 1024);
  const refused = await askRegistryToken(world.url, owner, [...scopes, "repository:acme/app:pull"]);
  assert.deepEqual([refused.status, await refused.text().then((body) => body.includes("at most 16 repositories"))], [400, true]);
});

test("a token for another service is refused, even for anonymous callers, and uses up no refresh token", async () => {
  for (const password of [owner, ""])
    for (const service of ["elsewhere.example.com", `${new URL(world.url).host}.example.com`, world.url]) {
      const refused = await askRegistryToken(world.url, password, [], { service });
      assert.deepEqual([refused.status, await refused.text().then((body) => body.includes("service"))], [400, true], service);
    }
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "any", service: "elsewhere.example.com" });
  assert.equal((await fetch(`${world.url}/v2/token`, { method: "POST", body: form })).status, 400);
  assert.equal((await fetch(`${world.url}/v2/token`, { headers: { authorization: basic("_token", owner) } })).status, 200, "it may be left out");
});

test("a token without a scope permits the ping, and every other operation challenges for the scope that it needs", async () => {
  const login = await withScopes(owner);
  assert.equal((await login.send("GET", "/v2/")).status, 200);
  const repo = "acme/app";
  for (const [verb, path, scope] of [
    ["GET", "tags/list", `repository:${repo}:pull`],
    ["GET", "manifests/latest", `repository:${repo}:pull`],
    ["HEAD", `manifests/${none}`, `repository:${repo}:pull`],
    ["HEAD", `blobs/${none}`, `repository:${repo}:pull`],
    ["GET", `referrers/${none}`, `repository:${repo}:pull`],
    ["POST", "blobs/uploads/", `repository:${repo}:pull,push`],
    ["POST", `blobs/uploads/?mount=${none}&from=acme/base`, `repository:${repo}:pull,push repository:acme/base:pull`],
    ["POST", `blobs/uploads/?mount=${none}&from=a%22%0d%0ab`, `repository:${repo}:pull,push`],
    ["POST", `blobs/uploads/?mount=${none}`, `repository:${repo}:pull,push`],
    ["GET", `blobs/uploads/${"0".repeat(32)}`, `repository:${repo}:pull,push`],
    ["PATCH", `blobs/uploads/${"0".repeat(32)}`, `repository:${repo}:pull,push`],
    ["PUT", `blobs/uploads/${"0".repeat(32)}?digest=${none}`, `repository:${repo}:pull,push`],
    ["DELETE", `blobs/uploads/${"0".repeat(32)}`, `repository:${repo}:pull,push`],
    ["PUT", "manifests/latest", `repository:${repo}:pull,push`],
    ["DELETE", "manifests/other", `repository:${repo}:delete`],
    ["DELETE", `manifests/${none}`, `repository:${repo}:delete`],
    ["DELETE", `blobs/${none}`, `repository:${repo}:delete`],
  ] as const) {
    const body = verb === "PUT" || verb === "PATCH" ? "x" : undefined;
    const refused = await login.send(verb, `${repo}/${path}`, { body });
    const { realm, service, error, scope: needed = "" } = challengeIn(refused);
    assert.deepEqual([refused.status, error, needed], [401, "insufficient_scope", scope], `${verb} ${path}`);
    assert.deepEqual([realm, service], [`${world.url}/v2/token`, new URL(world.url).host]);
    if (verb !== "HEAD") assert.deepEqual(await errorsIn(refused), ["UNAUTHORIZED"]);
    const again = await (await withScopes(owner, needed)).send(verb, `${repo}/${path}`, { body });
    assert.ok(![401, 403].includes(again.status), `${verb} ${path} with the scope of its challenge: ${again.status}`);
  }
});

test("a token with one action is refused every other one, by name and by UID", async () => {
  const uid = await repoUid("app");
  const operations = { pull: ["GET", "manifests/latest"], push: ["POST", "blobs/uploads/"], delete: ["DELETE", "manifests/no-such-tag"] } as const;
  for (const named of ["acme/app", uid])
    for (const action of ["pull", "push", "delete"] as const) {
      const client = await withScopes(owner, `repository:${named}:${action}`);
      for (const spelt of ["acme/app", uid])
        for (const [other, [verb, path]] of Object.entries(operations)) {
          const { status } = await client.send(verb, `${spelt}/${path}`);
          assert.equal(status === 401, other !== action, `${action} of ${named} used to ${other} ${spelt}: ${status}`);
        }
    }
});

test("pull,push creates a repository with its groups at a new path, and pulls from it, with one token", async () => {
  const path = "acme/team/sub/first";
  const token = await registryToken(world.url, owner, `repository:${path}:pull,push`);
  assert.deepEqual(accessIn(token), [{ path, group: acme, actions: ["pull", "push"] }]);
  const client = openRegistry(world.url, `Bearer ${token}`);
  assert.equal((await client.send("HEAD", `${path}/blobs/${none}`)).status, 404, "a push looks first what is there");
  await client.pushImage(path, "latest");
  for (const name of [path, await repoUid("first")]) {
    const status = (await client.send("GET", `${name}/manifests/latest`)).status;
    assert.equal(status, name === path ? 200 : 401, "the token names the path");
  }
  assert.equal((await client.send("DELETE", `${path}/manifests/latest`)).status, 401);
  for (const other of ["acme/team/sub/second", "acme/team/sub", "acme/team/first", "acme/app", `${acme}/app`, path.toUpperCase()])
    assert.ok([401, 400].includes((await client.send("POST", `${other}/blobs/uploads/`)).status), other);
  assert.equal((await (await withScopes(owner, `repository:${path}:delete`)).send("DELETE", `${path}/manifests/latest`)).status, 202);
});

test("a mount requires pull on its source: with both scopes it mounts, otherwise the client uploads the bytes", async () => {
  const layer = randomBytes(32);
  const pusher = openRegistry(world.url, `Bearer ${owner}`);
  // A path without a manifest is no source of a mount.
  await pusher.pushImage("acme/base", "mounted-from");
  const digest = await pusher.pushBlob("acme/base", layer);
  const mount = async (path: string, from: string, ...scopes: string[]): Promise<number> =>
    (await (await withScopes(owner, ...scopes)).send("POST", `${path}/blobs/uploads/?mount=${digest}${from === "" ? "" : `&from=${from}`}`)).status;
  const source = "repository:acme/base:pull";
  assert.equal(await mount("acme/app", "acme/base", "repository:acme/app:pull,push", source), 201);
  assert.equal(await mount("acme/app2", "acme/base", `repository:acme/app2:pull,push ${source}`), 201, "the first request of a push");
  assert.equal(await mount("acme/app3", await repoUid("base"), "repository:acme/app3:pull,push", source), 201);
  assert.equal(await mount("acme/app4", "", "repository:acme/app4:pull,push", source), 201, "from any repository that the token may pull from");
  const other = "repository:acme/other:pull,push";
  assert.equal(await mount("acme/other", "acme/base", other), 202);
  assert.equal(await mount("acme/other", "", other), 202);
  assert.equal(await mount("acme/other", "acme/base", other, "repository:acme/base:push"), 202);
  assert.equal(await mount("acme/other", "acme/base", source), 401, "the target needs push");
});

test("current permissions decide: a token loses what its caller loses, and gains nothing beyond its scopes", async () => {
  const robot = await bound(acme, "registry.pull");
  const client = await withScopes(robot.token, "repository:acme/app:pull,push");
  assert.equal((await client.send("GET", "acme/app/manifests/latest")).status, 200);
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: acme, roleBinding: { identityUid: robot.uid, roleUid: builtInRoleUid("owner") } });
  assert.equal((await client.send("POST", "acme/app/blobs/uploads/")).status, 401, "push was not permitted when the token was issued");
  assert.equal((await (await withScopes(robot.token, "repository:acme/app:pull,push")).send("POST", "acme/app/blobs/uploads/")).status, 202);
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid: robot.uid });
  const gone = await client.send("GET", "acme/app/manifests/latest");
  assert.deepEqual([gone.status, challengeIn(gone).error], [401, "invalid_token"]);
  assert.equal((await askRegistryToken(world.url, robot.token, [])).status, 401);
});

test("a public repository can be pulled from with its scope by callers without a permission and by anonymous ones", async () => {
  await openRegistry(world.url, `Bearer ${owner}`).pushImage("acme/open", "latest");
  await world.ok("registry.ReposService/UpdateRepo", { repo: { uid: await repoUid("open"), anonymousPull: true }, updateMask: "anonymous_pull" });
  const stranger = await bound(acme, null);
  for (const password of [stranger.token, ""]) {
    const client = await withScopes(password, "repository:acme/open:pull,push", "repository:acme/app:pull");
    assert.equal((await client.send("GET", "acme/open/manifests/latest")).status, 200);
    assert.equal((await client.send("POST", "acme/open/blobs/uploads/")).status, 401);
    assert.equal((await client.send("GET", "acme/app/manifests/latest")).status, 401);
  }
  const login = await (await withScopes(stranger.token)).send("GET", "acme/open/manifests/latest");
  assert.deepEqual([login.status, challengeIn(login).scope], [401, "repository:acme/open:pull"], "and the client requests it");
});

test("a role that lists manifests but cannot read layers gets a permission error, because another token would not help", async () => {
  const viewer = await bound(acme, "console_viewer");
  const client = await withScopes(viewer.token, "repository:acme/app:pull");
  assert.equal((await client.send("GET", "acme/app/manifests/latest")).status, 200);
  const { config } = JSON.parse(await (await client.send("GET", "acme/app/manifests/latest")).text()) as { config: { digest: string } };
  const refused = await client.send("GET", `acme/app/blobs/${config.digest}`);
  assert.deepEqual([refused.status, await errorsIn(refused)], [403, ["DENIED"]]);
});

test("a request with a scoped token runs no more statements than one with an access token", async () => {
  const digest = await openRegistry(world.url, `Bearer ${owner}`).pushBlob("acme/app", "counted");
  const fresh = await registryToken(world.url, owner, "repository:acme/counted:pull,push");
  await openRegistry(world.url, `Bearer ${fresh}`).pushManifest("acme/counted", "latest", empty);
  /** Ascending, of three requests: a request may share the statements of another one. */
  const statementsOf = async (authorization: string, verb: string, path: string): Promise<number[]> => {
    const send = async (): Promise<number> => {
      const answer = await fetch(`${world.url}/v2/${path}`, { method: verb, headers: { authorization } });
      assert.equal(answer.status, 200);
      await answer.arrayBuffer();
      return Number((await requests.of(answer.headers.get("x-request-id") ?? "")).statements);
    };
    // The first request loads the permissions.
    await send();
    return [await send(), await send(), await send()].sort((one, other) => one - other);
  };
  const uid = await repoUid("app");
  const scoped = await registryToken(world.url, owner, "repository:acme/app:pull");
  for (const [verb, path, token] of [
    ["GET", "acme/app/manifests/latest", scoped],
    ["HEAD", "acme/app/manifests/latest", scoped],
    ["HEAD", `acme/app/blobs/${digest}`, scoped],
    ["GET", `acme/app/blobs/${digest}`, scoped],
    ["GET", `${uid}/manifests/latest`, scoped],
    ["GET", "acme/counted/manifests/latest", fresh],
  ] as const) {
    const [before, now] = [(await statementsOf(`Bearer ${owner}`, verb, path)).at(-1) ?? 0, (await statementsOf(`Bearer ${token}`, verb, path))[0] ?? 0];
    assert.ok(now <= before, `${verb} ${path}: ${now} statements, ${before} with an access token`);
  }
});

test("a POST form requests scopes like a GET query", async () => {
  const form = new URLSearchParams({
    grant_type: "password",
    username: "_token",
    password: owner,
    service: new URL(world.url).host,
    client_id: "containerd",
    scope: "repository:acme/app:pull repository:acme/posted:pull,push",
  });
  const answer = (await (await fetch(`${world.url}/v2/token`, { method: "POST", body: form })).json()) as JsonObject;
  assert.deepEqual(
    accessIn(text(answer, "access_token")).map(({ repo, path, actions }) => [repo ?? path, actions]),
    [
      [await repoUid("app"), ["pull"]],
      ["acme/posted", ["pull", "push"]],
    ],
  );
  const client = openRegistry(world.url, `Bearer ${text(answer, "token")}`);
  const put = await client.send("PUT", "acme/posted/manifests/latest", { body: JSON.stringify(empty), headers: { "content-type": indexType } });
  assert.equal(put.status, 201);
  assert.equal(put.headers.get("docker-content-digest"), digestOf(JSON.stringify(empty)));
});
