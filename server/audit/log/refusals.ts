// Collects refused and validate-only calls and writes them to the outbox periodically. Beyond a limit per identity and minute, calls
// are only counted, as are most without a valid token. So no caller can fill the disk or displace others' entries.

import { operatorUid } from "#base/operator.ts";
import type { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import type { Log } from "#base/log.ts";
import type { RequestSource } from "#base/origin.ts";
import { workInPieces } from "#base/pieces.ts";
import { type Clock, timestamp } from "#base/time.ts";
import { isRoot, parentOf } from "#base/uid.ts";
import { recordRefusals, type Refusal, refusedType, validatedOnlyType } from "#outbox";
import type { Store } from "#db";

/** Code OK means validate-only. */
export interface RefusedCall {
  /** The identity's UID; undefined if unauthenticated. */
  readonly caller: string | undefined;
  /** Full name of the operation, or a path. */
  readonly operation: string;
  /** UID in the request; "" if none. */
  readonly subject: string;
  readonly code: Fault["code"] | "OK";
  readonly requestSource: RequestSource;
}

export interface Refusals {
  /** Never throws. */
  add(call: RefusedCall): void;
  /** Something was added that is not written. */
  readonly isWaiting: boolean;
  /** Writes what was added; with `all`, also the running counts. */
  flush(all: boolean): Promise<void>;
}

export interface RefusalServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly publicUrl: string;
  readonly siblings?: Siblings;
}

/** The caller's group, or the operator's if unknown. */
const homeOf = (caller: string): string => (caller === "" ? operatorUid : isRoot(caller) ? caller : parentOf(caller));

const isPerson = (caller: string): boolean => isRoot(caller) && caller !== operatorUid;

export const openRefusals = ({ store, clock, log, publicUrl, siblings = alone }: RefusalServices): Refusals => {
  let collected: Refusal[] = [];
  // Current minute: entries written in full by caller, and counts beyond that.
  let windowMs = 0;
  const writtenOf = new Map<string, number>();
  const counted = new Map<string, Refusal>();

  const closeWindow = (): void => {
    collected.push(...counted.values());
    writtenOf.clear();
    counted.clear();
  };

  const add = ({ caller = "", operation, subject, code, requestSource }: RefusedCall): void => {
    const nowMs = clock();
    if (Math.abs(nowMs - windowMs) >= limits.refusalsWindowMs) {
      closeWindow();
      windowMs = nowMs;
    }
    const tracked = caller === "" || writtenOf.has(caller) || writtenOf.size < limits.refusalCallersMax;
    const written = writtenOf.get(caller) ?? 0;
    const time = timestamp(nowMs);
    const type = code === "OK" ? validatedOnlyType : refusedType;
    const common = { type, home: homeOf(caller), code, time };
    if (tracked && written < siblings.share(caller === "" ? limits.refusalsUnknownMax : limits.refusalsPerCallerMax)) {
      writtenOf.set(caller, written + 1);
      const { origin, requestId } = requestSource;
      collected.push({
        ...common,
        caller,
        isPerson: isPerson(caller),
        operation,
        subject,
        count: 1,
        address: origin.address,
        userAgent: origin.userAgent,
        requestId,
      });
      return;
    }
    const countedCaller = tracked ? caller : "";
    const key = `${countedCaller} ${code}`;
    const before = counted.get(key) ?? {
      ...common,
      home: homeOf(countedCaller),
      caller: countedCaller,
      isPerson: isPerson(countedCaller),
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
    add,
    get isWaiting() {
      return collected.length > 0 || counted.size > 0;
    },
    async flush(all) {
      if (all || clock() - windowMs >= limits.refusalsWindowMs) closeWindow();
      const writing = collected;
      collected = [];
      if (writing.length === 0) return;
      for (let start = 0; start < writing.length; start += limits.refusalsWrittenMax) {
        const some = writing.slice(start, start + limits.refusalsWrittenMax);
        // Dropped instead of buffered if the store is unavailable, because they are unbounded.
        await workInPieces(
          some,
          (piece) => store.write((rows) => recordRefusals(rows, publicUrl, piece)),
          ({ caller, operation, subject }, cause) => log("audit.refusals.lost", { refusals: 1, caller, operation, subject, cause }),
        ).catch((cause: unknown) => log("audit.refusals.lost", { refusals: some.length, cause }));
      }
    },
  };
};
