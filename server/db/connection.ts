// Configuration and settings of database connections, and the check for a primary.

import { hostname } from "node:os";
import { limits } from "#base/limits.ts";
import type pg from "pg";
import { version } from "./version.ts";
import { sendStatement } from "./driver-internals.ts";
import { exchange } from "./exchange.ts";
import { quotaSettings } from "./resource-counts.ts";

export const connectTimeoutMs = limits.outboundTimeoutMs;

// Below the statement timeout, to stay distinguishable.
const lockTimeoutMs = Math.floor((limits.statementTimeoutMs * 2) / 3);

/** Text only: converting a timestamp to a Date and back costs more than the query. */
const uninterpretedTypes: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** Names this process in pg_stat_activity, such as "gantry 0.1.0 on web-1:4711" (PostgreSQL cuts it after 63 bytes). */
export const applicationName = `gantry ${version} on ${hostname().slice(0, 36)}:${process.pid}`;

export const clientConfigOf = (databaseUrl: string): pg.ClientConfig => ({
  connectionString: databaseUrl,
  application_name: applicationName,
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  // Then Node probes every second, ten times. Node has no TCP_USER_TIMEOUT.
  keepAliveInitialDelayMillis: limits.keepAliveDelayMs,
  pipeline: true,
  types: uninterpretedTypes,
});

// By statement, because poolers refuse startup parameters. Generic plans: replanning costs more than our indexed
// statements (.54 -> .60 of pgbench). The last timeout makes PostgreSQL drop a dead connection, which otherwise keeps
// its locks.
const sessionSettings = (statementTimeoutMs: number): string => `
  set timezone = 'UTC';
  set datestyle = 'ISO';
  set client_min_messages = warning;
  set jit = off;
  set plan_cache_mode = force_generic_plan;
  set statement_timeout = ${statementTimeoutMs};
  set lock_timeout = ${lockTimeoutMs};
  set idle_in_transaction_session_timeout = ${limits.statementTimeoutMs};
  set tcp_user_timeout = ${limits.databaseAnswerMs};
  ${quotaSettings}
`;

/** Has PostgreSQL's code for a write to a standby. */
export class StandbyFound extends Error {
  readonly code = "25006";
  constructor() {
    super("the server is a standby");
  }
}

export interface Session {
  readonly statementTimeoutMs: number;
  readonly settings?: string;
  readonly anyServer?: boolean;
}

/** Throws StandbyFound unless `anyServer` is set: after a failover an old primary could return outdated permissions. */
export const beginSession = async (client: pg.ClientBase, { statementTimeoutMs, settings = "", anyServer = false }: Session): Promise<void> => {
  const [, [row]] = await Promise.all([
    exchange(client, () => client.query(sessionSettings(statementTimeoutMs) + settings)),
    sendStatement(client, undefined, "select pg_is_in_recovery()", []),
  ]);
  if (!anyServer && row?.[0] === "t") throw new StandbyFound();
};
