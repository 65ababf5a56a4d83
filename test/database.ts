// A migrated database for each test file on a real PostgreSQL, cloned from a template that is migrated once.
//
// Servers use a role that owns nothing, as in production (docs/decisions/0005). Tests use the owner's connection for anything
// else.
//
// Under test/run.ts all files share one server. A file run alone (node --test file) uses DATABASE_URL if set, or an embedded
// server that stops with the process.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silent } from "#base/log.ts";
import { databaseUrlOf, type EmbeddedPostgres, startEmbedded } from "#postgres";
import pg from "pg";
import { migrate } from "../server/db/migrate.ts";
import { refuseUntold } from "./told.ts";

/** A database server for tests, and the template of its databases. */
export interface TestServer {
  /** As the owner of all databases. */
  readonly url: string;
  /** As the server's role. */
  readonly serverUrl: string;
  readonly template: string;
}

export const addressOf = (url: string, database: string): string => {
  const address = new URL(url);
  address.pathname = `/${database}`;
  return address.href;
};

const command = async (url: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
};

const freshName = (): string => `gantry_test_${process.pid}_${randomBytes(5).toString("hex")}`;

/** Creates the server's role on an external database server, and returns its URL. */
export const makeServerRole = async (url: string): Promise<string> => {
  const role = "gantry_test_server";
  // Only those with the owner's URL can derive it.
  const password = createHash("sha256").update(url).digest("hex");
  await command(
    url,
    `do $$ begin
       create role ${role} login password '${password}';
     exception when duplicate_object then
       alter role ${role} login password '${password}';
     end $$`,
  );
  const address = new URL(url);
  address.searchParams.set("user", role);
  address.searchParams.set("password", password);
  return address.href;
};

const makeDatabase = async (url: string, serverUrl: string, name: string): Promise<void> => {
  await command(url, `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`);
  await migrate(addressOf(url, name), { progress: () => {}, serverUrl: addressOf(serverUrl, name) });
  await command(addressOf(url, name), refuseUntold());
};

/** Revokes temporary tables, as in the operator's guide. Clones do not inherit database privileges. */
const closeDatabase = (url: string, name: string): Promise<void> => command(url, `revoke temporary on database ${name} from public`);

export const makeTemplate = async (url: string, serverUrl: string): Promise<TestServer> => {
  const template = freshName();
  await makeDatabase(url, serverUrl, template);
  return { url, serverUrl, template };
};

export const dropDatabase = (url: string, database: string): Promise<void> => command(url, `drop database if exists ${database} with (force)`);

/** Starts an embedded, non-durable server for tests in its own directory. */
export const startTestServer = async (): Promise<{ url: string; serverUrl: string; directory: string; embedded: EmbeddedPostgres }> => {
  const directory = mkdtempSync(join(tmpdir(), "gantry-test-"));
  const embedded = await startEmbedded({ dataDirectory: directory, log: silent, progress: () => {}, durable: false });
  const urlOf = (address: EmbeddedPostgres["address"]): string => databaseUrlOf({ ...address, database: "postgres" });
  return { url: urlOf(embedded.ownerAddress), serverUrl: urlOf(embedded.address), directory, embedded };
};

/** Starts the server of a file run alone. It is stopped at exit, synchronously. */
const startOwnServer = async (): Promise<TestServer> => {
  const { url, serverUrl, directory } = await startTestServer();
  const trace = join(directory, "postgres", "postmaster.pid");
  process.on("exit", () => {
    try {
      process.kill(Number.parseInt(readFileSync(trace, "utf8"), 10), "SIGQUIT");
      const pause = new Int32Array(new SharedArrayBuffer(4));
      for (let tries = 0; existsSync(trace) && tries < 400; tries++) Atomics.wait(pause, 0, 0, 5);
    } catch {}
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  return makeTemplate(url, serverUrl);
};

const {
  GANTRY_TEST_DATABASE_URL: sharedUrl,
  GANTRY_TEST_SERVER_URL: sharedServerUrl,
  GANTRY_TEST_TEMPLATE: sharedTemplate,
  DATABASE_URL: givenUrl,
} = process.env;

let server: Promise<TestServer> | undefined;

export interface TestDatabase {
  /** As in DATABASE_URL: for the server's role. */
  readonly url: string;
  readonly ownerUrl: string;
  drop(): Promise<void>;
}

/** By the URL of the server's role. */
const ownerUrls = new Map<string, string>();

/** Returns the owner's URL of a database that this process has created. */
export const ownerUrlOf = (url: string): string => {
  const ownerUrl = ownerUrls.get(url);
  if (ownerUrl === undefined) throw new Error("that is no database of freshDatabase");
  return ownerUrl;
};

/**
 * Creates a migrated database.
 *
 * @param planted the test inserts rows itself, without events (told.ts)
 */
export const freshDatabase = async ({ planted = false } = {}): Promise<TestDatabase> => {
  const name = freshName();
  const made = async (url: string, serverUrl: string): Promise<TestDatabase> => {
    await closeDatabase(url, name);
    if (planted) await command(url, `alter database ${name} set gantry.untold = 'on'`);
    const database = { url: addressOf(serverUrl, name), ownerUrl: addressOf(url, name) };
    ownerUrls.set(database.url, database.ownerUrl);
    return { ...database, drop: () => dropDatabase(url, name) };
  };
  if (!sharedUrl && givenUrl) {
    const serverUrl = await makeServerRole(givenUrl);
    await makeDatabase(givenUrl, serverUrl, name);
    return made(givenUrl, serverUrl);
  }
  server ??=
    sharedUrl && sharedServerUrl && sharedTemplate
      ? Promise.resolve({ url: sharedUrl, serverUrl: sharedServerUrl, template: sharedTemplate })
      : startOwnServer();
  const { url, serverUrl, template } = await server;
  // Copies files; the default, through the write-ahead log, takes three times the CPU time.
  await command(url, `create database ${name} template ${template} strategy file_copy`);
  return made(url, serverUrl);
};

/** Creates an empty database, as an operator does before a restore. */
export const emptyDatabase = async (): Promise<TestDatabase> => {
  const { url, serverUrl } = await (sharedUrl && sharedServerUrl
    ? Promise.resolve({ url: sharedUrl, serverUrl: sharedServerUrl })
    : givenUrl
      ? makeServerRole(givenUrl).then((made) => ({ url: givenUrl, serverUrl: made }))
      : (server ??= startOwnServer()));
  const name = freshName();
  await command(url, `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`);
  await closeDatabase(url, name);
  const database = { url: addressOf(serverUrl, name), ownerUrl: addressOf(url, name) };
  ownerUrls.set(database.url, database.ownerUrl);
  return { ...database, drop: () => dropDatabase(url, name) };
};

type OwnerQuery = (statement: string, values?: readonly (string | number | null)[]) => Promise<(string | null)[][]>;

export const withOwner = async <T>(url: string, work: (query: OwnerQuery) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: ownerUrlOf(url), types: { getTypeParser: () => (text: string) => text } });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(
      async (statement, values = []) => (await client.query<(string | null)[]>({ text: statement, values: [...values], rowMode: "array" })).rows,
    );
  } finally {
    await client.end();
  }
};

/** Runs one statement as the owner of the database at `url`; values are PostgreSQL texts. */
export const asOwner = (url: string, ...statement: Parameters<OwnerQuery>): ReturnType<OwnerQuery> => withOwner(url, (query) => query(...statement));

/** Returns every row of every table as text: the view of an attacker with the database. */
export const everyRow = (url: string): Promise<ReadonlyMap<string, readonly string[]>> =>
  withOwner(url, async (query) => {
    const rows = new Map<string, readonly string[]>();
    for (const [table = ""] of await query("select tablename from pg_tables where schemaname = current_schema()"))
      rows.set(
        table ?? "",
        (await query(`select t::text from ${table} as t`)).map(([row]) => row ?? ""),
      );
    return rows;
  });
