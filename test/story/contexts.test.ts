// Contexts and credentials of client commands: the command line against a real server, with sign-ins of a CI job of a real issuer.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { openWorld, type World } from "../world.ts";
import { type Exit, gantry, gantryFile, type Issuer, start, startIssuer, stopAll } from "./processes.ts";

let world: World;
let ticking: NodeJS.Timeout;
let folder: string;
let issuer: Issuer;
let identity: string;

before(async () => {
  world = await openWorld();
  // A terminal waits in real time.
  ticking = setInterval(() => {
    world.clock.now = Date.now();
  }, 100);
  folder = await mkdtemp(join(tmpdir(), "gantry-contexts-"));
  issuer = await startIssuer();
  identity = await newIdentity("job");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: world.organization,
    roleBinding: { identityUid: identity, roleUid: builtInRoleUid("viewer") },
  });
});
after(async () => {
  clearInterval(ticking);
  await world?.close();
  await stopAll();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const newIdentity = async (subject: string): Promise<string> =>
  text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: world.organization,
      identity: { name: subject, claimMatch: { issuer: issuer.url, subject, audience: world.url } },
    }),
    "uid",
  );

const jobToken = (claims: Readonly<Record<string, unknown>> = {}): Promise<string> => issuer.token({ sub: "job", aud: world.url, ...claims });

interface Machine {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Exit>;
  /** Runs a command and returns standard output; throws if it fails. */
  ok(...args: readonly string[]): Promise<string>;
}

const newMachine = async (): Promise<Machine> => {
  const home = await mkdtemp(join(folder, "home-"));
  const env = { HOME: home, XDG_CACHE_HOME: join(home, "cache"), XDG_CONFIG_HOME: join(home, "config") };
  const run: Machine["run"] = (args, more = {}) => gantryAnywhere(args, { env: { ...env, ...more } });
  return {
    home,
    env,
    run,
    async ok(...args) {
      const { code, stdout, stderr } = await run(args);
      assert.equal(code, 0, `gantry ${args.join(" ")}: ${stderr}`);
      return stdout;
    },
  };
};

const contextFile = ({ home }: Machine): string => join(home, "config", "gantry", "contexts.json");
const tokenPath = ({ home }: Machine, alias = ""): string => join(home, "cache", "chainguard", world.url.replaceAll("/", "-"), alias, "oidc-token");

const signInAsJob = async (machine: Machine, ...args: string[]): Promise<string> => {
  const file = join(machine.home, "token");
  await writeFile(file, await jobToken());
  await machine.ok("login", "--server", world.url, "--identity", identity, "--identity-token", `@${file}`, ...args);
  return file;
};

test("contexts are created, listed, switched and deleted in one private file that is replaced atomically", async () => {
  const machine = await newMachine();
  assert.equal(await machine.ok("context", "list"), "");
  assert.match(
    await machine.ok("context", "set", "acme", "--server", "https://gantry.example.com/", "--organization", "acme"),
    /^Context acme saved\. It is the current context\n$/,
  );
  await machine.ok("context", "set", "here", "--server", world.url);
  assert.equal(
    await machine.ok("context", "list"),
    `   NAME  SERVER${" ".repeat(22)}ORGANIZATION  IDENTITY\n*  acme  https://gantry.example.com  acme          -\n` +
      `   here  ${world.url.padEnd(26)}  -             -\n`,
  );
  assert.equal(await machine.ok("context", "use", "here"), `Current context: here (${world.url})\n`);
  assert.deepEqual(JSON.parse(await machine.ok("context", "show", "-o", "json")).serverFrom, "the context here");
  assert.deepEqual([(await stat(contextFile(machine))).mode & 0o777, (await stat(join(contextFile(machine), ".."))).mode & 0o777], [0o600, 0o700]);
  await machine.ok("context", "set", "acme", "--unset", "organization");
  await machine.ok("context", "delete", "here");
  assert.deepEqual(JSON.parse(await readFile(contextFile(machine), "utf8")), { contexts: { acme: { server: "https://gantry.example.com" } } });
});

test("two programs that change contexts concurrently lose no update", async () => {
  const machine = await newMachine();
  const names = ["a", "b", "c", "d", "e"];
  await Promise.all(names.map((name) => gantry(["context", "set", name, "--server", `https://${name}.example.com`], { env: machine.env })));
  assert.deepEqual(Object.keys(JSON.parse(await readFile(contextFile(machine), "utf8")).contexts).sort(), names);
});

test("flags override the environment, which overrides the current context, and output names the source", async () => {
  const machine = await newMachine();
  for (const name of ["current", "named", "flagged"])
    await machine.ok("context", "set", name, "--server", `https://${name}.example.com`, "--organization", name);
  const shown = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<readonly [string, string, string]> => {
    const { stdout, stderr } = await machine.run(["context", "show", "-o", "json", ...args], env);
    const { server, serverFrom, organization } = JSON.parse(stdout || "{}") as Record<string, string>;
    return [server ?? stderr, serverFrom ?? "", organization ?? ""];
  };
  const current = "https://current.example.com";
  const env = "https://env.example.com";
  const cases: readonly (readonly [args: readonly string[], environment: Readonly<Record<string, string>>, says: readonly [string, string, string]])[] = [
    [[], {}, [current, "the context current", "current"]],
    [[], { GANTRY_CONTEXT: "named" }, ["https://named.example.com", "the context named", "named"]],
    [["flagged"], { GANTRY_CONTEXT: "named", GANTRY_SERVER: env }, ["https://flagged.example.com", "the context flagged", "flagged"]],
    [[], { GANTRY_SERVER: env }, [env, "GANTRY_SERVER", ""]],
    [[], { GANTRY_SERVER: current, GANTRY_ORG: "other" }, [current, "GANTRY_SERVER", "other"]],
  ];
  await Promise.all(cases.map(async ([args, environment, says]) => assert.deepEqual(await shown(args, environment), says)));
  const mistyped = await machine.run(["context", "show"], { GANTRY_SERVR: "https://env.example.com" });
  assert.deepEqual(
    [mistyped.stdout, mistyped.stderr],
    ["", "gantry: GANTRY_SERVR is not a Gantry setting (did you mean GANTRY_SERVER?). List the settings with gantry help serve\n"],
  );
});

test("a job signs in with a token of its issuer, and commands act as its identity until logout", async () => {
  const machine = await newMachine();
  const file = join(machine.home, "token");
  await writeFile(file, `${await jobToken()}\n`);
  const said = await machine.ok("login", "--server", world.url, "--identity", identity, "--identity-token", `@${file}`);
  assert.match(
    said,
    new RegExp(`^Signed in to ${world.url} as the identity ${identity}\\nToken stored in ${tokenPath(machine)}, valid until .*\\nCurrent context: `),
  );
  assert.equal(claimsOf(await readFile(tokenPath(machine), "utf8")).sub, identity);
  const { contexts, current } = JSON.parse(await readFile(contextFile(machine), "utf8")) as { contexts: Record<string, unknown>; current: string };
  assert.deepEqual(contexts[current], { server: world.url, organization: world.organization, identity, identityTokenFile: file });

  const who = JSON.parse(await machine.ok("whoami", "-o", "json")) as Record<string, unknown>;
  assert.deepEqual([who.identity, who.server, who.context], [identity, world.url, current]);
  assert.deepEqual(
    (who.organizations as { uid: string }[]).map(({ uid }) => uid),
    [world.organization],
  );
  assert.match(await machine.ok("whoami"), new RegExp(`^identity +${identity}$`, "m"));
  assert.match(await machine.ok("whoami", "--offline"), new RegExp(`^identity +${identity}$`, "m"));
  assert.equal(JSON.parse(await machine.ok("api", "GET", `/iam/v2/groups/${world.organization}`)).uid, world.organization);

  await writeFile(tokenPath(machine), "ended");
  await writeFile(file, await jobToken({ note: "another" }));
  await machine.ok("whoami");
  assert.equal(claimsOf(await readFile(tokenPath(machine), "utf8")).sub, identity);
  await writeFile(file, await jobToken({ sub: "somebody else" }));
  await writeFile(tokenPath(machine), "ended");
  const refused = await machine.run(["whoami"]);
  assert.deepEqual([refused.code, refused.stdout], [5, ""]);
  assert.match(refused.stderr, new RegExp(`^gantry: the identity token in ${file} cannot be exchanged: .*invalid "sub"`));

  await machine.ok("logout");
  await writeFile(file, await jobToken());
  const out = await machine.run(["whoami"]);
  assert.deepEqual([out.code, out.stdout], [4, ""]);
  assert.match(out.stderr, /authentication required at \S+\. Run gantry login --context \S+/);
  assert.equal((await machine.run(["whoami", "--offline"])).code, 4);
});

test("an identity token comes from the option, a file, standard input or the environment, without a prompt", async () => {
  const machine = await newMachine();
  const login = ["login", "--server", world.url, "--identity", identity];
  assert.equal((await machine.run([...login, "--identity-token", await jobToken()])).code, 0);
  assert.equal((await machine.run(login, { GANTRY_IDENTITY_TOKEN: await jobToken() })).code, 0);
  const program = start(gantryFile, [...login, "--identity-token", "-"], { env: machine.env });
  program.child.stdin?.end(await jobToken());
  assert.equal((await program.ended).code, 0);
  const none = await machine.run(login);
  assert.deepEqual([none.code, none.stdout], [64, ""]);
  const absent = await machine.run([...login, "--identity-token", "@absent"]);
  assert.equal(absent.code, 7);
  assert.match(absent.stderr, /^gantry: --identity-token must name a readable file: /);
});

test("a token in the environment is exchanged or sent as is, overrides the sign-in, and errors name its source", async () => {
  const machine = await newMachine();
  await signInAsJob(machine);
  const other = await newIdentity("other");
  const operator = await world.token();
  const subjectOf = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
    const { code, stdout, stderr } = await machine.run(["whoami", "-o", "json"], env);
    return code === 0 ? (JSON.parse(stdout) as Record<string, unknown>).identity : stderr;
  };
  assert.equal(await subjectOf({}), identity);
  assert.equal(await subjectOf({ GANTRY_TOKEN: operator }), claimsOf(operator).sub);
  const file = join(machine.home, "other");
  await writeFile(file, operator);
  assert.equal(await subjectOf({ GANTRY_TOKEN_FILE: file }), claimsOf(operator).sub);
  assert.equal(await subjectOf({ GANTRY_IDENTITY: other, GANTRY_IDENTITY_TOKEN: await jobToken({ sub: "other" }) }), other);
  await writeFile(file, await jobToken({ sub: "other" }));
  assert.equal(await subjectOf({ GANTRY_IDENTITY: other, GANTRY_IDENTITY_TOKEN_FILE: file }), other);
  const refused = await machine.run(["whoami"], { GANTRY_TOKEN: `${operator}x` });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /\. Rejected: the token in GANTRY_TOKEN, which takes precedence over gantry login\n/);
});

test("two sign-ins at one server coexist, each with its context, and the first uses the platform's token path", async () => {
  const machine = await newMachine();
  await signInAsJob(machine, "--context", "first");
  const second = await newIdentity("second");
  const said = await machine.run([
    "login",
    "--server",
    world.url,
    "--context",
    "second",
    "--identity",
    second,
    "--identity-token",
    await jobToken({ sub: "second" }),
  ]);
  assert.equal(said.code, 0, said.stderr);
  assert.match(said.stdout, /^Current context: second \(previous: first; to go back: gantry context use first\)\n$/m);
  assert.equal(claimsOf(await readFile(tokenPath(machine), "utf8")).sub, identity);
  assert.equal(claimsOf(await readFile(tokenPath(machine, "second"), "utf8")).sub, second);
  const whoIs = async (...args: string[]): Promise<unknown> => JSON.parse(await machine.ok("whoami", "-o", "json", ...args)).identity;
  assert.deepEqual([await whoIs(), await whoIs("--context", "first")], [second, identity]);
  await machine.ok("context", "delete", "second");
  await assert.rejects(stat(tokenPath(machine, "second")), /ENOENT/);
  assert.equal(await whoIs("--context", "first"), identity);
});

test("gantry token --login prints the sign-in's token or a restricted one; plain gantry token prints the operator's", async () => {
  const machine = await newMachine();
  await signInAsJob(machine);
  const own = (await machine.ok("token", "--login")).trim();
  assert.equal(own, await readFile(tokenPath(machine), "utf8"));
  const narrow = (
    await machine.ok("token", "--login", "--capabilities", "repo.list,tag.list", "--scope", world.organization, "--audience", "registry.example.com")
  ).trim();
  const { sub, aud, gantry_cap: capabilities, gantry_scopes: scopes } = claimsOf(narrow);
  assert.deepEqual([sub, aud, capabilities, scopes], [identity, "registry.example.com", ["repo.list", "tag.list"], [world.organization]]);
  assert.ok(Number(claimsOf(narrow).exp) <= Number(claimsOf(own).exp));
  for (const [args, says] of [
    [["--scope", world.organization], /--scope requires --login/],
    [["--login", "--identity", identity], /--login and --identity cannot be used together/],
  ] as const) {
    const { code, stderr } = await machine.run(["token", ...args]);
    assert.equal(code, 64);
    assert.match(stderr, says);
  }
  const environment = await machine.run(["token", "--login"], { GANTRY_TOKEN: await world.token() });
  assert.match(environment.stderr, /^Using the token in GANTRY_TOKEN, which takes precedence over gantry login\.\n$/);
  const unknown = await machine.run(["token", "--login", "--capabilities", "repo.fly"]);
  assert.deepEqual([unknown.code, unknown.stdout], [8, ""]);
});

test("gantry api calls any path with fields, bodies, headers and pages, and prints errors like other commands", async () => {
  const machine = await newMachine();
  const env = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await world.token() };
  const api = (...args: string[]): Promise<Exit> => machine.run(["api", ...args], env);
  const made = JSON.parse((await api("POST", `/iam/v2/groups/${world.organization}`, "-f", "name=team")).stdout) as { uid: string };
  for (const name of ["one", "two", "three"])
    assert.equal((await api("POST", `/iam/v2/groups/${made.uid}`, "-d", JSON.stringify({ name }), "-H", `Idempotency-Key: ${name}`)).code, 0);
  const query = ["-f", `uidp.descendants_of=${made.uid}`, "-f", "page_size=2", "-f", "order_by=name"];
  const page = JSON.parse((await api("GET", "/iam/v2/groups", ...query)).stdout) as { groups: unknown[] };
  const all = JSON.parse((await api("GET", "/iam/v2/groups", ...query, "--paginate")).stdout) as { groups: { name: string }[]; nextPageToken?: string };
  assert.equal(page.groups.length, 2);
  assert.deepEqual([all.groups.map(({ name }) => name), all.nextPageToken], [["one", "three", "two"], undefined]);
  const shown = await api("get", `/iam/v2/groups/${made.uid}`, "-i");
  assert.match(shown.stdout, /^HTTP 200 OK\n(?:.+\n)*etag: .+\n(?:.+\n)*\n\{/);
  const absent = await api("GET", `/iam/v2/groups/${made.uid}/00000000000000ff`);
  assert.deepEqual([absent.code, absent.stdout], [6, ""]);
  assert.match(absent.stderr, /not found/);
  const open = await machine.run(["api", "GET", "/healthz", "--no-token"], { GANTRY_SERVER: world.url });
  // A path alone is a GET, as in other clients; a bare word is not a path.
  assert.equal((await machine.run(["api", "/healthz", "--no-token"], { GANTRY_SERVER: world.url })).stdout, open.stdout);
  const alone = await machine.run(["api", "get"], { GANTRY_SERVER: world.url });
  assert.match(alone.stderr, /^gantry: path required, after a method other than GET/);
  assert.equal(alone.code, 64);
  assert.equal(open.code, 0);
  const refusals = [
    [["GET", "//evil.example/x"], 64],
    [["GET", "/\\evil.example/x"], 64],
    [["GET", "https://evil.example/x"], 64],
    [["GET", "iam/v2/groups"], 64],
    [["FETCH", "/iam/v2/groups"], 64],
    [["GET", "/iam/v2/groups", "-H", "Authorization: Bearer x"], 64],
    [["GET", "/iam/v2/groups", "-f", "name"], 64],
    [["POST", "/iam/v2/groups", "--paginate"], 64],
    [["GET"], 64],
    [["GET", "/iam/v2/nothing"], 6],
    [["POST", `/iam/v2/groups/${made.uid}`, "-f", "nme=x"], 8],
  ] as const;
  await Promise.all(refusals.map(async ([args, code]) => assert.equal((await api(...args)).code, code, args.join(" "))));
});

test("gantry iam capabilities list needs no server and lists the contract's capabilities", async () => {
  const machine = await newMachine();
  const names = (await machine.ok("iam", "capabilities", "list", "-o", "name")).trim().split("\n");
  assert.ok(names.includes("role_bindings.create") && names.length > 100, String(names.length));
  assert.deepEqual((await machine.ok("iam", "capabilities", "list", "--resource", "repo", "--action", "list", "-o", "name")).trim(), "repo.list");
});

const newProvider = async (name: string): Promise<string> =>
  text(
    await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
      parent: world.organization,
      identityProvider: { name, defaultRole: builtInRoleUid("viewer"), oidc: { issuer: issuer.url, clientId: "gantry", clientSecret: "secret" } },
    }),
    "uid",
  );

/** Runs the command in a pseudo-terminal of util-linux; its input is what the user types. */
const atTerminal = (machine: Machine, args: readonly string[]): ChildProcess => {
  const line = [process.execPath, gantryFile, ...args].map((word) => `'${word}'`).join(" ");
  return spawn("script", ["--quiet", "--return", "--flush", "--command", line, "/dev/null"], {
    env: { ...machine.env, PATH: process.env.PATH ?? "", TERM: "xterm" },
    stdio: ["pipe", "pipe", "inherit"],
  });
};

test("with several identity providers a user at a terminal chooses one, and a program gets their list as an error", async (t) => {
  const machine = await newMachine();
  const uids = [await newProvider("our people"), await newProvider("guests")];
  const login = ["login", "--server", world.url, "--headless"];
  const none = await machine.run(login);
  assert.deepEqual([none.code, none.stdout], [3, ""]);
  assert.match(none.stderr, /^gantry: several identity providers are available\. Choose one with --idp:\n/);
  for (const uid of uids) assert.match(none.stderr, new RegExp(`^  .+ at 127\\.0\\.0\\.1:\\d+ \\(${uid}\\)$`, "m"));

  const terminal = atTerminal(machine, [...login, "--invite-code", "a-code"]);
  let shown = "";
  const toType: (readonly [asked: RegExp, typed: string])[] = [
    [/Number \(1 to 2\): $/, "2\n"],
    [/Waiting for the browser/, "\u0003"],
  ];
  terminal.stdout?.setEncoding("utf8");
  t.after(() => terminal.kill("SIGKILL"));
  for await (const chunk of terminal.stdout ?? []) {
    shown += String(chunk);
    const [next] = toType;
    if (next?.[0].test(shown)) {
      toType.shift();
      terminal.stdin?.write(next[1]);
    }
  }
  const second = /^ {2}2 {2}.+ \((\S+)\)/m.exec(shown)?.[1] ?? "";
  assert.ok(uids.includes(second), shown);
  const address = new URL(/^ {4}(http\S+)/m.exec(shown)?.[1] ?? "");
  assert.deepEqual([address.searchParams.get("idp_id"), address.searchParams.get("invite")], [second, "a-code"]);
  assert.match(shown, /Sign-in canceled\./);

  const silent = atTerminal(machine, [...login, "--no-input"]);
  const [status] = (await once(silent, "close")) as [number];
  assert.equal(status, 3);
});
