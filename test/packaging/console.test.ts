// The console's committed files: a clean build from the lock file gives the same files, within the limits of their sizes.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..", "..");
const built = join(root, "server", "console", "built");

const firstLoadBytesMax = 185_000;
const furtherPageBytesMax = 40_000;
const filesBytesMax = 2_000_000;

const folder = await mkdtemp(join(tmpdir(), "gantry-console-"));
after(() => rm(folder, { recursive: true, force: true }));

const run = (file: string, args: readonly string[], cwd: string): Promise<{ stdout: string }> =>
  execute(file, args, { cwd, timeout: 120_000, env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` } });

/** Returns the content by name. Both compressed forms must have it. */
const contentsOf = async (place: string): Promise<Map<string, string>> => {
  const names = await readdir(place);
  const contents = new Map<string, string>();
  for (const name of names.filter((each) => each.endsWith(".gz")).map((each) => each.slice(0, -".gz".length))) {
    const content = gunzipSync(await readFile(join(place, `${name}.gz`))).toString("utf8");
    assert.equal(brotliDecompressSync(await readFile(join(place, `${name}.br`))).toString("utf8"), content, name);
    contents.set(name, content);
  }
  assert.equal(names.length, contents.size * 2, "each file has two forms and nothing else is there");
  return contents;
};

test("a clean build of the console gives the committed files, and its types are sound", async () => {
  for (const path of [
    "client",
    "base",
    "package.json",
    join("console", "src"),
    ...["build.ts", "package.json", "package-lock.json", "tsconfig.json"].map((name) => join("console", name)),
  ])
    await cp(join(root, path), join(folder, path), { recursive: true });
  const place = join(folder, "console");
  await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], place);
  await run(process.execPath, ["build.ts", join(folder, "built")], place);
  const [again, committed] = await Promise.all([contentsOf(join(folder, "built")), contentsOf(built)]);
  assert.deepEqual([...again.keys()].sort(), [...committed.keys()].sort(), "run `npm run build` in console/ and commit server/console/built");
  for (const [name, content] of again) assert.ok(content === committed.get(name), `${name} differs: run \`npm run build\` in console/`);
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "--noEmit", "-p", "."], place);
});

test("the first load, each further page and all files stay within their limits", async () => {
  const names = (await readdir(built)).filter((name) => name.endsWith(".gz"));
  const sizes = new Map<string, number>();
  for (const name of names) sizes.set(name.slice(0, -".gz".length), (await stat(join(built, name))).size);
  const page = gunzipSync(await readFile(join(built, "index.html.gz"))).toString("utf8");
  const first = [...page.matchAll(/\/console\/assets\/([\w.-]+)/g)].map(([, name = ""]) => name);
  assert.ok(first.length >= 3, first.join());
  const firstBytes = first.reduce((sum, name) => sum + (sizes.get(name) ?? Number.NaN), 0);
  assert.ok(firstBytes <= firstLoadBytesMax, `the first load has ${firstBytes} bytes`);
  for (const [name, bytes] of sizes) assert.ok(first.includes(name) || bytes <= furtherPageBytesMax, `${name} has ${bytes} bytes`);
  let all = 0;
  for (const name of await readdir(built)) all += (await stat(join(built, name))).size;
  assert.ok(all <= filesBytesMax, `all files have ${all} bytes`);
});
