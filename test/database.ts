// A fresh, migrated database for a test file, on a real PostgreSQL: a clone of a template that was migrated once.
//
// Under test/run.ts all files share one server. A file that is run by itself (node --test file) uses DATABASE_URL
// if that is set, else starts a server of its own, which ends with the process.

import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silent } from "#base/log.ts";
import { databaseUrlOf, type EmbeddedPostgres, startEmbedded } from "#postgres";
import pg from "pg";
import { migrate } from "../server/store/migrate.ts";
import { refuseUntold } from "./told.ts";

/** A database server for tests: where databases are made, and what they are clones of. */
export interface TestServer {
  readonly url: string;
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

/** Makes the migrated template on the server at `url`. */
export const makeTemplate = async (url: string): Promise<TestServer> => {
  const template = freshName();
  await command(url, `create database ${template} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`);
  await migrate(addressOf(url, template), () => {});
  await command(addressOf(url, template), refuseUntold());
  return { url, template };
};

export const dropDatabase = (url: string, database: string): Promise<void> => command(url, `drop database if exists ${database} with (force)`);

/** An embedded server for tests in a directory of its own: quick to start, nothing kept. */
export const startTestServer = async (): Promise<{ url: string; directory: string; embedded: EmbeddedPostgres }> => {
  const directory = mkdtempSync(join(tmpdir(), "gantry-test-"));
  const embedded = await startEmbedded({ dataDirectory: directory, log: silent, progress: () => {}, durable: false });
  return { url: databaseUrlOf({ ...embedded.address, database: "postgres" }), directory, embedded };
};

/** The server of a file that runs by itself. Stopped at exit, where nothing can be awaited. */
const startOwnServer = async (): Promise<TestServer> => {
  const { url, directory } = await startTestServer();
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
  return makeTemplate(url);
};

const { GANTRY_TEST_DATABASE_URL: sharedUrl, GANTRY_TEST_TEMPLATE: sharedTemplate, DATABASE_URL: givenUrl } = process.env;

let server: Promise<TestServer> | undefined;

/**
 * A migrated database of the caller's own; `url` is of the form that DATABASE_URL takes.
 * @param planted rows are written by the test itself, and told to nobody (told.ts)
 */
export const freshDatabase = async ({ planted = false } = {}): Promise<{ url: string; drop(): Promise<void> }> => {
  const name = freshName();
  const allow = (url: string): Promise<void> => (planted ? command(url, `alter database ${name} set gantry.untold = 'on'`) : Promise.resolve());
  if (!sharedUrl && givenUrl) {
    await command(givenUrl, `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`);
    await migrate(addressOf(givenUrl, name), () => {});
    await command(addressOf(givenUrl, name), refuseUntold());
    await allow(givenUrl);
    return { url: addressOf(givenUrl, name), drop: () => dropDatabase(givenUrl, name) };
  }
  server ??= sharedUrl && sharedTemplate ? Promise.resolve({ url: sharedUrl, template: sharedTemplate }) : startOwnServer();
  const { url, template } = await server;
  await command(url, `create database ${name} template ${template}`);
  await allow(url);
  return { url: addressOf(url, name), drop: () => dropDatabase(url, name) };
};
