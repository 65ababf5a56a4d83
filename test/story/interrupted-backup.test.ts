// Backups and restores that are killed and repeated: real processes.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { sealAudit } from "../audit.ts";
import { asOwner, emptyDatabase, freshDatabase, ownerUrlOf, type TestDatabase } from "../database.ts";
import { digestOf } from "../distribution.ts";
import { freePort } from "../free-port.ts";
import { shortOrLong } from "../length.ts";
import { newConfig, openRegistryClient } from "../registry/images.ts";
import { openWorld, type World } from "../world.ts";
import { type Exit, gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";

type Environment = Readonly<Record<string, string>>;

const layers = shortOrLong(60, 400);

let folder: string;
let key: string;
let world: World;
let sourceEnvironment: Environment;
let backup: string;
let repo: string;
const databases: TestDatabase[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-interrupted-"));
  await chmod(folder, 0o711);
  key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  const source = await freshDatabase();
  databases.push(source);
  sourceEnvironment = { DATABASE_URL: source.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: join(folder, "source") };
  world = await openWorld(sourceEnvironment);
  const client = openRegistryClient(world.url, () => world.token());
  const [[organization = ""] = []] = await asOwner(source.url, "select name from groups where uid = $1", [world.organization]);
  repo = `${organization}/app`;
  const contents = [newConfig(), ...Array.from({ length: layers }, () => randomBytes(50_000))];
  for (const content of contents) await client.pushBlob(repo, content);
  await client.pushManifest(
    repo,
    "1",
    contents.map((content) => ({ digest: digestOf(content), size: content.byteLength })),
  );
  await sealAudit(world);
  backup = join(folder, "backup.tar");
  const made = await gantry(["admin", "backup", backup], { env: { ...sourceEnvironment, GANTRY_MIGRATE_URL: ownerUrlOf(source.url) } });
  assert.equal(made.code, 0, made.stderr);
});
after(async () => {
  await stopAll();
  await world?.close();
  await Promise.all(databases.map((database) => database.drop()));
  await rm(folder, { recursive: true, force: true });
});

const emptyPlace = async (): Promise<Environment> => {
  const database = await emptyDatabase();
  databases.push(database);
  const data = await mkdtemp(join(folder, "place-"));
  return { DATABASE_URL: database.url, GANTRY_MIGRATE_URL: database.ownerUrl, GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: data };
};

const storedBlobs = async ({ GANTRY_DATA = "" }: Environment): Promise<number> => {
  const found = await readdir(join(GANTRY_DATA, "blobs", "content"), { recursive: true, withFileTypes: true }).catch(() => []);
  return found.filter((entry) => entry.isFile()).length;
};

/** Kills a restore as soon as `reached` holds. Returns false if it ended before, so that the test takes another place. */
const killRestore = async (env: Environment, reached: () => Promise<boolean>): Promise<boolean> => {
  const program: Program = start(gantryFile, ["admin", "restore", backup], { env });
  while (program.child.exitCode === null && !(await reached()));
  program.signal("SIGKILL");
  return (await program.ended).signal === "SIGKILL";
};

const restore = (env: Environment): Promise<Exit> => gantry(["admin", "restore", backup], { env });

const requireWhole = async (place: Environment): Promise<void> => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const env = { ...place, GANTRY_LISTEN: new URL(url).host, GANTRY_PUBLIC_URL: url };
  const program = start(gantryFile, ["serve"], { env });
  await program.says(/Gantry serves/);
  const verified = await gantry(["audit", "verify"], { env });
  assert.equal(verified.code, 0, verified.stdout);
  const { stdout } = await gantry(["token"], { env });
  const client = openRegistryClient(url, async () => stdout.trim());
  assert.equal((await client.pull(repo, "1")).blobs.length, layers + 1);
  program.signal("SIGTERM");
  await program.ended;
};

test("a restore that is killed while it writes blobs keeps them when it is repeated, and no server starts before", async () => {
  let place = await emptyPlace();
  while (!(await killRestore(place, async () => (await storedBlobs(place)) >= 10))) place = await emptyPlace();
  const refused = await gantry(["serve"], { env: place });
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /a restore into this database is running or was interrupted\. Wait for it, or repeat it with the same backup/);
  const { code, stderr } = await restore(place);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Continuing an interrupted restore of this backup$/m);
  const [, kept] = /^(\d+) blobs of the interrupted restore were kept$/m.exec(stderr) ?? [];
  assert.ok(Number(kept) >= 10, stderr);
  await requireWhole(place);
});

test("a restore that is killed after its rows and blobs are complete does not read them again when it is repeated", async () => {
  let place = await emptyPlace();
  const isLoaded = async (): Promise<boolean> => {
    const found = await asOwner(place.DATABASE_URL ?? "", "select 1 from schema_migrations where name = 'restore, loaded'").catch(() => []);
    return found.length > 0;
  };
  while (!(await killRestore(place, isLoaded))) place = await emptyPlace();
  const { code, stderr } = await restore(place);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Continuing an interrupted restore of this backup, whose rows and blobs are complete$/m);
  await requireWhole(place);
});

test("a killed restore into the embedded database continues, and a complete one is not repeated", async () => {
  const newPlace = async () => ({ GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: await mkdtemp(join(folder, "embedded-")) });
  let env = await newPlace();
  while (!(await killRestore(env, async () => (await storedBlobs(env)) >= 10))) env = await newPlace();
  const { code, stderr } = await restore(env);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Continuing an interrupted restore of this backup$/m);
  await requireWhole(env);
  assert.match((await restore(env)).stderr, /a database already exists in/);
});

test("a restore does not continue another backup's restore, keeps no damaged blob, and does not run twice at once", async () => {
  let place = await emptyPlace();
  while (!(await killRestore(place, async () => (await storedBlobs(place)) >= 10))) place = await emptyPlace();
  const content = join(place.GANTRY_DATA ?? "", "blobs", "content");
  const files = (await readdir(content, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const { parentPath, name } of files.slice(0, 3)) await writeFile(join(parentPath, name), randomBytes(50_000));
  const other = join(folder, "other.tar");
  const source = databases[0]?.url ?? "";
  const made = await gantry(["admin", "backup", other], {
    env: { ...place, DATABASE_URL: source, GANTRY_MIGRATE_URL: ownerUrlOf(source), GANTRY_DATA: join(folder, "source") },
  });
  assert.equal(made.code, 0, made.stderr);
  const refused = await gantry(["admin", "restore", other], { env: place });
  assert.match(refused.stderr, /the location is not empty/);
  const both = await Promise.all([restore(place), restore(place)]);
  assert.deepEqual(both.map(({ code }) => code).toSorted(), [0, 1], both.map(({ stderr }) => stderr).join("\n"));
  await requireWhole(place);
});

for (const form of ["file", "directory"] as const)
  test(`a backup to a ${form} that is killed while it copies blobs continues with them, and leaves nothing else`, async () => {
    const parent = await mkdtemp(join(folder, "backups-"));
    const path = form === "file" ? join(parent, "backup.tar") : join(parent, "backup/");
    const env = { ...sourceEnvironment, GANTRY_MIGRATE_URL: ownerUrlOf(sourceEnvironment.DATABASE_URL ?? "") };
    const args = ["admin", "backup", "--resume", path];
    const draftBytes = async (): Promise<number> => {
      const found = await readdir(parent, { recursive: true, withFileTypes: true });
      const sizes = found
        .filter((entry) => entry.isFile())
        .map(async ({ parentPath, name }) => (await stat(join(parentPath, name)).catch(() => undefined))?.size ?? 0);
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    };
    // More than the tables, and less than everything.
    for (let kills = 0; kills < 2; ) {
      const program = start(gantryFile, args, { env });
      while (program.child.exitCode === null && (await draftBytes()) < (kills + 1) * 1_000_000);
      program.signal("SIGKILL");
      if ((await program.ended).signal === "SIGKILL") kills++;
      else await rm(path, { recursive: true });
    }
    const { code, stderr } = await gantry(args, { env });
    assert.equal(code, 0, stderr);
    const [, kept] = /^(\d+) blobs of an interrupted backup were kept$/m.exec(stderr) ?? [];
    assert.ok(Number(kept) >= 5, stderr);
    assert.deepEqual(await readdir(parent), [basename(path)]);
    const place = await emptyPlace();
    const restored = await gantry(["admin", "restore", path], { env: place });
    assert.equal(restored.code, 0, restored.stderr);
    await requireWhole(place);
  });

test("a damaged blob of an interrupted backup is read from the storage again", async () => {
  const parent = await mkdtemp(join(folder, "backups-"));
  const draft = join(parent, ".backup.0.unfinished");
  const path = join(parent, "backup/");
  const env = { ...sourceEnvironment, GANTRY_MIGRATE_URL: ownerUrlOf(sourceEnvironment.DATABASE_URL ?? "") };
  assert.equal((await gantry(["admin", "backup", path], { env })).code, 0);
  const files = (await readdir(join(path, "blobs"), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  await rename(path, draft);
  const [first] = files;
  assert.ok(first);
  const damaged = join(first.parentPath.replace(path, `${draft}/`), first.name);
  await writeFile(damaged, randomBytes((await stat(damaged)).size));
  const { code, stderr } = await gantry(["admin", "backup", "--resume", path], { env });
  assert.equal(code, 0, stderr);
  assert.match(stderr, new RegExp(`^${files.length - 1} blobs of an interrupted backup were kept$`, "m"));
  assert.equal((await gantry(["admin", "backup", "--verify", path], { env })).code, 0);
});

test("a backup to a path to which another backup is running is refused, and leaves that one alone", async () => {
  const parent = await mkdtemp(join(folder, "backups-"));
  const link = join(folder, "linked");
  await symlink(parent, link);
  const env = { ...sourceEnvironment, GANTRY_MIGRATE_URL: ownerUrlOf(sourceEnvironment.DATABASE_URL ?? "") };
  const drafts = async (): Promise<string[]> => (await readdir(parent)).filter((name) => name.endsWith(".unfinished"));
  const path = join(parent, "backup.tar");
  const running = start(gantryFile, ["admin", "backup", "--resume", path], { env });
  while (running.child.exitCode === null && (await drafts()).length === 0);
  running.signal("SIGSTOP");
  const found = await drafts();
  assert.equal(found.length, 1);
  const others = [path, join(link, "backup.tar")].map((each) => gantry(["admin", "backup", "--resume", each], { env }));
  for (const { code, stderr } of await Promise.all(others)) {
    assert.equal(code, 1);
    assert.match(stderr, /another backup to this path is running\. Wait for it, or back up to another path/);
  }
  assert.deepEqual(await drafts(), found);
  running.signal("SIGCONT");
  const { code, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.equal((await gantry(["admin", "backup", "--verify", path], { env })).code, 0);
});
