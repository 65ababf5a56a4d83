// Version 1 lists, which are sent whole: bounds their memory, with a share per organization, and joins their parts.

import { Fault, throttled } from "#base/fault.ts";
import type { Packing } from "#contract/call.ts";

/** The packing of one call; `release` frees its memory. */
export interface CallPacking extends Packing {
  readonly release: () => void;
}

type Encode = (part: Parameters<Packing["pack"]>[0]) => Uint8Array;

type WholeListBounds = Readonly<Record<"wholeListsBytesEach" | "wholeListsBytesMax" | "wholeListsRetryMs" | "exchangeTimeoutMs", number>>;

export type WholeLists = (encode: Encode) => CallPacking;

/** Opens the memory budget of all lists. A call's share is released after the exchange's timeout at the latest. */
export const openWholeLists = ({ wholeListsBytesEach, wholeListsBytesMax, wholeListsRetryMs, exchangeTimeoutMs }: WholeListBounds): WholeLists => {
  const heldBytes = new Map<string, number>();
  let heldInAll = 0;
  const hold = (organization: string, bytes: number): void => {
    const held = (heldBytes.get(organization) ?? 0) + bytes;
    if (held > 0) heldBytes.set(organization, held);
    else heldBytes.delete(organization);
    heldInAll += bytes;
  };
  return (encode) => {
    const taken: { organization: string; bytes: number }[] = [];
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    const release = (): void => {
      over = true;
      clearTimeout(timer);
      for (const { organization, bytes } of taken.splice(0)) hold(organization, -bytes);
    };
    return {
      release,
      pack: (part, organization) => {
        // The caller has stopped waiting, so no more rows are read.
        if (over) throw new Fault("CANCELLED", "the request has ended");
        const packed = encode(part);
        const own = heldBytes.get(organization) ?? 0;
        const isFull = own + packed.length > wholeListsBytesEach || heldInAll + packed.length > wholeListsBytesMax;
        if (isFull) {
          release();
          const quota = Math.min(wholeListsBytesEach, wholeListsBytesMax);
          throw throttled("too many long lists of version 1 are being sent; ask again, or list in pages with version 2", {
            name: "whole-lists",
            quota,
            retryMs: wholeListsRetryMs,
          });
        }
        hold(organization, packed.length);
        taken.push({ organization, bytes: packed.length });
        timer ??= setTimeout(release, exchangeTimeoutMs).unref();
        return packed;
      },
    };
  };
};

/** Returns the entries of a part, which is a JSON object with the single list `name`. */
const entriesIn = (name: string, part: Uint8Array): Uint8Array => part.subarray(`{${JSON.stringify(name)}:[`.length, -"]}".length);

/** Joins parts into one JSON list, for lists that are sent at once. */
export const joinedBytes = (name: string, parts: readonly Uint8Array[]): Uint8Array => {
  const entries = parts.map((part) => entriesIn(name, part)).filter(({ length }) => length > 0);
  const comma = Buffer.from(",");
  const separated = entries.flatMap((each, index) => (index === 0 ? [each] : [comma, each]));
  return Buffer.concat([Buffer.from(`{${JSON.stringify(name)}:[`), ...separated, Buffer.from("]}")]);
};

/** Joins parts into one JSON list while sending; `sent` runs at the end. */
export const joinedJson = async function* (name: string, parts: readonly Uint8Array[], sent: () => void): AsyncGenerator<string | Uint8Array> {
  try {
    yield `{${JSON.stringify(name)}:[`;
    let isFirst = true;
    for (const part of parts) {
      const entries = entriesIn(name, part);
      if (entries.length === 0) continue;
      if (!isFirst) yield ",";
      isFirst = false;
      yield entries;
    }
    yield "]}";
  } finally {
    sent();
  }
};
