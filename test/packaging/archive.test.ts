// The packed archive in an empty directory, as programs, a server, and a package for Node, TypeScript and browsers. The long form installs it
// and its dependencies with npm from a registry; the short form lays it out as npm does, next to this checkout's packages.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { freshDatabase } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { openChromium } from "../story/browser.ts";
import { type Program, start, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..", "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

// The real path, since installed files are found by it.
const folder = await mkdtemp(join(tmpdir(), "gantry-installed-"));
const installed = join(folder, "empty", "node_modules", "gantry");
const database = await freshDatabase();
let server: Program | undefined;
let url = "";
let environment: Readonly<Record<string, string>> = {};

/** Runs a program with only what a user's program has. */
const run = (file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<{ stdout: string; stderr: string }> =>
  execute(file, args, {
    cwd: join(folder, "empty"),
    timeout: 240_000,
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder, ...env },
  });

/** Lays an archive out as npm does, with links to installed packages. */
const layOut = async (archive: string): Promise<void> => {
  const modules = dirname(installed);
  await mkdir(join(modules, ".bin"), { recursive: true });
  await execute("tar", ["-xzf", archive, "-C", modules]);
  await execute("mv", [join(modules, "package"), installed]);
  const { dependencies, bin } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, Record<string, string>>;
  for (const name of Object.keys(dependencies ?? {})) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(modules, name));
  }
  for (const [name, file] of Object.entries(bin ?? {})) {
    await execute("chmod", ["+x", join(installed, file)]);
    await symlink(join("..", "gantry", file), join(modules, ".bin", name));
  }
};

before(async () => {
  await execute(process.execPath, [join(root, "tools", "build.ts"), join(folder, "dist")]);
  const { stdout } = await execute("npm", ["pack", join(folder, "dist"), "--pack-destination", folder, "--json"], { cwd: folder });
  const [{ filename } = { filename: "" }] = JSON.parse(stdout) as { filename: string }[];
  await mkdir(join(folder, "empty"));
  await writeFile(join(folder, "empty", "package.json"), '{ "private": true, "type": "module" }');
  // With the user's own settings, which may configure a registry.
  const install = ["install", join(folder, filename), "--no-audit", "--no-fund"];
  if (shortOrLong(false, true)) await execute("npm", install, { cwd: join(folder, "empty"), timeout: 240_000 });
  else await layOut(join(folder, filename));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  environment = {
    DATABASE_URL: database.url,
    GANTRY_LISTEN: `127.0.0.1:${port}`,
    GANTRY_DATA: join(folder, "data"),
    GANTRY_SECRET_KEY_FILE: join(folder, "key"),
  };
  await writeFile(join(folder, "key"), Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
});
after(async () => {
  await stopAll();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const serve = async (): Promise<void> => {
  server ??= start(join(installed, "bin", "gantry.js"), ["serve"], {
    cwd: join(folder, "empty"),
    env: { ...environment, GANTRY_CORS_ORIGINS: await pageOrigin() },
  });
  await server.says(/^ {2}gantry token/m);
};
let printed: Promise<{ readonly stdout: string }> | undefined;
/** Returns the operator's token, printed once. */
const token = async (): Promise<string> => (await (printed ??= run("npx", ["gantry", "token"], environment))).stdout.trim();

test("the archive contains JavaScript with declarations and all files read at run time, and nothing for development", async () => {
  const paths = globSync("**/*", { cwd: installed, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
  assert.ok(paths.length > 1000);
  assert.deepEqual(
    paths.filter((path) => (path.endsWith(".ts") && !path.endsWith(".d.ts")) || /\.test\.|\.fixture\.|^(?:test|tools|bench)\/|\.proto$/.test(path)),
    [],
  );
  const migrations = (await readdir(join(root, "server", "db", "migrations"))).sort();
  assert.deepEqual((await readdir(join(installed, "server", "db", "migrations"))).sort(), migrations);
  // Files that are started or read by their path exist.
  for (const path of paths.filter((each) => each.endsWith(".js"))) {
    for (const [, named = ""] of readFileSync(join(installed, path), "utf8").matchAll(/new URL\("(\.[^"]+)", import\.meta\.url\)/g))
      assert.ok(existsSync(join(installed, dirname(path), named)), `${path} reads ${named}`);
  }
  const packed = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
  assert.deepEqual(
    ["private", "scripts", "devDependencies", "allowScripts"].filter((key) => key in packed),
    [],
  );
});

test("the package has only required top-level entries, and pins each dependency as the lock file does", async () => {
  const bin = Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).bin as object);
  assert.ok(bin.includes("gantry"));
  assert.deepEqual((await readdir(installed)).sort(), [
    ...["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "base", "bin", "cli", "client", "contract", "docs"],
    ...["npm-shrinkwrap.json", "package.json", "server"],
  ]);
  type Lock = { readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean; readonly resolved?: string }>> };
  const readLock = (path: string): Lock => JSON.parse(readFileSync(path, "utf8")) as Lock;
  const { "": own, ...fixed } = readLock(join(installed, "npm-shrinkwrap.json")).packages;
  const { "": _checkout, ...locked } = readLock(join(root, "package-lock.json")).packages;
  assert.equal(own?.version, manifest.version);
  assert.deepEqual(fixed, Object.fromEntries(Object.entries(locked).filter(([, { dev }]) => dev !== true)));
  assert.deepEqual(
    Object.values(fixed).filter(({ resolved }) => resolved !== undefined),
    [],
  );
});

test("npx gantry works in an installation: its version, and a complete server", async () => {
  assert.equal((await run("npx", ["gantry", "--version"])).stdout, `gantry ${manifest.version}\n`);
  await serve();
  // A readme is checked in a thread with a file found by its path.
  const script = `
    import { createClient, ApiError } from "gantry/client";
    import { GroupsService } from "gantry/contract/chainguard/platform/iam/v2/groups";
    import { ReposService } from "gantry/contract/chainguard/platform/registry/v2/repos";
    for (const transport of ["rest", "grpc"]) {
      const client = createClient({ server: process.env.SERVER, token: process.env.TOKEN, transport });
      const groups = client.service(GroupsService);
      for await (const { uid, name } of groups.listGroups.all({ uidp: { inRoot: true } })) {
        const repo = await client.service(ReposService).createRepo({ parent: uid, repo: { name: "app-" + transport } });
        const { content } = await client.service(ReposService).updateRepoReadme({ repoReadme: { uid: repo.uid, content: "# Read me" } });
        console.log(transport, name, repo.name, content);
      }
      await groups.getGroup({ uid: "none" }).catch((error) => console.log(error instanceof ApiError, error.code, error.violations[0].field));
    }`;
  await writeFile(join(folder, "empty", "program.mjs"), script);
  const { stdout } = await run(process.execPath, ["program.mjs"], { SERVER: url, TOKEN: await token() });
  const lines = (transport: string): string[] => [`${transport} first-organization app-${transport} # Read me`, "true INVALID_ARGUMENT uid"];
  assert.deepEqual(stdout.trim().split("\n"), [...lines("rest"), ...lines("grpc")]);
  const listed = await run("npx", ["gantry", "registry", "repos", "list", "--order-by", "name", "-o", "name"], {
    GANTRY_SERVER: url,
    GANTRY_TOKEN: await token(),
  });
  assert.equal(listed.stdout, "app-grpc\napp-rest\n");
  // Content served from files next to the programs.
  for (const path of ["/openapi.json", "/openapi/iam.json", "/docs", "/docs/guides/clients", "/docs/reference/iam"]) {
    const { status } = await fetch(`${url}${path}`);
    assert.equal(status, 200, path);
  }
});

test("a strict TypeScript program compiles with the declarations, and an unknown field is refused", async () => {
  const program = (request: string, field: string): string => `
    import { ApiError, createClient, exchangedToken, fileToken, type Reason } from "gantry/client";
    import { ReposService } from "gantry/contract/chainguard/platform/registry/v2/repos";
    const server = "https://gantry.example.com";
    const client = createClient({ server, token: exchangedToken({ server, subjectToken: fileToken("/var/run/token"), identity: "uid" }) });
    const repos = client.service(ReposService);
    export const names: string[] = [];
    for await (const repo of repos.listRepos.all(${request})) if (repo.${field} !== undefined) names.push(repo.${field});
    export const reasonOf = (thrown: unknown): Reason | string => (thrown instanceof ApiError ? thrown.reason : "");`;
  const check = async (source: string): Promise<string> => {
    await writeFile(join(folder, "empty", "program.ts"), source);
    const options = { strict: true, noEmit: true, module: "nodenext", target: "esnext", lib: ["esnext", "dom"], types: [], exactOptionalPropertyTypes: true };
    await writeFile(join(folder, "empty", "tsconfig.json"), JSON.stringify({ compilerOptions: { ...options, skipLibCheck: false }, files: ["program.ts"] }));
    return run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "."]).then(
      ({ stdout }) => stdout,
      (thrown: { stdout: string }) => thrown.stdout,
    );
  };
  assert.equal(await check(program("{ pageSize: 2, uidp: { inRoot: true } }", "name")), "");
  const wrong = await check(program("{ pagesize: 2 }", "nome"));
  assert.match(wrong, /program\.ts.*pagesize/);
  assert.match(wrong, /program\.ts.*nome/);
});

let page: { readonly origin: string; readonly close: () => void } | undefined;

/** Serves the page from another origin, like a third-party console. */
const pageOrigin = async (): Promise<string> => {
  if (page) return page.origin;
  const pages = createServer((request, response) => {
    const isScript = request.url?.startsWith("/program.js") === true;
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
    if (isScript) createReadStream(join(folder, "empty", "bundle.js")).pipe(response);
    else response.end('<!doctype html><title>waiting</title><script type="module" src="/program.js"></script>');
  });
  pages.listen(0, "127.0.0.1");
  await once(pages, "listening");
  page = {
    origin: `http://127.0.0.1:${(pages.address() as AddressInfo).port}`,
    close: () => {
      pages.closeAllConnections();
      pages.close();
    },
  };
  return page.origin;
};

test("the client bundled by esbuild works in a browser: lists, errors with violations, files", async () => {
  await serve();
  const script = `
    import { ApiError, createClient } from "gantry/client";
    import { GroupsService } from "gantry/contract/chainguard/platform/iam/v2/groups";
    const parameters = new URLSearchParams(location.hash.slice(1));
    const client = createClient({ server: parameters.get("server"), token: parameters.get("token") });
    const out = [];
    for await (const group of client.service(GroupsService).listGroups.all({ uidp: { inRoot: true }, pageSize: 1 })) out.push(group.name);
    await client.call("chainguard.platform.iam.v2.GroupsService/GetGroup", { uid: "none" })
      .catch((error) => out.push(error instanceof ApiError, error.reason, error.violations[0].field, error.requestId !== undefined));
    out.push((await client.service(GroupsService).createGroup({ parent: "", group: { name: "of the page" } })).name);
    document.title = out.join(" ");`;
  await writeFile(join(folder, "empty", "page.js"), script);
  const { build } = await import("esbuild");
  const { errors, warnings } = await build({
    entryPoints: [join(folder, "empty", "page.js")],
    outfile: join(folder, "empty", "bundle.js"),
    bundle: true,
    format: "esm",
    platform: "browser",
    logLevel: "silent",
  });
  assert.deepEqual([...errors, ...warnings], []);
  assert.doesNotMatch(readFileSync(join(folder, "empty", "bundle.js"), "utf8"), /node:http2|node:fs/);
  const browser = await openChromium();
  try {
    const tab = await browser.context.newPage();
    const problems: string[] = [];
    tab.on("pageerror", (error) => problems.push(error.message));
    await tab.goto(`${await pageOrigin()}/#${new URLSearchParams({ server: url, token: await token() })}`);
    await tab.waitForFunction('document.title !== "waiting"').catch((thrown: unknown) => assert.fail(`${problems.join("\n")}\n${String(thrown)}`));
    assert.equal(await tab.title(), "first-organization true INVALID_ARGUMENT uid true of the page");
  } finally {
    await browser.close();
    page?.close();
  }
});
