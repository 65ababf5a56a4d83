// Seals numbered events of the outbox as entries of their organization's chain. Changes do not wait for sealing, and no committed
// event is missed, because positions have no gaps (server/outbox/number.ts).

import { operatorUid } from "#base/operator.ts";
import { isObject, type JsonObject, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { isPieceFault, setAsideMs } from "#base/pieces.ts";
import { timestamp } from "#base/time.ts";
import { covers, isRoot, isUid, parentOf, rootOf } from "#base/uid.ts";
import { type AuditedEvent, findEventsAfter, findLastPosition, limitPiece, lockExclusive, type Read, type Store, type Vault, type Write } from "#db";
import { type AuditEntry, ensureAuditMonth, insertAuditEntries } from "#audit/store";
import { type Entry, hashEntry } from "./chain.ts";
import {
  combineNonces,
  emptyProgress,
  type Head,
  markAt,
  newHead,
  newNonce,
  type Progress,
  readHeads,
  readProgress,
  readSealSummary,
  type SetAsideEvent,
  writeHead,
  writeProgress,
} from "./heads.ts";
import { headInMonth, monthOf } from "./months.ts";

/** Leaves index space for any subject: an entry without it could never be sealed, and would block those behind it. */
const indexablePath = (path: string): string => path.slice(0, limits.auditPathLengthMax);

/**
 * Returns where an entry belongs: the parent of its subject, so that its administrators see it, or the receiving group if that is
 * elsewhere. Without an organization it belongs to the operator.
 */
export const entryPath = (subject: string, group: string): string => {
  const around = isUid(subject) && !isRoot(subject) ? parentOf(subject) : subject;
  if (!isUid(group)) return isUid(subject) ? indexablePath(around) : operatorUid;
  return indexablePath(group === subject || !isUid(subject) || !covers(group, subject) ? group : around);
};

const entryUid = (path: string, sequence: number): string => `${path}/${sequence.toString(16).padStart(16, "0")}`;

interface LocatedEvent {
  readonly event: AuditedEvent;
  readonly path: string;
}

/** The event as one location sees it (server/outbox/record.ts: LoggedAt). */
const eventAt = (event: AuditedEvent, place: JsonObject): AuditedEvent => {
  const { loggedAt: _, ...auditContext } = event.auditContext;
  const own: JsonObject = { ...auditContext, bindings: texts(place, "bindings") };
  if (place.uidAlone !== true) return { ...event, auditContext: own };
  return { ...event, auditContext: { ...own, actor: { subject: text(part(own, "actor"), "subject") }, address: "", userAgent: "" } };
};

const locate = (event: AuditedEvent): LocatedEvent[] => {
  const { loggedAt } = event.auditContext;
  const places = Array.isArray(loggedAt) ? loggedAt.filter(isObject) : [];
  if (places.length === 0) return [{ event, path: entryPath(event.subject, event.groupUid) }];
  return places.map((place) => ({ event: eventAt(event, place), path: entryPath(event.subject, text(place, "path")) }));
};

/** Returns at least one event. */
const firstOf = (events: readonly AuditedEvent[]): readonly AuditedEvent[] => {
  let entries = 0;
  const end = events.findIndex((event, index) => {
    entries += locate(event).length;
    return index > 0 && entries > limits.sealedMax;
  });
  return end === -1 ? events : events.slice(0, end);
};

const entryFromEvent = (event: AuditedEvent, path: string, sequence: number, sealTime: string): Entry => {
  const { auditContext } = event;
  const actor = part(auditContext, "actor");
  return {
    uid: entryUid(path, sequence),
    sequence,
    createTime: event.createTime,
    sealTime,
    callerUid: text(actor, "subject"),
    act: Object.fromEntries(Object.entries(part(actor, "act")).map(([name, value]) => [name, String(value)])),
    operation: text(auditContext, "operation"),
    subject: event.subject,
    type: event.type,
    code: text(auditContext, "code") || "OK",
    count: Number.isSafeInteger(auditContext.count) ? Number(auditContext.count) : 1,
    bindingUids: texts(auditContext, "bindings"),
    remoteAddress: text(auditContext, "address"),
    userAgent: text(auditContext, "userAgent"),
    requestId: event.requestId,
    eventId: event.eventId,
    resourceUids: texts(auditContext, "resources"),
  };
};

interface SealingState {
  readonly progress: Progress;
  readonly lastPosition: number;
}

/**
 * The sealed position counts, because the unsealed copy could have been raised to skip events. An invalid state does not stop the log;
 * the progress records it.
 */
const readState = async (rows: Read, vault: Pick<Vault, "open">): Promise<SealingState> => {
  const progress = await readProgress(rows, vault);
  const lastPosition = await findLastPosition(rows);
  if (!progress) return { progress: { ...emptyProgress, position: (await readSealSummary(rows, vault)).position, broken: true }, lastPosition };
  return { progress: progress.position <= lastPosition ? progress : { ...progress, position: lastPosition, broken: true }, lastPosition };
};

/** Later than all before it, even if the clock went back, so that months stay ordered. */
const sealTimeAfter = (before: string, now: string): string => (before < now ? now : timestamp(Date.parse(before) + 1));

type SealingVault = Pick<Vault, "seal" | "open">;

const sealEvents = async (rows: Write, vault: SealingVault, progress: Progress, events: readonly AuditedEvent[], now: string): Promise<void> => {
  const sealTime = sealTimeAfter(progress.sealTime, now);
  await ensureAuditMonth(rows, monthOf(sealTime));
  const located = events.flatMap(locate);
  const heads = await readHeads(rows, vault, [...new Set(located.map(({ path }) => rootOf(path)))]);
  const changed = new Map<string, Head>();
  const entries = located.map(({ event, path }): AuditEntry => {
    const root = rootOf(path);
    const head = changed.get(root) ?? headInMonth(heads.get(root) ?? newHead(progress), monthOf(sealTime));
    const { last } = head;
    const entry = entryFromEvent(event, path, (markAt(head, last.sequence)?.base ?? last.sequence) + 1, sealTime);
    const hash = hashEntry(last.hash, entry);
    changed.set(root, { ...head, last: { sequence: entry.sequence, hash }, position: Math.max(head.position, event.position) });
    return { ...entry, hash };
  });
  await insertAuditEntries(rows, entries);
  let { combinedNonce } = progress;
  for (const [root, head] of changed) {
    const nonce = newNonce();
    combinedNonce = combineNonces(combineNonces(combinedNonce, heads.get(root)?.nonce ?? ""), nonce);
    await writeHead(rows, vault, root, { ...head, nonce });
  }
  const position = Math.max(progress.position, ...events.map((event) => event.position));
  await writeProgress(rows, vault, { ...progress, position, entries: progress.entries + entries.length, sealTime, combinedNonce });
};

/** Seals the next events; returns true if there may be more. `now` is in RFC 3339. */
export type SealNext = (now: string) => Promise<boolean>;

interface Failed {
  readonly event: AuditedEvent;
  readonly cause: unknown;
}

const withoutEvent = (progress: Progress, position: number): Progress => ({
  ...progress,
  setAside: (progress.setAside ?? []).filter((each) => each.position !== position),
});

/**
 * Seals batches of limits.sealedMax events, and smaller ones after a failure. An event that fails alone is set aside if a later one
 * can be sealed; otherwise the event is not the cause. It is retried with backoff, and its entry then follows later ones.
 */
export const openSealing = (store: Store, vault: SealingVault, log: Log): SealNext => {
  let count: number = limits.sealedMax;

  const logSetAside = ({ position, eventId, type }: AuditedEvent, failures: number, cause: unknown): void =>
    log("audit.event.set_aside", { position, event: eventId, type, failures, cause });

  const retry = async (position: number, now: string): Promise<void> => {
    let found: AuditedEvent | undefined;
    try {
      await store.write(async (rows) => {
        await lockExclusive(rows, "sealing");
        const { progress } = await readState(rows, vault);
        if (!progress.setAside?.some((each) => each.position === position)) return;
        const [event] = await findEventsAfter(rows, position - 1, 1);
        found = event?.position === position ? event : undefined;
        const rest = withoutEvent(progress, position);
        // Removed before it was sealed.
        if (!found) await writeProgress(rows, vault, { ...rest, broken: true });
        else await sealEvents(rows, vault, rest, [found], now);
      });
    } catch (thrown) {
      if (!isPieceFault(thrown) || !found) throw thrown;
      const event = found;
      await store.write(async (rows) => {
        await lockExclusive(rows, "sealing");
        const { progress } = await readState(rows, vault);
        const before = progress.setAside?.find((each) => each.position === position);
        if (!before) return;
        const failures = before.failures + 1;
        const again: SetAsideEvent = { position, failures, tryTime: timestamp(Date.parse(now) + setAsideMs(failures)) };
        await writeProgress(rows, vault, { ...progress, setAside: [...(withoutEvent(progress, position).setAside ?? []), again] });
        logSetAside(event, failures, thrown);
      });
    }
  };

  /** Due, or postponed too far by a clock running ahead. */
  const dueOf = ({ setAside = [] }: Progress, now: string): number[] => {
    const latest = timestamp(Date.parse(now) + limits.setAsideMaxMs + limits.clockToleranceMs);
    return setAside.filter(({ tryTime }) => tryTime <= now || tryTime > latest).map(({ position }) => position);
  };

  return async (now) => {
    // Read outside a transaction first, because most polls find nothing.
    const seen = await readState(store.read, vault);
    for (const position of dueOf(seen.progress, now).slice(0, limits.sweepRowsMax)) await retry(position, now);
    if (seen.lastPosition <= seen.progress.position) return false;
    const failed: Failed[] = [];
    for (;;) {
      let tried: readonly AuditedEvent[] = [];
      let isCut = false;
      try {
        await store.write(async (rows) => {
          await lockExclusive(rows, "sealing");
          // After the lock, so that waiting for another server does not count.
          if (count > 1) await limitPiece(rows);
          const { progress } = await readState(rows, vault);
          const events = await findEventsAfter(rows, progress.position, count + failed.length);
          const without = new Set(failed.map(({ event }) => event.position));
          const waiting = events.filter(({ position }) => !without.has(position));
          tried = firstOf(waiting);
          isCut = tried.length < waiting.length;
          if (tried.length === 0) return;
          const left = failed.map(({ event: { position } }): SetAsideEvent => ({ position, failures: 1, tryTime: timestamp(Date.parse(now) + setAsideMs(1)) }));
          await sealEvents(rows, vault, left.length === 0 ? progress : { ...progress, setAside: [...(progress.setAside ?? []), ...left] }, tried, now);
        });
      } catch (thrown) {
        const [event] = tried;
        if (!isPieceFault(thrown) || !event || failed.length >= limits.sealedMax) throw thrown;
        if (tried.length > 1) count = Math.ceil(tried.length / 2);
        else failed.push({ event, cause: thrown });
        continue;
      }
      if (tried.length === 0 && failed[0]) throw failed[0].cause;
      for (const { event, cause } of failed) logSetAside(event, 1, cause);
      const isFull = isCut || tried.length === count;
      count = Math.min(limits.sealedMax, Math.ceil(count * 1.25));
      return isFull;
    }
  };
};
