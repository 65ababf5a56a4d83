// The processes that serve together as one server (GANTRY_WORKERS). Server-wide limits are either divided (`share`) or summed
// (`sum`): docs/decisions/0056.

export interface Siblings {
  readonly count: number;
  /** The index of this process, from 0. Process 0 does what is done once per server. */
  readonly index: number;
  /** Returns this process's share of a total. The shares add up to it, except that each is at least one. */
  share(total: number): number;
  /**
   * Opens a sum over all processes and returns the function that adds to it here. `hear` receives what the others add, summed by
   * key, limits.siblingsTellMs later. A restarted process does not learn of earlier additions.
   */
  sum(name: string, hear: (key: string, amount: number) => void): (key: string, amount: number) => void;
}

export const shareOf = (total: number, count: number, index: number): number => Math.max(1, Math.floor(total / count) + (index < total % count ? 1 : 0));

/** A process that serves alone. */
export const alone: Siblings = { count: 1, index: 0, share: (total) => total, sum: () => () => {} };
