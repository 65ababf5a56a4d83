// Copies all tables as PostgreSQL's text from one snapshot to an empty database, for backups. The catalog lists them,
// so new ones are included; exclusions are below.

import pg from "pg";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { databaseFault } from "./faults.ts";
import { readTransactionTime } from "./database-time.ts";
import type { Param, Read, Row, Write } from "./handle.ts";
import { backupKey, backupPathKey, restoreKey } from "./lock.ts";
import { connectTimeoutMs } from "./connection.ts";
import { findPrimaryUrl } from "./primary.ts";

export const leftOutTables: Readonly<Record<string, string>> = {
  authorization_codes: "a sign-in that is under way: it begins again",
  blob_places: "the restored database has its own place",
  blob_removals: "bytes of the place that nobody needs",
  blob_writes: "requests that are under way: the client begins again",
  device_codes: "a sign-in that is under way: it begins again",
  headless_sessions: "a sign-in that is under way: it begins again",
  pending_repos: "a push that is under way: the client begins again",
  refresh_tokens: "one that was revoked since would be good again: people sign in again",
  schema_migrations: "written by the migrations, which the backup names",
  sessions: "one that was ended since would be open again: people sign in again",
  sign_in_sessions: "one that was revoked since would be open again: people sign in again",
  sign_ins: "a sign-in that is under way: it begins again",
  uploads: "bytes that no digest is known of: the client begins again",
};

export interface CopiedTable {
  readonly name: string;
  /** Excludes generated columns. */
  readonly columns: readonly string[];
}

/** The state of a column's sequence. */
export interface CopiedSequence {
  readonly table: string;
  readonly column: string;
  readonly value: string;
  /** False if the next number is `value` itself. */
  readonly isCalled: boolean;
}

const uninterpreted: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

const openClient = async (databaseUrl: string, settings: string): Promise<pg.Client> => {
  const client = new pg.Client({
    connectionString: await findPrimaryUrl(databaseUrl),
    application_name: "gantry backup",
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: limits.keepAliveDelayMs,
    types: uninterpreted,
  });
  // The pending statement reports the error.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(`
      set timezone = 'UTC'; set datestyle = 'ISO'; set client_encoding = 'UTF8'; set extra_float_digits = 1; set bytea_output = 'hex';
      set client_min_messages = warning; set statement_timeout = 0; set jit = off; set tcp_user_timeout = ${limits.databaseAnswerMs}; ${settings}`);
    return client;
  } catch (thrown) {
    await client.end().catch(() => {});
    throw databaseFault(thrown);
  }
};

const queryRows = async (client: pg.Client, text: string, values: readonly Param[] = []): Promise<Row[]> => {
  try {
    return (await client.query<(string | null)[]>({ text, values: values.map((value) => (Array.isArray(value) ? [...value] : value)), rowMode: "array" })).rows;
  } catch (thrown) {
    throw databaseFault(thrown);
  }
};

const firstColumnOf = (rows: readonly Row[]): string[] => rows.map(([first]) => first ?? "");

const tablesStatement = `
  select relname, to_json(array(
    select attname from pg_attribute where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum))
  from pg_class
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition and relpersistence = 'p'
  order by relname`;

const referencesStatement = `
  select conrelid::regclass::text, confrelid::regclass::text from pg_constraint
  where contype = 'f' and connamespace = current_schema()::regnamespace and conrelid <> confrelid and conparentid = 0`;

const sequencesStatement = `
  select relname, refobjid::regclass::text, attname
  from pg_class
  join pg_depend on pg_depend.objid = pg_class.oid and classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and deptype in ('a', 'i')
  join pg_attribute on attrelid = refobjid and attnum = refobjsubid
  where relkind = 'S' and relnamespace = current_schema()::regnamespace
  order by relname`;

const lackingStatement = `
  select relname from pg_class
  where relnamespace = current_schema()::regnamespace and not relispartition
    and (relkind in ('r', 'p') and relname = any($1::text[]) and not has_table_privilege(oid, 'select')
      or relkind = 'S' and not has_sequence_privilege(oid, 'select'))
  order by relname`;

/** Sorts tables after those that they reference. */
const inOrderOfReferences = (tables: readonly CopiedTable[], references: readonly Row[]): CopiedTable[] => {
  const ordered: CopiedTable[] = [];
  const waiting = [...tables];
  while (waiting.length > 0) {
    const at = waiting.findIndex(({ name }) => !references.some(([from, to]) => from === name && waiting.some((other) => other.name === to)));
    // In a cycle any may be first: its constraints are deferred.
    ordered.push(...waiting.splice(Math.max(at, 0), 1));
  }
  return ordered;
};

const quoted = (name: string): string => pg.escapeIdentifier(name);

const listOf = (columns: readonly string[]): string => columns.map(quoted).join(", ");

/** Valid until closed. */
export interface Snapshot {
  readonly read: Read;
  /** By the database's clock; everything acknowledged before is included. */
  readonly timeMs: number;
  readonly tables: readonly CopiedTable[];
  /** Tables in the schema that do not belong to Gantry. */
  readonly foreignTables: readonly string[];
  /** Rows in COPY format. */
  copyOut(table: CopiedTable): AsyncIterable<Uint8Array>;
  readSequences(): Promise<readonly CopiedSequence[]>;
  close(): Promise<void>;
}

/** Throws FAILED_PRECONDITION if the role cannot read all of these tables. */
export const openSnapshot = async (databaseUrl: string, names: readonly string[]): Promise<Snapshot> => {
  const client = await openClient(databaseUrl, `set idle_in_transaction_session_timeout = ${limits.backupSilenceMs};`);
  const query = (text: string, values?: readonly Param[]): Promise<Row[]> => queryRows(client, text, values);
  try {
    const lacking = firstColumnOf(await query(lackingStatement, [[...names]]));
    if (lacking.length > 0) {
      const [role = ""] = firstColumnOf(await query("select current_user::text"));
      const more = lacking.length > 3 ? ` and ${lacking.length - 3} more` : "";
      throw new Fault(
        "FAILED_PRECONDITION",
        `role ${role} may not read ${lacking.slice(0, 3).join(", ")}${more}: give the connection of the ` +
          "database's owner in GANTRY_MIGRATE_URL, or in DATABASE_URL that of a role that is a member of pg_read_all_data",
      );
    }
    await query("begin isolation level repeatable read read only");
    // Takes the snapshot.
    const takenMs = await readTransactionTime({ query });
    const found = (await query(tablesStatement)).map(
      ([name, columns]): CopiedTable => ({ name: name ?? "", columns: JSON.parse(columns ?? "[]") as string[] }),
    );
    const own = found.filter(({ name }) => names.includes(name) && !(name in leftOutTables));
    const tables = inOrderOfReferences(own, await query(referencesStatement));
    return {
      read: { query },
      timeMs: takenMs,
      tables,
      foreignTables: found.map(({ name }) => name).filter((name) => !names.includes(name)),
      async *copyOut({ name, columns }) {
        const { to } = await import("pg-copy-streams");
        const stream = client.query(to(`copy (select ${listOf(columns)} from ${quoted(name)}) to stdout`));
        try {
          for await (const piece of stream) yield piece as Uint8Array;
        } catch (thrown) {
          throw databaseFault(thrown);
        }
      },
      async readSequences() {
        const sequences: CopiedSequence[] = [];
        for (const [sequence, table, column] of await query(sequencesStatement)) {
          if (!tables.some(({ name }) => name === table)) continue;
          const [row] = await query(`select last_value, is_called from ${quoted(sequence ?? "")}`);
          sequences.push({ table: table ?? "", column: column ?? "", value: row?.[0] ?? "1", isCalled: row?.[1] === "t" });
        }
        return sequences;
      },
      close: () => client.end().catch(() => {}),
    };
  } catch (thrown) {
    await client.end().catch(() => {});
    throw thrown;
  }
};

/** Stops servers from deleting blob contents. */
export interface BackupHold {
  /** Throws FAILED_PRECONDITION if another backup of this database is written to the path. */
  lockPath(path: string): Promise<void>;
  /** Throws if a lock was lost. */
  renew(): Promise<void>;
  release(): Promise<void>;
}

/** PostgreSQL releases the locks if the process dies or is idle for limits.backupSilenceMs. */
export const holdBlobs = async (databaseUrl: string): Promise<BackupHold> => {
  const client = await openClient(databaseUrl, `set idle_session_timeout = ${limits.backupSilenceMs};`);
  await queryRows(client, `select pg_advisory_lock_shared(${backupKey})`);
  return {
    async lockPath(path) {
      // PostgreSQL may still be ending the connections of a backup that was killed.
      await queryRows(client, `set lock_timeout = ${limits.backupLockMs}`);
      await queryRows(client, `select pg_advisory_lock(${backupPathKey}, hashtext($1))`, [path]).catch((cause: unknown) => {
        throw new Fault("FAILED_PRECONDITION", "another backup to this path is running. Wait for it, or back up to another path", { cause });
      });
    },
    renew: async () => void (await queryRows(client, "select 1")),
    release: () => client.end().catch(() => {}),
  };
};

/** The connection of a restore that holds its lock. */
export interface RestoreHold {
  /** Each statement is committed at once. */
  readonly rows: Write;
  release(): Promise<void>;
}

/** Throws FAILED_PRECONDITION if another restore into the database is running. */
export const holdRestore = async (databaseUrl: string): Promise<RestoreHold> => {
  // PostgreSQL may still be ending the connections of a restore that was killed.
  const client = await openClient(databaseUrl, `set lock_timeout = ${limits.backupLockMs};`);
  const query = (text: string, values?: readonly Param[]): Promise<Row[]> => queryRows(client, text, values);
  try {
    await query(`select pg_advisory_lock(${restoreKey})`);
  } catch (cause) {
    await client.end().catch(() => {});
    throw new Fault("FAILED_PRECONDITION", "a restore into this database is running. Wait for it", { cause });
  }
  return { rows: { query, writes: true, send: (text, values) => void query(text, values) }, release: () => client.end().catch(() => {}) };
};

/** A restore in one transaction, with triggers disabled. */
export interface Loading {
  readonly rows: Write;
  copyIn(table: CopiedTable, content: AsyncIterable<Uint8Array>): Promise<number>;
  countRows(table: CopiedTable): Promise<number>;
  writeSequence(sequence: CopiedSequence): Promise<void>;
  commit(): Promise<void>;
  /** Rolls back unless committed. */
  close(): Promise<void>;
}

/** Truncates the tables of a freshly migrated database. Requires the owner's connection. */
export const openLoading = async (databaseUrl: string, tables: readonly CopiedTable[]): Promise<Loading> => {
  const client = await openClient(databaseUrl, "");
  const query = (text: string, values?: readonly Param[]): Promise<Row[]> => queryRows(client, text, values);
  try {
    await query("begin");
    await query(`truncate ${listOf(tables.map(({ name }) => name))}`);
    for (const { name } of tables) await query(`alter table ${quoted(name)} disable trigger user`);
    await query("set constraints all deferred");
    const sent: Promise<unknown>[] = [];
    return {
      rows: { query, writes: true, send: (text, values, _, answered) => void sent.push(query(text, values).then((found) => answered?.(found))) },
      async copyIn({ name, columns }, content) {
        const { from } = await import("pg-copy-streams");
        const stream = client.query(from(`copy ${quoted(name)} (${listOf(columns)}) from stdin`));
        try {
          const finished = new Promise<void>((resolve, reject) => void stream.once("finish", resolve).once("error", reject));
          finished.catch(() => {});
          for await (const piece of content) if (!stream.write(piece)) await Promise.race([new Promise((resolve) => stream.once("drain", resolve)), finished]);
          stream.end();
          await finished;
          return stream.rowCount;
        } catch (thrown) {
          stream.destroy();
          throw databaseFault(thrown);
        }
      },
      countRows: async ({ name }) => Number(firstColumnOf(await query(`select count(*) from ${quoted(name)}`))[0]),
      writeSequence: async ({ table, column, value, isCalled }) =>
        void (await query("select setval(pg_get_serial_sequence($1, $2), $3::bigint, $4::boolean)", [quoted(table), column, value, isCalled])),
      async commit() {
        await Promise.all(sent);
        await query("set constraints all immediate");
        for (const { name } of tables) await query(`alter table ${quoted(name)} enable trigger user`);
        await query("commit");
      },
      close: () => client.end().catch(() => {}),
    };
  } catch (thrown) {
    await client.end().catch(() => {});
    throw thrown;
  }
};
