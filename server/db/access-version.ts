// How a request checks that the rights it was decided with still hold.
//
// Rights are kept in memory under a version of the caller's root (table access_versions). Reading the version in
// the request's own statement costs nothing measurable and makes a revocation effective with the next request on
// every replica (decisions: Access). A statement that finds another version throws StaleAccess; the kernel loads the
// rights anew and handles the request once more.

import type { Check, Param, Read, Row, StatementCost, Write } from "./handle.ts";
import { requireRow } from "./rows.ts";

/** The version of `root`'s access data that a decision was made with. */
export interface AccessVersion {
  readonly root: string;
  readonly version: string;
}

/** The rights that a request was decided with are no longer the store's. Never leaves the server. */
export class StaleAccess extends Error {}

/** The first version of a root's access data, unless it has one. */
export const insertAccessVersion = async (rows: Write, root: string): Promise<void> => {
  await rows.query("insert into access_versions (root) values ($1) on conflict do nothing", [root]);
};

/** No version of before is ever met again: rights that somebody has kept under one are read anew. */
export const raiseAccessVersions = async (rows: Write, version: number): Promise<void> => {
  await rows.query("update access_versions set version = $1 where version < $1", [version]);
};

/** Gives a root's access data its next version: rights that any server keeps under the one before are read again. */
export const growAccessVersion = async (rows: Write, root: string): Promise<void> => {
  await rows.query("select grow_access_versions(array[$1])", [root]);
};

/** Checks the access version by a statement of its own, beside a hand-written read. */
export const checkAccessVersion = async (rows: Read, accessVersion: AccessVersion): Promise<void> => {
  const [row] = await rows.query("select version from access_versions where root = $1", [accessVersion.root]);
  if (row?.[0] !== accessVersion.version) throw new StaleAccess();
};

/** The same of a transaction: if it finds another version, what comes behind it is not done, and the transaction throws StaleAccess. */
export const requireAccessVersion = (rows: Write, { root, version }: AccessVersion): void =>
  requireRow(rows, "select from access_versions where root = $1 and version = $2", [root, version], () => new StaleAccess());

// A class: every request creates one, and an object literal with a getter costs ten times as much to create.
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
 * `read`, made to check the access version with its first statement: rows.ts and list.ts fold the check into theirs,
 * any other statement gets one sent along.
 */
export const withAccessVersionCheck = (read: Read, accessVersion: AccessVersion): Read => new VersionCheckedRead(read, accessVersion);
