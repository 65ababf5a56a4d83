// Backup and restore by an operator: during writes, into an empty installation, compared over the API.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { isObject, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methods } from "#contract/catalog.ts";
import { collect, removeLeftContents } from "#registry/collection";
import { leftOutTables } from "../../server/db/copying.ts";
import { holdBlobs } from "#db";
import { migrate } from "../../server/db/migrate.ts";
import { readMigrations } from "../../server/db/migration-files.ts";
import { entriesOf, everyPage, sealAudit, verifyLogs } from "../audit.ts";
import { type Run, runGantry } from "../command-line.ts";
import { asOwner, emptyDatabase, freshDatabase, ownerUrlOf, type TestDatabase } from "../database.ts";
import { shortOrLong } from "../length.ts";
import { objectStorageMissing, startObjectStorage } from "../object-storage.ts";
import { newConfig, openRegistryClient } from "../registry/images.ts";
import { digestOf } from "../distribution.ts";
import { freePort } from "../free-port.ts";
import { assertInvariants } from "../invariants.ts";
import { openWorld, type World } from "../world.ts";
import { gantry, gantryFile, start, stopAll } from "./processes.ts";
import { advisory, eventAt, writeTestRecords } from "./records.ts";
import { openSink } from "./sink.ts";

type Environment = Readonly<Record<string, string>>;

let folder: string;
let source: TestDatabase;
let environment: Environment;
let world: World;
const databases: TestDatabase[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-backup-"));
  await chmod(folder, 0o755);
  source = await freshDatabase();
  databases.push(source);
  const key = join(folder, "secret.key");
  await writeFile(key, randomBytes(32).toString("base64"), { mode: 0o600 });
  environment = { DATABASE_URL: source.url, GANTRY_SECRET_KEY_FILE: key, GANTRY_DATA: join(folder, "source") };
  world = await openWorld(environment);
});
after(async () => {
  await world?.close();
  await stopAll();
  await Promise.all(databases.map((database) => database.drop()));
  await rm(folder, { recursive: true, force: true });
});

/** Adds the owner's connection, which the operator's commands need. */
const asAdmin = (given: Environment): Environment => ({ ...given, GANTRY_MIGRATE_URL: ownerUrlOf(given.DATABASE_URL ?? "") });

const admin = async (args: readonly string[], given: Environment = environment): Promise<Run> => runGantry(["admin", ...args], { environment: asAdmin(given) });

const done = ({ status, out, err }: Run): string => {
  assert.equal(status, 0, `${out}${err}`);
  return out;
};

/** Returns settings of an empty installation: a database, a data directory and a blob location. */
const emptyPlace = async (more: Environment = {}): Promise<Environment> => {
  const database = await emptyDatabase();
  databases.push(database);
  return { ...environment, DATABASE_URL: database.url, GANTRY_DATA: await mkdtemp(join(folder, "place-")), ...more };
};

const ended = [/^gantry\.audit\./, /DeliveriesService/];

/** Lists everything that the operator can read, by operation and UID. */
const everything = async ({ call }: World): Promise<Map<string, Map<string, JsonObject>>> => {
  const found = new Map<string, Map<string, JsonObject>>();
  for (const { name } of methods.filter(
    (method) => method.http.length > 0 && /\/List[A-Z]/.test(method.name) && !ended.some((form) => form.test(method.name)),
  )) {
    const resources = new Map<string, JsonObject>();
    for (let pageToken = ""; ; ) {
      const { code, reply } = await call(name, { pageSize: 200, ...(pageToken === "" ? {} : { pageToken }) });
      if (code !== 0) break;
      const [page = []] = Object.values(reply).filter((value) => Array.isArray(value));
      for (const each of page.filter(isObject)) resources.set(text(each, "uid") || JSON.stringify(each), each);
      pageToken = text(reply, "nextPageToken");
      if (pageToken === "") break;
    }
    if (resources.size > 0) found.set(name, resources);
  }
  return found;
};

const described = (content: Uint8Array): { digest: string; size: number } => ({ digest: digestOf(content), size: content.byteLength });

const pushImage = async (client: ReturnType<typeof openRegistryClient>, repo: string, tag: string): Promise<string> => {
  const contents = [newConfig(), randomBytes(40_000), randomBytes(5)];
  for (const each of contents) await client.pushBlob(repo, each);
  return client.pushManifest(repo, tag, contents.map(described));
};

const organizationName = "first-organization";

/** Removes the server's own address, which a provider's callback contains and which differs after a restore. */
const withoutOwnAddress = (resource: JsonObject | undefined): JsonObject | undefined => {
  if (resource?.callbackUrl === undefined) return resource;
  return { ...resource, callbackUrl: new URL(text(resource, "callbackUrl")).pathname };
};

test("everything acknowledged before a backup began is restored, despite concurrent writes", async () => {
  const client = openRegistryClient(world.url, () => world.token());
  const { organization } = world;
  const group = text(await world.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name: "team" } }), "uid");
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: group, subscription: { sink: "https://example.com/sink" } });
  await world.ok("iam.IdentitiesService/CreateIdentity", {
    parent: group,
    identity: { name: "pipeline", claimMatch: { issuer: "https://issuer.example.com", subject: "pipeline" } },
  });
  const oidc = { issuer: "https://issuer.example.com", clientId: "gantry", clientSecret: "client secret" };
  await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent: organization,
    identityProvider: { name: "corporate", defaultRole: builtInRoleUid("viewer"), oidc },
  });
  for (const tag of ["1.0", "1.1", "latest"]) await pushImage(client, `${organizationName}/app`, tag);
  await sealAudit(world);
  const before = await everything(world);

  // These writers change several tables, from before the backup until after it.
  const acknowledged: string[] = [];
  const acknowledgedMs = new Map<string, number>();
  const acknowledge = async (uid: string): Promise<void> => {
    acknowledged.push(uid);
    const [[time] = []] = await asOwner(source.url, "select extract(epoch from clock_timestamp()) * 1000");
    acknowledgedMs.set(uid, Number(time));
  };
  let stopped = false;
  const writer = async (name: string): Promise<void> => {
    for (let turn = 0; !stopped; turn++) {
      const uid = text(await world.ok("iam.GroupsService/CreateGroup", { parent: group, group: { name: `${name}-${turn}` } }), "uid");
      const repo = text(await world.ok("registry.ReposService/CreateRepo", { parent: group, repo: { name: `${name}-${turn}` } }), "uid");
      await acknowledge(repo);
      if (turn % 3 === 0) await pushImage(client, `${organizationName}/team/${name}-${turn}`, "1");
      if (turn % 2 === 0) await world.ok("iam.GroupsService/DeleteGroup", { uid });
      else await acknowledge(uid);
    }
  };
  const writers = ["a", "b", "c"].map(writer);
  while (acknowledged.length < shortOrLong(9, 500)) await new Promise((resolve) => setImmediate(resolve));
  const acknowledgedBefore = [...acknowledged];
  const path = join(folder, "while-writing.tar");
  const made = await admin(["backup", path]);
  const writtenMeanwhile = acknowledged.length;
  stopped = true;
  await Promise.all(writers);
  assert.match(done(made), /^backup [0-9a-f]{32} of \S+: \d+ rows of \d+ tables, \d+ blobs \(\d+ bytes\)\n$/);
  assert.ok(writtenMeanwhile > acknowledgedBefore.length, "nobody wrote while the backup was made");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.match(done(await admin(["backup", "--verify", path])), /^intact: .*\nsealed with this secret key\n$/);

  const place = await emptyPlace();
  const restored = done(await admin(["restore", path], place));
  assert.match(restored, /^restored the state of \S+: \d+ rows, \d+ blobs; event positions continue after \d{16}\n$/);
  await assertInvariants(place.DATABASE_URL ?? "");
  const other = await openWorld(place);
  try {
    const now = await everything(other);
    for (const [operation, resources] of before)
      for (const [uid, resource] of resources)
        assert.deepEqual(withoutOwnAddress(now.get(operation)?.get(uid)), withoutOwnAddress(resource), `${operation}: ${uid}`);
    const repos = now.get("chainguard.platform.registry.v2.ReposService/ListRepos");
    const groups = now.get("chainguard.platform.iam.v2.GroupsService/ListGroups");
    for (const uid of acknowledgedBefore) assert.ok(repos?.has(uid) || groups?.has(uid), uid);
    const stateMs = Date.parse(/of (\S+):/.exec(made.out)?.[1] ?? "");
    for (const [uid, timeMs] of acknowledgedMs) if (timeMs < stateMs) assert.ok(repos?.has(uid) || groups?.has(uid), `${uid} at ${timeMs}, before ${stateMs}`);
    const puller = openRegistryClient(other.url, () => other.token());
    for (const tag of ["1.0", "1.1", "latest"]) assert.equal((await puller.pull(`${organizationName}/app`, tag)).blobs.length, 3);
    const { whole, lines } = await verifyLogs(other);
    assert.ok(whole, lines.join("\n"));
    assert.match(lines.join("\n"), /restored at \S+ by .+ on .+, from backup [0-9a-f]{32} of \S+, whose last event was \d+/);
    // The restored server works: secrets decrypt, numbers continue, and pushed images can be pulled.
    await pushImage(puller, `${organizationName}/app`, "2.0");
    await puller.pull(`${organizationName}/app`, "2.0");
    assert.match(done(await admin(["backup", "--verify", path], place)), /^intact/);
  } finally {
    await other.close();
  }
});

test("every table is in a backup or is listed with the reason for its omission", async () => {
  const path = join(folder, "tables/");
  done(await admin(["backup", path]));
  const { tables } = JSON.parse(await readFile(join(path, "backup.json"), "utf8")) as { tables: { name: string; columns: string[] }[] };
  const rows = await asOwner(
    source.url,
    `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relpersistence = 'p' order by 1`,
  );
  assert.deepEqual(
    [...tables.map(({ name }) => name), ...Object.keys(leftOutTables)].sort(),
    rows.map(([name]) => name),
  );
  for (const reason of Object.values(leftOutTables)) assert.match(reason, /\w+ \w+/);
  const sums = await readFile(join(path, "SHA256SUMS"), "utf8");
  assert.match(sums, /^[0-9a-f]{64} {2}backup\.json\n/);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
});

// ---- refusals ----------------------------------------------------------------------------------------------------

const refused = (pattern: RegExp, { status, out, err }: Run): void => {
  assert.equal(status, 1, `${out}${err}`);
  assert.match(err, pattern);
  assert.equal(out, "");
};

const tablesOf = async (place: Environment): Promise<unknown[]> =>
  asOwner(place.DATABASE_URL ?? "", "select relname from pg_class where relnamespace = 'public'::regnamespace order by 1");

test("a restore into a non-empty installation or with another key is refused before it writes anything", async () => {
  const path = join(folder, "refused.tar");
  done(await admin(["backup", "--with-key", "--passphrase-file", await fileOf("passphrase", "a horse and its staple\n"), path]));
  refused(/already exists: a backup does not overwrite files/, await admin(["backup", path]));
  refused(
    /passphrase must have at least 12 characters/,
    await admin(["backup", "--with-key", "--passphrase-file", await fileOf("short", "horse\n"), join(folder, "not.tar")]),
  );
  refused(/cannot be written to .*: the directory does not exist/, await admin(["backup", join(folder, "absent", "not.tar")]));

  const rowsBefore = await asOwner(source.url, "select count(*) from outbox");
  refused(/the database is not empty \(it has \w+\)/, await admin(["restore", path], { ...environment, GANTRY_DATA: join(folder, "nothing") }));
  assert.deepEqual(await asOwner(source.url, "select count(*) from outbox"), rowsBefore);

  const place = await emptyPlace();
  const files = await readdir(place.GANTRY_DATA ?? "");
  const untouched = async (): Promise<void> => {
    assert.deepEqual(await tablesOf(place), []);
    assert.deepEqual(await readdir(place.GANTRY_DATA ?? ""), files);
  };
  const occupied = await mkdtemp(join(folder, "blobs-"));
  await writeFile(join(occupied, "gantry-blobs.json"), JSON.stringify({ store: "another", place: "another" }));
  refused(/the location is not empty/, await admin(["restore", path], { ...place, GANTRY_BLOBS: occupied }));
  await untouched();
  const otherKey = await fileOf("other.key", randomBytes(32).toString("base64"));
  refused(/the secret key does not match the backup/, await admin(["restore", path], { ...place, GANTRY_SECRET_KEY_FILE: otherKey }));
  await untouched();
  const keyFile = join(folder, "new.key");
  const keyless = { ...place, GANTRY_SECRET_KEY_FILE: keyFile };
  refused(/is encrypted with a passphrase/, await admin(["restore", path], keyless));
  refused(/wrong passphrase/, await admin(["restore", "--passphrase-file", await fileOf("wrong", "a horse and its stable\n"), path], keyless));
  refused(/not found/, await admin(["restore", join(folder, "absent.tar")], place));
  await untouched();
});

const fileOf = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
};

test("a backup requires a role that can read everything, and names a missing permission", async () => {
  const role = `gantry_test_backup_${process.pid}`;
  const url = new URL(ownerUrlOf(source.url));
  const name = url.pathname.slice(1);
  await asOwner(source.url, `create role ${role}`);
  try {
    await asOwner(source.url, `grant connect on database ${name} to ${role}`);
    // A login role would need an entry in pg_hba.conf; the session has that role in either case.
    url.searchParams.set("options", `-c role=${role}`);
    const path = join(folder, "reader.tar");
    const asReader = (): Promise<Run> => runGantry(["admin", "backup", path], { environment: { ...environment, DATABASE_URL: url.href } });
    // The server's own role cannot read sequences either.
    refused(/role gantry_\w+ may not read \w+/, await runGantry(["admin", "backup", path], { environment }));
    await asOwner(source.url, `grant select on schema_migrations to ${role}`);
    refused(/may not read access_versions, .* and \d+ more: .*pg_read_all_data/, await asReader());
    await asOwner(source.url, `revoke select on schema_migrations from ${role}`);
    await asOwner(source.url, `grant pg_read_all_data to ${role}`);
    done(await asReader());
  } finally {
    await asOwner(source.url, `drop owned by ${role}`);
    await asOwner(source.url, `drop role ${role}`);
  }
});

test("a backup of the previous version is restored unchanged and then migrated", async () => {
  const old = await emptyPlace();
  const ownerUrl = ownerUrlOf(old.DATABASE_URL ?? "");
  const until = 1;
  await migrate(ownerUrl, { progress: () => {}, until });
  const organization = "a".repeat(40);
  await asOwner(old.DATABASE_URL ?? "", `insert into groups (uid, name, create_time, update_time) values ('${organization}', 'kept', now(), now())`);
  const path = join(folder, "old/");
  done(await admin(["backup", path], old));
  const { migrations } = JSON.parse(await readFile(join(path, "backup.json"), "utf8")) as { migrations: unknown[] };
  assert.equal(migrations.length, until);
  const place = await emptyPlace();
  const role = `gantry_test_owner_${process.pid}`;
  const url = new URL(ownerUrlOf(place.DATABASE_URL ?? ""));
  await asOwner(place.DATABASE_URL ?? "", `create role ${role}`);
  await asOwner(place.DATABASE_URL ?? "", `alter database ${url.pathname.slice(1)} owner to ${role}`);
  url.searchParams.set("options", `-c role=${role}`);
  done(await runGantry(["admin", "restore", path], { environment: { ...place, GANTRY_MIGRATE_URL: url.href } }));
  assert.deepEqual(await asOwner(place.DATABASE_URL ?? "", "select distinct tableowner from pg_tables where schemaname = 'public'"), [[role]]);
  for (const statement of [`reassign owned by ${role} to current_user`, `drop owned by ${role}`, `drop role ${role}`])
    await asOwner(place.DATABASE_URL ?? "", statement);
  assert.deepEqual(await asOwner(place.DATABASE_URL ?? "", `select name from groups where uid = '${organization}'`), [["kept"]]);
  assert.deepEqual(await asOwner(place.DATABASE_URL ?? "", "select count(*) from schema_migrations"), [[String((await readMigrations()).length)]]);

  // An unknown migration is not restored, and a newer database is not backed up.
  const later = (await readMigrations()).length + 1;
  for (let number = until + 1; number <= later; number++)
    await asOwner(
      old.DATABASE_URL ?? "",
      `insert into schema_migrations (number, name, sha256, compatible) values (${number}, '${number}_later.sql', '', true)`,
    );
  refused(/was changed after|newer than this version/, await admin(["backup", join(folder, "newer/")], old));
});

test("no server deletes a blob while a backup reads it, and every server reports an interrupted restore", async () => {
  const client = openRegistryClient(world.url, () => world.token());
  const { services } = world.server.application;
  const alone = await client.pushBlob(`${organizationName}/collected`, randomBytes(2000));
  const [[key = ""] = []] = await asOwner(source.url, "select key from blobs where sha256 = $1", [alone]);
  const hold = await holdBlobs(ownerUrlOf(source.url));
  world.clock.now += limits.blobLeaseMs + 1000;
  for await (const _ of collect(services));
  assert.deepEqual(await asOwner(source.url, "select key from blobs where sha256 = $1", [alone]), [], "its row goes");
  assert.equal(await services.blobs.sizeOf(key ?? ""), 2000, "its bytes stay");
  await hold.renew();
  await hold.release();
  while (await removeLeftContents(services));
  assert.equal(await services.blobs.sizeOf(key ?? ""), undefined);

  const place = await emptyPlace();
  const ownerUrl = ownerUrlOf(place.DATABASE_URL ?? "");
  const { beginRestore } = await import("../../server/db/migrate.ts");
  await beginRestore(ownerUrl, "0".repeat(32));
  await assert.rejects(migrate(ownerUrl, { progress: () => {} }), /a restore into this database is running or was interrupted/);
  refused(/a restore into this database is running or was interrupted/, await admin(["restore", join(folder, "old/")], place));
});

// ---- positions that clients remember -----------------------------------------------------------------------------

test("a client that remembers a later state than the restored one is notified and misses no later event", async (t) => {
  const { organization } = world;
  const makeGroup = (at: World, name: string) => at.ok("iam.GroupsService/CreateGroup", { parent: organization, group: { name } });
  const eventsAfter = async (at: World, afterPosition: string): Promise<JsonObject[]> => {
    await sealAudit(at);
    const request = { uidp: { descendantsOf: organization }, orderBy: "position", afterPosition };
    return everyPage(at, "gantry.events.v1.EventsService/ListEvents", "events", request);
  };
  // The command uses the machine's clock.
  world.clock.now = Date.now();
  const lastOf = (found: readonly JsonObject[], field: string): string => text(found.at(-1) ?? {}, field);
  const sink = await openSink();
  t.after(() => sink.close());
  await world.ok("events.SubscriptionsService/CreateSubscription", { parent: organization, subscription: { sink: sink.url } });
  for (let count = 0; count < 3; count++) await makeGroup(world, `before-${count}`);
  await writeTestRecords(world, [
    advisory("CGA-kept", { artifactName: "curl", origin: "curl", events: [eventAt("2024-01-01T00:00:00Z", { fixNotPlanned: {} })] }),
  ]);
  const atBackup = await eventsAfter(world, "0");
  const path = join(folder, "positions.tar");
  done(await admin(["backup", path]));
  const listing = { uidp: { childrenOf: organization }, pageSize: 2 };
  const { nextPageToken } = await world.ok("iam.GroupsService/ListGroups", listing);
  for (let count = 0; count < 4; count++) await makeGroup(world, `lost-${count}`);
  const lost = await eventsAfter(world, "0");
  const remembered = lastOf(lost, "position");
  assert.ok(lost.length > atBackup.length);
  const rememberedEntry = lastOf(await entriesOf(world, { uidp: { descendantsOf: organization } }), "sequence");
  const known = await fileOf("known.jsonl", `${(await verifyLogs(world, { json: true })).lines.join("\n")}\n`);

  const documentAt = (at: World) => `${at.url}/.well-known/csaf/white/2024/curl.json`;
  const knownDocument = { headers: { "if-modified-since": new Date().toUTCString() } };
  assert.equal((await fetch(documentAt(world), knownDocument)).status, 304);

  const place = await emptyPlace();
  done(await admin(["restore", path], place));
  const other = await openWorld(place);
  try {
    await makeGroup(other, "after");
    assert.equal((await fetch(documentAt(other), knownDocument)).status, 200);
    const seen = await eventsAfter(other, remembered);
    const types = seen.map((event) => text(event, "type"));
    assert.equal(types[0], "dev.gantry.organization.restored.v1");
    assert.ok(types.includes("dev.chainguard.api.iam.group.created.v1"), types.join(", "));
    for (const event of seen) assert.ok(Number(event.position) > Number(remembered));
    const entries = await entriesOf(other, { uidp: { descendantsOf: organization }, afterSequence: rememberedEntry });
    assert.equal(text(entries[0] ?? {}, "type"), "dev.gantry.organization.restored.v1");
    assert.ok(entries.some((entry) => text(entry, "type") === "dev.chainguard.api.iam.group.created.v1"));

    // Sinks get the events pending at the backup, new events, and a notice of the restored state.
    await other.server.delivery.enqueue();
    await other.server.delivery.finish();
    const arrived = sink.got.map(({ headers }) => headers["ce-type"]);
    assert.ok(arrived.includes("dev.gantry.organization.restored.v1"), arrived.join(", "));
    assert.match(String(sink.got.find(({ headers }) => headers["ce-type"] === "dev.gantry.organization.restored.v1")?.headers["ce-statetime"]), /^\d{4}-.*Z$/);
    const names = sink.got.map(({ body }) => text(part(JSON.parse(body) as JsonObject, "body"), "name"));
    for (const name of ["before-0", "before-2", "after"]) assert.ok(names.includes(name), `${name}: ${names.join(", ")}`);
    assert.ok(!names.includes("lost-0"));

    const restarted = await other.call("iam.GroupsService/ListGroups", { ...listing, pageToken: nextPageToken ?? "" });
    assert.equal(restarted.headers["gantry-page-restarted"], "true");

    // Known later entries of the audit log are explained, and current ones verify.
    const { whole, lines } = await verifyLogs(other, { known });
    assert.ok(whole, lines.join("\n"));
    assert.match(
      lines.join("\n"),
      new RegExp(
        `${organization} .* intact: .*; entry ${rememberedEntry} was known before, and is gone: \\S+ the state of \\S+ was restored by .*, up to entry \\d+`,
      ),
    );
    const since = await fileOf("since.jsonl", `${(await verifyLogs(other, { json: true })).lines.join("\n")}\n`);
    await makeGroup(other, "later");
    await sealAudit(other);
    assert.ok((await verifyLogs(other, { known: since })).whole);
    const again = join(folder, "again.tar");
    done(await admin(["backup", again], place));
    const third = await emptyPlace();
    done(await admin(["restore", again], third));
    const last = await openWorld(third);
    try {
      await makeGroup(last, "once more");
      await sealAudit(last);
      const { whole: holds, lines: said } = await verifyLogs(last, { known: since });
      assert.ok(holds, said.join("\n"));
      assert.equal(said.filter((line) => /restored at/.test(line)).length, 2, said.join("\n"));
    } finally {
      await last.close();
    }
    // The same after a restore by PostgreSQL's own tools.
    assert.match(done(await admin(["restore", "--recorded"], third)), /^recorded: the state of \S+; event positions continue after \d{16}\n$/);
    const own = await openWorld(third);
    try {
      await sealAudit(own);
      const { whole: holds, lines: said } = await verifyLogs(own, { known: since });
      assert.ok(holds, said.join("\n"));
      assert.match(said.join("\n"), /from an earlier state of the database of/);
    } finally {
      await own.close();
    }
  } finally {
    await other.close();
  }
});

// ---- storage -----------------------------------------------------------------------------------------------------

interface Served {
  readonly client: ReturnType<typeof openRegistryClient>;
  kill(): Promise<void>;
}

const serve = async (given: Environment): Promise<Served> => {
  const port = await freePort();
  const env = { ...given, GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_PUBLIC_URL: "http://gantry.example.com" };
  const program = start(gantryFile, ["serve"], { env });
  await program.says(/Gantry serves/);
  const { stdout } = await gantry(["token"], { env });
  return {
    client: openRegistryClient(`http://127.0.0.1:${port}`, async () => stdout.trim()),
    async kill() {
      program.signal("SIGKILL");
      await program.ended;
    },
  };
};

test("an embedded database is backed up with or without its server running, and restored on an empty machine", async () => {
  const data = join(folder, "embedded");
  const env = { GANTRY_DATA: data, GANTRY_PUBLIC_URL: "http://gantry.example.com" };
  const command = async (args: readonly string[], more: Environment = {}): Promise<Run> => {
    const { code, stdout, stderr } = await gantry(["admin", ...args], { env: { ...env, ...more } });
    return { status: code ?? 1, out: stdout, err: stderr };
  };
  refused(/no database in/, await command(["backup", join(folder, "nothing.tar")]));
  const served = await serve(env);
  await pushImage(served.client, `${organizationName}/app`, "1");
  const passphrase = await fileOf("embedded-passphrase", "a horse and its staple\n");
  const path = join(folder, "embedded.tar");
  done(await command(["backup", "--with-key", "--passphrase-file", passphrase, path]));
  refused(/a database already exists in/, await command(["restore", path]));
  await served.kill();
  const key = await readFile(join(data, "secret.key"), "utf8");
  done(await command(["backup", join(folder, "alone/")]));
  await rm(data, { recursive: true, force: true });

  const elsewhere = { GANTRY_DATA: join(folder, "elsewhere") };
  done(await command(["restore", "--passphrase-file", passphrase, path], elsewhere));
  // With the passphrase, the key is restored too, readable by its owner only.
  assert.equal(await readFile(join(elsewhere.GANTRY_DATA, "secret.key"), "utf8"), key);
  assert.equal((await stat(join(elsewhere.GANTRY_DATA, "secret.key"))).mode & 0o777, 0o600);
  const again = await serve({ ...env, ...elsewhere });
  assert.equal((await again.client.pull(`${organizationName}/app`, "1")).blobs.length, 3);
  await again.kill();
});

test("a full disk is reported in one line and leaves no file that looks like a backup", async () => {
  const full = await mkdtemp(join(folder, "full-"));
  for (const name of ["backup.tar", "folder/"]) {
    // Limits files of this process to 16 KiB, which fails in the same way as a full disk.
    const run = `ulimit -f 32 && trap '' XFSZ && exec "$0" "$@"`;
    const { status, stderr } = spawnSync("sh", ["-c", run, process.execPath, gantryFile, "admin", "backup", join(full, name)], {
      env: { PATH: process.env.PATH, TMPDIR: tmpdir(), ...asAdmin(environment) },
      encoding: "utf8",
    });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^gantry: the backup cannot be written to \S+: (the file would exceed the maximum size|no space left on the disk)\n$/m);
    assert.deepEqual(await readdir(full), []);
  }
});

test("blobs in S3 are restored to S3", { skip: objectStorageMissing() }, async () => {
  const storage = await startObjectStorage();
  const database = await freshDatabase();
  databases.push(database);
  const from = { ...environment, DATABASE_URL: database.url, GANTRY_DATA: join(folder, "s3-source"), GANTRY_BLOBS: storage.settingOf("one/") };
  const origin = await openWorld(from);
  try {
    await pushImage(
      openRegistryClient(origin.url, () => origin.token()),
      `${organizationName}/app`,
      "1",
    );
    const path = join(folder, "s3.tar");
    assert.match(done(await admin(["backup", path], from)), / 3 blobs /);
    refused(/the location is not empty/, await admin(["restore", path], await emptyPlace({ GANTRY_BLOBS: storage.settingOf("one/") })));
    const place = await emptyPlace({ GANTRY_BLOBS: storage.settingOf("two/") });
    done(await admin(["restore", path], place));
    const other = await openWorld(place);
    assert.equal((await openRegistryClient(other.url, () => other.token()).pull(`${organizationName}/app`, "1")).blobs.length, 3);
    await other.close();
  } finally {
    await origin.close();
    await storage.stop();
  }
});

test("a corrupt blob is named and omitted from the backup, and the next push restores it", async () => {
  const client = openRegistryClient(world.url, () => world.token());
  const repo = `${organizationName}/broken`;
  const contents = [newConfig(), randomBytes(3000), randomBytes(4000)];
  const [config = Buffer.of(), cut = Buffer.of(), changed = Buffer.of()] = contents;
  for (const each of contents) await client.pushBlob(repo, each);
  await client.pushManifest(repo, "1", contents.map(described));
  const fileOfBlob = async (content: Uint8Array): Promise<string> => {
    const [[key] = []] = await asOwner(source.url, "select key from blobs where sha256 = $1", [digestOf(content)]);
    return join(environment.GANTRY_DATA ?? "", "blobs", "content", (key ?? "").slice(0, 2), key ?? "");
  };
  await writeFile(await fileOfBlob(cut), cut.subarray(1));
  await writeFile(await fileOfBlob(changed), randomBytes(4000));
  const path = join(folder, "broken.tar");
  const { status, err } = await admin(["backup", path]);
  assert.equal(status, 2);
  assert.match(err, new RegExp(`blob ${digestOf(cut)} has 2999 bytes, not 3000: it is not in the backup`));
  assert.match(err, new RegExp(`blob ${digestOf(changed)} does not match its digest: it is not in the backup`));
  assert.match(done(await admin(["backup", "--verify", path])), /2 blobs were corrupt at backup time/);
  const place = await emptyPlace();
  assert.equal((await admin(["restore", path], place)).status, 2);
  const other = await openWorld(place);
  try {
    const there = openRegistryClient(other.url, () => other.token());
    assert.equal((await there.request("HEAD", `/v2/${repo}/blobs/${digestOf(config)}`)).status, 200);
    for (const each of [cut, changed]) {
      assert.equal((await there.request("HEAD", `/v2/${repo}/blobs/${digestOf(each)}`)).status, 404);
      await there.pushBlob(repo, each);
    }
    await there.pull(repo, "1");
  } finally {
    await other.close();
  }
});
