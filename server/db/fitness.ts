// Whether a PostgreSQL will do, and why one that fails at the start does: the real cause in one line. The pure half of the
// start (open.ts, migrate.ts).

import { limits } from "#base/limits.ts";
import { brokenConnection, sqlState } from "./faults.ts";

/** PostgreSQL's own version number of the oldest that will do. */
const serverVersionMin = 150_000;

/** Returns what one server needs: its reads, its changes, the readiness of each of its processes, and what runs besides: migrations, or a command. */
const connectionsNeeded = (processes: number): number =>
  [limits.readConnections, limits.wideReadConnections, limits.writeConnections].reduce((sum, each) => sum + Math.max(each, processes), processes + 1);

export interface ServerFacts {
  readonly version: string;
  /** server_version_num. */
  readonly number: number;
  readonly encoding: string;
  /** How many connections each of these lets us have; -1: it sets no limit. */
  readonly connections: { readonly server: number; readonly database: number; readonly role: number };
}

/** Why a server of this many processes (GANTRY_WORKERS) cannot run on this database; undefined where it can. */
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
  // What PostgreSQL says when it cannot write what it has in memory; the reason is in its own log alone.
  [(_, message) => /checkpoint request failed/i.test(message), "it cannot write to its disk, which is most likely full (its own log says more)"],
  // A pooler's words: it knows nothing of what another connection has prepared, or has it already; PgBouncer's modes and settings.
  [(state, message) => state === "26000" || state === "42P05" || /statement pooling|unsupported startup parameter/i.test(message), poolerProblem],
  [(state) => state === "25006", "it is a read-only standby. Name the primary"],
];

/** What an error at the start comes from, in one line. */
export const startCause = (error: unknown): string => {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : "";
  const known = causes.find(([matches]) => matches(sqlState(error), message));
  // Node puts several addresses' failures into one error without a text of its own.
  const said = message || (typeof code === "string" ? code : String(error));
  return known === undefined ? said : `${known[1]} (${said})`;
};

/** The same as a sentence about the address; `variable` is the setting that holds it. */
export const startFailureText = (variable: string, error: unknown): string => {
  const what = brokenConnection(error) ? "the database is not reachable" : "the database does not let Gantry in";
  return `${variable}: ${what}: ${startCause(error)}`;
};
