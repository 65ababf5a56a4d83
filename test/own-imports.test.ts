import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ownImport } from "./own-imports.ts";
import { importsOf } from "./source.ts";

const root = join(import.meta.dirname, "..");

/** Asks Node in a process without hooks. */
const program = `
  import { text } from "node:stream/consumers";
  const asked = JSON.parse(await text(process.stdin));
  process.stdout.write(JSON.stringify(asked.map(([specifier, parent]) => import.meta.resolve(specifier, parent))));
`;

test("each own import resolves to the file that Node finds, and all others are left to Node", () => {
  const asked = globSync("{base,bench,cli,client,contract,server,test,tools}/**/*.ts", { cwd: root, exclude: ["contract/gen/**/*_pb.d.ts"] }).flatMap(
    (path) => {
      const file = join(root, path);
      const specifiers = new Set(importsOf(readFileSync(file, "utf8")).flatMap(({ specifier = "" }) => (/^[.#]/.test(specifier) ? [specifier] : [])));
      return [...specifiers].map((specifier) => [specifier, pathToFileURL(file).href] as const);
    },
  );
  const answered = asked.flatMap(([specifier, parent]) => {
    const url = ownImport(specifier, parent);
    return url === undefined ? [] : [{ specifier, parent, url }];
  });
  assert.ok(answered.length > 0.9 * asked.length, `${answered.length} of ${asked.length}`);
  const options = ["--experimental-import-meta-resolve", "--input-type=module", "--eval", program];
  const { status, stdout, stderr } = spawnSync(process.execPath, options, {
    input: JSON.stringify(answered.map(({ specifier, parent }) => [specifier, parent])),
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  assert.equal(status, 0, stderr);
  const found = JSON.parse(stdout) as string[];
  assert.deepEqual(
    answered.map(({ url }) => url),
    found,
  );
  const ours = pathToFileURL(join(root, "server", "planted.ts")).href;
  for (const [specifier, parent] of [
    ["pg", ours],
    ["node:fs", ours],
    ["#absent", ours],
    ["./data.json", ours],
    ["./other.ts", pathToFileURL(join(root, "node_modules", "planted", "index.ts")).href],
    ["../../elsewhere.ts", ours],
  ] as const)
    assert.equal(ownImport(specifier, parent), undefined, `${specifier} of ${parent}`);
});
