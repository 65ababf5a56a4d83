// Brings a database's schema to what this code expects: each migration once, in order. Any number of servers may start
// at the same time. What was applied stands in schema_migrations, with whether the version before can run on it: an older
// server reads there of migrations that it does not know.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Migration, migrationFailure, readMigrations } from "./migration-files.ts";
import { connectTimeoutMs } from "./pool.ts";

/** The advisory lock under which migrations run; any number that nothing else in the database locks. */
const migrationLock = "7166352907141";

/** How often a server that waits for another's migrations looks again. */
const lockPollMs = 50;

/** PostgreSQL's own version number of the oldest that will do. */
const serverVersionMin = 150_000;

/** The first migration of the versions before the baseline, whose databases are not taken over. */
const firstBeforeBaseline = "0001_access.sql";

interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
  readonly compatible: boolean;
}

const findApplied = async (client: pg.Client): Promise<AppliedMigration[]> => {
  const { rowCount } = await client.query("select from pg_tables where schemaname = any(current_schemas(false)) and tablename = 'schema_migrations'");
  if (rowCount === 0) return [];
  // Read through JSON: the versions before the baseline had no such column.
  const { rows } = await client.query<AppliedMigration>(`
    select number, name, sha256, coalesce((to_jsonb(applied) ->> 'compatible')::boolean, false) as compatible
    from schema_migrations as applied order by number`);
  return rows;
};

/** Refuses a database that this code must not touch; otherwise the migrations that it still lacks. */
const findMissing = async (client: pg.Client, migrations: readonly Migration[], progress: (line: string) => void): Promise<readonly Migration[]> => {
  const applied = await findApplied(client);
  if (applied[0]?.name === firstBeforeBaseline) {
    throw migrationFailure(
      `the database was made by a version of Gantry before its first release (${firstBeforeBaseline}), which this one does not take over: ` +
        "begin anew with an empty database (another one in DATABASE_URL, or another folder in GANTRY_DATA)",
    );
  }
  for (const { number, name, sha256 } of applied) {
    const known = migrations[number - 1];
    if (known && known.sha256 !== sha256) throw migrationFailure(`migration ${name} was changed after this database had applied it (checksums differ)`);
  }
  const newer = applied.filter(({ number }) => number > migrations.length);
  const last = newer.at(-1);
  if (last) {
    const breaking = newer.find(({ compatible }) => !compatible);
    if (breaking) {
      throw migrationFailure(
        `the database is at migration ${last.number}, newer than this version of Gantry knows (${migrations.length}), and this version cannot run on ` +
          `${breaking.name}: start the newer version`,
      );
    }
    progress(`The database is at ${last.name}, newer than this version of Gantry knows; it can run on it`);
  }
  return migrations.slice(applied.length);
};

const checkServer = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query<{ version: string; number: number; encoding: string }>(`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
           current_setting('server_encoding') as encoding`);
  const server = rows[0];
  if (!server || server.number < serverVersionMin) {
    throw migrationFailure(`the database is PostgreSQL ${server?.version}; Gantry needs ${serverVersionMin / 10_000} or newer`);
  }
  if (server.encoding !== "UTF8") throw migrationFailure(`the database's encoding is ${server.encoding}; Gantry needs UTF8`);
};

/**
 * Waits until no other server migrates, and keeps others waiting until the connection ends. Polled: a server that waited
 * in a statement would hold a snapshot, and `create index concurrently` waits for everybody who does.
 */
const lockMigrations = async (client: pg.Client, progress: (line: string) => void): Promise<void> => {
  for (let waitIsTold = false; ; waitIsTold = true) {
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${migrationLock}) as locked`);
    if (rows[0]?.locked) return;
    if (!waitIsTold) progress("Waiting for another server to migrate the database");
    await sleep(lockPollMs);
  }
};

const inTransaction = async (client: pg.Client, work: () => Promise<void>): Promise<void> => {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
};

/** Drops the index that a build which was cut off has left: it is no use to anybody, and `if not exists` would find it. */
const dropInvalidIndex = async (client: pg.Client, statement: string): Promise<void> => {
  const name = /^create (?:unique )?index concurrently if not exists (\w+)/i.exec(statement.replaceAll(/\s+/g, " "))?.[1];
  if (name === undefined) return;
  const { rowCount } = await client.query("select from pg_index where indexrelid = to_regclass($1) and not indisvalid", [name]);
  if (rowCount !== 0) await client.query(`drop index concurrently if exists ${name}`);
};

const recordMigration = async (client: pg.Client, { number, name, sha256, compatible }: Migration): Promise<void> => {
  await client.query("insert into schema_migrations (number, name, sha256, compatible) values ($1, $2, $3, $4)", [number, name, sha256, compatible]);
};

const applyMigration = async (client: pg.Client, migration: Migration): Promise<void> => {
  const { statements } = migration;
  if (migration.inTransaction) {
    await inTransaction(client, async () => {
      for (const statement of statements) await client.query(statement);
      await recordMigration(client, migration);
    });
    return;
  }
  for (const statement of statements) {
    await dropInvalidIndex(client, statement);
    await client.query(statement);
  }
  await recordMigration(client, migration);
};

/** Migrates the database. Waits for another server that does. `directory` is for tests: other migrations than this code's. */
export const migrate = async (databaseUrl: string, progress: (line: string) => void, directory?: string): Promise<void> => {
  const migrations = await readMigrations(directory);
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "gantry migrate", connectionTimeoutMillis: connectTimeoutMs });
  client.on("error", () => {});
  await client.connect();
  try {
    // A migration may take its time; a notice that a table exists already is of no interest.
    await client.query("set statement_timeout = 0; set lock_timeout = 0; set client_min_messages = warning");
    await checkServer(client);
    // The usual start finds nothing to do and takes no lock.
    if ((await findMissing(client, migrations, progress)).length === 0) return;
    await lockMigrations(client, progress);
    await client.query(`
      create table if not exists schema_migrations (
        number integer primary key,
        name text not null,
        sha256 text not null,
        compatible boolean not null,
        apply_time timestamptz(3) not null default now()
      )`);
    for (const migration of await findMissing(client, migrations, progress)) {
      await applyMigration(client, migration).catch((error: unknown) => {
        throw migrationFailure(`migration ${migration.name} failed: ${error instanceof Error ? error.message : String(error)}`, error);
      });
      progress(`Migrated the database: ${migration.name}`);
    }
  } finally {
    await client.end().catch(() => {});
  }
};
