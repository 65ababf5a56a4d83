// Permissions to push and pull: the registry token protocol enforces the same permissions as all APIs (oci: 4; authentication: 9).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT, type CryptoKey } from "jose";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { registerPerson } from "../../server/application/person.ts";
import { beginFamily } from "../../server/iam/signin/refresh.ts";
import { digestOf } from "../distribution.ts";
import { basic, descriptor, errorsIn, imageType, indexType, openRegistry, type RegistryClient } from "../registry.ts";
import { openWorld, type World } from "../world.ts";
import { type Issuer, startIssuer } from "./processes.ts";

let world: World;
let issuer: Issuer;
let operator: RegistryClient;
const empty = { schemaVersion: 2, mediaType: indexType, manifests: [] };
const repo = "first-organization/team/app";

before(async () => {
  [world, issuer] = await Promise.all([openWorld(), startIssuer()]);
  operator = openRegistry(world.url, `Bearer ${await world.token()}`);
  await operator.pushManifest(repo, "latest", empty);
});
after(() => Promise.all([world?.close(), issuer?.close()]));

const host = (): string => new URL(world.url).host;
const askToken = (authorization: string | undefined, query = `&scope=repository:${repo}:pull`): Promise<Response> =>
  fetch(`${world.url}/v2/token?service=${host()}${query}`, { headers: authorization === undefined ? {} : { authorization } });
const tokenOf = async (answer: Response): Promise<string> => {
  assert.equal(answer.status, 200, await answer.clone().text());
  return text((await answer.json()) as JsonObject, "token");
};
const pull = (token: string, name = repo): Promise<Response> => openRegistry(world.url, `Bearer ${token}`).send("GET", `${name}/manifests/latest`);

let made = 0;
const identity = async (body: JsonObject, role: string | null = "registry.pull", place = world.organization): Promise<{ uid: string; binding: string }> => {
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: place, identity: { name: `identity ${++made}`, ...body } }), "uid");
  if (role === null) return { uid, binding: "" };
  const roleBinding = { identityUid: uid, roleUid: builtInRoleUid(role) };
  return { uid, binding: text(await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: place, roleBinding }), "uid") };
};

test("a request without a token gets a challenge with token endpoint, service and scope", async () => {
  for (const [verb, path, scope] of [
    ["GET", "/v2/", undefined],
    ["GET", `${repo}/manifests/latest`, `repository:${repo}:pull`],
    ["HEAD", `${repo}/blobs/sha256:${"0".repeat(64)}`, `repository:${repo}:pull`],
    ["POST", `${repo}/blobs/uploads/`, `repository:${repo}:pull,push`],
    ["DELETE", `${repo}/manifests/latest`, `repository:${repo}:delete`],
    ["GET", "no/such/path", undefined],
  ] as const) {
    const answer = await operator.send(verb, path, { authorization: "" });
    assert.equal(answer.status, 401);
    const wanted = `Bearer realm="${world.url}/v2/token",service="${host()}"`;
    assert.equal(answer.headers.get("www-authenticate"), scope === undefined ? wanted : `${wanted},scope="${scope}"`, path);
    if (verb !== "HEAD") assert.deepEqual(await errorsIn(answer), ["UNAUTHORIZED"]);
  }
  const wrong = await operator.send("GET", `${repo}/manifests/latest`, { authorization: "Bearer nonsense" });
  assert.match(wrong.headers.get("www-authenticate") ?? "", /,error="invalid_token"$/, "a client drops a token that is refused");
});

test("_token with an access token gets a registry token for five minutes with the scopes that its subject is permitted", async () => {
  const { uid } = await identity({ claimMatch: { issuer: issuer.url, subject: "five-minutes" } });
  for (const audience of [world.url, host()]) {
    const access = await world.server.application.services.authn.mint({ uid, audience: [audience] });
    const answer = await askToken(basic("_token", access), `&scope=repository:${repo}:pull,push,delete&scope=registry:other:*`);
    const body = (await answer.json()) as JsonObject;
    assert.equal(body.token, body.access_token);
    assert.equal(body.expires_in, 300);
    const { sub, aud, exp = 0, iat = 0, gantry_access: permissions, ...claims } = decodeJwt(text(body, "token"));
    assert.deepEqual([sub, aud, exp - iat], [uid, `${world.url}/v2/`, 300]);
    assert.deepEqual(Object.keys(claims), ["iss"]);
    assert.equal(decodeProtectedHeader(text(body, "token")).typ, "gantry-registry+jwt");
    const [{ repo: permitted = "" } = {}, ...more] = permissions as { repo: string; actions: string[] }[];
    assert.deepEqual([permissions, more], [[{ repo: permitted, actions: ["pull"] }], []], "its subject may only pull");
    assert.equal((await pull(text(body, "token"))).status, 200);
  }
  const wrong = await world.server.application.services.authn.mint({ uid, audience: ["https://elsewhere.example.com"] });
  assert.equal((await askToken(basic("_token", wrong))).status, 401);
});

test("a registry token expires no later, and permits no more, than the token it was requested with", async () => {
  const { uid } = await identity({ claimMatch: { issuer: issuer.url, subject: "narrow" } });
  const { authn } = world.server.application.services;
  const brief = await authn.mint({ uid, audience: [world.url], lifetimeMs: 90_000, capabilities: ["repo.list"], scopes: [world.organization] });
  const token = await tokenOf(await askToken(basic("_token", brief)));
  const { exp = 0, iat = 0 } = decodeJwt(token);
  assert.ok(exp - iat <= 90);
  assert.equal((await pull(token)).status, 401, "a token that may list alone cannot pull, in exchange neither");
  assert.equal((await pull(await authn.mint({ uid, audience: [world.url] }))).status, 200);
});

test("a CI job pulls and pushes with its issuer's token and no stored secret", async () => {
  const { uid } = await identity({ claimMatch: { issuer: issuer.url, subject: "job" } }, "registry.push");
  const job = await issuer.token({ sub: "job", aud: world.url });
  const scope = "&scope=repository:first-organization/from-ci:pull,push";
  const client = openRegistry(world.url, `Bearer ${await tokenOf(await askToken(basic(uid, job), scope))}`);
  await client.pushManifest("first-organization/from-ci", "latest", empty);
  assert.equal((await client.send("GET", "first-organization/from-ci/manifests/latest")).status, 200);
  const form = new URLSearchParams({
    grant_type: "password",
    username: uid,
    password: job,
    service: host(),
    client_id: "containerd",
    scope: `repository:${repo}:pull`,
  });
  const posted = await fetch(`${world.url}/v2/token`, { method: "POST", body: form });
  assert.equal((await pull(await tokenOf(posted))).status, 200);
  assert.equal((await operator.send("GET", `${repo}/manifests/latest`, { authorization: basic(uid, job) })).status, 200, "or by Basic alone");
  for (const wrong of [
    basic(uid, await issuer.token({ sub: "somebody else", aud: world.url })),
    basic(uid, await issuer.token({ sub: "job", aud: "https://elsewhere.example.com" })),
    basic((await identity({ claimMatch: { issuer: issuer.url, subject: "another" } })).uid, job),
    basic("_token", job),
    basic("somebody", job),
    basic(uid, "password"),
    basic(uid, ""),
    "Basic nonsense",
  ]) {
    const refused = await askToken(wrong);
    assert.deepEqual([refused.status, await errorsIn(refused)], [401, ["UNAUTHORIZED"]], "never anonymous instead");
  }
});

test("a pull token is the identity's UID with a JWT signed by its own keys, until the keys expire", async () => {
  const pair = await generateKeyPair("ES256");
  const issuerKeys = JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: "one", alg: "ES256" }] });
  const expirationTime = new Date(world.clock.now + 3_600_000).toISOString();
  const staticKeys = { issuer: "https://pull.example.com", subject: "puller", issuerKeys, expirationTime };
  const { uid } = await identity({ staticKeys });
  const jwt = (key: CryptoKey, subject: string): Promise<string> =>
    new SignJWT({ sub: subject, aud: world.url, iss: "https://pull.example.com" })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setExpirationTime(Math.floor(world.clock.now / 1000) + 86_400)
      .sign(key);
  assert.equal((await pull(await tokenOf(await askToken(basic(uid, await jwt(pair.privateKey, "puller")))))).status, 200);
  assert.equal((await askToken(basic(uid, await jwt(pair.privateKey, "another")))).status, 401);
  assert.equal((await askToken(basic(uid, await jwt((await generateKeyPair("ES256")).privateKey, "puller")))).status, 401);
  world.clock.now += 3_700_000;
  assert.equal((await askToken(basic(uid, await jwt(pair.privateKey, "puller")))).status, 401);
  world.clock.now -= 3_700_000;
});

test("a refresh token returns a token and the next refresh token, once", async () => {
  const { kernel, services } = world.server.application;
  const uid = await registerPerson(kernel, { issuer: issuer.url, subject: "person", email: "person@example.com", name: "" });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: world.organization,
    roleBinding: { identityUid: uid, roleUid: builtInRoleUid("viewer") },
  });
  const provider = text(
    await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent: world.organization,
      identityProvider: { name: "people", defaultRole: builtInRoleUid("viewer"), oidc: { issuer: issuer.url, clientId: "a client", clientSecret: "secret" } },
    }),
    "uid",
  );
  const family = { identity: uid, identityProvider: provider, act: {}, email: undefined, audience: [], capabilities: undefined, scopes: undefined };
  const first = (await services.store.write((rows) => beginFamily(rows, family, world.clock.now)))?.token ?? assert.fail();
  const ask = (token: string): Promise<Response> =>
    fetch(`${world.url}/v2/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: token, service: host(), client_id: "docker", scope: `repository:${repo}:pull` }),
    });
  const answer = (await (await ask(first)).json()) as JsonObject;
  assert.equal((await pull(text(answer, "access_token"))).status, 200);
  assert.equal(answer.expires_in, 300);
  assert.equal((await ask(text(answer, "refresh_token"))).status, 200);
  assert.equal((await ask(first)).status, 401);
  assert.equal(
    (await fetch(`${world.url}/v2/token`, { method: "POST", body: new URLSearchParams({ grant_type: "other" }) })).status,
    404,
    "containerd then asks with GET",
  );
});

test("current permissions apply: deleting or creating a binding takes effect on the next request of the same token", async () => {
  const { uid, binding } = await identity({ claimMatch: { issuer: issuer.url, subject: "revoked" } });
  const token = await tokenOf(await askToken(basic("_token", await world.token(uid))));
  assert.equal((await pull(token)).status, 200);
  await world.ok("iam.RoleBindingsService/DeleteRoleBinding", { uid: binding });
  assert.equal((await pull(token)).status, 401);
  const roleBinding = { identityUid: uid, roleUid: builtInRoleUid("registry.pull") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding });
  assert.equal((await pull(token)).status, 200);
  await world.ok("iam.IdentitiesService/DeleteIdentity", { uid });
  assert.equal((await pull(token)).status, 401);
});

test("each role permits its operations: pull, push, delete", async () => {
  const able: Record<string, readonly number[]> = {};
  for (const role of ["registry.pull", "registry.push", "viewer", "console_viewer", "owner", "apk.pull"]) {
    const { uid } = await identity({ claimMatch: { issuer: issuer.url, subject: role } }, role);
    const client = openRegistry(world.url, `Bearer ${await world.token(uid)}`);
    await operator.pushImage(`first-organization/roles/${role}`, "latest");
    const statuses: number[] = [];
    for (const [verb, path] of [
      ["GET", "manifests/latest"],
      ["GET", `blobs/${await operator.pushBlob(`first-organization/roles/${role}`, "content")}`],
      ["GET", "tags/list"],
      ["POST", "blobs/uploads/"],
      ["DELETE", "manifests/latest"],
    ] as const)
      statuses.push((await client.send(verb, `first-organization/roles/${role}/${path}`)).status);
    able[role] = statuses;
  }
  assert.deepEqual(able, {
    "registry.pull": [200, 200, 200, 403, 403],
    "registry.push": [200, 200, 200, 202, 202],
    viewer: [200, 200, 200, 403, 403],
    console_viewer: [200, 403, 200, 403, 403],
    owner: [200, 200, 200, 202, 202],
    "apk.pull": [404, 404, 404, 404, 404],
  });
});

test("docker manifest push copies images from one repo into an index in a new repo", async () => {
  const group = async (name: string): Promise<string> =>
    text(await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name } }), "uid");
  const [theirs, ours] = [await group("built-elsewhere"), await group("released")];
  const { uid } = await identity({ claimMatch: { issuer: issuer.url, subject: "lists" } }, null);
  const bind = (parent: string, role: string): Promise<JsonObject> =>
    world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid: uid, roleUid: builtInRoleUid(role) } });
  await bind(ours, "registry.push");
  const password = await world.token(uid);
  const [source, target] = ["first-organization/built-elsewhere/app", "first-organization/released/app"];
  const architectures = ["amd64", "arm64"];
  for (const architecture of architectures) await operator.pushImage(source, architecture, { architecture });

  /** Like Docker, starts each time without a token, requests one, and retries with it. */
  const ask = async (actions: string, verb: string, path: string, request: Parameters<RegistryClient["send"]>[2] = {}): Promise<Response> => {
    assert.equal((await operator.send("GET", "/v2/", { authorization: "" })).status, 401);
    const name = path.split("/").slice(0, 3).join("/");
    const from = new URL(path, world.url).searchParams.get("from");
    const scopes = [`repository:${name}:${actions}`, ...(from === null ? [] : [`repository:${from}:pull`])];
    const query = scopes.map((scope) => `&scope=${encodeURIComponent(scope)}`).join("");
    const token = await tokenOf(await askToken(basic("_token", password), `&account=_token${query}`));
    return operator.send(verb, path, { ...request, authorization: `Bearer ${token}` });
  };
  const accept = [
    "application/vnd.docker.distribution.manifest.list.v2+json",
    indexType,
    imageType,
    "application/vnd.docker.distribution.manifest.v2+json",
  ].join(", ");
  const read = (architecture: string): Promise<Response> => ask("pull", "GET", `${source}/manifests/${architecture}`, { headers: { accept } });
  const mount = (digest: string): Promise<Response> =>
    ask("push,pull", "POST", `${target}/blobs/uploads/?from=${encodeURIComponent(source)}&mount=${encodeURIComponent(digest)}`);

  assert.equal((await read("amd64")).status, 401);
  const { config } = JSON.parse(await (await operator.send("GET", `${source}/manifests/amd64`)).text()) as { config: { digest: string } };
  assert.equal((await mount(config.digest)).status, 202, "what they may not read is not mounted");
  await bind(theirs, "registry.pull");

  const manifests: JsonObject[] = [];
  for (const architecture of architectures) {
    const manifest = await read(architecture);
    assert.deepEqual([manifest.status, manifest.headers.get("content-type")], [200, imageType]);
    const bytes = await manifest.text();
    const image = JSON.parse(bytes) as { config: { digest: string }; layers: { digest: string }[] };
    const described = await ask("pull", "GET", `${source}/blobs/${image.config.digest}`);
    assert.equal(text((await described.json()) as JsonObject, "architecture"), architecture);
    for (const { digest } of [image.config, ...image.layers]) {
      const mounted = await mount(digest);
      assert.deepEqual([mounted.status, mounted.headers.get("location")], [201, `/v2/${target}/blobs/${digest}`]);
      assert.equal((await ask("push,pull", "HEAD", `${target}/blobs/${digest}`)).status, 200);
    }
    const headers = { "content-type": imageType };
    const put = await ask("push,pull", "PUT", `${target}/manifests/${digestOf(bytes)}`, { body: bytes, headers });
    assert.deepEqual([put.status, put.headers.get("docker-content-digest")], [201, digestOf(bytes)]);
    manifests.push({ ...descriptor(imageType, bytes), platform: { os: "linux", architecture } });
  }
  const list = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests });
  const pushed = await ask("push,pull", "PUT", `${target}/manifests/all`, { body: list, headers: { "content-type": indexType } });
  assert.deepEqual([pushed.status, pushed.headers.get("docker-content-digest")], [201, digestOf(list)]);
  assert.equal(await (await ask("pull", "GET", `${target}/manifests/all`, { headers: { accept } })).text(), list);
});

test("a public repo can only be pulled from without a token, and making it public requires the permission to grant", async () => {
  const name = "first-organization/open/app";
  await operator.pushImage(name, "latest");
  // Other groups have an "app" too; this one is in the group "open".
  const groups = (await world.ok("iam.GroupsService/ListGroups", { uidp: { childrenOf: world.organization }, pageSize: 200 })).groups as {
    uid: string;
    name: string;
  }[];
  const group = groups.find((each) => each.name === "open") ?? assert.fail();
  const [{ uid = "" } = {}] = (await world.ok("registry.ReposService/ListRepos", { uidp: { childrenOf: group.uid } })).repos as { uid: string }[];
  const digest = await operator.pushBlob(name, "content");
  const nobody = openRegistry(world.url, `Bearer ${await tokenOf(await askToken(undefined, `&scope=repository:${name}:pull`))}`);
  const statuses = async (): Promise<number[]> => {
    const found: number[] = [];
    for (const client of [nobody, openRegistry(world.url, "")])
      for (const [verb, path] of [
        ["GET", "manifests/latest"],
        ["HEAD", `blobs/${digest}`],
        ["GET", "tags/list"],
        ["GET", `referrers/${digest}`],
        ["POST", "blobs/uploads/"],
        ["DELETE", "manifests/latest"],
      ] as const)
        found.push((await client.send(verb, `${name}/${path}`)).status);
    return found;
  };
  const closed = Array.from({ length: 12 }, () => 401);
  assert.deepEqual(await statuses(), closed);
  const { uid: editor } = await identity({ claimMatch: { issuer: issuer.url, subject: "editor" } }, "registry.push");
  const repos = (await world.ok("registry.ReposService/ListRepos", { uidp: { descendantsOf: world.organization }, pageSize: 200 })).repos as {
    uid: string;
    name: string;
  }[];
  const opened = repos.find((each) => each.uid === uid) ?? assert.fail();
  const open = async (anonymousPull: boolean, token?: string) =>
    world.call(
      "registry.ReposService/UpdateRepo",
      { repo: { uid: opened.uid, anonymousPull }, updateMask: "anonymous_pull" },
      token === undefined ? {} : { token },
    );
  assert.equal((await open(true, await world.token(editor))).code, 7, "repo.update alone gives nobody a right");
  const events = (await world.events()).length;
  assert.equal((await open(true)).reply.anonymousPull, true);
  assert.equal((await world.events()).slice(events)[0]?.type, "dev.chainguard.api.platform.registry.repo.updated.v1");
  const one = [200, 200, 200, 200, 401, 401];
  assert.deepEqual(await statuses(), [...one, ...one]);
  const { uid: stranger } = await identity({ claimMatch: { issuer: issuer.url, subject: "stranger" } }, null);
  assert.equal((await pull(await world.token(stranger), name)).status, 200, "who has a token is no worse off than who has none");
  assert.equal((await openRegistry(world.url, "").send("GET", `${opened.uid}/manifests/latest`)).status, 200);
  assert.equal((await open(false)).code, 0);
  assert.deepEqual(await statuses(), closed);
});

test("GANTRY_ANONYMOUS_PULL opens every repo to pulls by name, but no list", async (t) => {
  const open = await openWorld({ GANTRY_ANONYMOUS_PULL: "true" });
  t.after(() => open.close());
  const owner = openRegistry(open.url, `Bearer ${await open.token()}`);
  await owner.pushImage("first-organization/app", "latest");
  const nobody = openRegistry(open.url, "");
  assert.equal((await nobody.send("GET", "first-organization/app/manifests/latest")).status, 200);
  for (const [verb, path] of [
    ["GET", "first-organization/app/tags/list"],
    ["GET", "first-organization/absent/manifests/latest"],
    ["POST", "first-organization/app/blobs/uploads/"],
    ["GET", ""],
  ] as const)
    assert.equal((await nobody.send(verb, `/v2/${path}`)).status, 401, path);
});
