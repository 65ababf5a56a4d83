// The operator's command line: real processes on an embedded database, and in-process calls for most short commands.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { existsSync, readFileSync } from "node:fs";
import { decodeJwt } from "jose";
import { readSettings, settingNames, startServer } from "#application";
import { Fault } from "#base/fault.ts";
import { silent } from "#base/log.ts";
import { gantryAnywhere } from "../anywhere.ts";
import { narrow } from "../../cli/narrow.ts";
import { freshDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { inShares } from "../length.ts";
import { column, http, items } from "./protocols.ts";
import { type Exit, gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";

const packageFile = JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", "package.json"), "utf8")) as { version: string };

let folder: string;
let environment: Record<string, string>;
let url: string;
let running: Program | undefined;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-command-"));
  // As root, the database runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  environment = { GANTRY_DATA: join(folder, "data"), GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_SERVICE_DOMAIN: "example.test" };
});
after(async () => {
  await stopAll();
  await rm(folder, { recursive: true, force: true });
});

const serve = (options: { readonly group?: boolean; readonly node?: string } = {}): Program => {
  running = start(gantryFile, ["serve"], { env: environment, ...options });
  return running;
};
const command = (...args: string[]) => gantry(args, { env: environment });

/** Runs each command line as a terminal does. */
const runLines = (lines: readonly (readonly string[])[]): Promise<readonly Exit[]> =>
  Promise.all(lines.map((args) => gantryAnywhere(args, { env: environment })));

const startsServe = inShares(4);

/** Runs `gantry serve` and expects a failure; most short runs call the function in-process. */
const refusedStart = async (env: Readonly<Record<string, string>>): Promise<Pick<Exit, "code" | "stdout" | "stderr">> => {
  if (startsServe()) return gantry(["serve"], { env });
  const lines: string[] = [];
  try {
    const server = await startServer(readSettings(env), { log: silent, progress: (line) => void lines.push(line) });
    await server.close();
    return { code: 0, stdout: "", stderr: "it started" };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code === "INTERNAL") throw thrown;
    return { code: 1, stdout: "", stderr: [...lines, `gantry: ${thrown.message}`, ""].join("\n") };
  }
};

const commandNames = [
  "serve",
  "login",
  "logout",
  "whoami",
  "context",
  "api",
  "completion",
  "mcp",
  "token",
  "register",
  "suspend",
  "resume",
  "import",
  "export",
  "explain",
  "who-can",
  "admin",
  "config",
  "doctor",
  "version",
  "open",
  "health",
] as const;

/** Groups of commands generated from the contract (test/conformance/commands.test.ts). */
const domainNames = [
  "iam",
  "registry",
  "advisory",
  "vulnerabilities",
  "findings",
  "libraries",
  "events",
  "audit",
  "names",
  "deletions",
  "sessions",
  "auth",
  "oidc",
  "ping",
] as const;

test("gantry --version and --help work without settings", async () => {
  const [version, shown, asked, nothing] = await Promise.all([gantry(["--version"]), gantry(["--help"]), gantry(["help"]), gantry([])]);
  assert.deepEqual([version.code, version.stdout, version.stderr], [0, `gantry ${packageFile.version}\n`, ""]);
  assert.deepEqual([shown.code, shown.stderr], [0, ""]);
  assert.match(shown.stdout, /^gantry: a self-hosted server/);
  const listed = [...shown.stdout.matchAll(/^ {2}(\S+) {2,}\S/gm)].map(([, name]) => name);
  assert.deepEqual(listed, [...commandNames, ...domainNames]);
  assert.deepEqual([asked.code, asked.stdout, nothing.code, nothing.stdout], [0, shown.stdout, 1, shown.stdout]);
});

const helpOf = new Map<string, string>();
test("the help of every command shows usage, all options and an example", async () => {
  const help = await runLines(commandNames.map((name) => ["help", name]));
  for (const [index, name] of commandNames.entries()) {
    const { code, stdout, stderr } = help[index] ?? { code: 1, stdout: "", stderr: "" };
    assert.deepEqual([code, stderr], [0, ""], name);
    assert.match(stdout, new RegExp(`^gantry ${name}\\b`));
    assert.match(stdout, /^ {2}Examples?:/m, name);
    for (const section of stdout.split(/^(?=gantry )/m)) {
      const [usage = ""] = section.split("\n");
      for (const [option] of usage.matchAll(/--[a-z-]+/g)) assert.match(section, new RegExp(`^ {4}${option}(?: [A-Z]+)? {2,}\\S`, "m"), `${name} ${option}`);
      for (const [, option = ""] of section.matchAll(/^ {4}(--[a-z-]+)/gm)) assert.ok(usage.includes(option), `${name} ${option}`);
    }
    helpOf.set(name, stdout);
  }
  const [byOption, before, withinGroup] = await Promise.all([gantry(["token", "--help"]), gantry(["--help", "token"]), gantry(["events", "tail", "-h"])]);
  assert.deepEqual([byOption.stdout, before.stdout], [helpOf.get("token"), helpOf.get("token")]);
  assert.match(withinGroup.stdout, /^gantry events tail \[--group UID\]/);
});

test("in a terminal of 80 columns no line of help is longer, except examples", () => {
  assert.ok(helpOf.size > 0);
  for (const [name, text] of helpOf)
    for (const line of narrow(text, 80).split("\n")) assert.ok(line.length <= 80 || /gantry |https:/.test(line), `${name}: ${line}`);
});

test("gantry help serve names the settings", () => {
  for (const variable of [
    "GANTRY_LISTEN",
    "GANTRY_DATA",
    "DATABASE_URL",
    "GANTRY_PUBLIC_URL",
    "GANTRY_TLS_CERT",
    "GANTRY_SERVICE_DOMAIN",
    "GANTRY_EGRESS_ALLOW",
  ])
    assert.ok(helpOf.get("serve")?.includes(variable), variable);
});

/** Returns a Node older than Gantry requires, as a machine may have that runs `npm start`. */
const olderNode = (): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .map((directory) => join(directory, "node"))
    .filter((file) => existsSync(file))
    .find((file) => Number(execFileSync(file, ["--version"], { encoding: "utf8" }).replace(/^v(\d+).*\s*$/, "$1")) < 24);

test("an old Node starts the command with the Node that npm installed", { skip: olderNode() === undefined && "no Node older than 24 here" }, async () => {
  const { code, stdout } = await gantry(["--version"], { node: olderNode() ?? "" });
  assert.deepEqual([code, stdout], [0, `gantry ${packageFile.version}\n`]);
});

test("an invalid command fails with one line", async () => {
  // An invalid value is exit code 1 for commands that run on the server's machine.
  const wrong: readonly (readonly [args: readonly string[], says: RegExp, status?: number])[] = [
    [["launch"], /^gantry: unknown command "launch"[^\n]*\. Run gantry --help for a list\n$/],
    [["serve", "8080"], /^gantry: serve takes no arguments[^\n]*\n$/],
    [["health", "--loud"], /^gantry: unknown option '--loud'[^\n]*\n$/],
    [["lgoin"], /^gantry: unknown command "lgoin" \(did you mean login\?\)\. Run gantry --help for a list\n$/],
    [["help", "launch"], /^gantry: unknown command "launch"[^\n]*\. Run gantry --help for a list\n$/],
    [["--verison"], /^gantry: unknown option '--verison' \(did you mean --version\?\)[^\n]*\n$/],
    [["token", "--audiense", "x"], /^gantry: unknown option '--audiense' \(did you mean --audience\?\)\. Run gantry help token for usage\n$/],
    [["token", "--version"], /^gantry: unknown option '--version'[^\n]*\n$/],
    [["token", "--identity"], /^gantry: option '--identity <UID>' argument missing[^\n]*\n$/],
    [["completion", "tcsh"], /^gantry: command-argument value .tcsh. is invalid [^\n]* bash, zsh, fish\. Run gantry help completion for usage\n$/],
    [["suspend"], /^gantry: one organization required: gantry suspend ORGANIZATION\n$/],
    [["resume", "one", "other"], /^gantry: one organization required: gantry resume ORGANIZATION\n$/],
    [["explain", "somebody", "repo.list"], /^gantry: identity, action and group required: gantry explain IDENTITY ACTION GROUP\n$/],
    [["who-can", "repo.list", "here", "there"], /^gantry: capability and group required: gantry who-can CAPABILITY GROUP\n$/],
    [["import"], /^gantry: cannot import ""; must be one of oci, registry, advisories, vulnerabilities, libraries, images, lifecycle, reports, undo\n$/, 1],
    [["import", "advisories"], /^gantry: at least one file, directory or URL required: gantry import advisories SOURCE\n$/, 1],
    [["import", "registry", "folder", "--public"], /^gantry: --public does not apply to gantry import registry\n$/, 1],
    [["register", "--issuer", "https://issuer.example.com", "--subject", ""], /^gantry: --issuer and --subject are required\n$/, 1],
    [["audit"], /^gantry: subcommand required: verify, export, entries\. Run gantry audit --help for details\n$/],
    [["admin", "quota", "show"], /^gantry: subcommand required: list, set or unset\. Run gantry help admin quota for details\n$/],
    [["admin", "quota", "set", "repos"], /^gantry: quota and value required: gantry admin quota set NAME VALUE\n$/],
    [["admin", "quota", "set", "repo", "1"], /^gantry: unknown quota "repo"; must be one of groups, identities, .*scim-writes\n$/, 1],
    [["admin", "quota", "set", "repos", "many"], /^gantry: repos must be a whole number from 0 to 1000000000, not "many"\n$/, 1],
    [["admin", "quota", "set", "--", "repos", "-1"], /^gantry: repos must be a whole number from 0 to 1000000000, not "-1"\n$/, 1],
    [["admin", "quota", "set", "repos", "1000000001"], /^gantry: repos must be a whole number from 0 to 1000000000, not "1000000001"\n$/, 1],
    [["admin", "quota", "set", "identity-requests", "0"], /^gantry: identity-requests must be a whole number from 1 to 1000000, not "0"\n$/, 1],
    [["admin", "quota", "set", "repos", "1", "--organization", "acme"], /^gantry: --organization must be a uid, not "acme"\n$/, 1],
    [["admin"], /^gantry: subcommand required: migrate, backup, restore, quota, end-of-life, registry or names\. Run gantry help admin for details\n$/],
    [["audit", "verify", "all"], /^gantry: subcommand required: verify or export\. Run gantry help audit for details\n$/],
  ];
  const done = await runLines(wrong.map(([args]) => args));
  for (const [index, [args, says, status = 64]] of wrong.entries()) {
    assert.deepEqual([done[index]?.code, done[index]?.stdout], [status, ""], args.join(" "));
    assert.match(done[index]?.stderr ?? "", says);
  }
});

const wrongSettings: readonly (readonly [variable: string, value: string, says: RegExp, besides?: Readonly<Record<string, string>>])[] = [
  ["GANTRY_LISTEN", "8080", /HOST:PORT/],
  ["GANTRY_LISTEN", "127.0.0.1:70000", /HOST:PORT/],
  ["GANTRY_LISTEN", "::1:8080", /HOST:PORT/],
  ["GANTRY_LISTEN", "127.0.0.1:0", /HOST:PORT/],
  ["GANTRY_LISTEN", ":8080", /names no host: 127\.0\.0\.1:8080 for local connections only/],
  ["GANTRY_DELIVERY_DELAYS", ",", /must be seconds between attempts/],
  ["GANTRY_LISTN", "127.0.0.1:8080", /is not a Gantry setting \(did you mean GANTRY_LISTEN\?\)/],
  ["GANTRY_PUBLIC_URI", "", /is not a Gantry setting \(did you mean GANTRY_PUBLIC_URL\?\)/],
  ["GANTRY_COLOUR", "red", /is not a Gantry setting\. List the settings with gantry help serve/],
  ["GANTRY_SERVICE_HOSTS", "10.0.0.1", /is not a Gantry setting/],
  ["GANTRY_PORT_HTTP", "8080", /is not a Gantry setting/],
  ["GANTRY_PUBLIC_URL", "gantry.example.com", /must be an http or https address/],
  ["GANTRY_PUBLIC_URL", "ftp://gantry.example.com", /must be an http or https address/],
  ["GANTRY_PUBLIC_URL", "https://me:secret@gantry.example.com", /without user/],
  ["GANTRY_PUBLIC_URL", "https://gantry.example.com/?a=1", /without user, query/],
  ["GANTRY_SERVICE_DOMAIN", "Example Test", /must be a domain name/],
  ["GANTRY_OPEN_ORGANIZATIONS", "yes please", /must be true or false/],
  ["GANTRY_V1_LIST_MAX", "0", /must be a number from 1 to 9999999/],
  ["GANTRY_LOG_LEVEL", "loud", /^GANTRY_LOG_LEVEL must be one of info, warn, error/],
  ["GANTRY_METRICS_LISTEN", "9464", /^GANTRY_METRICS_LISTEN must be HOST:PORT/],
  ["GANTRY_METRICS_LISTEN", ":9464", /^GANTRY_METRICS_LISTEN names no host/],
  ["GANTRY_METRICS_TOKEN_FILE", "/no/such/file", /must name a readable file/],
  ["GANTRY_METRICS_TOKEN_FILE", gantryFile, /must contain one token of at least 24 characters/],
  ["GANTRY_CORS_ORIGINS", "https://console.example.com/path", /must contain origins/],
  ["GANTRY_CLIENTS", "agent=http://agent.example.com/", /must contain entries such as/],
  ["GANTRY_TRUSTED_PROXIES", "10.0.0.0/8,proxy.example.com", /must contain addresses or ranges .* not "proxy.example.com"/],
  ["GANTRY_TRUSTED_PROXIES", "10.0.0.0/33", /must contain addresses or ranges/],
  ["GANTRY_TRUSTED_PROXIES", "2001:db8::/129", /must contain addresses or ranges/],
  ["GANTRY_CONNECTIONS_PER_ADDRESS", "0", /must be a number of connections from 1 to 1000000, not "0"/],
  ["GANTRY_CONNECTIONS_PER_ADDRESS", "many", /must be a number of connections from 1 to 1000000, not "many"/],
  ["GANTRY_TRUSTED_PROXIES", "10.1/16", /must contain addresses or ranges/],
  ["GANTRY_TLS_CERT", "/no/such/file", /must name a readable file/, { GANTRY_TLS_KEY: "/no/such/file" }],
  ["GANTRY_TLS_CERT", gantryFile, /must contain a PEM certificate/, { GANTRY_TLS_KEY: gantryFile }],
  ["GANTRY_TLS_KEY", gantryFile, /^GANTRY_TLS_CERT is required: TLS needs a/],
  ["GANTRY_TLS_CERT", gantryFile, /^GANTRY_TLS_KEY is required: TLS needs a/],
  ["GANTRY_MIGRATE_URL", "postgresql:///gantry", /requires DATABASE_URL/],
  ["DATABASE_URL", "postgresql:///gantry", /^GANTRY_SECRET_KEY_FILE is missing: with DATABASE_URL/],
];

test("trusted proxies are IPv4 and IPv6 addresses and ranges; there are none by default", () => {
  const { trustedProxies } = readSettings({ GANTRY_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.1,2001:db8::/32" });
  for (const address of ["10.1.2.3", "192.0.2.1"]) assert.ok(trustedProxies.check(address, "ipv4"), address);
  assert.ok(trustedProxies.check("2001:db8::7", "ipv6"));
  assert.ok(!trustedProxies.check("192.0.2.2", "ipv4"));
  assert.deepEqual(readSettings({}).trustedProxies.rules, []);
});

test("variables that Kubernetes sets for a service named gantry and client variables are ignored", () => {
  const links = {
    GANTRY_SERVICE_HOST: "10.96.0.7",
    GANTRY_SERVICE_PORT: "8080",
    GANTRY_SERVICE_PORT_HTTP: "8080",
    GANTRY_PORT: "tcp://10.96.0.7:8080",
    GANTRY_PORT_8080_TCP: "tcp://10.96.0.7:8080",
    GANTRY_PORT_8080_TCP_PROTO: "tcp",
    GANTRY_PORT_8080_TCP_PORT: "8080",
    GANTRY_PORT_8080_TCP_ADDR: "10.96.0.7",
    GANTRY_POSTGRES_SERVICE_HOST: "10.96.0.8",
    GANTRY_TOKEN: "a.b.c",
    GANTRY_TOKEN_FILE: "/run/token",
  };
  assert.deepEqual(readSettings(links), readSettings({}));
});

test("gantry config shows each setting with its source, without passwords", async () => {
  const { code, stdout } = await gantry(["config", "--json"], {
    env: {
      DATABASE_URL: "postgresql://me:se@cret@db.example.com/gantry?password=hidden-too&application_name=x",
      GANTRY_SECRET_KEY_FILE: "/etc/gantry/key",
      GANTRY_LISTEN: "[::]:9000",
    },
  });
  const shown = JSON.parse(stdout) as { readonly name: string; readonly value: string; readonly from: string }[];
  assert.equal(code, 0);
  assert.deepEqual(
    shown.map(({ name }) => name),
    settingNames,
  );
  const of = (name: string): string => shown.filter((each) => each.name === name).map(({ from, value }) => `${from}: ${value}`)[0] ?? "";
  assert.equal(of("GANTRY_LISTEN"), "environment: [::]:9000");
  assert.equal(of("GANTRY_PUBLIC_URL"), "default: http://localhost:9000");
  assert.equal(of("DATABASE_URL"), "environment: postgresql://me:***@db.example.com/gantry?password=***&application_name=x");
  assert.equal(of("GANTRY_MIGRATE_URL"), "default: postgresql://me:***@db.example.com/gantry?password=***&application_name=x");
  assert.ok(!/cret|hidden/.test(stdout));
});

test("an invalid setting is reported before any data directory or database is created", async () => {
  const data = join(folder, "never");
  const feeds = join(folder, "feeds.yaml");
  await writeFile(feeds, "feeds: [{kind: nothing}]");
  // The JSON parser's message quotes several lines of this file.
  const prose = join(folder, "prose.md");
  await writeFile(prose, "# No JSON\n\n\nat all\n");
  const wrong: readonly Record<string, string>[] = [
    { GANTRY_EGRESS_ALLOW: "nonsense" },
    { GANTRY_ISSUER_HOSTS: "https://*" },
    { GANTRY_MAIL_ISSUERS: "nonsense" },
    { GANTRY_FEEDS: feeds },
    { GANTRY_FEEDS: join(folder, "absent.yaml") },
    { GANTRY_SECRET_KEY_FILE: join(folder, "absent") },
    { GANTRY_TERMS_FILE: prose },
    { GANTRY_AUDIT_TARGETS: prose },
  ];
  const done = await Promise.all(wrong.map((env) => refusedStart({ GANTRY_DATA: data, ...env })));
  for (const [index, env] of wrong.entries()) {
    assert.match(done[index]?.stderr ?? "", new RegExp(`^gantry: .*${Object.keys(env)[0]}.*\n$`), JSON.stringify(env));
    assert.equal(done[index]?.code, 1);
  }
  await assert.rejects(stat(data), /ENOENT/);
});

for (const [variable, value, says, besides = {}] of wrongSettings)
  test(`${variable}=${value.replace(/^\/.*\//, "…/")} is refused with one line that says ${says.source.replace(/[\^\\]/g, "")}`, () => {
    assert.throws(
      () => readSettings({ [variable]: value, ...besides }),
      (thrown: Error) => {
        assert.match(thrown.message, says.source.startsWith("^") ? says : new RegExp(`^${variable} .*${says.source}`));
        assert.ok(!thrown.message.includes("\n"));
        return true;
      },
    );
  });

test("an invalid setting stops the start with one line that names the variable, even if only the start can detect it", async (t) => {
  const database = await freshDatabase();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.after(async () => {
    taken.close();
    await database.drop();
  });
  const key = join(folder, "key");
  await writeFile(key, Buffer.alloc(32, 1).toString("base64"), { mode: 0o600 });
  const shared = { DATABASE_URL: database.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_LISTEN: `127.0.0.1:${await freePort()}` };
  const wrong: readonly (readonly [settings: Record<string, string>, says: RegExp])[] = [
    [
      { ...shared, GANTRY_LISTEN: `127.0.0.1:${(taken.address() as AddressInfo).port}` },
      /^gantry: GANTRY_LISTEN: cannot listen on 127\.0\.0\.1:\d+: another program listens there already$/m,
    ],
    [{ ...shared, GANTRY_EGRESS_ALLOW: "nonsense" }, /^gantry: GANTRY_EGRESS_ALLOW: "nonsense" is not an address range/m],
    [{ ...shared, GANTRY_SECRET_KEY_FILE: join(folder, "absent") }, /^gantry: GANTRY_SECRET_KEY_FILE cannot be read/m],
    [
      { ...shared, DATABASE_URL: `${database.url.replace(/gantry_test_\w+/, "gantry_test_absent")}` },
      /^gantry: DATABASE_URL: the database does not let Gantry in/m,
    ],
    [{ GANTRY_DATA: gantryFile }, /^gantry: GANTRY_DATA: \S+gantry\.js cannot be made/m],
    [{ GANTRY_DATA: join(gantryFile, "below") }, /^gantry: GANTRY_DATA: \S+gantry\.js\/below cannot be made/m],
    [{ GANTRY_DATA: "/proc/x/y" }, /^gantry: GANTRY_DATA: \/proc\/x\/y cannot be made/m],
  ];
  const done = await Promise.all(wrong.map(([settings]) => refusedStart(settings)));
  for (const [index, [, says]] of wrong.entries()) {
    const { code, stdout, stderr } = done[index] ?? { code: 0, stdout: "", stderr: "" };
    assert.match(stderr, says);
    assert.deepEqual([code, stdout], [1, ""], stderr);
    // JSON log lines may precede it, but no stack trace.
    const lines = stderr
      .trimEnd()
      .split("\n")
      .filter((line) => !line.startsWith("{"));
    assert.equal(lines.length, 1, stderr);
  }
});

let organization: string;
let operator: string;

test("gantry health exits with 1 before the server runs", async () => {
  const { code, stdout } = await command("health");
  assert.equal(code, 1);
  assert.match(stdout, new RegExp(`^no response from ${url}: [^\\n]*\\n$`));
});

test("gantry health exits with 1 if the listening server is not ready", async (t) => {
  const unready = createHttpServer((_request, response) => void response.writeHead(503).end("{}")).listen(0, "127.0.0.1");
  await once(unready, "listening");
  t.after(() => unready.close());
  const { code, stdout } = await gantry(["health"], { env: { GANTRY_LISTEN: `127.0.0.1:${(unready.address() as AddressInfo).port}` } });
  assert.deepEqual([code, stdout], [1, "not ready: 503\n"]);
});

test("the first start prints the address, the new organization and the command for a token", async () => {
  const program = serve();
  await program.says(/npx gantry token/);
  const text = program.stderr();
  assert.equal(program.stdout(), "");
  assert.match(text, new RegExp(`^Gantry serves ${url}$`, "m"));
  const made = /^Created a first organization: ([0-9a-f]{40})$/m.exec(text);
  assert.ok(made, text);
  organization = made[1] ?? "";
  assert.match(text, /^In another terminal:\n {2}npx gantry open --operator {3}opens the console\n {2}npx gantry token {13}prints an access token$/m);
});

test("gantry token prints only the token while the server runs", async () => {
  const { code, stdout, stderr } = await command("token");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  operator = stdout.trim();
  const { body } = await http(url, "GET", "/iam/v2/groups", { token: operator });
  assert.deepEqual(column(body, "groups", "uid"), [organization]);
});

test("gantry token --identity and --audience issue a token for any identity and audience", async () => {
  const create = await http(url, "POST", `/iam/v2/identities/${organization}`, {
    token: operator,
    body: JSON.stringify({ name: "ci", claimMatch: { issuer: "https://ci.example.com", subject: "s" } }),
  });
  const identity = String(create.body.uid);
  const [forIdentity, forAudience, forNobody] = await Promise.all([
    command("token", "--identity", identity),
    command("token", "--audience", "https://elsewhere.example"),
    command("token", "--identity", `${organization}/00000000000000ff`),
  ]);
  assert.equal(decodeJwt(forIdentity.stdout.trim()).sub, identity);
  assert.equal(decodeJwt(forIdentity.stdout.trim()).aud, url);
  assert.equal(decodeJwt(forAudience.stdout.trim()).aud, "https://elsewhere.example");
  assert.equal((await http(url, "GET", "/iam/v2/roles", { token: forAudience.stdout.trim() })).status, 401);
  assert.deepEqual([forNobody.code, forNobody.stdout, forNobody.stderr], [1, "", `gantry: Identity "${organization}/00000000000000ff" not found\n`]);
});

test("gantry health exits with 0 while the server runs, and a second server on its data directory is refused with one line", async () => {
  const [healthy, second] = await Promise.all([
    command("health"),
    gantry(["serve"], { env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${await freePort()}` } }),
  ]);
  assert.deepEqual([healthy.code, healthy.stdout], [0, "ready\n"]);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /^gantry: the data directory \S+ is in use by another Gantry[^\n]*GANTRY_DATA[^\n]*\n$/);
  assert.equal((await http(url, "GET", "/healthz")).status, 200);
});

/** Begins a write over HTTP/1.1 without sending its body. */
const beginWrite = async (name: string): Promise<{ finish(): Promise<string> }> => {
  const body = JSON.stringify({ name });
  const socket: Socket = connect(Number(new URL(url).port), "127.0.0.1");
  let heard = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    heard += text;
  });
  const closed = once(socket, "close");
  socket.write(
    `POST /registry/v2/repos/${organization} HTTP/1.1\r\nhost: ${new URL(url).host}\r\nauthorization: Bearer ${operator}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
  );
  while (!heard.includes("100 Continue")) await once(socket, "data");
  return {
    async finish() {
      socket.write(body);
      await closed;
      return heard.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
    },
  };
};

/** Begins the same over gRPC: headers sent, message missing. */
const beginCall = async (name: string): Promise<{ finish(): Promise<string> }> => {
  const session = connectHttp2(url);
  await once(session, "connect");
  const stream = session.request({
    ":method": "POST",
    ":path": "/chainguard.platform.registry.v2.ReposService/CreateRepo",
    "content-type": "application/grpc",
    te: "trailers",
    authorization: `Bearer ${operator}`,
  });
  // Frames are processed in order: a ping response means that the headers were read.
  await new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())));
  const text = (field: number, value: Buffer): Buffer => Buffer.concat([Buffer.from([field * 8 + 2, value.length]), value]);
  const message = Buffer.concat([text(1, Buffer.from(organization)), text(2, text(2, Buffer.from(name)))]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return {
    async finish() {
      stream.end(Buffer.concat([head, message]));
      const trailers = once(stream, "trailers");
      stream.resume();
      const [received] = (await trailers) as [Record<string, string>];
      if (!session.closed) session.close();
      return received["grpc-status"] ?? "";
    },
  };
};

const refusedConnection = (): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? ""));
    // Accepted at the moment of the stop and closed without data.
    socket.on("close", () => resolve("ECONNRESET")).resume();
  });

test("SIGTERM finishes requests in flight over HTTP/1.1 and gRPC, accepts no new ones, and exits with 0", async () => {
  assert.ok(running);
  const [write, call] = await Promise.all([beginWrite("in flight"), beginCall("in flight too")]);
  running.signal("SIGTERM");
  await running.says(/Stopping/);
  assert.match(await refusedConnection(), /^(?:ECONNREFUSED|ECONNRESET)$/);
  const [answer, status] = await Promise.all([write.finish(), call.finish()]);
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(answer, /\r\nconnection: close\r\n/i);
  assert.match(answer, /"name":"in flight"/);
  assert.equal(String(status), "0");
  const { code, signal } = await running.ended;
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
});

test("after the stop gantry token works, and gantry health exits with 1", async () => {
  const [minted, health] = [await command("token"), await command("health")];
  assert.equal(minted.code, 0);
  assert.match(minted.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  assert.equal(health.code, 1);
  operator = minted.stdout.trim();
});

test("a second start creates no organization and keeps all data", async () => {
  const program = serve();
  await program.says(/npx gantry token/);
  assert.doesNotMatch(program.stderr(), /organization/);
  const groups = await http(url, "GET", "/iam/v2/groups", { token: operator });
  assert.deepEqual(column(groups.body, "groups", "uid"), [organization]);
  const repos = await http(url, "GET", "/registry/v2/repos?order_by=name", { token: operator });
  assert.deepEqual(column(repos.body, "repos", "name"), ["in flight", "in flight too"]);
});

test("after kill -9 the next start has all acknowledged writes and no partial one", async () => {
  assert.ok(running);
  const { uid } = items((await http(url, "GET", "/registry/v2/repos?name=in%20flight", { token: operator })).body, "repos")[0] ?? {};
  let answered = 0;
  const digest = `sha256:${"0".repeat(64)}`;
  // Continuous writers, so that the kill interrupts some.
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let turn = 0; ; turn++) {
      const made = await http(url, "POST", `/registry/v2/tags/${String(uid)}`, {
        token: operator,
        body: JSON.stringify({ name: `t${writer}-${turn}`, digest }),
      });
      assert.equal(made.status, 200);
      answered++;
      if (answered === 100) running?.signal("SIGKILL");
    }
  });
  const ends = await Promise.allSettled(writers);
  assert.ok(
    ends.every((end) => end.status === "rejected" && end.reason instanceof TypeError),
    "every writer ends with its connection",
  );
  assert.equal((await running.ended).signal, "SIGKILL");
  const program = serve();
  await program.says(/npx gantry token/);
  const { body } = await http(url, "GET", `/registry/v2/tags?uidp.children_of=${String(uid)}&page_size=1`, { token: operator });
  const kept = Number(body.totalCount);
  assert.ok(kept >= answered && kept <= answered + writers.length, `${answered} answered, ${kept} kept`);
});

test("Ctrl-C, which signals every process of the terminal, stops as gracefully as SIGTERM, also under an old Node", async () => {
  assert.ok(running);
  running.signal("SIGTERM");
  await running.ended;
  for (const node of [undefined, olderNode()].filter((each, index) => index === 0 || each !== undefined)) {
    const program = serve({ group: true, ...(node === undefined ? {} : { node }) });
    await program.says(/npx gantry token/);
    const write = await beginWrite(`ctrl-c ${node === undefined ? "new" : "old"}`);
    program.signal("SIGINT");
    await program.says(/Stopping/);
    assert.match(await write.finish(), /^HTTP\/1\.1 200 OK\r\n/);
    assert.deepEqual([(await program.ended).code, (await program.ended).signal], [0, null]);
  }
});

test("a repeated signal does not kill a stopped server while its process exits", async () => {
  for (const node of [undefined, olderNode()].filter((each, index) => index === 0 || each !== undefined)) {
    const program = serve({ group: true, ...(node === undefined ? {} : { node }) });
    await program.says(/npx gantry token/);
    program.signal("SIGINT");
    await program.says(/Stopping/);
    const echoes = setInterval(() => {
      // The process may already have exited.
      if (program.child.exitCode === null && program.child.signalCode === null) program.signal("SIGINT");
    }, 1);
    const { code, signal } = await program.ended.finally(() => clearInterval(echoes));
    // On a busy machine a late signal counts as a second one and exits at once.
    assert.ok(signal === null && (code === 0 || code === 1), `${code} ${signal}`);
  }
});

test("gantry token in a directory without a server creates nothing and names the searched directory", async () => {
  const data = join(folder, "absent");
  const { code, stdout, stderr } = await gantry(["token"], { env: { ...environment, GANTRY_DATA: data } });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(
    stderr,
    `gantry: no server found: searched ${data}. Run this in the server's directory, or set GANTRY_DATA or DATABASE_URL as the server does\n`,
  );
  assert.equal(existsSync(data), false);
});

test("a signal during the start stops it, and the next start works", async () => {
  const program = start(gantryFile, ["serve"], { env: { ...environment, GANTRY_DATA: join(folder, "young") } });
  running = program;
  await program.says(/Making the database/);
  program.signal("SIGTERM");
  const ended = await program.ended;
  assert.deepEqual([ended.code, ended.signal], [0, null], ended.stderr);
  const { code, stdout } = await gantry(["token"], { env: { ...environment, GANTRY_DATA: join(folder, "young") } });
  assert.equal(code, 0);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
});
