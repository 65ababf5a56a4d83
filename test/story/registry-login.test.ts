// Registry sign-in with `gantry login --docker`, `--docker-helper`, the credential helper and pull tokens: real programs and a real server, with the
// files that docker, podman and skopeo read (oci.md: 5).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { type JsonObject, part, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { writeRegistryLogin } from "../../cli/login/registry-files.ts";
import { runCommand } from "../../cli/program.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { type FakeProvider, openProvider, registerProvider } from "../provider.ts";
import { confirmAs, poll, requestDeviceCodes } from "../terminal.ts";
import { openWorld, type World } from "../world.ts";
import { type Exit, gantryFile, start, stopAll } from "./processes.ts";

const helperFile = join(dirname(gantryFile), "docker-credential-gantry.js");
const notFound = "credentials not found in native keychain\n";

let world: World;
let provider: FakeProvider;
let idp: string;
let host: string;
let ticking: NodeJS.Timeout;
let folder: string;

before(async () => {
  world = await openWorld();
  ticking = setInterval(() => {
    world.clock.now = Date.now();
  }, 100);
  provider = await openProvider(() => world.clock.now);
  idp = await registerProvider(world, provider);
  host = new URL(world.url).host;
  folder = await mkdtemp(join(tmpdir(), "gantry-registry-login-"));
});
after(async () => {
  clearInterval(ticking);
  await stopAll();
  await world?.close();
  await provider?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const machine = async (name: string): Promise<Record<string, string>> => {
  const home = join(folder, name);
  await mkdir(join(home, "run"), { recursive: true });
  return { HOME: home, XDG_CACHE_HOME: join(home, "cache"), XDG_CONFIG_HOME: join(home, "config"), XDG_RUNTIME_DIR: join(home, "run") };
};

const dockerFile = ({ HOME = "" }: Record<string, string>): string => join(HOME, ".docker", "config.json");
const podmanFile = ({ XDG_RUNTIME_DIR = "" }: Record<string, string>): string => join(XDG_RUNTIME_DIR, "containers", "auth.json");
const cached = ({ XDG_CACHE_HOME = "" }: Record<string, string>, kind: string): string =>
  join(XDG_CACHE_HOME, "chainguard", world.url.replaceAll("/", "-"), kind);
const readJson = async (file: string): Promise<JsonObject> => JSON.parse(await readFile(file, "utf8")) as JsonObject;

const logIn = async (env: Record<string, string>, args: readonly string[], sub = "ada"): Promise<Exit> => {
  const terminal = start(gantryFile, ["login", "--issuer", world.url, "--idp", idp, ...args], { env });
  const [, address = ""] = await terminal.says(/^ {4}(http\S+)$/m);
  await confirmAs(world, provider, address, { sub, email: `${sub}@example.test`, email_verified: true });
  return terminal.ended;
};

/** Stores the result of a sign-in in the cache, without a waiting terminal. */
const signedIn = async (env: Record<string, string>, sub = "ada"): Promise<string> => {
  const codes = await requestDeviceCodes(world, { idp_id: idp, audience: world.url, scope: "offline_access" });
  await confirmAs(world, provider, codes.page, { sub });
  const { body } = await poll(world, codes);
  await mkdir(dirname(cached(env, "")), { recursive: true });
  await mkdir(cached(env, ""));
  await writeFile(cached(env, "oidc-token"), text(body, "access_token"));
  await writeFile(cached(env, "refresh-token"), text(body, "refresh_token"));
  return text(body, "access_token");
};

const helper = async (env: Record<string, string>, action: string, input = ""): Promise<Exit> => {
  const program = start(helperFile, [action], { env });
  program.child.stdin?.end(input);
  return program.ended;
};

const credentialsOf = ({ stdout }: Exit): JsonObject => JSON.parse(stdout) as JsonObject;

/** Replaces the stored access token with one that expires soon, so that it must be refreshed. */
const endSoon = async (env: Record<string, string>): Promise<void> => {
  const claims = { iss: world.url, exp: Math.floor(Date.now() / 1000) + 60 };
  await writeFile(cached(env, "oidc-token"), `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.e30`);
};

test("--docker writes the token to docker's and podman's private file, prints its expiry, and keeps other entries", async () => {
  const env = await machine("docker");
  const others = { auths: { "other.example": { auth: "b3RoZXI6cw==" } }, credHelpers: { "third.example": "third" }, HttpHeaders: { "X-Meta": "1" } };
  await mkdir(dirname(dockerFile(env)), { recursive: true });
  await writeFile(dockerFile(env), JSON.stringify(others), { mode: 0o644 });
  const { code, stdout, stderr } = await logIn(env, ["--docker"]);
  assert.equal(code, 0, stderr);
  const token = await readFile(cached(env, "oidc-token"), "utf8");
  const entry = { auth: Buffer.from(`_token:${token}`).toString("base64") };
  assert.deepEqual(await readJson(dockerFile(env)), { ...others, auths: { ...others.auths, [host]: entry } });
  assert.deepEqual(await readJson(podmanFile(env)), { auths: { [host]: entry } });
  for (const file of [dockerFile(env), podmanFile(env)]) assert.equal((await stat(file)).mode & 0o777, 0o600, file);
  assert.match(
    stdout,
    new RegExp(
      `^docker, podman, skopeo and similar tools are signed in to ${host} until \\d\\d:\\d\\d.*, then sign in again \\(.*config\\.json.*auth\\.json\\)$`,
      "m",
    ),
  );
  assert.ok(!(stdout + stderr).includes(token));
  assert.equal(claimsOf(token).aud, world.url);

  const out = await gantryAnywhere(["logout", "--issuer", world.url], { env });
  assert.equal(out.code, 0, out.stderr);
  assert.deepEqual([await readJson(dockerFile(env)), await readJson(podmanFile(env))], [others, {}]);
  assert.match(out.stdout, new RegExp(`are signed out of ${host}`));
});

test("podman's file is REGISTRY_AUTH_FILE, in the runtime directory, or in the configuration directory; a symbolic link is followed", async () => {
  const { HOME = "", XDG_CACHE_HOME = "", XDG_CONFIG_HOME = "" } = await machine("places");
  const named = {
    HOME,
    XDG_CACHE_HOME,
    XDG_CONFIG_HOME,
    XDG_RUNTIME_DIR: "",
    REGISTRY_AUTH_FILE: join(HOME, "named.json"),
    DOCKER_CONFIG: join(HOME, "docker"),
  };
  await mkdir(join(HOME, "docker"));
  await writeFile(join(HOME, "kept.json"), "");
  await symlink(join(HOME, "kept.json"), join(HOME, "docker", "config.json"));
  writeRegistryLogin(named, host, { by: "token", token: "any" });
  assert.deepEqual(Object.keys(part(await readJson(join(HOME, "named.json")), "auths")), [host]);
  assert.deepEqual(Object.keys(part(await readJson(join(HOME, "kept.json")), "auths")), [host]);
  writeRegistryLogin({ HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR: "" }, host, { by: "helper" });
  assert.deepEqual(await readJson(join(XDG_CONFIG_HOME, "containers", "auth.json")), { credHelpers: { [host]: "gantry" } });
});

test("a file that cannot be merged is left unchanged and reported before the sign-in", async () => {
  const env = await machine("unmerged");
  await mkdir(dirname(dockerFile(env)), { recursive: true });
  const terminal = { environment: env, log: silent, out: process.stdout, err: process.stderr, status: 0 };
  const cases: readonly (readonly [content: string, option: string, says: RegExp])[] = [
    ['{"auths":', "--docker", /config\.json was not changed: it is not valid JSON$/],
    ['["auths"]', "--docker", /config\.json was not changed: it is not in docker's format$/],
    ['{"auths":[]}', "--docker-helper", /config\.json was not changed: it is not in docker's format$/],
    ['{"credsStore":"desktop"}', "--docker", /with docker-credential-desktop\. To use Gantry's helper for this host, run gantry login --docker-helper$/],
    [JSON.stringify({ credHelpers: { [host]: "vault" } }), "--docker-helper", /stores the credentials of \S+ with docker-credential-vault$/],
  ];
  for (const [content, option, message] of cases) {
    await writeFile(dockerFile(env), content);
    await assert.rejects(runCommand(["login", "--issuer", world.url, option], terminal), { name: "Fault", message });
    assert.equal(await readFile(dockerFile(env), "utf8"), content);
  }
  await assert.rejects(runCommand(["login", "--issuer", world.url, "--docker", "--docker-helper"], terminal), {
    message: /^--docker and --docker-helper cannot be used together$/,
  });
  await assert.rejects(runCommand(["login", "--issuer", world.url, "--docker", "--audience", "x"], terminal), {
    message: /^--audience cannot be used with --docker/,
  });
});

test("--docker-helper writes no token to a file, and the helper returns the sign-in's token for this host", async () => {
  const env = await machine("helper");
  writeRegistryLogin(env, host, { by: "token", token: "of before" });
  const { code, stdout, stderr } = await logIn(env, ["--docker-helper"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /while your sign-in lasts: docker-credential-gantry renews the token/);
  for (const file of [dockerFile(env), podmanFile(env)]) assert.deepEqual(await readJson(file), { credHelpers: { [host]: "gantry" } });
  const token = await readFile(cached(env, "oidc-token"), "utf8");
  for (const server of [host, `http://${host}`, `https://${host}/v2/`, `${host}\n`]) {
    const answer = await helper(env, "get", server);
    assert.deepEqual([answer.code, credentialsOf(answer)], [0, { ServerURL: server.trim(), Username: "_token", Secret: token }], answer.stderr);
  }
  assert.deepEqual(credentialsOf(await helper(env, "list")), { [host]: "_token" });
  // As `docker login` stores its credentials; the helper does not store a password.
  const stored = { ServerURL: host, Username: "_token", Secret: token };
  assert.deepEqual([(await helper(env, "store", JSON.stringify(stored))).code, await readFile(cached(env, "oidc-token"), "utf8")], [0, token]);
  const refused = await helper(env, "store", JSON.stringify({ ...stored, Username: "ada" }));
  assert.deepEqual([refused.code, /does not store passwords/.test(refused.stdout)], [1, true]);
  assert.equal((await helper(env, "erase", `https://${host}`)).code, 0);
  assert.deepEqual([(await helper(env, "get", host)).stdout, await helper(env, "list").then(({ stdout }) => stdout)], [notFound, "{}\n"]);
});

test("the helper's errors have the exact texts that clients compare", async () => {
  const env = await machine("words");
  const cases: readonly (readonly [action: string, input: string, out: string])[] = [
    ["get", "nobody.example", notFound],
    ["get", "", "no credentials server URL\n"],
    ["erase", "nobody.example", notFound],
    ["erase", " \n", "no credentials server URL\n"],
    ["store", '{"Username":"a","Secret":"b"}', "no credentials server URL\n"],
    ["store", '{"ServerURL":"a","Secret":"b"}', "no credentials username\n"],
    ["store", "{", "the credentials must be JSON\n"],
    ["fetch", "", "docker-credential-gantry: unknown action: fetch\n"],
  ];
  for (const [action, input, out] of cases) {
    const { code, stdout } = await helper(env, action, input);
    assert.deepEqual([code, stdout], [1, out], action);
  }
  assert.match((await helper(env, "version")).stdout, /^docker-credential-gantry \d/);
});

test("concurrent clients refresh the sign-in once, and a killed client does not block others", async () => {
  const env = await machine("renewed");
  await signedIn(env);
  await endSoon(env);
  const tokens = (await Promise.all(Array.from({ length: 6 }, () => helper(env, "get", host)))).map((answer) => text(credentialsOf(answer), "Secret"));
  assert.equal(new Set(tokens).size, 1);
  assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token: tokens[0] ?? "" })).code, 0);
  await endSoon(env);
  const lock = `${cached(env, "refresh-token")}.lock`;
  await writeFile(lock, "");
  await utimes(lock, 1, 1);
  const again = text(credentialsOf(await helper(env, "get", host)), "Secret");
  assert.equal((await world.call("iam.GroupsService/ListGroups", {}, { token: again })).code, 0);
  assert.equal((await stat(cached(env, "refresh-token"))).mode & 0o777, 0o600);
});

test("a sign-in that the server refuses is reported as not found with the reason, and is not retried", async () => {
  const env = await machine("ended");
  await signedIn(env, "grace");
  await writeFile(cached(env, "refresh-token"), Buffer.from(JSON.stringify({ exp: 1, id: "0".repeat(32), secret: "wrong" })).toString("base64"));
  await endSoon(env);
  const expired = (await readFile(cached(env, "oidc-token"), "utf8")).replace(
    /\.[^.]*\./,
    `.${Buffer.from(JSON.stringify({ iss: world.url, exp: 1 })).toString("base64url")}.`,
  );
  await writeFile(cached(env, "oidc-token"), expired);
  const first = await helper(env, "get", host);
  assert.deepEqual([first.code, first.stdout], [1, notFound]);
  assert.match(first.stderr, new RegExp(`^docker-credential-gantry: the sign-in at ${world.url} has expired: .*sign in again\n$`));
  await assert.rejects(stat(cached(env, "refresh-token")), { code: "ENOENT" });
  assert.match((await helper(env, "get", host)).stderr, /authentication required at \S+\. Run gantry login --server \S+\n$/);
});

const skopeo = (env: Record<string, string>, args: readonly string[]): { status: number | null; stdout: string } =>
  spawnSync("skopeo", args, { env: { PATH: process.env.PATH ?? "", ...env }, encoding: "utf8" });

test("skopeo finds the login in both formats", { skip: spawnSync("skopeo", ["--version"]).status !== 0 && "skopeo is not here" }, async () => {
  const env = await machine("skopeo");
  writeRegistryLogin(env, host, { by: "token", token: await signedIn(env) });
  assert.deepEqual(skopeo(env, ["login", "--get-login", host]).stdout, "_token\n");
  await rm(podmanFile(env));
  assert.deepEqual(skopeo(env, ["login", "--get-login", host]).stdout, "_token\n");
  writeRegistryLogin(env, host, { by: "helper" });
  const programs = join(folder, "programs");
  await mkdir(programs);
  await writeFile(join(programs, "docker-credential-gantry"), `#!/bin/sh\nexec "${process.execPath}" "${helperFile}" "$@"\n`);
  await chmod(join(programs, "docker-credential-gantry"), 0o755);
  const PATH = `${programs}${delimiter}${process.env.PATH ?? ""}`;
  assert.deepEqual(skopeo({ ...env, PATH }, ["login", "--get-login", host]).stdout, "_token\n");
  assert.notEqual(skopeo({ ...env, PATH }, ["login", "--get-login", "other.example"]).status, 0);
});

const pullTokens = (env: Record<string, string>, args: readonly string[]): Promise<Exit> =>
  gantryAnywhere(["iam", "pull-tokens", ...args, "--issuer", world.url], { env });

test("a pull token is an identity with a key, a binding to registry.pull and a JWT, and stops working when revoked", async () => {
  const env = { GANTRY_TOKEN: await world.token() };
  const made = await pullTokens(env, ["create", "--name", "ci", "--description", "the builds", "--ttl", "12h"]);
  assert.equal(made.code, 0, made.stderr);
  const [, uid = ""] = /^User name: +(\S+)$/m.exec(made.stdout) ?? [];
  const [, password = ""] = /^Password: +(\S+)$/m.exec(made.stdout) ?? [];
  assert.match(made.stdout, new RegExp(`docker login ${host} --username ${uid} --password-stdin`));

  const identity = await world.ok("iam.IdentitiesService/GetIdentity", { uid });
  const keys = part(identity, "staticKeys");
  const claims = claimsOf(password);
  assert.deepEqual([text(identity, "name"), text(identity, "description")], ["ci", "the builds"]);
  assert.deepEqual([claims.iss, claims.sub, claims.aud], [text(keys, "issuer"), text(keys, "subject"), world.url]);
  const endMs = Number(claims.exp) * 1000;
  assert.deepEqual([Date.parse(text(keys, "expirationTime")), Date.parse(text(identity, "expireTime"))], [endMs, endMs]);
  assert.ok(Math.abs(endMs - Date.now() - 12 * 3_600_000) < 60_000);
  assert.doesNotMatch(text(keys, "issuerKeys"), /"d"/);
  const bindings = await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uid });
  assert.deepEqual(
    (bindings.roleBindings as JsonObject[]).map((binding) => [text(part(binding, "role"), "uid"), text(binding, "uid").slice(0, 40)]),
    [[builtInRoleUid("registry.pull"), world.organization]],
  );

  const exchange = (): Promise<Response> =>
    fetch(`${world.url}/sts/exchange?${new URLSearchParams({ identity: uid, aud: world.url })}`, {
      method: "POST",
      headers: { authorization: `Bearer ${password}` },
    });
  const exchanged = (await (await exchange()).json()) as JsonObject;
  const token = text(exchanged, "token");
  assert.equal((await world.call("registry.ReposService/ListRepos", {}, { token })).code, 0);
  assert.equal((await world.call("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "x" } }, { token })).code, 7);

  const organization = text(await world.ok("iam.GroupsService/GetGroup", { uid: world.organization }), "name");
  assert.deepEqual(await pullTokens(env, ["list", "--group", organization]), await pullTokens(env, ["list", "--group", world.organization]));
  const listed = await pullTokens(env, ["list"]);
  assert.match(listed.stdout, new RegExp(`^UID +NAME +CREATED +EXPIRES +LAST USED +DESCRIPTION\\n${uid} +ci +\\d{4}-\\S+ +\\d{4}-\\S+ +\\S+ +the builds\\n$`));
  assert.ok(!listed.stdout.includes(password));
  const revoked = await pullTokens(env, ["revoke", uid]);
  assert.deepEqual([revoked.code, revoked.stdout], [0, `Revoked pull token ci (${uid})\n`]);
  assert.equal((await exchange()).status, 403);
  assert.equal((await world.call("registry.ReposService/ListRepos", {}, { token })).code, 16);
  assert.deepEqual((await world.ok("iam.RoleBindingsService/ListRoleBindings", { identity: uid })).roleBindings, []);
  assert.equal((await pullTokens(env, ["list", "--json"])).stdout, "");
});

test("pull tokens are created over the API with the caller's permissions, and a refusal leaves nothing behind", async () => {
  const env = await machine("signed in");
  await signedIn(env, "viewer");
  const refused = await pullTokens(env, ["create", "--group", world.organization]);
  assert.deepEqual([refused.code, refused.stdout], [5, ""]);
  assert.match(refused.stderr, /^gantry: .*identity\.create/);
  // Can create identities but no bindings.
  const maker = text(
    await world.ok("iam.RolesService/CreateRole", {
      parent: world.organization,
      role: { name: "maker", capabilities: ["CAP_IAM_IDENTITY_CREATE", "CAP_IAM_IDENTITY_DELETE", "CAP_IAM_GROUPS_LIST", "CAP_IAM_ROLES_LIST"] },
    }),
    "uid",
  );
  const identity = await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: world.organization,
    identity: { name: "maker", claimMatch: { issuer: "https://issuer.example.com", subject: "maker" } },
  });
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding: { identityUid: identity.uid ?? "", roleUid: maker } });
  const halfway = await pullTokens({ GANTRY_TOKEN: await world.token(text(identity, "uid")) }, ["create", "--name", "halfway"]);
  assert.deepEqual([halfway.code, halfway.stdout], [5, ""]);
  assert.match(halfway.stderr, /role_bindings\.create/);
  assert.doesNotMatch(halfway.stderr, /cannot be deleted/);
  const left = await world.ok("iam.IdentitiesService/ListIdentities", { name: "halfway" });
  assert.deepEqual(left.identities, []);
  const foreign = await pullTokens({ GANTRY_TOKEN: await world.token() }, ["revoke", text(identity, "uid")]);
  assert.match(foreign.stderr, /\(maker\) is not a pull token of \S+\. Nothing was changed/);
  assert.equal((await world.call("iam.IdentitiesService/GetIdentity", { uid: identity.uid ?? "" })).code, 0);
});

test("an invalid pull token request is refused in one line", async () => {
  const env = { GANTRY_TOKEN: await world.token() };
  for (const [args, says, status = 8] of [
    [["create", "--ttl", "2y"], /^gantry: --ttl must be a duration such as 90m, 12h or 30d, not "2y"\n$/],
    [["create", "--ttl", "366d"], /^gantry: --ttl must be at most 365d, not 366d\n$/],
    [["create", "--group", "here"], /^gantry: --group: group "here" not found\n$/, 6],
    [["create", "--name", "Not Allowed"], /^gantry: .*\n {2}name: name must match/],
    [["revoke", "ci"], /^gantry: UID must be the uid of a pull token, not "ci"\n$/],
    [["revoke"], /^gantry: uid of a pull token required/, 64],
  ] as const) {
    const { code, stdout, stderr } = await pullTokens(env, args);
    assert.deepEqual([code, stdout], [status, ""], args.join(" "));
    assert.match(stderr, says);
  }
  const nobody = await pullTokens({ XDG_CACHE_HOME: join(folder, "nobody") }, ["list"]);
  assert.match(nobody.stderr, /^gantry: authentication required at \S+\. Run gantry login --server \S+\n$/);
});
