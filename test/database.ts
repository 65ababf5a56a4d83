// A fresh, migrated database for a test file, on a real PostgreSQL: a clone of a template that was migrated once.
//
// Servers work in it as they do elsewhere: as a role that owns nothing (docs/decisions/0014). What a test does beside
// them, such as changing a table, it does with the owner's connection.
//
// Under test/run.ts all files share one server. A file that is run by itself (node --test file) uses DATABASE_URL
// if that is set, else starts a server of its own, which ends with the process.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silent } from "#base/log.ts";
import { databaseUrlOf, type EmbeddedPostgres, startEmbedded } from "#postgres";
import pg from "pg";
import { migrate } from "../server/db/migrate.ts";
import { refuseUntold } from "./told.ts";

/** A database server for tests: where databases are made, and what they are clones of. */
export interface TestServer {
  /** As the owner of all of them. */
  readonly url: string;
  /** As the role that serves. */
  readonly serverUrl: string;
  readonly template: string;
}

/** The same server's address with another database. */
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

/** Makes the role that serves on a database server of somebody's own, and returns its address. */
export const makeServerRole = async (url: string): Promise<string> => {
  const role = "gantry_test_server";
  // Nobody knows it who does not know the owner's address.
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

/** Makes a migrated database of this name. */
const makeDatabase = async (url: string, serverUrl: string, name: string): Promise<void> => {
  await command(url, `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`);
  await migrate(addressOf(url, name), { progress: () => {}, serverUrl: addressOf(serverUrl, name) });
  await command(addressOf(url, name), refuseUntold());
};

/** As the operator's guide has it: nobody makes temporary tables. The copy of a database has rights of its own. */
const closeDatabase = (url: string, name: string): Promise<void> => command(url, `revoke temporary on database ${name} from public`);

/** Makes the migrated template on the server at `url`. */
export const makeTemplate = async (url: string, serverUrl: string): Promise<TestServer> => {
  const template = freshName();
  await makeDatabase(url, serverUrl, template);
  return { url, serverUrl, template };
};

export const dropDatabase = (url: string, database: string): Promise<void> => command(url, `drop database if exists ${database} with (force)`);

/** An embedded server for tests in a directory of its own: quick to start, nothing kept. */
export const startTestServer = async (): Promise<{ url: string; serverUrl: string; directory: string; embedded: EmbeddedPostgres }> => {
  const directory = mkdtempSync(join(tmpdir(), "gantry-test-"));
  const embedded = await startEmbedded({ dataDirectory: directory, log: silent, progress: () => {}, durable: false });
  const urlOf = (address: EmbeddedPostgres["address"]): string => databaseUrlOf({ ...address, database: "postgres" });
  return { url: urlOf(embedded.ownerAddress), serverUrl: urlOf(embedded.address), directory, embedded };
};

/** The server of a file that runs by itself. Stopped at exit, where nothing can be awaited. */
const startOwnServer = async (): Promise<TestServer> => {
  const { url, serverUrl, directory } = await startTestServer();
  const trace = join(directory, "postgres", "postmaster.pid");
  process.on("exit", () => {
    try {
      process.kill(Number.parseInt(readFileSync(trace, "utf8"), 10), "SIGQUIT");
      const pause = new Int32Array(new SharedArrayBuffer(4));
      for (let tries = 0; existsSync(trace) && tries < 400; tries++) Atomics.wait(pause, 0, 0, 5);
    } catch {
      // It has ended already.
    }
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
  /** As DATABASE_URL has it: of the role that serves. */
  readonly url: string;
  readonly ownerUrl: string;
  drop(): Promise<void>;
}

/** By the address that servers have. */
const ownerUrls = new Map<string, string>();

/** The owner's address of a database that this process has made. */
export const ownerUrlOf = (url: string): string => {
  const ownerUrl = ownerUrls.get(url);
  if (ownerUrl === undefined) throw new Error("that is no database of freshDatabase");
  return ownerUrl;
};

/**
 * A migrated database of the caller's own.
 * @param planted rows are written by the test itself, and told to nobody (told.ts)
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
  // Its files as they are: page by page through the write-ahead log, which is the default, costs three times as much processor time.
  await command(url, `create database ${name} template ${template} strategy file_copy`);
  return made(url, serverUrl);
};

/** An empty database of the caller's own, as an operator makes one to restore into. */
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

const withOwner = async <T>(url: string, work: (query: OwnerQuery) => Promise<T>): Promise<T> => {
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

/** One statement as the owner of the database that servers reach at `url`; values come as PostgreSQL's own texts. */
export const asOwner = (url: string, ...statement: Parameters<OwnerQuery>): ReturnType<OwnerQuery> => withOwner(url, (query) => query(...statement));

/** Every row of every table, as a text, by table: what somebody sees who has the database. */
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
