// From the outbox to the log: what has its position there becomes an entry of its organization's chain. Behind the
// writers: a change waits for none of this, and one that was committed cannot be missed, since positions have no gaps
// (server/delivery/enqueue.ts).

import { operatorUid } from "#authz";
import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { covers, isRoot, isUid, parentOf, rootOf } from "#base/uid.ts";
import { eventOrder } from "#outbox";
import { lockAlone, type Read, type Row, type Store, timeText, type Vault } from "#store";
import { type Entry, hashOf } from "./chain.ts";
import { type Head, joinMark, keepHead, keepProgress, newMark, noHead, nothingSealed, type Progress, readHeads, readProgress, readTogether } from "./heads.ts";
import { ensureMonth, inMonth, monthOf } from "./months.ts";

const waiting = `
  select position, event_id, type, subject, group_uid, request_id, ${timeText("create_time")}, audit_context
  from outbox where ${eventOrder} > $1 order by ${eventOrder} limit $2`;

const insert = `
  insert into audit_entries (uid, sequence, create_time, seal_time, caller_uid, act, operation, subject, type, code, count, binding_uids, remote_address, user_agent, request_id, event_id, hash)
  select uid, sequence, "createTime", "sealTime", "callerUid", act, operation, subject, type, code, count, "bindingUids", "remoteAddress", "userAgent", "requestId", "eventId", hash
  from jsonb_to_recordset($1::jsonb) as entry(
    uid text, sequence bigint, "createTime" timestamptz, "sealTime" timestamptz, "callerUid" text, act jsonb, operation text, subject text, type text, code text,
    count bigint, "bindingUids" jsonb, "remoteAddress" text, "userAgent" text, "requestId" text, "eventId" text, hash text)`;

/**
 * Where an entry belongs: beside what it is about, so that whoever watches over a part of the tree sees it, in the
 * group that the event is told to where that is another. What is in no organization is the operator's.
 */
export const placeOf = (subject: string, group: string): string => {
  const around = isUid(subject) && !isRoot(subject) ? parentOf(subject) : subject;
  if (!isUid(group)) return isUid(subject) ? indexable(around) : operatorUid;
  return indexable(group === subject || !isUid(subject) || !covers(group, subject) ? group : around);
};

/** The place, or the one above it that leaves room for a subject of any length: one that had none could never be sealed, nor could anything behind it. */
const indexable = (place: string): string => place.slice(0, limits.auditPlaceLengthMax);

const uidAt = (place: string, sequence: number): string => `${place}/${sequence.toString(16).padStart(16, "0")}`;

/** What a row of the outbox says of its auditContext (outbox: auditContextText); rows from before there was a log say nothing. */
const auditContextOf = (json: string): JsonObject => {
  const value = JSON.parse(json) as Json;
  return isObject(value) ? value : {};
};

const entryOf = ([, eventId, type, subject, , requestId, createTime, auditContext]: Row, place: string, sequence: number, sealTime: string): Entry => {
  const kept = auditContextOf(auditContext ?? "{}");
  const actor = part(kept, "actor");
  return {
    uid: uidAt(place, sequence),
    sequence,
    createTime: createTime ?? "",
    sealTime,
    callerUid: text(actor, "subject"),
    act: Object.fromEntries(Object.entries(part(actor, "act")).map(([name, value]) => [name, String(value)])),
    operation: text(kept, "operation"),
    subject: subject ?? "",
    type: type ?? "",
    code: text(kept, "code") || "OK",
    count: Number.isSafeInteger(kept.count) ? Number(kept.count) : 1,
    bindingUids: texts(kept, "bindings"),
    remoteAddress: text(kept, "address"),
    userAgent: text(kept, "userAgent"),
    requestId: requestId ?? "",
    eventId: eventId ?? "",
  };
};

interface GoingOn {
  readonly before: Progress;
  /** The outbox's last position: behind it there is nothing to seal yet. */
  readonly last: number;
}

/**
 * What to go on from. The position is the sealed one: the one beside it anybody could have raised, and events would be
 * passed over. What cannot be right does not stop the log either, and is said of it for ever.
 */
const goOnFrom = async (rows: Read, vault: Pick<Vault, "open">): Promise<GoingOn> => {
  const progress = await readProgress(rows, vault);
  const [row] = await rows.query(`select coalesce(max(${eventOrder}), 0) from outbox`);
  const last = Number(row?.[0]);
  if (!progress) return { before: { ...nothingSealed, position: (await readTogether(rows, vault)).position, broken: true }, last };
  return { before: progress.position <= last ? progress : { ...progress, position: last, broken: true }, last };
};

/** The time of what is sealed now: later than all before it, also when the clock went back, so that each month's entries come after those of the month before. */
const sealTimeAfter = (before: string, now: string): string => (before < now ? now : timestamp(Date.parse(before) + 1));

/** Seals what is next; true where there may be more. `now`: RFC 3339. */
export const sealNext = async (store: Store, vault: Pick<Vault, "seal" | "open">, now: string): Promise<boolean> => {
  // Asked outside first: most looks find nothing, and need no transaction.
  const seen = await goOnFrom(store.read, vault);
  if (seen.last <= seen.before.position) return false;
  return store.write(async (rows) => {
    await lockAlone(rows, "sealing");
    const { before } = await goOnFrom(rows, vault);
    const found = await rows.query(waiting, [before.position, limits.sealedMax]);
    if (found.length === 0) return false;
    const sealTime = sealTimeAfter(before.sealTime, now);
    await ensureMonth(rows, sealTime);

    const placed = found.map((row) => ({ row, place: placeOf(row[3] ?? "", row[4] ?? "") }));
    const heads = await readHeads(rows, vault, [...new Set(placed.map(({ place }) => rootOf(place)))]);
    const changed = new Map<string, Head>();
    const entries = placed.map(({ row, place }) => {
      const root = rootOf(place);
      const head = changed.get(root) ?? inMonth(heads.get(root) ?? noHead, monthOf(sealTime));
      const entry = entryOf(row, place, head.last.sequence + 1, sealTime);
      const hash = hashOf(head.last.hash, entry);
      changed.set(root, { ...head, last: { sequence: entry.sequence, hash }, position: Number(row[0]) });
      return { ...entry, hash };
    });
    await rows.query(insert, [JSON.stringify(entries)]);
    let { marks } = before;
    for (const [root, head] of changed) {
      const mark = newMark();
      marks = joinMark(joinMark(marks, heads.get(root)?.mark ?? ""), mark);
      await keepHead(rows, vault, root, { ...head, mark });
    }
    await keepProgress(rows, vault, { ...before, position: Number(found.at(-1)?.[0]), entries: before.entries + found.length, sealTime, marks });
    return found.length === limits.sealedMax;
  });
};
