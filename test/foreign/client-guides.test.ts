// The client guides as written: each of their programs runs against a server. The long form installs packages for Python and Go; a program is
// skipped, with the reason, if the machine or its registries lack them.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { shortOrLong } from "../length.ts";
import { openWorld } from "../world.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..", "..");
const world = await openWorld();
const folder = await mkdtemp(join(tmpdir(), "gantry-guides-"));
after(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

/** Returns a guide's code blocks in this language. */
const blocksOf = (guide: string, language: string): string[] =>
  [...readFileSync(join(root, "docs", "guides", guide), "utf8").matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, kind, content = ""]) =>
    kind === language ? [content] : [],
  );

const environment = async (): Promise<Record<string, string>> => {
  await writeFile(join(folder, "token"), await world.token());
  return { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? folder, BASE: world.url, TOKEN: await world.token(), TOKEN_FILE: join(folder, "token") };
};

test("the TypeScript programs pass strict type checks and do what the guide says", async () => {
  const place = join(folder, "typescript");
  await mkdir(join(place, "node_modules"), { recursive: true });
  await symlink(root, join(place, "node_modules", "gantry"));
  await execute(process.execPath, [join(root, "tools", "build-client.ts"), join(place, "node_modules", "@gantry", "client")]);
  await writeFile(join(place, "package.json"), '{ "type": "module" }');
  const programs = blocksOf("clients-typescript.md", "ts");
  assert.equal(programs.length, 6);
  for (const [index, program] of programs.entries()) await writeFile(join(place, `program-${index}.ts`), program);
  const compilerOptions = { strict: true, noEmit: true, module: "nodenext", target: "esnext", lib: ["esnext"], types: ["node"], skipLibCheck: true };
  const options = { ...compilerOptions, allowImportingTsExtensions: true, exactOptionalPropertyTypes: true, typeRoots: [join(root, "node_modules", "@types")] };
  await writeFile(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));
  const checked = spawnSync(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", place], { encoding: "utf8" });
  assert.equal(checked.stdout, "");
  const said: string[] = [];
  for (const index of programs.keys()) {
    const { stdout, stderr } = await execute(process.execPath, [`program-${index}.ts`], { cwd: place, env: await environment() });
    assert.equal(stderr, "");
    said.push(stdout);
    // Events that the next program waits for.
    await world.server.delivery.finish();
  }
  assert.deepEqual(said, [
    `${world.organization} first-organization\noven\nINVALID_ARGUMENT [ 'uid' ]\n`,
    `${world.url}\n`,
    "function\n",
    "dev.chainguard.api.platform.registry.repo.created.v1 oven\n",
    "401\n",
    "bakery\nfirst-organization\n",
  ]);
});

const generator = join(root, "node_modules", ".cache", "clients", "python");

/** Why the Python generator is missing; false if it is available. */
const pythonMissing = (): string | false => {
  if (existsSync(join(generator, "bin", "openapi-python-client"))) return false;
  if (spawnSync("python3", ["-m", "venv", generator]).status !== 0) return "python3 with venv is not here";
  const [, version = ""] = /openapi-python-client==(\S+)/.exec(blocksOf("clients-python.md", "sh").join("")) ?? [];
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `openapi-python-client==${version}`];
  return spawnSync(join(generator, "bin", "python"), pip, { timeout: 180_000 }).status === 0 ? false : "openapi-python-client cannot be installed";
};

const onlyLong = (missing: () => string | false): string | false => shortOrLong<() => string | false>(() => "in the long form", missing)();

/** Forwards requests to the server, except the first and the third, which it refuses as a busy server does. */
const openBusyServer = async (): Promise<{ readonly url: string; readonly refused: () => number; readonly close: () => Promise<unknown> }> => {
  let [count, refused] = [0, 0];
  const server = createServer((request, response) => {
    const status = [429, undefined, 503][count++];
    if (status !== undefined) {
      refused++;
      response.writeHead(status, { "retry-after": "0", "content-type": "application/json" }).end('{"code":8,"message":"busy","details":[]}');
      return;
    }
    const { method, url = "", headers } = request;
    const forwarded = httpRequest(world.url + url, { method, headers: { ...headers, host: new URL(world.url).host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}`, refused: () => refused, close: () => once(server.close(), "close") };
};

test("the Python program, with a client generated from the OpenAPI document, does what the guide says", { skip: onlyLong(pythonMissing) }, async () => {
  const [install = "", exchange = ""] = blocksOf("clients-python.md", "sh");
  const generate = install.split("\n").find((line) => line.startsWith("openapi-python-client ")) ?? "";
  const own = await environment();
  const env = { ...own, PATH: `${join(generator, "bin")}:${process.env.PATH}` };
  const generated = await execute("/bin/sh", ["-ec", generate], { cwd: folder, env });
  assert.doesNotMatch(generated.stdout + generated.stderr, /WARNING|Warning|Unable/, "every operation is generated");
  await writeFile(join(folder, "groups.py"), blocksOf("clients-python.md", "python").join("\n"));
  const busy = await openBusyServer();
  const { stdout } = await execute("python", ["groups.py"], { cwd: folder, env: { ...env, BASE: busy.url } });
  assert.equal(busy.refused(), 2, "both refused requests were sent again");
  await busy.close();
  assert.deepEqual(stdout.split("\n").slice(0, 2), [`${world.organization} first-organization`, "True"]);
  assert.match(stdout, /^3 Invalid argument: uid/m);
  const asked = await execute("/bin/sh", ["-ec", `${exchange}\necho "$TOKEN"`], { cwd: folder, env: { ...env, JOB_TOKEN: own.TOKEN ?? "", IDENTITY: "" } });
  assert.match(asked.stdout, /^eyJ/);
});

/** Why the public SDK is missing; false if it is available. */
const goMissing = (): string | false => {
  if (spawnSync("go", ["version"]).status !== 0) return "go is not here";
  const [, version = ""] = /chainguard\.dev\/sdk@(\S+)/.exec(blocksOf("clients-go.md", "sh").join("")) ?? [];
  const { status } = spawnSync("go", ["mod", "download", `chainguard.dev/sdk@${version}`], {
    cwd: tmpdir(),
    timeout: 120_000,
    env: { ...process.env, GOFLAGS: "-mod=mod" },
  });
  return status === 0 ? false : "the module proxy of this machine does not give chainguard.dev/sdk";
};

test("the Go program, with the public platform's SDK, does what the guide says", { skip: onlyLong(goMissing) }, async () => {
  const place = join(folder, "go");
  await mkdir(place);
  await writeFile(join(place, "main.go"), blocksOf("clients-go.md", "go").join("\n"));
  const lines = blocksOf("clients-go.md", "sh").join("").split("\n");
  const { stdout } = await execute("/bin/sh", ["-ec", lines.join("\n")], { cwd: place, env: await environment() });
  assert.ok(stdout.includes(`${world.organization} first-organization`), stdout);
});
