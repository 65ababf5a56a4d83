// A standby for lists (GANTRY_READ_REPLICA_URL). Every limits.probeMs, both servers are asked for their WAL positions. A standby on the same
// timeline that has replayed a position has everything that the primary had written then.
//
// Permissions are never read there. A list uses it only if it has the access version that the primary has just confirmed, and the last
// event of each organization. So callers see their own changes.

import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Dependency } from "#health";
import { type AccessVersion, withAccessVersionCheck } from "./access-version.ts";
import type { Host } from "./hosts.ts";
import type { Read } from "./handle.ts";
import { findLastGroupEvent } from "./outbox.ts";
import { type Asked, awayText, openAsked, type Primary } from "./primary.ts";

export interface Replica {
  /** Unix ms: it has everything committed by then. Undefined if it must not be used. */
  readonly asOfMs: number | undefined;
  fail(error: unknown): void;
  close(): Promise<void>;
}

interface Mark {
  readonly atMs: number;
  readonly position: number;
}

const marksMax = Math.ceil(limits.replicaLagMs / limits.probeMs) + 1;

/** Calls `cut` if the standby does not respond, because pending statements will not either. */
export const openReplica = (host: Host, primary: Primary, log: Log, dependency: Dependency, cut: () => void): Replica => {
  const standby = openAsked(host, limits.hostAnswerMs);
  let leader: Asked | undefined;
  let history = "";
  let marks: Mark[] = [];
  let asOfMs: number | undefined;
  let pausedUntilMs = 0;
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

  /** Returns the reason not to use the replica, if any. */
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
    if (found === undefined) dependency.good();
    else dependency.bad(`${host.name}: ${found}`);
  };

  const lookOnce = (): void => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
  };
  const timer = setInterval(lookOnce, limits.probeMs).unref();
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

export interface CurrentCopy {
  /** Its first statement checks the access version. */
  readonly rows: Read;
  readonly asOfMs: number;
  fail(error: unknown): void;
}

/** Returns the replica if it has all changes of these organizations. Confirms the access version on the primary through `rows`. */
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
  // Events without a position cannot be compared.
  if (own.some((event, index) => event === undefined || event !== copied[index])) return undefined;
  return { rows: withAccessVersionCheck(lagging.read, accessVersion), asOfMs: lagging.asOfMs, fail: lagging.fail };
};
