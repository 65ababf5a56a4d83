// How much may be under way at a time: in all, and for each party, so that none takes it all. Nobody waits for a share: an
// exchange that would wait for slow hosts of others is better refused at once.

import { Fault } from "#base/fault.ts";

export interface Shares {
  /** Takes a part of the party's share, until the function that it returns is called. Throws RESOURCE_EXHAUSTED. */
  enter(party: string): () => void;
}

const retryAfterSeconds = "1";

export const openShares = ({ all, each }: { readonly all: number; readonly each: number }, what: string): Shares => {
  const underWay = new Map<string, number>();
  let total = 0;
  return {
    enter(party) {
      const own = underWay.get(party) ?? 0;
      if (total >= all || own >= each)
        throw new Fault("RESOURCE_EXHAUSTED", `too many ${what} are asked at once${own >= each ? ` for ${party}` : ""}; try again`, {
          headers: { "retry-after": retryAfterSeconds },
        });
      total++;
      underWay.set(party, own + 1);
      return () => {
        total--;
        const left = (underWay.get(party) ?? 1) - 1;
        if (left > 0) underWay.set(party, left);
        else underWay.delete(party);
      };
    },
  };
};
