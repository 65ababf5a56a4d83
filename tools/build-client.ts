// `npm run build:client [FOLDER]`: builds the package @gantry/client in dist-client/ or FOLDER, whose content is replaced. `npm
// pack ./dist-client` creates the archive.
//
// It contains client/package.ts and its imports as JavaScript with declarations, without dependencies. test/modules.test.ts
// checks the imports, test/packaging/client.test.ts the archive.

import { execFileSync } from "node:child_process";
import { copyFileSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = join(import.meta.dirname, "..");
const dist = resolve(process.argv[2] ?? join(root, "dist-client"));
const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string; readonly license: string };

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "tsconfig.client.json", "--outDir", dist], {
  cwd: root,
  stdio: "inherit",
});

const entry = { types: "./client/package.d.ts", default: "./client/package.js" };
const manifest = {
  name: "@gantry/client",
  version,
  description: "Client for a Gantry server: every resource of its API, typed, in Node and in browsers.",
  license,
  type: "module",
  sideEffects: false,
  exports: { ".": entry, "./package.json": "./package.json" },
  types: entry.types,
  imports: { "#base/*.ts": "./base/*.js" },
  // Token files exist only in Node.
  browser: { "./client/read-file.js": false },
  engines: { node: ">=22" },
};
writeFileSync(join(dist, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
copyFileSync(join(root, "LICENSE"), join(dist, "LICENSE"));
// Relative links lead to pages outside the package.
const guide = readFileSync(join(root, "docs", "guides", "clients-typescript.md"), "utf8");
writeFileSync(join(dist, "README.md"), guide.replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, "$1"));
if (globSync("{server,cli,contract}/**", { cwd: dist }).length > 0) throw new Error("the package imports modules that are not the client's");
process.stdout.write(`@gantry/client ${version}; this makes the archive:  npm pack ${dist}\n`);
