// Detects permissions that changed during a request. The server caches permissions under a version per root (table
// access_versions). Reading the version in the request's own statement costs nothing measurable, and makes a revocation
// effective on the next request on every replica (decisions: Access). On a mismatch the statement throws StaleAccess;
// the kernel reloads the permissions and retries once.

import type { Check, Param, Read, Row, StatementCost, Write } from "./handle.ts";
import { requireRow } from "./rows.ts";

/** The version of `root`'s access data that a decision relied on. */
export interface AccessVersion {
  readonly root: string;
  readonly version: string;
}

/** Thrown if permissions changed since the decision. Never leaves the server. */
export class StaleAccess extends Error {}

export const insertAccessVersion = async (rows: Write, root: string): Promise<void> => {
  await rows.query("insert into access_versions (root) values ($1) on conflict do nothing", [root]);
};

/** Raises every version to at least `version`, which invalidates older caches. */
export const raiseAccessVersions = async (rows: Write, version: number): Promise<void> => {
  await rows.query("update access_versions set version = $1 where version < $1", [version]);
};

/** Invalidates the root's cached permissions on every server. */
export const growAccessVersion = async (rows: Write, root: string): Promise<void> => {
  await rows.query("select grow_access_versions(array[$1])", [root]);
};

/** Checks in a separate statement; throws StaleAccess on a mismatch. */
export const checkAccessVersion = async (rows: Read, accessVersion: AccessVersion): Promise<void> => {
  const [row] = await rows.query("select version from access_versions where root = $1", [accessVersion.root]);
  if (row?.[0] !== accessVersion.version) throw new StaleAccess();
};

/** Adds the check to a transaction; on a mismatch later statements do not run, and the transaction throws StaleAccess. */
export const requireAccessVersion = (rows: Write, { root, version }: AccessVersion): void =>
  requireRow(rows, "select from access_versions where root = $1 and version = $2", [root, version], () => new StaleAccess());

// A class, since every request creates one: an object literal with a getter costs ten times as much.
class VersionCheckedRead implements Read, Check {
  readonly bare: Read;
  readonly #accessVersion: AccessVersion;
  #confirmed = false;

  constructor(read: Read, accessVersion: AccessVersion) {
    this.bare = read;
    this.#accessVersion = accessVersion;
  }

  get root(): string {
    return this.#accessVersion.root;
  }

  get shared(): Read {
    return this.bare.shared ?? this.bare;
  }

  get check(): Check | undefined {
    return this.#confirmed ? undefined : this;
  }

  confirm(version: string | null | undefined): void {
    if (version !== this.#accessVersion.version) throw new StaleAccess();
    this.#confirmed = true;
  }

  async query(statement: string, values?: readonly Param[], cost?: StatementCost): Promise<Row[]> {
    if (this.#confirmed) return this.bare.query(statement, values, cost);
    const [rows] = await Promise.all([this.bare.query(statement, values, cost), checkAccessVersion(this.bare, this.#accessVersion)]);
    this.#confirmed = true;
    return rows;
  }
}

/**
 * Returns a Read that checks the version with its first statement. rows.ts and list.ts fold the check in; other
 * statements get a separate one.
 */
export const withAccessVersionCheck = (read: Read, accessVersion: AccessVersion): Read => new VersionCheckedRead(read, accessVersion);
