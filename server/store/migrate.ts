// Brings a database's schema to what this code expects: the numbered files of migrations/, each in one
// transaction, in order, once. Any number of servers may start at the same time.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#base/fault.ts";
import pg from "pg";
import { connectTimeoutMs, type DatabaseAddress } from "./pool.ts";

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

/** The lock under which migrations run; any number that nothing else in the database locks. */
const migrationLock = "7166352907141";

/** PostgreSQL's own version number of the oldest that will do. */
const serverVersionMin = 150_000;

/** Where this code's migrations are. */
export const migrationsDirectory = join(import.meta.dirname, "migrations");

const refusal = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

export const readMigrations = async (directory: string = migrationsDirectory): Promise<Migration[]> => {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
      if (number !== index + 1) throw refusal(`migration ${name} is misnamed: expected number ${index + 1}`);
      // A checkout may have turned line ends; that is the same migration.
      const sql = (await readFile(join(directory, name), "utf8")).replaceAll("\r\n", "\n");
      return { number, name, sql, sha256: createHash("sha256").update(sql).digest("hex") };
    }),
  );
};

/** Refuses a database that this code must not touch; otherwise the migrations that it still lacks. */
const missingFrom = async (client: pg.Client, migrations: readonly Migration[]): Promise<readonly Migration[]> => {
  // Not to_regclass: within a transaction that has waited for a lock it may still answer from before the wait.
  const { rowCount } = await client.query("select from pg_tables where schemaname = any(current_schemas(false)) and tablename = 'schema_migrations'");
  if (rowCount === 0) return migrations;
  const { rows } = await client.query<{ number: number; name: string; sha256: string }>("select number, name, sha256 from schema_migrations order by number");
  for (const applied of rows) {
    const known = migrations[applied.number - 1];
    if (!known) {
      throw refusal(
        `the database is at migration ${rows.at(-1)?.number}, newer than this version of Gantry knows (${migrations.length}): start the newer version`,
      );
    }
    if (known.sha256 !== applied.sha256) {
      throw refusal(`migration ${applied.name} was changed after this database had applied it (checksums differ)`);
    }
  }
  return migrations.slice(rows.length);
};

const checkServer = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query<{ version: string; number: number; encoding: string }>(`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
           current_setting('server_encoding') as encoding`);
  const server = rows[0];
  if (!server || server.number < serverVersionMin) {
    throw refusal(`the database is PostgreSQL ${server?.version}; Gantry needs ${serverVersionMin / 10_000} or newer`);
  }
  if (server.encoding !== "UTF8") throw refusal(`the database's encoding is ${server.encoding}; Gantry needs UTF8`);
};

const inTransaction = async <T>(client: pg.Client, work: () => Promise<T>): Promise<T> => {
  await client.query("begin");
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
};

/** Applies the next missing migration and says whether there was one. */
const applyNext = async (client: pg.Client, migrations: readonly Migration[]): Promise<Migration | undefined> =>
  inTransaction(client, async () => {
    // Held to the end of the transaction, and no longer: it works through a transaction pooler too.
    await client.query(`select pg_advisory_xact_lock(${migrationLock})`);
    const [next] = await missingFrom(client, migrations);
    if (!next) return undefined;
    try {
      await client.query(`
        create table if not exists schema_migrations (
          number integer primary key,
          name text not null,
          sha256 text not null,
          apply_time timestamptz(3) not null default now()
        )`);
      await client.query(next.sql);
      await client.query("insert into schema_migrations (number, name, sha256) values ($1, $2, $3)", [next.number, next.name, next.sha256]);
    } catch (error) {
      throw refusal(`migration ${next.name} failed: ${error instanceof Error ? error.message : String(error)}`, error);
    }
    return next;
  });

/** Migrates the database at `place`. Waits for another server that is at it. */
export const migrate = async (place: DatabaseAddress, progress: (line: string) => void, directory?: string): Promise<void> => {
  const migrations = await readMigrations(directory);
  const client = new pg.Client({ ...place, application_name: "gantry migrate", connectionTimeoutMillis: connectTimeoutMs });
  client.on("error", () => {});
  await client.connect();
  try {
    // A migration may take its time; a notice that a table exists already is of no interest.
    await client.query("set statement_timeout = 0; set lock_timeout = 0; set client_min_messages = warning");
    await checkServer(client);
    // The usual start finds nothing to do and takes no lock.
    if ((await missingFrom(client, migrations)).length === 0) return;
    for (let done = await applyNext(client, migrations); done; done = await applyNext(client, migrations)) {
      progress(`Migrated the database: ${done.name}`);
    }
  } finally {
    await client.end().catch(() => {});
  }
};
