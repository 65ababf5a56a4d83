// `gantry login` with a real terminal program, browser and provider: its output guides the user, and tokens are stored where the platform's clients
// read them (authentication.md: 8).

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { runCommand } from "../../cli/program.ts";
import { claimsOf } from "../../server/authn/testing.ts";
import { openWorld, type World } from "../world.ts";
import { type Browser, openChromium, type Page } from "./browser.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";

const secret = "a client secret that only the two know";

let world: World;
let ticking: NodeJS.Timeout;
let idp: string;
let browser: Browser;
let folder: string;

before(async () => {
  world = await openWorld();
  // A terminal waits in real time.
  ticking = setInterval(() => {
    world.clock.now = Date.now();
  }, 100);
  folder = await mkdtemp(join(tmpdir(), "gantry-login-"));
  const provider = start(join(import.meta.dirname, "provider.ts"), [`${world.url}/oauth/callback`, secret]);
  let issuer: string;
  [[issuer], browser] = await Promise.all([provider.says(/^http:\S+/m), openChromium()]);
  await fetch(`${issuer}/people`, { method: "PUT", body: JSON.stringify({ ada: { name: "Ada Lovelace", email: "ada@example.com", email_verified: true } }) });
  const oidc = { issuer, clientId: "gantry", clientSecret: secret, additionalScopes: ["email", "profile"] };
  const made = await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: world.organization,
    identityProvider: { name: "our people", defaultRole: builtInRoleUid("viewer"), oidc },
  });
  idp = text(made, "uid");
});
after(async () => {
  await browser?.close();
  clearInterval(ticking);
  await world?.close();
  await stopAll();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Starts the command with its own cache directory. */
const login = (cache: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Program =>
  start(gantryFile, ["login", "--issuer", world.url, ...args], {
    env: { XDG_CACHE_HOME: join(folder, cache), XDG_CONFIG_HOME: join(folder, cache, "config"), ...env },
  });

const kept = (cache: string, kind: string): string => join(folder, cache, "chainguard", world.url.replaceAll("/", "-"), kind);
const isKept = (cache: string): Promise<boolean> =>
  stat(kept(cache, "oidc-token")).then(
    () => true,
    () => false,
  );

const open = async (address: string): Promise<Page> => {
  const page = await browser.context.newPage();
  await page.goto(address, { waitUntil: "commit" });
  return page;
};

/** Signs in on the provider's pages, if shown: from the second time on it knows the browser. */
const signIn = async (page: Page, last: RegExp): Promise<void> => {
  const name = page.locator("input[name=login]");
  const end = page.getByRole("heading", { name: last });
  await name.or(end).or(page.locator("form[action='/oauth/loopback']")).first().waitFor();
  if (await name.isVisible()) {
    await name.fill("ada");
    await page.fill("input[name=password]", "any");
    await page.click("button[type=submit]");
    await page.click("button:has-text('Continue')");
  }
  const loopback = page.locator("form[action='/oauth/loopback'] button:has-text('Continue')");
  await loopback.or(end).first().waitFor();
  if (await loopback.isVisible()) await loopback.click();
  await end.waitFor();
};

test("a user opens the address, sees and confirms the terminal's code, signs in, and the terminal continues by itself", async () => {
  const terminal = login("device", ["--idp", idp]);
  const [, address = ""] = await terminal.says(/^ {4}(http\S+)$/m);
  const [, code = ""] = await terminal.says(/^ {4}([A-Z]{4}-[A-Z]{4})$/m);
  await terminal.says(/Waiting for the browser, 15:00 left/);
  const page = await open(address);
  assert.equal(await page.getByLabel("Code").inputValue(), code);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText(code, { exact: true }).waitFor();
  await page.getByText("It says it is “gantry”.").waitFor();
  await page.getByRole("button", { name: "This is my terminal" }).click();
  await signIn(page, /Your terminal is signed in/);
  const { code: status, stdout, stderr } = await terminal.ended;
  assert.equal(status, 0, stderr);
  assert.match(
    stdout,
    new RegExp(
      `^Signed in to ${world.url} as Ada Lovelace \\(ada@example\\.com\\)\\n` +
        `Token stored in ${kept("device", "oidc-token")}, valid until .*, renewed automatically\\n` +
        `Current context: 127\\.0\\.0\\.1-\\d+\\n$`,
    ),
  );

  const token = await readFile(kept("device", "oidc-token"), "utf8");
  assert.deepEqual([claimsOf(token).aud, claimsOf(token).email], [world.url, "ada@example.com"]);
  assert.equal((await world.call("iam.GroupsService/GetGroup", { uid: world.organization }, { token })).code, 0);
  const refresh = JSON.parse(Buffer.from(await readFile(kept("device", "refresh-token"), "utf8"), "base64").toString("utf8")) as { exp: unknown };
  assert.equal(typeof refresh.exp, "number");
  for (const [path, mode] of [
    [kept("device", "oidc-token"), 0o600],
    [kept("device", "refresh-token"), 0o600],
    [kept("device", ""), 0o700],
    [join(folder, "device", "chainguard"), 0o700],
  ] as const)
    assert.equal((await stat(path)).mode & 0o777, mode, path);
  assert.doesNotMatch(stdout + stderr, /eyJ|secret/);

  const out = await gantry(["logout", "--issuer", world.url], { env: { XDG_CACHE_HOME: join(folder, "device") } });
  assert.deepEqual([out.code, await isKept("device")], [0, false]);
  assert.match((await gantry(["logout", "--issuer", world.url], { env: { XDG_CACHE_HOME: join(folder, "device") } })).stdout, /^No tokens for/);
});

test("--browser opens this machine's browser, which returns the tokens and keeps none in its address", async () => {
  const opened = join(folder, "opened");
  await writeFile(join(folder, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > "${opened}"\n`);
  await chmod(join(folder, "xdg-open"), 0o755);
  const terminal = login("browser", ["--idp", idp, "--browser"], { PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` });
  const [, address = ""] = await terminal.says(/^ {4}(http\S+)$/m);
  const page = await open(address);
  await signIn(page, /You are signed in/);
  assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/done#_$/);
  const { code, stdout, stderr } = await terminal.ended;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /as Ada Lovelace \(ada@example\.com\)$/m);
  assert.match((await page.textContent("main")) ?? "", /As Ada Lovelace \(ada@example\.com\)\./);
  assert.equal(await readFile(opened, "utf8"), address);
  assert.equal(claimsOf(await readFile(kept("browser", "oidc-token"), "utf8")).aud, world.url);
  assert.ok((await readFile(kept("browser", "refresh-token"), "utf8")).length > 0);
});

test("--no-browser, also with --headless, prints an address and opens no browser", async () => {
  const opened = join(folder, "not-opened");
  const programs = join(folder, "programs");
  await mkdir(programs);
  await writeFile(join(programs, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > "${opened}"\n`, { mode: 0o755 });
  const env = { PATH: `${programs}${delimiter}${process.env.PATH ?? ""}` };
  const [device, headless] = [login("no-browser", ["--idp", idp, "--no-browser"], env), login("nowhere", ["--idp", idp, "--no-browser", "--headless"], env)];
  await device.says(/^ {4}[A-Z]{4}-[A-Z]{4}$/m);
  for (const terminal of [device, headless]) {
    await terminal.says(/^ {4}http\S+$/m);
    await terminal.says(/Waiting for the browser/);
    terminal.signal("SIGINT");
    assert.equal((await terminal.ended).code, 130);
  }
  await assert.rejects(stat(opened), /ENOENT/);
});

test("the --browser port accepts a token only with the right state", async () => {
  const terminal = login("forged", ["--idp", idp, "--browser"], { PATH: folder });
  const [, address = ""] = await terminal.says(/^ {4}(http\S+)$/m);
  const { origin } = new URL(new URL(address).searchParams.get("redirect") ?? "");
  for (const query of ["token=forged", "state=guessed&token=forged", "state=&token=forged"])
    assert.equal((await fetch(`${origin}/callback?${query}`)).status, 404);
  terminal.signal("SIGINT");
  assert.equal((await terminal.ended).code, 130);
  assert.equal(await isKept("forged"), false);
});

test("--headless returns the token encrypted for the terminal, for the requested audience", async () => {
  const terminal = login("headless", ["--idp", idp, "--headless", "--audience", "registry.example.test"]);
  const [, address = ""] = await terminal.says(/^ {4}(http\S+)$/m);
  const page = await open(address);
  await page.getByText((new URL(address).searchParams.get("headless_code") ?? "").slice(0, 8), { exact: true }).waitFor();
  await page.getByRole("button", { name: "This is my terminal" }).click();
  await signIn(page, /Your terminal is signed in/);
  const { code, stdout, stderr } = await terminal.ended;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /as ada@example\.com$/m, "the server does not look at a token for somebody else; the token says who it is");
  const token = await readFile(join(folder, "headless", "chainguard", "registry.example.test", "oidc-token"), "utf8");
  assert.equal(claimsOf(token).aud, "registry.example.test");
});

test("a refusal in the browser is reported in the terminal, and nothing is stored", async () => {
  const terminal = login("refused", ["--idp", idp]);
  const [, address = ""] = await terminal.says(/^ {4}(http\S+)$/m);
  const page = await open(address);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByRole("heading", { name: "Refused" }).waitFor();
  const { code, stdout, stderr } = await terminal.ended;
  assert.deepEqual([code, stdout], [5, ""]);
  assert.match(stderr, /\ngantry: sign-in failed: refused in the browser\n$/);
  assert.equal(await isKept("refused"), false);
});

test("Ctrl-C stops waiting at once with one line and no stack trace", async () => {
  const terminal = login("stopped", []);
  await terminal.says(/Waiting for the browser/);
  terminal.signal("SIGINT");
  const { code, signal, stderr } = await terminal.ended;
  assert.deepEqual([code, signal], [130, null]);
  assert.match(stderr, /\nSign-in canceled\.\n$/);
  assert.equal(await isKept("stopped"), false);
});

test("errors are reported in one line", async () => {
  const wrong: readonly (readonly [values: Readonly<Record<string, string | boolean>>, says: RegExp])[] = [
    [{ browser: true, headless: true }, /^--browser and --headless cannot be used together$/],
    [{ issuer: "gantry.example.com" }, /^--server must be the server's address, such as https:\/\/gantry\.example\.com, not "gantry\.example\.com"$/],
    [{ issuer: "http://127.0.0.1:65530" }, /^127\.0\.0\.1:65530 refused the connection\. Check that Gantry is running there$/],
    [{ issuer: "http://nowhere.invalid" }, /^(?:host nowhere\.invalid not found|nowhere\.invalid cannot be reached: .*)$/],
    [
      { issuer: world.url.replace("127.0.0.1", "localhost") },
      new RegExp(`^the public URL of the server at http://localhost:\\d+ is ${world.url}. Sign in with --server ${world.url}$`),
    ],
    [{ issuer: `${world.url}/iam` }, /^.* is not a Gantry server \(HTTP 404\)$/],
    [{ idp: "nobody" }, /^\S+ refused to start a sign-in: .*names no identity provider/],
    [{ audience: ".." }, /^--audience cannot be ".."$/],
  ];
  const terminal = {
    environment: { XDG_CACHE_HOME: join(folder, "wrong"), XDG_CONFIG_HOME: join(folder, "wrong") },
    log: silent,
    out: process.stdout,
    err: process.stderr,
    status: 0,
  };
  for (const [values, says] of wrong) {
    const given: Readonly<Record<string, string | boolean>> = { issuer: world.url, ...values };
    const options = Object.entries(given).flatMap(([name, value]) => (value === true ? [`--${name}`] : [`--${name}`, String(value)]));
    await assert.rejects(runCommand(["login", ...options], terminal), { name: "Fault", message: says });
  }
  const { code, stdout, stderr } = await gantry(["login", "--issuer", "http://127.0.0.1:65530"]);
  assert.deepEqual([code, stdout, stderr], [9, "", "gantry: 127.0.0.1:65530 refused the connection. Check that Gantry is running there\n"]);
});

test("commands without a server load only settings and the argument parser: no server code, contract or other package", async () => {
  const watch =
    'import { registerHooks } from "node:module";' +
    "registerHooks({ load: (url, context, next) => (process.stderr.write(`loaded ${url}\\n`), next(url, context)) });";
  const main = join(import.meta.dirname, "..", "..", "cli", "main.ts");
  // The suggestion for a mistyped setting is one small file.
  // The contract's operation names are one word list.
  const [settings, parser] = [/\/node_modules\/fastest-levenshtein\//, /\/node_modules\/(?:commander|fastest-levenshtein)\/|\/contract\/gen\/commands\.ts$/];
  const others: readonly (readonly [args: readonly string[], allowed: RegExp])[] = [
    [["--version"], settings],
    [["help"], parser],
    [["login", "--help"], parser],
    [["logout", "--issuer", world.url], parser],
  ];
  for (const [args, allowed] of others) {
    const { stderr } = await promisify(execFile)(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(watch)}`, main, ...args], {
      env: { XDG_CACHE_HOME: join(folder, "none") },
    });
    const loaded = stderr.match(/^loaded file:.*$/gm) ?? [];
    assert.ok(loaded.length > 5 && loaded.length < 75, `${args.join(" ")} loads ${loaded.length} files`);
    assert.deepEqual(
      loaded.filter((line) => /\/contract\/|\/node_modules\/|\/server\/(?!application\/)/.test(line) && !allowed.test(line)),
      [],
    );
  }
});
