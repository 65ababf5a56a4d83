// Pulls as events (events: 9).

import type { ReadContext } from "#kernel";

export interface Pulled {
  readonly repo: string;
  /** "" where the digest was asked for. */
  readonly tag: string;
  readonly digest: string;
  readonly type: "manifest" | "blob";
}

export const notePull = (_context: ReadContext, _pulled: Pulled): void => {};
