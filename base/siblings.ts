// The processes that serve together as one server (GANTRY_WORKERS). What bounds the server as a whole is either divided among
// them (`share`) or counted by all of them (`sum`): docs/decisions/0086.

export interface Siblings {
  /** How many processes serve; 1: this one alone. */
  readonly count: number;
  /** This process among them, from 0. The first one does what is done once for the server. */
  readonly index: number;
  /** Returns this process's part of a number of places. The parts of all add up to it, except that each has at least one. */
  share(total: number): number;
  /**
   * Opens a sum that all processes keep. Returns what adds to it here; `hear` is called for what was added elsewhere, some milliseconds
   * later (limits.siblingsTellMs), added up by key. A process that is started anew is not told of what was added before.
   */
  sum(name: string, hear: (key: string, amount: number) => void): (key: string, amount: number) => void;
}

/** Returns the part of process `index` of `count`. */
export const shareOf = (total: number, count: number, index: number): number => Math.max(1, Math.floor(total / count) + (index < total % count ? 1 : 0));

/** A process that serves by itself. */
export const alone: Siblings = { count: 1, index: 0, share: (total) => total, sum: () => () => {} };
