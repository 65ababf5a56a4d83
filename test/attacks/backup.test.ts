// Attacks on backups (docs/attacks.md, 182 to 185 and 198): changed archives, path traversal, missing keys, and false claims of a restore.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { packTar, unpackTar } from "modern-tar";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { sealAudit, tamper, verifyLogs } from "../audit.ts";
import { type Run, runGantry } from "../command-line.ts";
import { asOwner, emptyDatabase, everyRow, freshDatabase, ownerUrlOf, type TestDatabase } from "../database.ts";
import { newConfig, openRegistryClient } from "../registry/images.ts";
import { openWorld, type World } from "../world.ts";

type Environment = Readonly<Record<string, string>>;

let folder: string;
let source: TestDatabase;
let target: TestDatabase;
let environment: Environment;
let place: Environment;
let world: World;
let whole: string;
let wholeFolder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-backup-attacks-"));
  [source, target] = [await freshDatabase(), await emptyDatabase()];
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  environment = { DATABASE_URL: source.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: join(folder, "source") };
  place = { ...environment, DATABASE_URL: target.url, GANTRY_DATA: join(folder, "target") };
  world = await openWorld(environment);
  const client = openRegistryClient(world.url, () => world.token());
  await client.pushBlob("first-organization/app", newConfig());
  await client.pushBlob("first-organization/app", randomBytes(70_000));
  await sealAudit(world);
  [whole, wholeFolder] = [join(folder, "whole.tar"), join(folder, "whole/")];
  for (const path of [whole, wholeFolder]) assert.equal((await admin(["backup", path], environment)).status, 0);
});
after(async () => {
  await world?.close();
  await Promise.all([source, target].map((database) => database?.drop()));
  await rm(folder, { recursive: true, force: true });
});

const admin = (args: readonly string[], given: Environment): Promise<Run> =>
  runGantry(["admin", ...args], { environment: { ...given, GANTRY_MIGRATE_URL: ownerUrlOf(given.DATABASE_URL ?? "") } });

/** Asserts that verification and restore both refuse the backup and write nothing. */
const isRefused = async (path: string, what: string, problem = /./): Promise<void> => {
  const verified = await admin(["backup", "--verify", path], environment);
  assert.equal(verified.status, 1, `${what}: ${verified.out}`);
  assert.match(verified.err, problem, what);
  const restored = await admin(["restore", path], place);
  assert.equal(restored.status, 1, `${what}: ${restored.out}`);
  assert.deepEqual(await asOwner(target.url, "select relname from pg_class where relnamespace = 'public'::regnamespace"), [], what);
  assert.deepEqual(await readdir(join(folder, "target")).catch(() => []), [], what);
};

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

test("attack 182: a truncated, swapped or changed backup is refused, at any position of the change", async () => {
  const bytes = await readFile(whole);
  const at = join(folder, "changed.tar");
  for (const length of [0, 511, 512, 5000, Math.trunc(bytes.length / 2), bytes.length - 1024, bytes.length - 3000]) {
    await writeFile(at, bytes.subarray(0, length));
    if (length !== bytes.length - 1024) await isRefused(at, `cut off at ${length}`, /is incomplete/);
  }
  for (let place = 600; place < bytes.length - 1024; place += Math.trunc(bytes.length / 25)) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    await writeFile(at, changed);
    const { status, out } = await admin(["backup", "--verify", at], environment);
    // Padding and unread header fields do not matter.
    if (status === 0) assert.match(out, /^intact: backup/);
    else await isRefused(at, `changed at ${place}`);
  }

  const sumsChanged = Buffer.from(bytes);
  const inSums = bytes.indexOf("  backup.json\n") - 1;
  sumsChanged[inSums] = sumsChanged[inSums] === 0x30 ? 0x31 : 0x30;
  await writeFile(at, sumsChanged);
  await isRefused(at, "SHA256SUMS changed", /its members are not those that SHA256SUMS lists/);

  // In a directory: every file, with matching checksums.
  const copy = join(folder, "copy");
  const fresh = async (): Promise<void> => {
    await rm(copy, { recursive: true, force: true });
    await cp(wholeFolder, copy, { recursive: true });
  };
  const withFittingSums = async (name: string, content: Uint8Array): Promise<void> => {
    const sums = (await readFile(join(copy, "SHA256SUMS"), "utf8")).replace(new RegExp(`^[0-9a-f]{64}(?=  ${name}$)`, "m"), sha256(content));
    await writeFile(join(copy, name), content);
    await writeFile(join(copy, "SHA256SUMS"), sums);
    const manifest = JSON.parse(await readFile(join(copy, "manifest.json"), "utf8")) as JsonObject;
    await writeFile(join(copy, "manifest.json"), `${JSON.stringify({ ...manifest, sums: sha256(sums) }, undefined, 2)}\n`);
  };
  const names = (await readFile(join(wholeFolder, "SHA256SUMS"), "utf8")).split("\n").map((line) => line.slice(66));
  const [blob = "", groups = ""] = [names.find((name) => name.startsWith("blobs/")), names.find((name) => name.startsWith("tables/groups/"))];
  for (const name of [blob, groups, "backup.json"]) {
    await fresh();
    const content = await readFile(join(copy, name));
    content[content.length - 3] = (content[content.length - 3] ?? 0) ^ 1;
    await writeFile(join(copy, name), content);
    await isRefused(copy, `${name} changed`);
  }
  await fresh();
  const head = JSON.parse(await readFile(join(copy, "backup.json"), "utf8")) as JsonObject;
  await withFittingSums("backup.json", Buffer.from(`${JSON.stringify({ ...head, createTime: "2020-01-01T00:00:00.000Z" }, undefined, 2)}\n`));
  await isRefused(copy, "another time, with sums that fit", /was not written with the secret key/);
  // The manifest and its seal stay unchanged; they cover the checksums.
  await fresh();
  const manifest = await readFile(join(copy, "manifest.json"));
  await withFittingSums("backup.json", Buffer.from(`${JSON.stringify({ ...head, createTime: "2020-01-01T00:00:00.000Z" }, undefined, 2)}\n`));
  await writeFile(join(copy, "manifest.json"), manifest);
  await isRefused(copy, "sums that the sealed manifest does not name", /its members are not those that manifest\.json names/);
  await fresh();
  const otherPosition = (_: string, position: string): string => `"position": ${Number(position) + 1}`;
  await writeFile(join(copy, "manifest.json"), (await readFile(join(copy, "manifest.json"), "utf8")).replace(/"position": (\d+)/, otherPosition));
  await isRefused(copy, "another manifest", /was not written with the secret key/);
  await fresh();
  await rm(join(copy, groups));
  await isRefused(copy, "a table is missing", /is missing/);
  await fresh();
  const other = join(folder, "other/");
  assert.equal((await admin(["backup", other], environment)).status, 0);
  for (const name of ["manifest.json", "manifest.seal", "SHA256SUMS"]) await cp(join(other, name), join(copy, name));
  await isRefused(copy, "the manifest of another backup", /is incomplete/);
});

test("attack 183: a member that escapes the target directory, is a link or is no regular file is refused, and nothing is written", async () => {
  const outside = join(folder, "outside");
  const at = join(folder, "names.tar");
  const head = await readFile(join(wholeFolder, "backup.json"));
  const entries: Parameters<typeof packTar>[0] = [{ header: { name: "backup.json", size: head.length, type: "file" }, body: new Uint8Array(head) }];
  for (const name of [
    "../outside",
    "/etc/outside",
    "tables/../../outside",
    "tables/groups/../../x",
    "blobs/sha256/ab/../../../x",
    "tables/Groups/000001.copy.zst",
    "tables/pg_authid;drop/000001.copy.zst",
  ]) {
    await writeFile(at, await packTar([...entries, { header: { name, size: 3, type: "file" }, body: "abc" }]));
    await isRefused(at, name, /is not a valid member name/);
  }
  for (const type of ["symlink", "link", "directory"] as const) {
    await writeFile(at, await packTar([...entries, { header: { name: "tables/groups/000001.copy.zst", linkname: "/etc/passwd", size: 0, type } }]));
    await isRefused(at, type, /is not a file|is not a valid member name/);
  }
  const copy = join(folder, "names");
  await cp(wholeFolder, copy, { recursive: true });
  await writeFile(outside, "secret");
  await writeFile(join(copy, "SHA256SUMS"), `${sha256("secret")}  ../outside\n`);
  await isRefused(copy, "a name in SHA256SUMS", /is not a valid member name/);
  // Refused by its name alone, without looking the file up.
  await writeFile(join(copy, "SHA256SUMS"), `${sha256("secret")}  ../not-there\n`);
  await isRefused(copy, "a name in SHA256SUMS that leads to nothing", /is not a valid member name/);
  await rm(copy, { recursive: true });
  await cp(wholeFolder, copy, { recursive: true });
  await rm(join(copy, "backup.json"));
  await symlink(outside, join(copy, "backup.json"));
  await isRefused(copy, "a link", /is not a file/);
});

test("attack 184: without the key, a backup reveals no secret and cannot be restored", async () => {
  const { organization } = world;
  const secret = "client secret of a provider";
  const oidc = { issuer: "https://issuer.example.com", clientId: "gantry", clientSecret: secret };
  const [{ roles = [] }] = [await world.ok("iam.RolesService/ListRoles", { name: "viewer" })];
  const [viewer] = (roles as JsonObject[]).filter(isObject);
  await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: organization,
    identityProvider: { name: "corporate", defaultRole: text(viewer ?? {}, "uid"), oidc },
  });
  const passphrase = join(folder, "passphrase");
  await writeFile(passphrase, "a horse and its staple");
  const path = join(folder, "secrets/");
  assert.equal((await admin(["backup", "--with-key", "--passphrase-file", passphrase, path], environment)).status, 0);
  const key = (await readFile(environment.GANTRY_SECRET_KEY_FILE ?? "", "utf8")).trim();
  const { zstdDecompressSync } = await import("node:zlib");
  for (const name of (await readFile(join(path, "SHA256SUMS"), "utf8"))
    .split("\n")
    .map((line) => line.slice(66))
    .filter((each) => each !== "")) {
    const content = await readFile(join(path, name));
    const shown = name.endsWith(".zst") ? zstdDecompressSync(content) : content;
    for (const each of [secret, key, Buffer.from(key, "base64").toString("hex"), "a horse and its staple"]) assert.ok(!shown.includes(each), name);
    assert.ok(!content.includes(Buffer.from(key, "base64")), name);
  }
  const noKey = { ...place, GANTRY_SECRET_KEY_FILE: join(folder, "absent.key") };
  const otherKey = join(folder, "other.key");
  await writeFile(otherKey, randomBytes(32).toString("base64"), { mode: 0o600 });
  for (const [given, pattern] of [
    [noKey, /does not contain the secret key/],
    [{ ...place, GANTRY_SECRET_KEY_FILE: otherKey }, /the secret key does not match the backup/],
  ] as const) {
    const { status, err } = await admin(["restore", whole], given);
    assert.equal(status, 1);
    assert.match(err, pattern);
  }
  assert.deepEqual(await asOwner(target.url, "select relname from pg_class where relnamespace = 'public'::regnamespace"), []);
  // Without the key, only integrity can be verified, not origin.
  const { status, out } = await admin(["backup", "--verify", whole], noKey);
  assert.equal(status, 0);
  assert.match(out, /origin not verified/);
  // No backup is made with a key that does not match the database.
  const wrong = await admin(["backup", join(folder, "wrong.tar")], { ...environment, GANTRY_SECRET_KEY_FILE: otherKey });
  assert.equal(wrong.status, 1);
  assert.match(wrong.err, /the secret key does not match this database/);
});

test("attack 185: an older log passed off as restored is detected", async () => {
  const { organization } = world;
  const makeGroup = (at: World, name: string) => at.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name } });
  const auditTables = ["audit_chains", "audit_progress", "audit_entries", "restores", "outbox"];
  const copyOf = async (at: World): Promise<ReadonlyMap<string, readonly string[]>> => {
    const rows = await everyRow(at.databaseUrl);
    return new Map(auditTables.map((table) => [table, rows.get(table) ?? []]));
  };
  const putBack = async (at: World, copy: ReadonlyMap<string, readonly string[]>): Promise<void> => {
    for (const table of auditTables) {
      if (table === "outbox") continue;
      await tamper(at, `delete from ${table}`);
      for (const row of copy.get(table) ?? []) await tamper(at, `insert into ${table} select ($1::${table}).*`, [row]);
    }
  };
  const known = async (at: World, name: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, `${(await verifyLogs(at, { json: true })).lines.join("\n")}\n`);
    return path;
  };
  await sealAudit(world);
  const older = await copyOf(world);
  await makeGroup(world, "what shall not have been");
  await sealAudit(world);
  const knownLater = await known(world, "later.jsonl");
  await putBack(world, older);
  const put = await verifyLogs(world, { known: knownLater });
  assert.equal(put.whole, false, "put back, and nothing said");

  // An unsealed restore record, and a genuine one of another database with another key.
  const base = Date.now() * 1000;
  for (const sealed of ["forged", "2.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]) {
    await tamper(world, "insert into restores (base, restore_time, sealed) values ($1, now(), $2)", [base, sealed]);
    const { whole: isWhole, lines } = await verifyLogs(world, { known: knownLater });
    assert.equal(isWhole, false);
    assert.match(lines.join("\n"), /the record of the restore at \S+ was not written with this server's secret key/);
    assert.match(lines.join("\n"), /was known before/);
    await tamper(world, "delete from restores");
  }

  // A genuine restore: its record explains the entries missing then, and none that disappear later.
  const restored = await emptyDatabase();
  const there = { ...environment, DATABASE_URL: restored.url, GANTRY_DATA: join(folder, "restored") };
  assert.equal((await admin(["restore", whole], there)).status, 0);
  const other = await openWorld(there);
  try {
    const logged = await verifyLogs(other, { known: knownLater });
    assert.ok(logged.whole, logged.lines.join("\n"));
    await sealAudit(other);
    const afterRestore = await copyOf(other);
    await makeGroup(other, "what shall not have been either");
    await sealAudit(other);
    const knownSince = await known(other, "since.jsonl");
    // Its sealed record, in the database that was not restored.
    const [row = ""] = afterRestore.get("restores") ?? [];
    await tamper(world, "insert into restores select ($1::restores).*", [row]);
    const copied = await verifyLogs(world, { known: knownLater });
    assert.equal(copied.whole, false);
    assert.match(copied.lines.join("\n"), /the seal over all chains does not contain it/);
    // Rolled back to just after the restore: the same record does not explain the loss.
    await putBack(other, afterRestore);
    const back = await verifyLogs(other, { known: knownSince });
    assert.equal(back.whole, false);
    assert.match(back.lines.join("\n"), /was known before/);
    await tamper(other, "delete from restores");
    assert.match((await verifyLogs(other)).lines.join("\n"), /the record of the restore at \S+ is missing/);
  } finally {
    await other.close();
    await restored.drop();
  }
});

test("attack 198: files that a backup's checksums do not list never become blobs", async () => {
  const client = openRegistryClient(world.url, () => world.token());
  const [own, gone] = [randomBytes(3000), randomBytes(4000)];
  for (const each of [own, gone]) await client.pushBlob("first-organization/app", each);
  const [[key] = []] = await asOwner(source.url, "select key from blobs where sha256 = $1", [`sha256:${sha256(gone)}`]);
  // One blob is missing, so there may be one fewer than the manifest counts.
  await rm(join(environment.GANTRY_DATA ?? "", "blobs", "content", (key ?? "").slice(0, 2), key ?? ""));
  const path = join(folder, "fewer.tar");
  assert.equal((await admin(["backup", path], environment)).status, 2);
  const entries = (await unpackTar(new Uint8Array(await readFile(path)))).map(({ header, data }) => ({ header, body: data ?? new Uint8Array() }));
  const name = `blobs/sha256/${sha256(own).slice(0, 2)}/${sha256(own)}`;
  const behind = (last: string): number => entries.findIndex(({ header }) => header.name === last) + 1;
  const forged = { header: { name, size: own.length, type: "file" as const }, body: new Uint8Array(randomBytes(own.length)) };
  const at = join(folder, "forged.tar");
  for (const last of ["SHA256SUMS", "manifest.json", "manifest.seal"]) {
    await writeFile(at, await packTar(entries.toSpliced(behind(last), 0, forged)));
    await isRefused(at, `behind ${last}`, /is incomplete: found .* instead of/);
  }
});
