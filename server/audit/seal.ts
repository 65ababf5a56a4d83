// From the outbox to the log: an event that has its position there becomes an entry of its organization's chain. Behind
// the writers: a change waits for none of this, and one that was committed cannot be missed, since positions have no gaps
// (server/outbox/number.ts).

import { operatorUid } from "#authz";
import { part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { covers, isRoot, isUid, parentOf, rootOf } from "#base/uid.ts";
import {
  type AuditedEvent,
  type AuditEntry,
  ensureAuditMonth,
  findEventsAfter,
  findLastPosition,
  insertAuditEntries,
  lockExclusive,
  type Read,
  type Store,
  type Vault,
} from "#store";
import { type Entry, hashEntry } from "./chain.ts";
import {
  combineNonces,
  emptyHead,
  emptyProgress,
  type Head,
  newNonce,
  type Progress,
  readHeads,
  readProgress,
  readSealSummary,
  writeHead,
  writeProgress,
} from "./heads.ts";
import { headInMonth, monthOf } from "./months.ts";

/**
 * The path, or the one above it that leaves an index space for a subject of any length: an entry without that space could
 * never be sealed, nor could anything behind it.
 */
const indexablePath = (path: string): string => path.slice(0, limits.auditPathLengthMax);

/**
 * Where an entry belongs: beside what it is about, so that whoever watches over a part of the tree sees it, in the
 * group that receives the event where that is another. What is in no organization is the operator's.
 */
export const entryPath = (subject: string, group: string): string => {
  const around = isUid(subject) && !isRoot(subject) ? parentOf(subject) : subject;
  if (!isUid(group)) return isUid(subject) ? indexablePath(around) : operatorUid;
  return indexablePath(group === subject || !isUid(subject) || !covers(group, subject) ? group : around);
};

const entryUid = (path: string, sequence: number): string => `${path}/${sequence.toString(16).padStart(16, "0")}`;

/** The entry of an event, as its audit context says (server/outbox/record.ts). */
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
  /** The outbox's last position: behind it there is nothing to seal yet. */
  readonly lastPosition: number;
}

/**
 * What sealing continues from. The position is the sealed one: the one beside it anybody could have raised, and events
 * would be passed over. What cannot be right does not stop the log either, and its progress says so for ever.
 */
const readState = async (rows: Read, vault: Pick<Vault, "open">): Promise<SealingState> => {
  const progress = await readProgress(rows, vault);
  const lastPosition = await findLastPosition(rows);
  if (!progress) return { progress: { ...emptyProgress, position: (await readSealSummary(rows, vault)).position, broken: true }, lastPosition };
  return { progress: progress.position <= lastPosition ? progress : { ...progress, position: lastPosition, broken: true }, lastPosition };
};

/**
 * The time of what is sealed now: later than all before it, also when the clock went back, so that each month's entries
 * come after those of the month before.
 */
const sealTimeAfter = (before: string, now: string): string => (before < now ? now : timestamp(Date.parse(before) + 1));

/** Seals what is next; true where there may be more. `now`: RFC 3339. */
export const sealNext = async (store: Store, vault: Pick<Vault, "seal" | "open">, now: string): Promise<boolean> => {
  // Looked up outside first: most looks find nothing, and need no transaction.
  const seen = await readState(store.read, vault);
  if (seen.lastPosition <= seen.progress.position) return false;
  return store.write(async (rows) => {
    await lockExclusive(rows, "sealing");
    const { progress } = await readState(rows, vault);
    const events = await findEventsAfter(rows, progress.position, limits.sealedMax);
    const last = events.at(-1);
    if (!last) return false;
    const sealTime = sealTimeAfter(progress.sealTime, now);
    await ensureAuditMonth(rows, monthOf(sealTime));

    const located = events.map((event) => ({ event, path: entryPath(event.subject, event.groupUid) }));
    const heads = await readHeads(rows, vault, [...new Set(located.map(({ path }) => rootOf(path)))]);
    const changed = new Map<string, Head>();
    const entries = located.map(({ event, path }): AuditEntry => {
      const root = rootOf(path);
      const head = changed.get(root) ?? headInMonth(heads.get(root) ?? emptyHead, monthOf(sealTime));
      const entry = entryFromEvent(event, path, head.last.sequence + 1, sealTime);
      const hash = hashEntry(head.last.hash, entry);
      changed.set(root, { ...head, last: { sequence: entry.sequence, hash }, position: event.position });
      return { ...entry, hash };
    });
    await insertAuditEntries(rows, entries);
    let { combinedNonce } = progress;
    for (const [root, head] of changed) {
      const nonce = newNonce();
      combinedNonce = combineNonces(combineNonces(combinedNonce, heads.get(root)?.nonce ?? ""), nonce);
      await writeHead(rows, vault, root, { ...head, nonce });
    }
    await writeProgress(rows, vault, { ...progress, position: last.position, entries: progress.entries + events.length, sealTime, combinedNonce });
    return events.length === limits.sealedMax;
  });
};
