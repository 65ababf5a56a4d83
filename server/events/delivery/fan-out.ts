// FAN-OUT. Turns a numbered event into a delivery for each receiving subscription, in batches: some events for all subscriptions if
// these are few, or some subscriptions of one event. Table fan_outs keeps the progress, updated in the batch's transaction, so each
// delivery is created once.
//
//   organization   events after a position, for all subscriptions
//   event          one that failed, for its remaining subscriptions, without blocking its organization
//   delivery       one that failed, or an event with a single recipient (a test), independent of all others
//
// Organizations take turns: each has a share of a common transaction, and a larger one gets its own. A failed batch is halved; a
// single failed event or delivery is set aside and retried with backoff. Any number of servers run this, one at a time per
// organization (the lock of its order).

import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { isAway, isPieceFault, openPauses, setAsideMs, workInPieces } from "#base/pieces.ts";
import { type Clock, timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import {
  type Advanced,
  advanceFanOuts,
  deleteFanOuts,
  deliveryUidOf,
  type EventPart,
  type FanOut,
  findFanOutFailures,
  findFanOuts,
  findNextDelivery,
  findSingleFanOuts,
  insertDeliveries,
  insertFanOut,
  insertSingleDeliveries,
  insertSomeDeliveries,
  postponeFanOut,
  readFanOuts,
} from "#events/store";
import { limitPiece, lockOrder, type Store, tryLockOrder, type Write } from "#db";

export interface FanOutServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates some deliveries for each organization in turn; returns true if there may be more. */
export type FanOutStep = () => Promise<boolean>;

const partOf = ({ uid, position, subscription, lastPosition }: FanOut): EventPart => ({
  root: rootOf(uid),
  afterPosition: position,
  untilPosition: lastPosition,
  subscription,
});

const isWhole = ({ subscription, subscriptions }: FanOut, deliveriesMax: number): boolean =>
  subscription === "" && subscriptions <= deliveriesMax && deliveriesMax > 1;

const enqueueWhole = async (rows: Write, works: readonly FanOut[], now: string): Promise<void> => {
  const ranges = works.flatMap(({ uid, position, subscriptions, untilPosition }) =>
    untilPosition === undefined || subscriptions === 0 ? [] : [{ root: rootOf(uid), afterPosition: position, untilPosition }],
  );
  if (ranges.length > 0) await insertDeliveries(rows, ranges, now);
  const advanced = works.map(
    ({ uid, subscriptions, untilPosition, lastPosition }): Advanced => ({
      uid,
      position: subscriptions === 0 ? lastPosition : (untilPosition ?? lastPosition),
      subscription: "",
    }),
  );
  if (advanced.length > 0) await advanceFanOuts(rows, advanced);
};

const enqueuePart = async (rows: Write, work: FanOut, deliveriesMax: number, now: string): Promise<void> => {
  const done = await insertSomeDeliveries(rows, partOf(work), deliveriesMax, now);
  // The remaining events have been deleted by retention.
  const advanced: Advanced =
    done === undefined
      ? { uid: work.uid, position: work.lastPosition, subscription: "" }
      : { uid: work.uid, position: done.last === "" ? done.position : work.position, subscription: done.last };
  await advanceFanOuts(rows, [advanced]);
};

export const openFanOut = ({ store, clock, log }: FanOutServices): FanOutStep => {
  /** After failures; they grow again with each success. */
  const sizes = new Map<string, number>();
  const pauses = openPauses();
  let after = "";

  const doAlone = async (uid: string): Promise<void> => {
    const size = sizes.get(uid) ?? limits.fanOutMax;
    const isFound = await store.write(async (rows) => {
      if (size > 1) await limitPiece(rows);
      await lockOrder(rows, rootOf(uid), "alone", limits.orderWaitMs);
      const [work] = await readFanOuts(rows, [uid], size);
      if (!work) return false;
      const now = timestamp(clock());
      if (isWhole(work, size)) await enqueueWhole(rows, [work], now);
      else await enqueuePart(rows, work, size, now);
      return true;
    });
    // Slow growth, so that most batches have a working size.
    const next = Math.ceil(size * 1.25);
    if (isFound && next < limits.fanOutMax) sizes.set(uid, next);
    else sizes.delete(uid);
  };

  const setAsideNext = async (uid: string, cause: unknown): Promise<void> => {
    const isEvent = uid !== rootOf(uid);
    const setAside = await store.write(async (rows) => {
      await lockOrder(rows, rootOf(uid), "alone", limits.orderWaitMs);
      const [work] = await readFanOuts(rows, [uid], 1);
      const next = work && (await findNextDelivery(rows, partOf(work)));
      if (!next || (isEvent && next.subscription === undefined)) return undefined;
      const nowMs = clock();
      // Repeated failures back off longer.
      const failures = work.failures + 1;
      const pausedUntil = timestamp(nowMs + (failures === 1 ? 0 : setAsideMs(failures - 1)));
      const own = isEvent && next.subscription !== undefined ? deliveryUidOf(next.subscription, next.position) : next.eventUid;
      await insertFanOut(rows, {
        uid: own,
        only: isEvent ? next.subscription : undefined,
        position: next.position,
        subscription: isEvent ? "" : work.subscription,
        tryTime: timestamp(nowMs + (isEvent ? setAsideMs(1) : 0)),
        failures: isEvent ? 1 : 0,
      });
      const progress = isEvent ? { position: work.position, subscription: next.subscription ?? "" } : { position: next.position, subscription: "" };
      await advanceFanOuts(rows, [{ uid, ...progress }]);
      await postponeFanOut(rows, uid, failures, pausedUntil);
      return own;
    });
    if (setAside === undefined) throw cause;
    log("delivery.enqueue.set_aside", { [isEvent ? "delivery" : "event"]: setAside, cause });
  };

  /** Halves a batch; sets a single item aside. */
  const fail = async (uid: string, cause: unknown): Promise<void> => {
    if (isAway(cause)) throw cause;
    // The organization is locked; the next round retries.
    if (!isPieceFault(cause)) return;
    const size = sizes.get(uid) ?? limits.fanOutMax;
    if (size > 1) {
      sizes.set(uid, Math.ceil(size / 2));
      return;
    }
    await setAsideNext(uid, cause).catch((thrown: unknown) => {
      if (!isPieceFault(thrown)) throw thrown;
      log("delivery.enqueue.failed", { events: uid, failures: pauses.fail(uid, clock()), cause: thrown });
    });
  };

  /** Returns those that need their own transaction. */
  const doTogether = async (uids: readonly string[]): Promise<string[]> => {
    const share = Math.floor(limits.fanOutMax / Math.max(uids.length, 1));
    return store.write(async (rows) => {
      await limitPiece(rows);
      const held = await tryLockOrder(rows, uids.map(rootOf), "alone");
      const works = await readFanOuts(
        rows,
        uids.filter((uid) => held.has(rootOf(uid))),
        share,
      );
      const whole = works.filter((work) => isWhole(work, share));
      await enqueueWhole(rows, whole, timestamp(clock()));
      const found = new Set(works.map(({ uid }) => uid));
      const done = new Set(whole.map(({ uid }) => uid));
      return uids.filter((uid) => !done.has(uid) && (found.has(uid) || !held.has(rootOf(uid))));
    });
  };

  const goRound = async (uids: readonly string[]): Promise<void> => {
    const [small, others] = [uids.filter((uid) => !sizes.has(uid)), uids.filter((uid) => sizes.has(uid))];
    const alone =
      small.length > 1
        ? await doTogether(small).catch((thrown: unknown) => {
            if (!isPieceFault(thrown)) throw thrown;
            return small;
          })
        : small;
    for (const uid of [...alone, ...others]) await doAlone(uid).catch((thrown: unknown) => fail(uid, thrown));
  };

  const doSingle = async (): Promise<boolean> => {
    const due = await findSingleFanOuts(store.read, clock(), limits.fanOutMax);
    const work = workInPieces(
      due,
      (piece) =>
        store.write(async (rows) => {
          if (piece.length > 1) await limitPiece(rows);
          const held = await tryLockOrder(rows, piece.map(rootOf), "alone");
          let mine = piece.filter((uid) => held.has(rootOf(uid)));
          const [first] = piece;
          if (mine.length === 0 && first !== undefined) {
            await lockOrder(rows, rootOf(first), "alone", limits.orderWaitMs);
            mine = [first];
          }
          await insertSingleDeliveries(rows, mine, timestamp(clock()));
          await deleteFanOuts(rows, mine);
        }),
      async (uid, cause) => {
        const failures = ((await findFanOutFailures(store.read, uid)) ?? 0) + 1;
        await store.write((rows) => postponeFanOut(rows, uid, failures, timestamp(clock() + setAsideMs(failures))));
        log("delivery.enqueue.set_aside", { delivery: uid, failures, cause });
      },
    );
    await work.catch((thrown: unknown) => {
      if (isAway(thrown)) throw thrown;
      log("delivery.enqueue.failed", { deliveries: due.length, cause: thrown });
    });
    return due.length > 0;
  };

  return async () => {
    const single = await doSingle();
    const nowMs = clock();
    const found = await findFanOuts(store.read, nowMs, after, limits.fanOutOrganizationsMax);
    after = found.length < limits.fanOutOrganizationsMax ? "" : (found.at(-1) ?? "");
    const uids = found.filter((uid) => !pauses.isPaused(uid, nowMs));
    if (uids.length > 0) await goRound(uids);
    return single || uids.length > 0 || after !== "";
  };
};
