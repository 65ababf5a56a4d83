// The package @gantry/client: packed, installed by npm in an empty project without a network, compiled strictly, and run in Node and in a
// browser against a server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { openChromium } from "../story/browser.ts";
import { openWorld } from "../world.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..", "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };

const installedBytesMax = 1.5 * 1024 * 1024;
const bundleBytesMax = 120 * 1024;

const folder = await mkdtemp(join(tmpdir(), "gantry-client-"));
const project = join(folder, "project");
const installed = join(project, "node_modules", "@gantry", "client");

const pages = createServer((request, response) => {
  const isScript = request.url?.startsWith("/program.js") === true;
  response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
  response.end(isScript ? readFileSync(join(project, "bundle.js")) : '<!doctype html><title>waiting</title><script type="module" src="/program.js"></script>');
});
pages.listen(0, "127.0.0.1");
await once(pages, "listening");
const pageOrigin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;

const world = await openWorld({ GANTRY_CORS_ORIGINS: pageOrigin });
after(async () => {
  await world.close();
  pages.closeAllConnections();
  pages.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a program in the project, with the environment of a user. */
const run = (file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<{ stdout: string; stderr: string }> =>
  execute(file, args, { cwd: project, timeout: 120_000, env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder, ...env } });

await execute(process.execPath, [join(root, "tools", "build-client.ts"), join(folder, "dist")]);
await execute("npm", ["pack", join(folder, "dist"), "--pack-destination", folder], { cwd: folder });
await mkdir(project);
await writeFile(join(project, "package.json"), '{ "private": true, "type": "module" }');
await run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, `gantry-client-${version}.tgz`)]);

const filesOf = (place: string): string[] =>
  globSync("**/*", { cwd: place, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test("npm installs it without a network, without other packages or native parts, in at most 1.5 MB", async () => {
  assert.deepEqual(await readdir(join(project, "node_modules")), [".package-lock.json", "@gantry"]);
  assert.deepEqual(await readdir(join(project, "node_modules", "@gantry")), ["client"]);
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
  assert.deepEqual([manifest.name, manifest.version], ["@gantry/client", version]);
  assert.deepEqual(
    Object.keys(manifest).filter((key) => /dependencies|scripts|private|bin|gypfile/i.test(key)),
    [],
  );
  assert.deepEqual((await readdir(installed)).sort(), ["LICENSE", "README.md", "base", "client", "package.json"]);
  const files = filesOf(installed);
  assert.ok(files.length > 40 && files.every((file) => /\.(?:js|d\.ts|md|json)$|\/LICENSE$/.test(file)), files.join("\n"));
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  assert.ok(bytes > 200_000 && bytes <= installedBytesMax, `${bytes} bytes`);
});

/** Returns the compiler's errors for these programs. */
const check = async (programs: Readonly<Record<string, string>>, lib: readonly string[] = ["esnext", "dom"]): Promise<string> => {
  const place = await mkdtemp(join(project, "checked-"));
  for (const [name, source] of Object.entries(programs)) await writeFile(join(place, name), source);
  const options = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noImplicitOverride: true, skipLibCheck: false },
    ...{ noEmit: true, module: "nodenext", target: "esnext", lib, types: [] },
  };
  await writeFile(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: Object.keys(programs) }));
  return run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", place]).then(
    ({ stdout }) => stdout,
    (thrown: { readonly stdout: string }) => thrown.stdout,
  );
};

const head = 'import { ApiError, Gantry } from "@gantry/client";\nconst gantry = new Gantry({ server: "https://gantry.example.com", token: "t" });\n';

test("a strict compiler accepts a program without casts: required fields, responses without optional fields, masks", async () => {
  const program = `${head}
    export const names: string[] = [];
    for await (const repo of gantry.registry.repos.list({ parent: "p" })) names.push(repo.name, repo.description.trim(), ...repo.bundles);
    const created = await gantry.registry.repos.create({ parent: "p", repo: { name: "app" } });
    await gantry.registry.repos.update({ repo: { ...created, description: "new" }, updateMask: ["description"] });
    const { data, etag } = await gantry.iam.groups.get({ uid: "g" }).withResponse();
    await gantry.iam.groups.update({ group: { uid: data.uid, name: "x" } }, { ifMatch: etag, signal: AbortSignal.timeout(1000), idempotencyKey: "k" });
    export const isMissing = (thrown: unknown): boolean => thrown instanceof ApiError && thrown.code === "NOT_FOUND";
    const nothing: void = await gantry.iam.groups.delete({ uid: "g" });
    export const all: readonly unknown[] = [nothing, names];`;
  assert.equal(await check({ "program.ts": program }), "");
});

const refused: readonly (readonly [what: string, program: string, complaint: RegExp])[] = [
  ["a required field is missing", 'await gantry.registry.repos.create({ parent: "p" });', /'repo' is missing/],
  ["a required field of the resource is missing", 'await gantry.registry.repos.create({ parent: "p", repo: {} });', /'name' is missing/],
  ["the request is missing", "await gantry.registry.repos.get();", /Expected 1-2 arguments/],
  ["the request has no such field", 'gantry.registry.repos.list({ parnet: "p" });', /'parnet' does not exist/],
  ["the mask names no field", 'await gantry.iam.groups.update({ group: { uid: "g" }, updateMask: ["descripton"] });', /descripton/],
  ["the mask names a field that the server sets", 'await gantry.iam.groups.update({ group: { uid: "g" }, updateMask: ["createTime"] });', /createTime/],
  ["an update does not say of what", 'await gantry.iam.groups.update({ group: { name: "x" } });', /'uid' is missing/],
  ["the enum has no such value", 'await gantry.registry.repos.create({ parent: "p", repo: { name: "a", catalogTier: "BEST" } });', /"BEST"/],
  ["the response has no such field", 'export const x = (await gantry.iam.groups.get({ uid: "g" })).nome;', /'nome' does not exist/],
  ["the code is none", 'export const is = (error: ApiError): boolean => error.code === "MISSING";', /no overlap/],
  ["the option is none", 'await gantry.iam.groups.get({ uid: "g" }, { retries: 3 });', /'retries' does not exist/],
];
test("a strict compiler refuses fields and operations that the contract lacks", async () => {
  const programs = Object.fromEntries(refused.map(([, program], index) => [`wrong-${index}.ts`, `${head}${program}\nexport {};`]));
  const complaints = (await check(programs)).split("\n");
  for (const [index, [what, , complaint]] of refused.entries()) {
    const own = complaints.filter((line) => line.includes(`wrong-${index}.ts`));
    assert.ok(own.length >= 1 && complaint.test(own.join("\n")), `${what}: ${own.join("\n") || "nothing"}`);
  }
});

const examplePattern = /@example\n\s*\* ```ts\n([\s\S]*?)\n\s*\* ```/g;
/** The exports that examples use. */
const functions = ["exchangedToken", "fileToken", "finishSignIn", "keptToken", "refreshedToken", "signInWithDevice", "startSignIn", "verifyWebhook"];
const classes = ["ApiError", "Gantry", "OAuthError", "WebhookError"];

test("each example in the declarations compiles", async () => {
  const examples = filesOf(installed)
    .filter((file) => file.endsWith(".d.ts"))
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(examplePattern)].map(([, code = ""]) => code.replaceAll(/^\s*\* ?/gm, "")));
  assert.ok(examples.length > 180, `${examples.length} examples`);
  const names = [...classes, ...functions];
  const before = `import { ${names.join(", ")}, type PendingSignIn } from "@gantry/client";
    declare const gantry: Gantry;
    declare const error: unknown;
    export const used = [${names.join(", ")}, error];
    export type Used = PendingSignIn;`;
  // A function, because some examples return; a block, because some declare `gantry`.
  const programs = examples.map((code, index) => [
    `example-${index}.ts`,
    `${before}\nexport const run = async (): Promise<unknown> => {{\n${code.replace(/^export /, "")}\n}\nreturn gantry;\n};\n`,
  ]);
  assert.equal(await check(Object.fromEntries(programs)), "");
});

test("every operation and every exported function has an example", () => {
  const resources = readFileSync(join(installed, "client", "gen", "resources.d.ts"), "utf8");
  const methods = [...resources.matchAll(/^ {4}[a-z]\w*\(request/gm)].length;
  assert.equal([...resources.matchAll(/@example/g)].length, methods);
  assert.ok(methods > 150);
  for (const [file, names] of [
    ["api-call", ["class ApiCall", "withResponse"]],
    ["error", ["class ApiError"]],
    ["exchange", ["exchangedToken"]],
    ["gantry", ["class Gantry", "watchEvents"]],
    ["list", ["class List", "pages", "page", "toArray"]],
    ["oauth", ["class OAuthError", "signInWithDevice", "startSignIn", "finishSignIn", "refreshedToken"]],
    ["tokens", ["fileToken", "keptToken"]],
    ["webhook", ["class WebhookError", "verifyWebhook"]],
  ] as const) {
    const text = readFileSync(join(installed, "client", `${file}.d.ts`), "utf8");
    for (const name of names) {
      const before = text.slice(0, text.search(new RegExp(`(?:declare (?:const )?|^ {4})${name}\\b`, "m")));
      assert.match(before.slice(before.lastIndexOf("/**")), /@example/, `${file}: ${name}`);
    }
  }
});

test("it works in Node against a server: lists, writes, errors, a token from a file", async () => {
  await writeFile(join(project, "token"), `${await world.token()}\n`);
  await writeFile(
    join(project, "program.mjs"),
    `import { ApiError, fileToken, Gantry } from "@gantry/client";
    const gantry = new Gantry({ server: process.env.SERVER, token: fileToken("token") });
    for await (const group of gantry.iam.groups.list({ uidp: { inRoot: true } })) {
      const repo = await gantry.registry.repos.create({ parent: group.uid, repo: { name: "of-node" } });
      console.log(group.name, repo.name, JSON.stringify(repo.description));
    }
    await gantry.iam.groups.get({ uid: "none" }).catch((error) => console.log(error instanceof ApiError, error.code, error.violations[0].field));`,
  );
  const { stdout, stderr } = await run(process.execPath, ["program.mjs"], { SERVER: world.url });
  assert.deepEqual([stdout, stderr], ['first-organization of-node ""\ntrue INVALID_ARGUMENT uid\n', ""]);
});

test("it works in a browser page in at most 120 KB gzipped", async () => {
  await writeFile(
    join(project, "page.js"),
    `import { ApiError, Gantry, startSignIn, verifyWebhook } from "@gantry/client";
    const parameters = new URLSearchParams(location.hash.slice(1));
    const gantry = new Gantry({ server: parameters.get("server"), token: parameters.get("token") });
    const out = [typeof startSignIn, typeof verifyWebhook];
    for await (const group of gantry.iam.groups.list({ uidp: { inRoot: true }, pageSize: 1 })) out.push(group.name);
    await gantry.iam.groups.get({ uid: "none" }).catch((error) => out.push(error instanceof ApiError, error.reason, error.requestId !== undefined));
    out.push((await gantry.iam.groups.create({ parent: "", group: { name: "of the page" } })).name);
    document.title = out.join(" ");`,
  );
  const { errors, warnings } = await build({
    entryPoints: [join(project, "page.js")],
    outfile: join(project, "bundle.js"),
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    logLevel: "silent",
  });
  assert.deepEqual([...errors, ...warnings], []);
  const bundle = readFileSync(join(project, "bundle.js"));
  assert.doesNotMatch(bundle.toString(), /node:/);
  const bytes = gzipSync(bundle, { level: 9 }).length;
  assert.ok(bytes > 5_000 && bytes <= bundleBytesMax, `${bytes} bytes`);
  const browser = await openChromium();
  try {
    const tab = await browser.context.newPage();
    const problems: string[] = [];
    tab.on("pageerror", (error) => problems.push(error.message));
    await tab.goto(`${pageOrigin}/#${new URLSearchParams({ server: world.url, token: await world.token() })}`);
    await tab.waitForFunction('document.title !== "waiting"').catch((thrown: unknown) => assert.fail(`${problems.join("\n")}\n${String(thrown)}`));
    assert.equal(await tab.title(), "function function first-organization true INVALID_ARGUMENT true of the page");
  } finally {
    await browser.close();
  }
});
