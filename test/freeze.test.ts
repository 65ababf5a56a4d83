// Checksums of released migrations: what the check refuses, and that they equal those that databases compare.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { migrationsDirectory, readMigrations } from "../server/db/migration-files.ts";
import { checksumOf, compareChecksums, formatChecksums, parseChecksums } from "../tools/freeze.ts";

const frozen = new Map([
  ["0001_a.sql", checksumOf("a")],
  ["0002_b.sql", checksumOf("b")],
]);

test("a migration that was changed or deleted, or has no entry, is named", () => {
  assert.deepEqual(compareChecksums(frozen, frozen), { changed: [], missing: [] });
  const files = new Map([
    ["0001_a.sql", checksumOf("a ")],
    ["0003_c.sql", checksumOf("c")],
  ]);
  const { changed, missing } = compareChecksums(frozen, files);
  assert.equal(changed.length, 2);
  assert.match(changed[0] ?? "", /^0001_a.sql has changed since it landed: .*a new migration$/);
  assert.match(changed[1] ?? "", /^0002_b.sql has landed and is gone: /);
  assert.deepEqual(missing, ["0003_c.sql"]);
});

test("the checksum file is parsed as written", () => {
  assert.deepEqual(parseChecksums(formatChecksums(frozen)), frozen);
});

test("every migration is frozen with the checksum that databases compare", async () => {
  const migrations = await readMigrations();
  assert.ok(migrations.length > 0);
  assert.deepEqual(
    parseChecksums(readFileSync(join(migrationsDirectory, "checksums.txt"), "utf8")),
    new Map(migrations.map(({ name, sha256 }) => [name, sha256])),
  );
});

const copy = (t: TestContext) => {
  const root = mkdtempSync(join(tmpdir(), "gantry-freeze-"));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "tools"));
  cpSync(join(import.meta.dirname, "..", "tools", "freeze.ts"), join(root, "tools", "freeze.ts"));
  const migrations = join(root, "server", "db", "migrations");
  cpSync(migrationsDirectory, migrations, { recursive: true });
  const run = (...options: string[]) => spawnSync(process.execPath, [join(root, "tools", "freeze.ts"), ...options], { encoding: "utf8" });
  return { migrations, run };
};

test("the check refuses a new migration until npm run freeze adds it, and a changed one always", (t) => {
  const { migrations, run } = copy(t);
  assert.equal(run("--check").status, 0);
  writeFileSync(join(migrations, "9999_new.sql"), "-- compatible\nselect 1;\n");
  const refused = run("--check");
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /^9999_new.sql has no entry in .*checksums.txt: {2}npm run freeze$/m);
  assert.match(run().stdout, /^9999_new.sql is frozen$/m);
  assert.equal(run("--check").status, 0);

  const entries = readFileSync(join(migrations, "checksums.txt"), "utf8");
  writeFileSync(join(migrations, "9999_new.sql"), "-- compatible\nselect 2;\n");
  for (const options of [["--check"], []]) {
    const { status, stderr } = run(...options);
    assert.equal(status, 1);
    assert.match(stderr, /^9999_new.sql has changed since it landed/m);
  }
  assert.equal(readFileSync(join(migrations, "checksums.txt"), "utf8"), entries);
});
