// Notes which events become deliveries, in the transaction that assigns their positions. The deliveries follow later (fan-out.ts).

import { extendFanOuts, type NewFanOut } from "#events/store";
import type { NumberedEvent, Write } from "#db";

/** One per organization, and one per event with a single recipient. */
const fanOutsOf = (events: readonly NumberedEvent[]): NewFanOut[] => {
  const organizations = new Map<string, NewFanOut>();
  const single: NewFanOut[] = [];
  for (const { position, root, subscription } of events) {
    if (subscription !== undefined) single.push({ owner: subscription, isSingle: true, firstPosition: position, lastPosition: position });
    else if (root !== "") {
      const { firstPosition = position, lastPosition = position } = organizations.get(root) ?? {};
      organizations.set(root, {
        owner: root,
        isSingle: false,
        firstPosition: Math.min(firstPosition, position),
        lastPosition: Math.max(lastPosition, position),
      });
    }
  }
  return [...organizations.values(), ...single];
};

/** Requires the lock "numbering". */
export const enqueueEvents = (rows: Write, events: readonly NumberedEvent[], now: string): Promise<void> => extendFanOuts(rows, fanOutsOf(events), now);
