// Attacks on users of client commands: redirecting the token, and controlling the terminal from the server.

import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gantryAnywhere } from "../anywhere.ts";
import { openWorld, type World } from "../world.ts";
import { type Exit, gantry, stopAll } from "../story/processes.ts";

let world: World;
let folder: string;
let operator: string;

before(async () => {
  world = await openWorld();
  operator = await world.token();
  folder = await mkdtemp(join(tmpdir(), "gantry-attacks-"));
});
after(async () => {
  await world?.close();
  await stopAll();
  if (folder) await rm(folder, { recursive: true, force: true });
});

interface Trap {
  readonly url: string;
  readonly tokens: string[];
  readonly server: Server;
}

const openTrap = async (answer: RequestListener): Promise<Trap> => {
  const tokens: string[] = [];
  const server = createServer((request, response) => {
    if (request.headers.authorization !== undefined) tokens.push(request.headers.authorization);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokens, server };
};

const newHome = async (): Promise<{ readonly home: string; readonly file: string; readonly env: Readonly<Record<string, string>> }> => {
  const home = await mkdtemp(join(folder, "home-"));
  await mkdir(join(home, "config", "gantry"), { recursive: true, mode: 0o700 });
  return {
    home,
    file: join(home, "config", "gantry", "contexts.json"),
    env: { HOME: home, XDG_CONFIG_HOME: join(home, "config"), XDG_CACHE_HOME: join(home, "cache") },
  };
};

const contextsWith = (server: string): string => JSON.stringify({ current: "acme", contexts: { acme: { server } } });

const storeSignIn = async (home: string, server: string, token: string): Promise<void> => {
  const place = join(home, "cache", "chainguard", server.replaceAll("/", "-"));
  await mkdir(place, { recursive: true });
  await writeFile(join(place, "oidc-token"), token);
};

test("attack 144: a context file that another user can write or replace is not read, since it chooses the token's recipient", async (t) => {
  const trap = await openTrap((_request, response) => void response.end("{}"));
  t.after(() => trap.server.close());
  const { home, file, env } = await newHome();
  await writeFile(file, contextsWith(trap.url), { mode: 0o600 });
  await storeSignIn(home, trap.url, operator);
  const whoami = (): Promise<Exit> => gantryAnywhere(["api", "GET", "/iam/v2/groups"], { env });
  assert.equal((await whoami()).code, 0, "one of its owner's is read");
  assert.equal(trap.tokens.length, 1);
  trap.tokens.length = 0;
  const refusals: [what: string, exit: Exit][] = [];
  for (const mode of [0o620, 0o602, 0o666]) {
    await chmod(file, mode);
    refusals.push([mode.toString(8), await whoami()]);
  }
  await chmod(file, 0o600);
  await chmod(join(file, ".."), 0o777);
  refusals.push(["its folder", await whoami()]);
  await chmod(join(file, ".."), 0o700);
  // A link counts as the file it points to, here a world-writable one.
  const shared = join(home, "shared.json");
  await writeFile(shared, contextsWith(trap.url));
  await chmod(shared, 0o666);
  await rm(file);
  await symlink(shared, file);
  refusals.push(["a link", await whoami()]);
  for (const [what, { code, stdout, stderr }] of refusals) {
    assert.deepEqual([code, stdout], [7, ""], what);
    assert.match(stderr, /^gantry: \S+ is not trusted: other users can write \S+ and redirect your token\. Run chmod go-w \S+\n$/, what);
  }
  assert.deepEqual(trap.tokens, []);
});

test("attack 144: files in the working directory, such as a cloned repository, choose neither server nor credential", async (t) => {
  const trap = await openTrap((_request, response) => void response.end("{}"));
  t.after(() => trap.server.close());
  const { home, env } = await newHome();
  const clone = join(home, "clone");
  for (const place of ["gantry", ".gantry", ".config/gantry", "config/gantry"]) {
    await mkdir(join(clone, place), { recursive: true });
    for (const name of ["contexts.json", "config.json", "config.yaml"]) await writeFile(join(clone, place, name), contextsWith(trap.url), { mode: 0o600 });
  }
  for (const name of [".env", "gantry.yaml", "contexts.json"]) await writeFile(join(clone, name), `GANTRY_SERVER=${trap.url}\n`);
  const asked = await gantry(["whoami"], { env: { ...env, GANTRY_TOKEN: operator, GANTRY_PUBLIC_URL: world.url }, cwd: clone });
  assert.equal(asked.code, 0, asked.stderr);
  for (const name of ["GANTRY_CONFIG", "XDG_CONFIG_HOME"]) {
    const { code, stderr } = await gantry(["whoami"], { env: { ...env, GANTRY_TOKEN: operator, [name]: "config" }, cwd: clone });
    assert.deepEqual([code, stderr], [7, `gantry: ${name} must be an absolute path, not "config"\n`]);
  }
  assert.deepEqual(trap.tokens, []);
});

test("attack 144: a token goes only to the server configured with it or named in it, and follows no redirect", async (t) => {
  const target = await openTrap((_request, response) => void response.end('{"groups":[]}'));
  const trap = await openTrap((request, response) => void response.writeHead(307, { location: `${target.url}${request.url}` }).end());
  t.after(() => [target, trap].map(({ server }) => server.close()));
  const { file, env } = await newHome();
  await writeFile(file, contextsWith(target.url), { mode: 0o600 });
  // The current context and the token in the environment belong to different servers.
  for (const variables of [{ GANTRY_TOKEN: operator }, { GANTRY_TOKEN: "opaque" }, { GANTRY_IDENTITY: world.organization, GANTRY_IDENTITY_TOKEN: operator }]) {
    const { code, stderr } = await gantryAnywhere(["api", "GET", "/iam/v2/groups"], { env: { ...env, ...variables } });
    assert.equal(code, 4, stderr);
    assert.match(
      stderr,
      /^gantry: the (?:identity )?token in GANTRY_\w+.* is not for \S+, the server of the context acme,? and was not sent there\. Set GANTRY_SERVER/,
    );
  }
  assert.deepEqual([target.tokens, trap.tokens], [[], []]);
  for (const args of [["api", "GET", "/iam/v2/groups"], ["api", "GET", "/iam/v2/groups", "--paginate"], ["whoami"], ["iam", "groups", "list"]]) {
    const { code, stdout } = await gantryAnywhere(args, { env: { ...env, GANTRY_SERVER: trap.url, GANTRY_TOKEN: operator } });
    assert.deepEqual([code !== 0, stdout], [true, ""], args.join(" "));
  }
  assert.ok(trap.tokens.length > 0);
  assert.deepEqual(target.tokens, []);
  for (const path of [
    `//${new URL(target.url).host}/x`,
    `/\\${new URL(target.url).host}/x`,
    `${target.url}/x`,
    `@${new URL(target.url).host}/x`,
    `.${target.url}`,
  ]) {
    const { code } = await gantryAnywhere(["api", "GET", path], { env: { ...env, GANTRY_SERVER: world.url, GANTRY_TOKEN: operator } });
    assert.equal(code, 64, path);
  }
  assert.deepEqual(target.tokens, []);
});

test("attack 144: a token for another audience is refused with an error that names the credential's source", async () => {
  const { home, file, env } = await newHome();
  await writeFile(file, contextsWith(world.url), { mode: 0o600 });
  const { authn } = world.server.application.services;
  const other = await authn.mint({ uid: world.organization, audience: ["registry.example.com"] });
  await storeSignIn(home, world.url, other);
  const [kept, given] = await Promise.all([gantryAnywhere(["whoami"], { env }), gantryAnywhere(["whoami"], { env: { ...env, GANTRY_TOKEN: other } })]);
  for (const { code, stdout } of [kept, given]) assert.deepEqual([code, stdout], [4, ""]);
  assert.match(kept.stderr, /audience.*\. Rejected: the sign-in of gantry login at \S+ \(context acme\)/);
  assert.match(given.stderr, /audience.*\. Rejected: the token in GANTRY_TOKEN, which takes precedence over gantry login/);
});

test("attack 145: no control sequence from a hostile server reaches the terminal", async (t) => {
  const evil = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202egnihtemos\rhidden";
  const uid = "0".repeat(40);
  const answers: Readonly<Record<string, unknown>> = {
    "/auth/v1/ok": {
      subject: uid,
      email: `ada@example.com${evil}`,
      profile: { name: `Ada${evil}` },
      audience: [`x${evil}`],
      expiry: `2030-01-01T00:00:00Z${evil}`,
      capabilities: [{ group: { id: uid, name: `acme${evil}` }, role: { name: `owner${evil}` } }],
    },
  };
  const hostile = await openTrap((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://127.0.0.1");
    response.setHeader("content-type", "application/json");
    const answer = answers[pathname];
    if (pathname === "/.well-known/openid-configuration")
      response.end(JSON.stringify({ issuer: hostile.url, device_authorization_endpoint: `${hostile.url}/device`, token_endpoint: `${hostile.url}/token` }));
    else if (pathname === "/oauth/providers")
      response.end(JSON.stringify({ providers: [uid, uid].map((each) => ({ uid: each, name: `idp${evil}`, host: `idp.example${evil}` })) }));
    else if (answer !== undefined) response.end(JSON.stringify(answer));
    else response.writeHead(400).end(JSON.stringify({ code: 3, message: `no${evil}`, error: `no${evil}`, details: [] }));
  });
  t.after(() => hostile.server.close());
  const { env } = await newHome();
  const ask = (args: readonly string[]): Promise<Exit> => gantryAnywhere(args, { env: { ...env, GANTRY_SERVER: hostile.url, GANTRY_TOKEN: operator } });
  const done = await Promise.all([
    ask(["whoami"]),
    ask(["whoami", "-o", "json"]),
    ask(["login"]),
    ask(["login", "--idp", uid]),
    ask(["login", "--identity", uid, "--identity-token", "x"]),
    ask(["api", "GET", "/iam/v2/groups"]),
    ask(["token", "--login", "--audience", "x"]),
    ask(["iam", "groups", "list"]),
    ask(["iam", "pull-tokens", "list"]),
  ]);
  assert.deepEqual(
    done.map(({ code }) => code),
    [0, 0, 3, 7, 8, 8, 8, 8, 8],
  );
  for (const { stdout, stderr } of done) {
    assert.ok((stdout + stderr).length > 10);
    // Lines end with a line feed; no other character moves the cursor.
    assert.doesNotMatch(stdout + stderr, /[\p{Cf}\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
  }
  assert.match(
    done[2]?.stderr ?? "",
    new RegExp(`several identity providers are available\\. Choose one with --idp:\\n(?:  idp .* at idp\\.example.* \\(${uid}\\)\\n){2}$`),
  );
});
