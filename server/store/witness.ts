// How a request proves that the rights it was decided with still hold.
//
// Rights are kept in memory under a version of the caller's root (table access_versions). Reading the version in
// the request's own statement costs nothing measurable and makes a revocation effective with the next request on
// every replica (decisions: Access). A statement that finds another version throws Stale; the kernel loads the
// rights anew and goes the way once more.

import type { Check, Param, Read, Row } from "./handle.ts";

/** The version of `root`'s access data that a decision was made with. */
export interface Witness {
  readonly root: string;
  readonly version: string;
}

/** The rights that a request was decided with are no longer the store's. Never leaves the server. */
export class Stale extends Error {}

/** Checks the witness by a statement of its own: first in a transaction, or beside a hand-written read. */
export const confirmWitness = async (rows: Read, witness: Witness): Promise<void> => {
  const [row] = await rows.query("select version from access_versions where root = $1", [witness.root]);
  if (row?.[0] !== witness.version) throw new Stale();
};

// A class: every request makes one, and an object with a getter of its own costs ten times as much to make.
class Witnessed implements Read, Check {
  readonly bare: Read;
  readonly #witness: Witness;
  #confirmed = false;

  constructor(read: Read, witness: Witness) {
    this.bare = read;
    this.#witness = witness;
  }

  get root(): string {
    return this.#witness.root;
  }

  get check(): Check | undefined {
    return this.#confirmed ? undefined : this;
  }

  confirm(version: string | null | undefined): void {
    if (version !== this.#witness.version) throw new Stale();
    this.#confirmed = true;
  }

  async query(statement: string, values?: readonly Param[]): Promise<Row[]> {
    if (this.#confirmed) return this.bare.query(statement, values);
    const [rows] = await Promise.all([this.bare.query(statement, values), confirmWitness(this.bare, this.#witness)]);
    this.#confirmed = true;
    return rows;
  }
}

/**
 * `read`, made to confirm the witness with its first statement: rows.ts and list.ts fold the check into theirs, any
 * other statement gets one sent along.
 */
export const witnessed = (read: Read, witness: Witness): Read => new Witnessed(read, witness);
