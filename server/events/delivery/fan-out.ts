// FAN-OUT. An event that has its position becomes a delivery to each subscription that receives it. An organization may have
// thousands of subscriptions and change a thousand things at once, and so this is done in pieces: some events for all
// subscriptions where these are few, some subscriptions of one event where they are many. Table fan_outs keeps how far each
// organization has come; a piece and its progress are one transaction, so that each delivery is made once, whoever dies.
//
//   organization   events behind a position, for all subscriptions
//   event          one that failed: out of its organization's way, for the subscriptions that have it not yet
//   delivery       one that failed, or an event with a single recipient (a test): neither waits for anything else
//
// Turns go round: each organization gives a share of one transaction, whoever needs more has one of its own, and then it is
// the next one's turn. A piece that fails is halved; a single event or delivery that fails goes its own way, which is told
// in the log, and is tried again after a pause that grows. Any number of servers do this at once: of one organization
// one at a time, by the lock of its order, for which nobody waits long.

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

/** Makes some deliveries for everybody whose turn it is; true where there may be more. */
export type FanOutStep = () => Promise<boolean>;

const partOf = ({ uid, position, subscription, lastPosition }: FanOut): EventPart => ({
  root: rootOf(uid),
  afterPosition: position,
  untilPosition: lastPosition,
  subscription,
});

/** Whether all subscriptions together are no more than one piece may have. */
const isWhole = ({ subscription, subscriptions }: FanOut, deliveriesMax: number): boolean =>
  subscription === "" && subscriptions <= deliveriesMax && deliveriesMax > 1;

/** Some of the events for all their subscriptions. */
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

/** Some more subscriptions of one event. */
const enqueuePart = async (rows: Write, work: FanOut, deliveriesMax: number, now: string): Promise<void> => {
  const done = await insertSomeDeliveries(rows, partOf(work), deliveriesMax, now);
  // No event: what was left of them is kept no longer.
  const advanced: Advanced =
    done === undefined
      ? { uid: work.uid, position: work.lastPosition, subscription: "" }
      : { uid: work.uid, position: done.last === "" ? done.position : work.position, subscription: done.last };
  await advanceFanOuts(rows, [advanced]);
};

export const openFanOut = ({ store, clock, log }: FanOutServices): FanOutStep => {
  /** How many deliveries a piece may have that has failed before; it grows again with each that is done. */
  const sizes = new Map<string, number>();
  const pauses = openPauses();
  /** Where the round is. */
  let after = "";

  /** One piece of one of them. */
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
    // Slowly, so that most of them are of a size that works.
    const next = Math.ceil(size * 1.25);
    if (isFound && next < limits.fanOutMax) sizes.set(uid, next);
    else sizes.delete(uid);
  };

  /** The next event of an organization, or the next delivery of an event, goes its own way. */
  const setAsideNext = async (uid: string, cause: unknown): Promise<void> => {
    const isEvent = uid !== rootOf(uid);
    const setAside = await store.write(async (rows) => {
      await lockOrder(rows, rootOf(uid), "alone", limits.orderWaitMs);
      const [work] = await readFanOuts(rows, [uid], 1);
      const next = work && (await findNextDelivery(rows, partOf(work)));
      if (!next || (isEvent && next.subscription === undefined)) return undefined;
      const nowMs = clock();
      // What fails again and again has ever longer to go on.
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

  /** What failed is halved the next time, and a single one is set aside. */
  const fail = async (uid: string, cause: unknown): Promise<void> => {
    if (isAway(cause)) throw cause;
    // Somebody else has the organization's order: the next round tries again.
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

  /** A share of each in one transaction; those that need one of their own. */
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

  /** One turn of each of these. */
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
