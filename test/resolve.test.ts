// bin/resolve.js resolves imports by text and must agree with Node.

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { resolveOwn } from "../bin/resolve.js";

const root = join(import.meta.dirname, "..");
const importsIn = (source: string): string[] => [...source.matchAll(/(?:from|import)\s*\(?\s*"([^"\n]+)"/g)].flatMap(([, name]) => name ?? []);

test("every import within the package resolves to the file that Node finds", () => {
  let compared = 0;
  for (const path of globSync("{base,bin,cli,client,contract,server}/**/*.{ts,js}", { cwd: root })) {
    if (/\.(?:d|test|fixture)\.ts$/.test(path)) continue;
    const file = join(root, path);
    for (const specifier of importsIn(readFileSync(file, "utf8"))) {
      const found = resolveOwn(specifier, pathToFileURL(file).href);
      if (found === undefined) {
        assert.doesNotMatch(specifier, /^[.#][\w/.-]*\.[jt]s$/, path);
        continue;
      }
      assert.equal(fileURLToPath(found.url), createRequire(file).resolve(specifier), `${specifier} in ${path}`);
      assert.equal(found.format, found.url.endsWith(".ts") ? "module-typescript" : "module");
      assert.ok(existsSync(fileURLToPath(found.url)), `${specifier} in ${path}`);
      compared++;
    }
  }
  assert.ok(compared > 1000, `only ${compared} imports`);
});

test("imports that need more than their text are left to Node", () => {
  const parent = pathToFileURL(join(root, "cli", "main.ts")).href;
  for (const specifier of ["./a.ts?again", "./a%20b.ts", "./a.json", "commander", "node:fs", "#nothing", "file:///tmp/a.ts", "../../outside.ts"])
    assert.equal(resolveOwn(specifier, parent), undefined, specifier);
  assert.equal(resolveOwn("./a.js", pathToFileURL(join(root, "node_modules", "jose", "index.js")).href), undefined);
});
