// A release as an operator gets it. Built twice, it has the same bytes; the unpacked archive starts on a machine without Node; the npm package
// installs exactly its pinned versions. Long form only, since each takes a minute or two.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { shortOrLong } from "../length.ts";
import { start, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";

const root = join(import.meta.dirname, "..", "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const seconds = 1_767_225_600;

const folder = mkdtempSync(join(tmpdir(), "gantry-released-"));
after(async () => {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Our own environment, without variables that configure a server. */
const ownEnvironment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:GANTRY_|DATABASE_URL$)/.test(name)));

const run = (program: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): string =>
  execFileSync(program, args, { cwd, encoding: "utf8", env: { ...ownEnvironment, ...env }, stdio: ["ignore", "pipe", "inherit"] });

/** Builds a release in different conditions: another temporary directory and another umask. */
const release = (name: string, umask: string): string => {
  const [made, temporary] = [join(folder, name), join(folder, `${name}-temporary`)];
  mkdirSync(temporary);
  const command = `umask ${umask} && exec '${process.execPath}' '${join(root, "tools", "release.ts")}' '${made}'`;
  run("sh", ["-c", command], root, { SOURCE_DATE_EPOCH: String(seconds), TMPDIR: temporary });
  return made;
};

/** Returns a PATH with common system programs and without Node. */
const pathWithoutNode = (): string => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const program of ["sh", "dirname", "readlink", "env"])
    symlinkSync(execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim(), join(bin, program));
  return bin;
};

const longTests = (): void => {
  let made = "";

  test("a release built twice has the same bytes, and its checksums match its files", () => {
    made = release("first", "022");
    assert.deepEqual(
      readdirSync(made).sort(),
      [
        ...["SHA256SUMS", `gantry-${version}-${process.platform}-${process.arch}.tar.gz`, `gantry-${version}.cdx.json`, `gantry-${version}.tgz`],
        `gantry-client-${version}.tgz`,
      ].sort(),
    );
    run("sha256sum", ["--check", "--strict", "SHA256SUMS"], made);
    const again = release("second", "077");
    assert.equal(readFileSync(join(again, "SHA256SUMS"), "utf8"), readFileSync(join(made, "SHA256SUMS"), "utf8"));
  });

  test("the archive starts in an empty directory on its own PostgreSQL without Node, and lists every package it contains", async () => {
    const empty = join(folder, "empty");
    mkdirSync(empty);
    run("tar", ["-xzf", join(made, `gantry-${version}-${process.platform}-${process.arch}.tar.gz`), "-C", empty], empty);
    const tree = join(empty, `gantry-${version}`);
    assert.deepEqual(readdirSync(empty), [`gantry-${version}`]);
    const port = await freePort();
    const env = { PATH: pathWithoutNode(), GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_DATA: join(folder, "data") };
    const program = start(join(tree, "bin", "gantry"), ["serve"], { env, cwd: empty, node: "/bin/sh" });
    // npx would look for a package of that name elsewhere.
    await program.says(/^ {2}gantry token/m);
    const { version: answered } = (await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()) as { version: string };
    assert.equal(answered, version);
    const token = run(join(tree, "bin", "gantry"), ["token"], empty, env).trim();
    const { status } = await fetch(`http://127.0.0.1:${port}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(status, 200);
    program.signal("SIGTERM");
    assert.equal((await program.ended).code, 0);

    const bom = JSON.parse(readFileSync(join(tree, `gantry-${version}.cdx.json`), "utf8")) as {
      bomFormat: string;
      metadata: { timestamp: string; component: { name: string; version: string } };
      components: { name: string; version: string; purl: string; hashes?: unknown[] }[];
    };
    assert.deepEqual([bom.bomFormat, bom.metadata.component.name, bom.metadata.component.version], ["CycloneDX", "gantry", version]);
    assert.equal(bom.metadata.timestamp, new Date(seconds * 1000).toISOString());
    const listed = new Set(bom.components.map(({ purl }) => purl));
    const manifests = globSync("node_modules/{*,@*/*}/package.json", { cwd: tree }).map(
      (path) => JSON.parse(readFileSync(join(tree, path), "utf8")) as { name: string; version: string },
    );
    assert.ok(manifests.length > 50);
    for (const { name, version: has } of manifests) assert.ok(listed.has(`pkg:npm/${name.replace("@", "%40")}@${has}`), `${name} ${has}`);
    assert.ok(bom.components.every(({ hashes }) => (hashes?.length ?? 0) > 0));
  });

  test("the unpacked npm package installs exactly its pinned versions and runs", () => {
    run("tar", ["-xzf", join(made, `gantry-${version}.tgz`), "-C", folder], folder);
    const unpacked = join(folder, "package");
    run("npm", ["ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"], unpacked);
    const { packages } = JSON.parse(readFileSync(join(unpacked, "npm-shrinkwrap.json"), "utf8")) as { packages: Record<string, { version: string }> };
    const { "": own, ...named } = packages;
    assert.equal(own?.version, version);
    const installed = Object.entries(named).filter(([path]) => existsSync(join(unpacked, path, "package.json")));
    assert.ok(installed.length > 50);
    for (const [path, { version: wanted }] of installed)
      assert.equal((JSON.parse(readFileSync(join(unpacked, path, "package.json"), "utf8")) as { version: string }).version, wanted, path);
    assert.equal(run(process.execPath, [join(unpacked, "bin", "gantry.js"), "--version"], unpacked), `gantry ${version}\n`);
  });
};
if (shortOrLong(false, true)) longTests();
