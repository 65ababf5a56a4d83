// What every connection to the database begins with: how it is made, its settings, and the question whom it leads to.

import { limits } from "#base/limits.ts";
import type pg from "pg";
import { sendStatement } from "./driver-internals.ts";
import { exchange } from "./exchange.ts";
import { quotaSettings } from "./resource-counts.ts";

/** A connection that does not answer within this time is none. */
export const connectTimeoutMs = limits.outboundTimeoutMs;

// A transaction that waits for a lock gives up before its statement does, so that the two can be distinguished.
const lockTimeoutMs = Math.floor((limits.statementTimeoutMs * 2) / 3);

/** Every value as PostgreSQL's own text: parsing a timestamp to a Date and back costs more than the query. */
const uninterpretedTypes: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

export const clientConfigOf = (databaseUrl: string): pg.ClientConfig => ({
  connectionString: databaseUrl,
  application_name: "gantry",
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  // From then on Node probes every second, ten times. Of the other ends of a timeout (TCP_USER_TIMEOUT) Node knows nothing.
  keepAliveInitialDelayMillis: limits.keepAliveDelayMs,
  pipeline: true,
  types: uninterpretedTypes,
});

// The last: PostgreSQL's own end of a connection on which we are silent, which otherwise keeps its locks.
// Set by a statement instead of startup parameters: connection poolers refuse the latter.
// Generic plans: planning anew costs more than our indexed statements take (.54 -> .60 of pgbench).
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

/** The connection leads to a standby. With PostgreSQL's code for what a standby says to a change. */
export class StandbyFound extends Error {
  readonly code = "25006";
  constructor() {
    super("the server is a standby");
  }
}

export interface Session {
  readonly statementTimeoutMs: number;
  /** Further settings, as statements. */
  readonly settings?: string;
  /** True: it may lead to a standby. */
  readonly anyServer?: boolean;
}

/**
 * Begins a session on a connection that was just made. Throws StandbyFound at a standby: what was a primary, or an address
 * that leads to whoever is one, may be a standby meanwhile, and would show rights that hold no longer.
 */
export const beginSession = async (client: pg.ClientBase, { statementTimeoutMs, settings = "", anyServer = false }: Session): Promise<void> => {
  const [, [row]] = await Promise.all([
    exchange(client, () => client.query(sessionSettings(statementTimeoutMs) + settings)),
    sendStatement(client, undefined, "select pg_is_in_recovery()", []),
  ]);
  if (!anyServer && row?.[0] === "t") throw new StandbyFound();
};
