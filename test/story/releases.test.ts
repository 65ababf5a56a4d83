// Compatibility with every released version: its database (test/releases) is upgraded at the start, and the API responds as that version did. This
// version in turn acts as the previous one: it keeps writing while the next version migrates, and starts on a newer schema unless a migration is
// marked as breaking.

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isObject, type Json, text } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { migrationsDirectory, readMigrations } from "../../server/db/migration-files.ts";
import { migrate } from "../../server/db/migrate.ts";
import { verifyLogs } from "../audit.ts";
import { type Answer, callOver } from "../client.ts";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { type Asked, releaseSettings, releasesFolder, type Release } from "../releases/release.ts";
import { openWorld, type World } from "../world.ts";
import { gantry } from "./processes.ts";

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));

/** Reads intended differences: operation and reason. Only an upgrade described in CHANGELOG.md belongs here. */
const readDifferences = (folder: string): Readonly<Record<string, string>> => {
  const path = join(folder, "differences.json");
  return existsSync(path) ? (readJson(path) as Record<string, string>) : {};
};

/** Lists where the new response lacks or changes something of the old one; additional fields are allowed. */
const differences = (old: Json | undefined, now: Json | undefined, at: string): string[] => {
  // Differs in each response.
  if (at.endsWith(".nextPageToken")) return [];
  if (Array.isArray(old)) {
    if (!Array.isArray(now) || now.length !== old.length) return [`${at}: ${Array.isArray(now) ? now.length : "no"} entries in place of ${old.length}`];
    return old.flatMap((each, index) => differences(each, now[index], `${at}[${index}]`));
  }
  if (isObject(old)) {
    if (!isObject(now)) return [`${at}: ${JSON.stringify(now)} in place of an object`];
    return Object.entries(old).flatMap(([key, value]) => differences(value, now[key], `${at}.${key}`));
  }
  return old === now ? [] : [`${at}: ${JSON.stringify(now)} in place of ${JSON.stringify(old)}`];
};

const emptyDatabase = async (): Promise<TestDatabase> => {
  const database = await freshDatabase();
  await asOwner(database.url, "drop schema public cascade; create schema public");
  return database;
};

interface ReleasedData {
  /** Temporary. */
  readonly work: string;
  readonly database: TestDatabase;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs `use` with the version's data, which no server has upgraded yet. */
const withReleased = async (folder: string, release: Release, use: (data: ReleasedData) => Promise<void>): Promise<void> => {
  const work = mkdtempSync(join(tmpdir(), "gantry-upgraded-"));
  const database = await emptyDatabase();
  try {
    const migrations = join(work, "migrations");
    for (const { name } of (await readMigrations()).slice(0, release.migrations)) cpSync(join(migrationsDirectory, name), join(migrations, name));
    await migrate(database.ownerUrl, { progress: () => {}, directory: migrations });
    await asOwner(database.url, readFileSync(join(folder, "data.sql"), "utf8"));
    cpSync(join(folder, "blobs"), join(work, "blobs"), { recursive: true });
    writeFileSync(join(work, "secret.key"), release.secretKey, { mode: 0o600 });
    const environment = {
      DATABASE_URL: database.url,
      GANTRY_MIGRATE_URL: database.ownerUrl,
      GANTRY_SECRET_KEY_FILE: join(work, "secret.key"),
      GANTRY_BLOBS: join(work, "blobs"),
      ...releaseSettings,
    };
    await use({ work, database, environment });
  } finally {
    await database.drop();
    rmSync(work, { recursive: true, force: true });
  }
};

/** Runs `use` with a current server on the version's data. */
const withWorld = (folder: string, release: Release, use: (world: World, data: ReleasedData) => Promise<void>): Promise<void> =>
  withReleased(folder, release, async (data) => {
    const world = await openWorld(data.environment, undefined, release.timeMs);
    try {
      await use(world, data);
    } finally {
      await world.close();
    }
  });

const ask = async (world: World, { operation, request }: Asked): Promise<Answer> => {
  const method = [...methods, ...version1].find(({ name }) => name === operation);
  assert.ok(method, `${operation} is gone`);
  return callOver("rest", world.url, method.name, request, { token: await world.token() });
};

const releases = readdirSync(releasesFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => ({ folder: join(releasesFolder, name), version: name, release: readJson(join(releasesFolder, name, "release.json")) as Release }));

test("there is data of a released version", () => assert.ok(releases.length > 0));

for (const { folder, version, release } of releases) {
  const answers = readJson(join(folder, "answers.json")) as readonly Asked[];

  test(`data of version ${version} is upgraded by a start, and the API responds as that version did`, async () => {
    assert.equal(release.version, version);
    assert.ok(answers.length > 70);
    const allowed = readDifferences(folder);
    await withWorld(folder, release, async (world, { database }) => {
      const applied = await asOwner(database.url, "select name from schema_migrations order by number");
      assert.equal(applied.length, (await readMigrations()).length);
      const found: string[] = [];
      const usedAllowances = new Set<string>();
      for (const asked of answers) {
        const { code, message, reply, raw } = await ask(world, asked);
        const told =
          code !== 0
            ? [`${message} in place of an answer`]
            : asked.raw === undefined
              ? differences(asked.reply, reply, "")
              : asked.raw === raw
                ? []
                : ["other bytes"];
        if (told.length === 0) continue;
        if (allowed[asked.operation] === undefined) found.push(`${asked.operation} ${JSON.stringify(asked.request)}\n  ${told.join("\n  ")}`);
        else usedAllowances.add(asked.operation);
      }
      assert.deepEqual(found, []);
      assert.deepEqual(
        Object.keys(allowed).filter((operation) => !usedAllowances.has(operation)),
        [],
        "no difference there any more",
      );
      await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "of the present" } });
      const { whole, lines } = await verifyLogs(world);
      assert.ok(whole, lines.join("\n"));
    });
  });
}

/** Writes today's migrations and those of a future version to a directory. */
const writeNextMigrations = async (folder: string, next: readonly (readonly [name: string, sql: string])[]): Promise<string> => {
  const migrations = await readMigrations();
  for (const { name } of migrations) cpSync(join(migrationsDirectory, name), join(folder, name));
  for (const [index, [name, sql]] of next.entries()) writeFileSync(join(folder, `${String(migrations.length + index + 1).padStart(4, "0")}_${name}.sql`), sql);
  return folder;
};

test("on released data, a server writes while the next version migrates, loses no change, and restarts until a migration is breaking", async () => {
  const { folder, release } = releases.at(-1) ?? assert.fail("no release");
  await withReleased(folder, release, async ({ work, database, environment }) => {
    const world = await openWorld(environment);
    const told: string[] = [];
    const wanted: string[] = [];
    try {
      const { uid } = await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "meanwhile" } });
      const parent = String(uid);
      let isMigrating = true;
      let writes = 0;
      let begun = (): void => {};
      const hasBegun = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const write = async (writer: number): Promise<void> => {
        for (let at = 0; isMigrating || at < 3; at++) {
          const name = `repo-${writer}-${at}`;
          const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent, repo: { name } });
          await world.ok("registry.ReposService/UpdateRepo", { repo: { uid: String(uid), description: "while it migrates" }, updateMask: "description" });
          wanted.push(name);
          if (++writes === 8) begun();
        }
      };
      const writers = [1, 2, 3, 4].map(write);
      await Promise.race([hasBegun, ...writers]);
      const compatible = await writeNextMigrations(join(work, "compatible"), [
        ["added", "-- compatible\nalter table repos add column of_the_next text not null default '';\ncreate table of_the_next (uid text primary key);\n"],
        ["indexed", "-- compatible, outside a transaction\ncreate index concurrently if not exists repos_of_the_next on repos (of_the_next);\n"],
      ]);
      await migrate(database.ownerUrl, { progress: (line) => told.push(line), serverUrl: database.url, directory: compatible });
      isMigrating = false;
      await Promise.all(writers);
      assert.deepEqual(
        told.map((line) => line.replace(/\d+_/, "")),
        ["Migrated the database: added.sql", "Migrated the database: indexed.sql"],
      );
      const { repos } = await world.ok("registry.ReposService/ListRepos", { pageSize: 200, uidp: { childrenOf: parent } });
      const listed = (Array.isArray(repos) ? repos.filter(isObject) : []).map((repo) => [text(repo, "name"), text(repo, "description")]);
      assert.deepEqual(
        listed
          .map(([name]) => name)
          .sort()
          .slice(0, 200),
        wanted.sort().slice(0, 200),
      );
      assert.ok(listed.every(([, description]) => description === "while it migrates"));
      const events = (await world.events()).filter(({ subject }) => subject.startsWith(`${parent}/`));
      for (const type of ["created", "updated"])
        assert.equal(events.filter((event) => event.type === `dev.chainguard.api.platform.registry.repo.${type}.v1`).length, wanted.length, type);
      const { whole, lines } = await verifyLogs(world);
      assert.ok(whole, lines.join("\n"));
    } finally {
      await world.close();
    }

    // Back to the previous version: it starts and names the schema.
    const again = await openWorld(environment);
    try {
      await again.ok("registry.ReposService/CreateRepo", { parent: again.organization, repo: { name: "after-the-way-back" } });
    } finally {
      await again.close();
    }
    const settings = { ...environment, GANTRY_DATA: work };
    const doctor = await gantry(["admin", "migrate"], { env: settings });
    assert.deepEqual([doctor.code, /newer than this version of Gantry knows; it can run on it/.test(doctor.stdout + doctor.stderr)], [0, true]);

    const breaking = await writeNextMigrations(join(work, "breaking"), [
      ["added", readFileSync(join(work, "compatible", readdirSync(join(work, "compatible")).find((name) => name.endsWith("_added.sql")) ?? ""), "utf8")],
      ["indexed", readFileSync(join(work, "compatible", readdirSync(join(work, "compatible")).find((name) => name.endsWith("_indexed.sql")) ?? ""), "utf8")],
      ["changed", "-- breaking\nalter table repos rename column of_the_next to of_no_version;\n"],
    ]);
    const toBreaking = (whileServersRun: boolean) =>
      migrate(database.ownerUrl, { progress: () => {}, serverUrl: database.url, directory: breaking, whileServersRun });
    const running = await openWorld(environment);
    try {
      const write = (name: string) => running.ok("registry.ReposService/CreateRepo", { parent: running.organization, repo: { name } });
      await write("before");
      await assert.rejects(toBreaking(false), (error) => {
        assert.match(
          String(error),
          /migration \d+_changed\.sql would break servers that are connected: gantry \d\S+ on \S+:\d+\. Stop them and repeat this, or run `gantry admin mig/,
        );
        return true;
      });
      await write("after");
      await toBreaking(true);
    } finally {
      await running.close();
    }
    const refused = await gantry(["serve"], { env: { ...settings, GANTRY_LISTEN: "127.0.0.1:1" } });
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^gantry: the database is at migration \d+, newer than .* and this version cannot run on \d+_changed\.sql: start Gantry \d\S+ or later\n$/,
    );
  });
});
