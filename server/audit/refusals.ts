// Refused calls on their way to the outbox. They come at the pace of whoever is refused, so they are gathered and
// written now and then, each identity's up to a number in a minute; what is beyond it is counted, and so is most of
// what carries no valid token. Nobody can fill the disk with them, and nobody's drive out another's.

import { operatorUid } from "#authz";
import type { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { RequestSource } from "#base/origin.ts";
import { type Clock, timestamp } from "#base/time.ts";
import { isRoot, parentOf } from "#base/uid.ts";
import { recordRefusals, type Refusal } from "#outbox";
import type { Store } from "#store";

/** A call that was refused. */
export interface Refused {
  /** The identity's uid; undefined where nobody could be made out. */
  readonly caller: string | undefined;
  /** Full name of the operation, or the path of what is none. */
  readonly operation: string;
  /** The uid that the call named; "" where it named none. */
  readonly subject: string;
  readonly code: Fault["code"];
  readonly requestSource: RequestSource;
}

export interface Refusals {
  /** Notes it down; never fails. */
  note(refused: Refused): void;
  /** Writes what was noted. With `all`, also what is still being counted. */
  flush(all: boolean): Promise<void>;
}

export interface RefusalParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly publicUrl: string;
}

const homeOf = (caller: string): string => (caller === "" ? operatorUid : isRoot(caller) ? caller : parentOf(caller));

export const openRefusals = ({ store, clock, log, publicUrl }: RefusalParts): Refusals => {
  let noted: Refusal[] = [];
  // Of the running minute: how many of each caller were written in full, and how many more there were.
  let windowMs = 0;
  const full = new Map<string, number>();
  const counted = new Map<string, Refusal>();

  const close = (): void => {
    noted.push(...counted.values());
    full.clear();
    counted.clear();
  };

  const note = ({ caller = "", operation, subject, code, requestSource }: Refused): void => {
    const nowMs = clock();
    if (Math.abs(nowMs - windowMs) >= limits.refusalsWindowMs) {
      close();
      windowMs = nowMs;
    }
    const known = caller === "" || full.has(caller) || full.size < limits.refusalCallersMax;
    const had = full.get(caller) ?? 0;
    const time = timestamp(nowMs);
    const shared = { home: homeOf(caller), code, time };
    if (known && had < (caller === "" ? limits.refusalsUnknownMax : limits.refusalsPerCallerMax)) {
      full.set(caller, had + 1);
      const { origin, requestId } = requestSource;
      noted.push({ ...shared, caller, operation, subject, count: 1, address: origin.address, userAgent: origin.userAgent, requestId });
      return;
    }
    const whose = known ? caller : "";
    const key = `${whose} ${code}`;
    const before = counted.get(key) ?? {
      ...shared,
      home: homeOf(whose),
      caller: whose,
      operation: "",
      subject: "",
      count: 0,
      address: "",
      userAgent: "",
      requestId: "",
    };
    counted.set(key, { ...before, count: before.count + 1 });
  };

  return {
    note,
    async flush(all) {
      if (all || clock() - windowMs >= limits.refusalsWindowMs) close();
      const writing = noted;
      noted = [];
      if (writing.length === 0) return;
      await store
        .write((rows) => recordRefusals(rows, publicUrl, writing))
        .catch((cause: unknown) => {
          // They cannot wait in memory for a store that is away: there is no end to them.
          log("audit.refusals.lost", { refusals: writing.length, cause });
        });
    },
  };
};
