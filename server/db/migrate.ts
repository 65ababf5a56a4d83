// Migrates the schema: each migration once, in order, with servers starting concurrently. schema_migrations also records whether the
// previous version can run on it, for older servers.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Fault } from "#base/fault.ts";
import { version } from "./version.ts";
import { exchange, openExchangeWatches } from "./exchange.ts";
import { poolerProblem, type ServerFacts, serverProblem, startCause } from "./fitness.ts";
import { limits } from "#base/limits.ts";
import { type Migration, migrationFailure, readMigrations } from "./migration-files.ts";
import { connectTimeoutMs } from "./connection.ts";
import { poolsTransactions } from "./pooler.ts";
import { findPrimaryUrl } from "./primary.ts";
import type { Write } from "./handle.ts";
import { findLackingPrivileges, grantPrivileges } from "./privileges.ts";

const migrationLock = "7166352907141";

const lockPollMs = 50;

/** An applied migration. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
  readonly compatible: boolean;
}

/** Recorded while a backup is restored, with its ID as `sha256`, so that no server starts early. */
const restoring: AppliedMigration = { number: 1_000_000, name: "restore", sha256: "", compatible: false };

const findApplied = async (client: pg.Client): Promise<AppliedMigration[]> => {
  const { rowCount } = await client.query("select from pg_tables where schemaname = any(current_schemas(false)) and tablename = 'schema_migrations'");
  if (rowCount === 0) return [];
  // Databases from before the baseline lack this column.
  const { rows } = await client.query<AppliedMigration>(`
    select number, name, sha256, coalesce((to_jsonb(applied) ->> 'compatible')::boolean, false) as compatible
    from schema_migrations as applied order by number`);
  return rows;
};

/** Returns the version of Gantry that applied the migration; "" if unknown. */
const findMigratingVersion = async (client: pg.Client, number: number): Promise<string> => {
  const { rows } = await client.query<{ version: string }>(
    "select coalesce(to_jsonb(applied) ->> 'version', '') as version from schema_migrations as applied where number = $1",
    [number],
  );
  return rows[0]?.version ?? "";
};

/** Throws if this version must not run on the database. */
const findMissing = async (
  client: pg.Client,
  migrations: readonly Migration[],
  { progress, restores = false }: Pick<MigrateOptions, "progress" | "restores">,
): Promise<readonly Migration[]> => {
  const found = await findApplied(client);
  const applied = found.filter(({ number }) => number !== restoring.number);
  if (applied.length < found.length && !restores) {
    throw migrationFailure("a restore into this database is running or was interrupted. Wait for it, or repeat it with the same backup");
  }
  if (applied[0] !== undefined && applied[0].name !== migrations[0]?.name) {
    throw migrationFailure(
      `the database was created by a version of Gantry before the first release (its first migration is ${applied[0].name}), and cannot be upgraded: ` +
        "start with an empty database (another DATABASE_URL or GANTRY_DATA)",
    );
  }
  for (const { number, name, sha256 } of applied) {
    const known = migrations[number - 1];
    if (known && known.sha256 !== sha256) throw migrationFailure(`migration ${name} was changed after this database had applied it (checksums differ)`);
  }
  const newer = applied.filter(({ number }) => number > migrations.length);
  const last = newer.at(-1);
  if (last) {
    const breaking = newer.findLast(({ compatible }) => !compatible);
    if (breaking) {
      const needed = await findMigratingVersion(client, breaking.number);
      throw migrationFailure(
        `the database is at migration ${last.number}, newer than this version of Gantry (${version}) knows (${migrations.length}), and this version ` +
          `cannot run on ${breaking.name}: start ${needed === "" ? "the newer version" : `Gantry ${needed} or later`}`,
      );
    }
    progress(`The database is at ${last.name}, newer than this version of Gantry knows; it can run on it`);
  }
  return migrations.slice(applied.length);
};

const checkServer = async (client: pg.Client, config: pg.ClientConfig, processes = 1): Promise<void> => {
  // Superusers have no limits and may use reserved connections.
  const { rows } = await client.query<ServerFacts>(`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
      current_setting('server_encoding') as encoding,
      jsonb_build_object(
        'server', current_setting('max_connections')::int - case when rolsuper then 0 else
          current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true)::int, 0) end,
        'database', case when rolsuper then -1 else datconnlimit end,
        'role', case when rolsuper then -1 else rolconnlimit end) as connections
    from pg_database cross join pg_roles where datname = current_database() and rolname = current_user`);
  const problem = rows[0] && serverProblem(rows[0], processes);
  if (problem !== undefined) throw migrationFailure(problem);
  if (await poolsTransactions(client, config)) throw migrationFailure(poolerProblem);
};

/** Holds the lock until the connection closes. Polls, because `create index concurrently` waits for the snapshot of a waiting statement. */
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

/** Drops the invalid index of an interrupted build, which `if not exists` would accept. */
const dropInvalidIndex = async (client: pg.Client, statement: string): Promise<void> => {
  const name = /^create (?:unique )?index concurrently if not exists (\w+)/i.exec(statement.replaceAll(/\s+/g, " "))?.[1];
  if (name === undefined) return;
  const { rowCount } = await client.query("select from pg_index where indexrelid = to_regclass($1) and not indisvalid", [name]);
  if (rowCount !== 0) await client.query(`drop index concurrently if exists ${name}`);
};

const createAppliedTable = `
  create table if not exists schema_migrations (
    number integer primary key,
    name text not null,
    sha256 text not null,
    compatible boolean not null,
    apply_time timestamptz(3) not null default now()
  );
  alter table schema_migrations add column if not exists version text not null default ''`;

const recordMigration = async (client: pg.Client, { number, name, sha256, compatible }: AppliedMigration): Promise<void> => {
  await client.query("insert into schema_migrations (number, name, sha256, compatible, version) values ($1, $2, $3, $4, $5)", [
    number,
    name,
    sha256,
    compatible,
    version,
  ]);
};

const quoteNames = (names: readonly string[]): string => (names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", "));

/** Application names are visible to every role. Before version 0.2 they have no version and host. */
const connectedStatement = `
  select distinct case application_name
    when 'gantry' then concat_ws(' at ', 'a gantry of an earlier version', host(client_addr))
    else application_name
  end as name
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name ~ '^gantry( |$)' and application_name <> 'gantry migrate'
  order by 1`;

/** Throws if servers or commands are connected that a breaking migration would break. */
const requireNoServers = async (client: pg.Client, { name }: Migration): Promise<void> => {
  // Within a transaction, PostgreSQL repeats its first list.
  await client.query("select pg_stat_clear_snapshot()");
  const { rows } = await client.query<{ name: string }>(connectedStatement);
  if (rows.length === 0) return;
  throw migrationFailure(
    `migration ${name} would break servers that are connected: ${quoteNames(rows.map((row) => row.name))}. Stop them and repeat this, or run ` +
      "`gantry admin migrate --while-servers-run`",
  );
};

const applyMigration = async (client: pg.Client, migration: Migration, whileServersRun: boolean): Promise<void> => {
  const { statements } = migration;
  // The first creates the schema.
  const isGuarded = !migration.compatible && migration.number > 1 && !whileServersRun;
  if (migration.inTransaction) {
    await inTransaction(client, async () => {
      // Servers of the previous version that start now wait for the end, and then refuse to start.
      if (isGuarded) await client.query("lock table schema_migrations in access exclusive mode");
      if (isGuarded) await requireNoServers(client, migration);
      for (const statement of statements) await client.query(statement);
      // One that had read the table before the lock.
      if (isGuarded) await requireNoServers(client, migration);
      await recordMigration(client, migration);
    });
    return;
  }
  if (isGuarded) await requireNoServers(client, migration);
  for (const statement of statements) {
    await dropInvalidIndex(client, statement);
    await client.query(statement);
  }
  await recordMigration(client, migration);
};

/** Including tables that a later migration drops. */
const migratedTables = (migrations: readonly Migration[]): string[] => [
  "schema_migrations",
  ...migrations.flatMap(({ statements }) =>
    statements.flatMap((sql) => [...sql.matchAll(/^ *create table (?:if not exists )?(\w+)/gm)].map(([, name = ""]) => name)),
  ),
];

const configOf = (databaseUrl: string): pg.ClientConfig => ({
  connectionString: databaseUrl,
  application_name: "gantry migrate",
  connectionTimeoutMillis: connectTimeoutMs,
});

const connect = async (databaseUrl: string): Promise<pg.Client> => {
  const client = new pg.Client(configOf(databaseUrl));
  client.on("error", () => {});
  // Startup queries are fast; migrations may not be.
  openExchangeWatches(limits.databaseAnswerMs).add(client);
  await client.connect();
  return client;
};

interface Migrator {
  readonly role: string;
  readonly mayMigrate: boolean;
}

const findMigrator = async (client: pg.Client): Promise<Migrator> => {
  const { rows } = await client.query<Migrator>(`
    select current_user::text as role, coalesce(has_schema_privilege(current_schema(), 'create'), false)
      and coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('schema_migrations')), true) as "mayMigrate"`);
  return rows[0] ?? { role: "", mayMigrate: false };
};

const remedy = "run `gantry admin migrate` with GANTRY_MIGRATE_URL, the connection of the role that owns the database";

/** Throws if this version cannot run on the database. */
const requireCurrent = async (client: pg.Client, role: string, migrations: readonly Migration[], { progress, auditMonths }: MigrateOptions): Promise<void> => {
  const { rows } = await client.query<{ readable: boolean }>(
    "select coalesce(has_table_privilege(to_regclass('schema_migrations'), 'select'), false) as readable",
  );
  if (!rows[0]?.readable) throw migrationFailure(`the database is not prepared for role ${role}, which cannot create the schema: ${remedy}`);
  const missing = await findMissing(client, migrations, { progress });
  if (missing.length > 0) {
    throw migrationFailure(`the database lacks ${quoteNames(missing.map(({ name }) => name))}, and role ${role} cannot migrate it: ${remedy}`);
  }
  const lacking = await findLackingPrivileges(client, migratedTables(migrations));
  if (lacking.length > 0) throw migrationFailure(`role ${role} lacks permissions in the database (${quoteNames(lacking)}): ${remedy}`);
  if (auditMonths === undefined) return;
  const { rows: retention } = await client.query<{ months: number }>("select months from audit_retention");
  const kept = retention[0]?.months;
  if (kept !== undefined && kept > auditMonths) {
    progress(`The database keeps ${kept} months of the audit log, not the ${auditMonths} of GANTRY_AUDIT_MONTHS: ${remedy}`);
  }
};

const findRole = async (databaseUrl: string): Promise<string> => {
  const client = await connect(await findPrimaryUrl(databaseUrl));
  try {
    return (await exchange(client, () => findMigrator(client))).role;
  } finally {
    await client.end().catch(() => {});
  }
};

export interface MigrationState {
  /** Such as "18.4". */
  readonly serverVersion: string;
  readonly last: string | undefined;
  /** Migrations that a start would apply or require. */
  readonly missing: readonly string[];
}

/** Returns the state without changing it. Throws a one-line Fault if this version must not run on the database. */
export const readMigrationState = async (databaseUrl: string): Promise<MigrationState> => {
  const migrations = await readMigrations();
  const url = await findPrimaryUrl(databaseUrl);
  const client = await connect(url);
  try {
    return await exchange(client, async () => {
      await checkServer(client, configOf(url));
      const missing = await findMissing(client, migrations, { progress: () => {} });
      const { rows } = await client.query<{ version: string }>("select current_setting('server_version') as version");
      return {
        serverVersion: rows[0]?.version.split(" ")[0] ?? "",
        last: (await findApplied(client)).at(-1)?.name,
        missing: missing.map(({ name }) => name),
      };
    });
  } finally {
    await client.end().catch(() => {});
  }
};

export interface MigrateOptions {
  /** Receives a line for each slow step. */
  readonly progress: (line: string) => void;
  /** Its role gets the privileges it needs. */
  readonly serverUrl?: string | undefined;
  /** Undefined to leave it unchanged. */
  readonly auditMonths?: number | undefined;
  /** Default: 1. */
  readonly processes?: number | undefined;
  /** For tests. */
  readonly directory?: string;
  /** Allows a database that is being restored. */
  readonly restores?: boolean;
  /** Run breaking migrations although servers are connected; default: false. */
  readonly whileServersRun?: boolean | undefined;
  /** The number of the last migration to apply. */
  readonly until?: number;
}

/** Migrates the database, after waiting for other servers that do. A role that may not migrate only checks it. */
export const migrate = async (databaseUrl: string, options: MigrateOptions): Promise<Migrator> => {
  const { progress, serverUrl, auditMonths, directory, until } = options;
  const migrations = (await readMigrations(directory)).slice(0, until);
  const server = serverUrl === undefined ? undefined : await findRole(serverUrl);
  const url = await findPrimaryUrl(databaseUrl);
  const client = await connect(url);
  try {
    const { migrator, missing } = await exchange(client, async () => {
      await client.query("set statement_timeout = 0; set lock_timeout = 0; set client_min_messages = warning");
      await checkServer(client, configOf(url), options.processes);
      const found = await findMigrator(client);
      if (!found.mayMigrate) await requireCurrent(client, found.role, migrations, options);
      return { migrator: found, missing: found.mayMigrate ? await findMissing(client, migrations, options) : [] };
    });
    if (!migrator.mayMigrate) return migrator;
    // Usually nothing is missing and no lock is taken.
    if (missing.length > 0) {
      await lockMigrations(client, progress);
      await client.query(createAppliedTable);
      const left = await findMissing(client, migrations, options);
      const isNew = left.length === migrations.length;
      for (const migration of left) {
        await applyMigration(client, migration, options.whileServersRun === true || options.restores === true).catch((error: unknown) => {
          if (error instanceof Fault) throw error;
          throw migrationFailure(`migration ${migration.name} failed: ${startCause(error)}`, error);
        });
        if (!isNew) progress(`Migrated the database: ${migration.name}`);
      }
      if (isNew) progress(`Created the database's tables: ${left.length} ${left.length === 1 ? "migration" : "migrations"}`);
    }
    if (auditMonths !== undefined) await client.query("update audit_retention set months = $1 where months <> $1", [auditMonths]);
    if (server !== undefined && server !== migrator.role)
      await grantPrivileges(client, server, migratedTables(migrations), () => lockMigrations(client, progress));
    return migrator;
  } finally {
    await client.end().catch(() => {});
  }
};

// ---- backup and restore ---------------------------------------------------------------------------------------------

const withClient = async <T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = await connect(databaseUrl).catch((error: unknown) => {
    throw migrationFailure(`the database cannot be used: ${startCause(error)}`, error);
  });
  try {
    await client.query("set client_min_messages = warning");
    return await work(client);
  } catch (error) {
    throw error instanceof Fault ? error : migrationFailure(`the database cannot be used: ${startCause(error)}`, error);
  } finally {
    await client.end().catch(() => {});
  }
};

export interface BackedUpSchema {
  /** Such as "18.4". */
  readonly serverVersion: string;
  readonly migrations: readonly AppliedMigration[];
  readonly tables: readonly string[];
}

/** Throws a one-line Fault if this version does not know all migrations. */
export const readBackedUpSchema = (databaseUrl: string): Promise<BackedUpSchema> =>
  withClient(databaseUrl, async (client) => {
    const migrations = await readMigrations();
    if (await poolsTransactions(client, configOf(databaseUrl))) throw migrationFailure(poolerProblem);
    const { rows: standby } = await client.query<{ is: boolean }>('select pg_is_in_recovery() as "is"');
    // Servers do not see a standby's locks and would delete blobs.
    if (standby[0]?.is) throw migrationFailure("the database is a standby. Back it up at its primary, so that the servers keep the blobs during the backup");
    await findMissing(client, migrations, { progress: () => {} });
    const applied = await findApplied(client);
    if (applied.length === 0) throw migrationFailure("nothing to back up: no server has used this database yet");
    if (applied.length > migrations.length)
      throw migrationFailure(
        `the database is at ${applied.at(-1)?.name}, newer than this version of Gantry knows: back it up with the version that runs on it`,
      );
    const { rows } = await client.query<{ version: string }>("select current_setting('server_version') as version");
    return { serverVersion: rows[0]?.version.split(" ")[0] ?? "", migrations: applied, tables: migratedTables(migrations.slice(0, applied.length)) };
  });

/** Throws a one-line Fault if this version lacks any of these migrations. */
export const requireMigrations = async (migrations: readonly Pick<AppliedMigration, "number" | "name" | "sha256">[]): Promise<void> => {
  const known = await readMigrations();
  const other = migrations.find(({ number, sha256 }, index) => number !== index + 1 || known[index]?.sha256 !== sha256);
  if (other === undefined && migrations.length > 0) return;
  throw migrationFailure(
    `the backup is of ${other?.name ?? "no migration"}, which this version of Gantry does not have (it knows ${known.length}): ` +
      "restore it with the version that made it",
  );
};

/** A restore that is not recorded yet. */
export interface BegunRestore {
  readonly backupId: string;
  /** All rows and blobs are restored. */
  readonly isLoaded: boolean;
}

const loadedName = "restore, loaded";

/** Returns undefined if the database is not being restored. */
export const findBegunRestore = (databaseUrl: string): Promise<BegunRestore | undefined> =>
  withClient(databaseUrl, async (client) => {
    const found = (await findApplied(client)).find(({ number }) => number === restoring.number);
    return found && { backupId: found.sha256, isLoaded: found.name === loadedName };
  });

/** Throws a one-line Fault if the database has tables. */
export const beginRestore = (databaseUrl: string, backupId: string): Promise<void> =>
  withClient(databaseUrl, async (client) => {
    await checkServer(client, configOf(databaseUrl));
    await lockMigrations(client, () => {});
    const { rows } = await client.query<{ name: string }>(`
      select relname as name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S', 'f') order by 1 limit 1`);
    if (rows[0]) {
      // More specific for an interrupted restore.
      await findMissing(client, await readMigrations(), { progress: () => {} });
      throw migrationFailure(`the database is not empty (it has ${rows[0].name}): restore into an empty one`);
    }
    const { mayMigrate, role } = await findMigrator(client);
    if (!mayMigrate) throw migrationFailure(`role ${role} cannot create tables in the database. Set GANTRY_MIGRATE_URL to the connection of the owner`);
    await inTransaction(client, async () => {
      await client.query(createAppliedTable);
      await recordMigration(client, { ...restoring, sha256: backupId });
    });
  });

/** Call it in the transaction that loads the rows. */
export const markLoaded = async (rows: Write): Promise<void> => {
  await rows.query("update schema_migrations set name = $2 where number = $1", [restoring.number, loadedName]);
};

/** Lets servers start. Call it in the transaction that records the restore. */
export const endRestore = async (rows: Write): Promise<void> => {
  await rows.query("delete from schema_migrations where number = $1", [restoring.number]);
};
