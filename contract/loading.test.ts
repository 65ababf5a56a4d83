// JSON-only programs load no protobuf: descriptors take as long to load as everything else.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");

const loadedWith = (...paths: readonly string[]): string => {
  const script = `import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ resolve(specifier, context, next) { const found = next(specifier, context); seen.add(found.url); return found; } });
    for (const path of ${JSON.stringify(paths.map((path) => join(root, path)))}) await import(path);
    process.stdout.write([...seen].join("\\n"));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });
  assert.equal(stderr, "");
  return stdout;
};

test("the facts, the REST client and the server load no descriptors until gRPC is used", () => {
  const loaded = loadedWith("contract/catalog.ts", "client/index.ts", "client/rest.ts", "server/application/server.ts");
  assert.match(loaded, /contract\/gen\/facts\.ts/);
  assert.doesNotMatch(loaded, /_pb\.js|@bufbuild/);
  assert.match(loadedWith("server/transport/grpc.ts"), /contract\/gen\/index\.ts/);
});
