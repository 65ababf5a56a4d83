// A replica for lists (GANTRY_READ_REPLICA_URL): a standby of the primary, which may be behind. How far, is measured: once a
// second both are asked for their positions in the write-ahead log, and what the primary had written at a time, a standby that
// has replayed as much of the same timeline has, too. A standby of another timeline may have what was lost, and is not asked.
//
// Rights are never read there. A list comes from it only where it has the version of the caller's rights that the primary
// has just proven, and the last event of each organization whose rows are listed: whoever has changed something, at
// whichever server, sees it in the next list.

import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { type AccessVersion, withAccessVersionCheck } from "./access-version.ts";
import type { Host } from "./hosts.ts";
import type { Read } from "./handle.ts";
import { findLastGroupEvent } from "./outbox.ts";
import { type Asked, awayText, openAsked, type Primary } from "./primary.ts";

export interface Replica {
  /** Milliseconds since 1970: it has all that was committed by then. Undefined: it is not to be asked. */
  readonly asOfMs: number | undefined;
  /** A statement on it failed: for a while it is not asked. */
  fail(error: unknown): void;
  close(): Promise<void>;
}

/** What the primary had written at a time. */
interface Mark {
  readonly atMs: number;
  readonly position: number;
}

const marksMax = Math.ceil(limits.replicaLagMs / limits.primaryLookMs) + 1;

/** Watches how far this standby of the primary is. `cut` runs when it does not answer: nor will it what is on its way there. */
export const openReplica = (host: Host, primary: Primary, log: Log, cut: () => void): Replica => {
  const standby = openAsked(host, limits.hostAnswerMs);
  let leader: Asked | undefined;
  let history = "";
  let marks: Mark[] = [];
  let asOfMs: number | undefined;
  let pausedUntilMs = 0;
  let trouble: string | undefined;
  let looking: Promise<void> | undefined;
  let closed = false;

  const askPrimary = async (): ReturnType<Asked["ask"]> => {
    const known = primary.known ?? (await primary.find());
    if (leader?.host !== known) {
      leader?.close();
      leader = openAsked(known, limits.hostAnswerMs);
    }
    return leader.ask();
  };

  /** What keeps it from being asked; undefined: nothing. */
  const measure = async (): Promise<string | undefined> => {
    const atMs = Date.now();
    const [copy, original] = await Promise.all([standby.ask(), askPrimary()]);
    if (original.is !== "primary") return "the primary is not known";
    const { system, timeline, position } = original;
    if (history !== `${system} ${timeline}`) marks = [];
    history = `${system} ${timeline}`;
    marks = [...marks, { atMs, position }].slice(-marksMax);
    if (copy.is === "away") {
      cut();
      return awayText(copy.error);
    }
    if (copy.is !== "standby" || timeline === 0 || `${copy.system} ${copy.timeline}` !== history) return "it is not a standby of the primary";
    const reached = marks.findLast((mark) => mark.position <= copy.position);
    asOfMs = reached?.atMs;
    return reached === undefined ? "it is too far behind" : undefined;
  };

  const look = async (): Promise<void> => {
    const found = await measure().catch(awayText);
    if (closed) return;
    if (found !== undefined) asOfMs = undefined;
    // That all is well at the start is no news.
    if (found !== undefined && found !== trouble) log("store.replica.away", { host: host.name, why: found });
    if (found === undefined && trouble !== undefined) log("store.replica.back", { host: host.name });
    trouble = found;
  };

  const lookOnce = (): void => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
  };
  const timer = setInterval(lookOnce, limits.primaryLookMs).unref();
  lookOnce();

  return {
    get asOfMs() {
      const nowMs = Date.now();
      return asOfMs !== undefined && nowMs - asOfMs <= limits.replicaLagMs && nowMs >= pausedUntilMs ? asOfMs : undefined;
    },
    fail(error) {
      if (Date.now() < pausedUntilMs) return;
      pausedUntilMs = Date.now() + limits.replicaPauseMs;
      log("store.replica.failed", { host: host.name, error: awayText(error) });
    },
    async close() {
      closed = true;
      clearInterval(timer);
      for (const each of [standby, leader]) each?.watches.cut();
      await looking;
      for (const each of [standby, leader]) each?.close();
      await Promise.all([standby, leader].map((each) => each?.watches.ended()));
    },
  };
};

/** The replica, for a list of these organizations. */
export interface CurrentCopy {
  /** Checks with its first statement that the copy has the caller's rights in the version that was proven. */
  readonly rows: Read;
  readonly asOfMs: number;
  fail(error: unknown): void;
}

/**
 * The replica, where it has all that these organizations have changed. Proves the caller's rights on the primary, which `rows`
 * leads to. Undefined: the primary is to be asked.
 */
export const findCurrentCopy = async (rows: Read, accessVersion: AccessVersion, roots: readonly string[]): Promise<CurrentCopy | undefined> => {
  const { lagging } = rows.check?.bare ?? rows;
  if (lagging === undefined || roots.length === 0 || roots.length > limits.replicaRootsMax) return undefined;
  const lastEvents = (read: Read): Promise<(string | undefined)[]> => Promise.all(roots.map((root) => findLastGroupEvent(read, root)));
  const [own, copied] = await Promise.all([
    lastEvents(rows),
    lastEvents(lagging.read).catch((error: unknown) => {
      lagging.fail(error);
      return [];
    }),
  ]);
  // Events on their way have no place yet, and so are not compared.
  if (own.some((event, index) => event === undefined || event !== copied[index])) return undefined;
  return { rows: withAccessVersionCheck(lagging.read, accessVersion), asOfMs: lagging.asOfMs, fail: lagging.fail };
};
