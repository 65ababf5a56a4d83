// Imports of the client: nothing of the server, and in a browser nothing of Node.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix } from "node:path";
import { test } from "node:test";
import { importsOf } from "../source.ts";

const root = join(import.meta.dirname, "..", "..");
const aliases: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).imports;

interface Loaded {
  readonly files: Set<string>;
  /** Packages and modules of Node. */
  readonly others: Set<string>;
}

const targetOf = (path: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier);
  const alias = Object.keys(aliases).find((name) => (name.endsWith("*") ? specifier.startsWith(name.slice(0, -1)) : specifier === name));
  return alias === undefined ? undefined : posix.normalize((aliases[alias] ?? "").replace("*", specifier.slice(alias.length - 1)));
};

/** Returns true if the module is only loaded on demand by `import(…)` with a literal. */
const isLoadedLater = (source: string, specifier: string): boolean => source.includes(`import("${specifier}")`);

/** Returns everything loaded with a file, with `later` on-demand modules too, without types. */
const loadedWith = (path: string, later: boolean, found: Loaded = { files: new Set(), others: new Set() }): Loaded => {
  if (found.files.has(path)) return found;
  assert.ok(existsSync(join(root, path)), path);
  found.files.add(path);
  const source = readFileSync(join(root, path), "utf8");
  for (const { specifier = "", typesOnly } of importsOf(source)) {
    if (typesOnly || (!later && isLoadedLater(source, specifier))) continue;
    const target = targetOf(path, specifier);
    if (target === undefined) found.others.add(specifier);
    else loadedWith(target, later, found);
  }
  return found;
};

test("the package loads only its own modules and no other package, and in a browser nothing of Node", () => {
  const { files, others } = loadedWith("client/package.ts", true);
  assert.ok(files.has("client/gen/resources.ts") && files.has("client/read-file.ts") && files.size > 20);
  assert.deepEqual(
    [...files].filter((path) => !/^(?:client|base)\//.test(path) || path.startsWith("client/contract/")),
    [],
  );
  assert.deepEqual([...others], ["node:fs/promises"]);
  assert.deepEqual([...loadedWith("client/package.ts", false).others], []);
  // Proves that the check above can fail.
  assert.ok(loadedWith("client/read-file.ts", false).others.has("node:fs/promises"));
});

test("the command line's client builds on the package's, and never loads a module of the server", () => {
  const { files, others } = loadedWith("client/contract/index.ts", true);
  assert.ok(files.has("client/client.ts") && files.has("client/contract/grpc.ts") && files.has("contract/catalog.ts") && files.size > 60);
  assert.deepEqual(
    [...files].filter((path) => !/^(?:client|contract|base)\//.test(path)),
    [],
  );
  assert.deepEqual([...others].filter((name) => !name.startsWith("@bufbuild/protobuf")).sort(), [
    "@connectrpc/connect",
    "@connectrpc/connect-node",
    "node:fs/promises",
  ]);
});

test("in a browser the contract's client loads nothing of Node, and only the used parts of the contract", () => {
  const { files, others } = loadedWith("client/contract/index.ts", false);
  assert.deepEqual(
    [...others].filter((name) => isBuiltin(name) || !name.startsWith("@bufbuild/protobuf")),
    [],
  );
  assert.deepEqual(
    [...files].filter((path) => path.startsWith("contract/gen/chainguard/")),
    [],
  );
  assert.ok(loadedWith("client/contract/grpc.ts", false).files.has("contract/gen/chainguard/platform/iam/v2/groups_pb.js"));
});
