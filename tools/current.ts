// Checks that generated files are current: generates them in a temporary folder and compares. Part of `npm run check`.

import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made = mkdtempSync(join(tmpdir(), "gantry-gen-"));

const run = (program: string, args: readonly string[]): void => {
  const { status, error } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) throw error ?? new Error(`${program} ${args.join(" ")} ended with status ${status}`);
};

const generated = (root: string): Map<string, string> =>
  new Map(
    globSync(["contract/gen/**/*", "client/gen/**/*", "server/*/resources/index.ts"], { cwd: root, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(root.length + 1), readFileSync(path, "utf8")]),
  );

try {
  run("buf", ["generate", "--output", made]);
  // Uses the project's generated code; if that is stale, the comparison reports it.
  run(process.execPath, ["tools/generate.ts", made]);
  const [now, then] = [generated(process.cwd()), generated(made)];
  if (then.size === 0) throw new Error("nothing was generated");
  const stale = [...new Set([...now.keys(), ...then.keys()])].filter((path) => now.get(path) !== then.get(path)).sort();
  for (const path of stale)
    console.error(`${path} ${now.has(path) ? (then.has(path) ? "is not what its source says" : "has no source any more") : "is missing"}`);
  if (stale.length > 0) {
    console.error("This makes it anew:  npm run gen");
    process.exitCode = 1;
  }
} finally {
  rmSync(made, { recursive: true, force: true });
}
