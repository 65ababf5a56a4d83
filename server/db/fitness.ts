// Checks a PostgreSQL server, and explains start failures in one line. The pure half of the start (open.ts, migrate.ts).

import { limits } from "#base/limits.ts";
import { brokenConnection, sqlState } from "./faults.ts";

const serverVersionMin = 150_000;

/** Reads, wide reads, changes, one readiness check per process, and one for migrations or a command. */
const connectionsNeeded = (processes: number): number =>
  [limits.readConnections, limits.wideReadConnections, limits.writeConnections].reduce((sum, each) => sum + Math.max(each, processes), processes + 1);

export interface ServerFacts {
  readonly version: string;
  /** server_version_num. */
  readonly number: number;
  readonly encoding: string;
  /** -1 means unlimited. */
  readonly connections: { readonly server: number; readonly database: number; readonly role: number };
}

/** Returns why a server with this many processes (GANTRY_WORKERS) cannot use the database. */
export const serverProblem = ({ version, number, encoding, connections }: ServerFacts, processes = 1): string | undefined => {
  const needed = connectionsNeeded(processes);
  if (number < serverVersionMin) return `the database is PostgreSQL ${version}; Gantry needs ${serverVersionMin / 10_000} or newer`;
  if (encoding !== "UTF8") return `the database's encoding is ${encoding}; Gantry needs UTF8`;
  for (const [whose, limit] of [
    ["the server (max_connections)", connections.server],
    ["the database (alter database … connection limit)", connections.database],
    ["the role (alter role … connection limit)", connections.role],
  ] as const) {
    if (limit >= 0 && limit < needed) return `${whose} allows ${limit} connections, but each Gantry server needs ${needed}. Raise the limit`;
  }
  return undefined;
};

export const poolerProblem =
  "a connection pooler gives each transaction another connection (transaction mode), which loses settings and " +
  "prepared statements. Connect to the database itself, or to a pool in session mode";

const causes: readonly (readonly [matches: (state: string, message: string) => boolean, cause: string])[] = [
  [(state) => state === "53300", "it has no connection left (max_connections, or the limit of the database or the role)"],
  [(state, message) => state === "53100" || /No space left on device/i.test(message), "its disk is full"],
  [(state) => state === "53200", "it is out of memory"],
  // PostgreSQL cannot write dirty buffers; only its own log has the reason.
  [(_, message) => /checkpoint request failed/i.test(message), "it cannot write to its disk, which is most likely full (its own log says more)"],
  // Signs of a pooler: prepared statements unknown or existing already, or PgBouncer's messages.
  [(state, message) => state === "26000" || state === "42P05" || /statement pooling|unsupported startup parameter/i.test(message), poolerProblem],
  [(state) => state === "25006", "it is a read-only standby. Name the primary"],
];

/** Returns the cause of a start error in one line. */
export const startCause = (error: unknown): string => {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : "";
  const known = causes.find(([matches]) => matches(sqlState(error), message));
  // Node's error for several addresses has no message.
  const said = message || (typeof code === "string" ? code : String(error));
  return known === undefined ? said : `${known[1]} (${said})`;
};

/** `variable` names the setting with the URL. */
export const startFailureText = (variable: string, error: unknown): string => {
  const what = brokenConnection(error) ? "the database is not reachable" : "the database does not let Gantry in";
  return `${variable}: ${what}: ${startCause(error)}`;
};
