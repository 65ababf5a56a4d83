// Restores a deletion (docs/decisions/0058-soft-delete-and-undelete.md): the resource first, then its cascade, each after the rows that it depends on,
// with their original uids.
//
// An undelete is a grant: each restored row needs the permissions, rules and errors of a create. A violation of the resource itself
// fails the undelete; a cascaded row with a violation stays deleted, so that never more is restored than there was. A permission that
// the caller lacks always fails the undelete.

import { blocked, Fault, type Violation } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { EVERYWHERE } from "#base/uid.ts";
import type { OutboxEvent } from "#outbox";
import { findDeletedRows, findKeptTables, lockRow, returnResources, returnRows, sqlState, updateRow } from "#db";
import type { BoundResource, ChangeContext } from "./context.ts";
import { cascadesBelow, isTold, placeOfResource, wordsOf } from "./delete-tree.ts";
import { rowEventOf } from "./event.ts";
import { hydrate } from "./hydrate.ts";
import { namingQuota } from "./quota.ts";
import { presented } from "./shape.ts";

export interface LeftOut {
  readonly resourceType: string;
  readonly resourceUid: string;
  readonly reason: string;
}

export interface Returned {
  readonly record: JsonObject;
  readonly events: readonly OutboxEvent[];
  readonly leftOut: readonly LeftOut[];
}

interface Fit {
  readonly record: JsonObject;
  readonly draft: JsonObject;
}

interface Judgement {
  readonly fit: readonly Fit[];
  readonly leftOut: readonly LeftOut[];
}

const cannot = ({ fact }: BoundResource, why: string): string => `cannot undelete ${wordsOf(fact.short)}: ${why}`;

const endedReason = "it has expired (expireTime)";

const hasEnded = (record: JsonObject, nowMs: number): boolean => text(record, "expireTime") !== "" && Date.parse(text(record, "expireTime")) <= nowMs;

const reasonOf = (record: JsonObject, { field, description }: Violation): string => {
  const held = record[field];
  return [field, ...(typeof held === "string" ? [held] : []), description.startsWith(`${field} `) ? description.slice(field.length + 1) : description].join(
    " ",
  );
};

/** Returns those of these parents that exist, locked until the transaction ends. */
const holdPlaces = async ({ rows }: ChangeContext, { parent, otherParent }: BoundResource, places: Iterable<string>): Promise<ReadonlySet<string>> => {
  const all = [...new Set(places)];
  const tables = [parent, otherParent].flatMap((above) => above?.table ?? []);
  if (tables.length === 0) return new Set(all);
  const held = await Promise.all(
    all.map(async (place) => {
      if (place === EVERYWHERE) return true;
      for (const name of tables) if (await lockRow(rows, { name, columns: ["uid"] }, place, "key share")) return true;
      return false;
    }),
  );
  return new Set(all.filter((_, index) => held[index]));
};

/** Checks one row; returns what is wrong. Throws PERMISSION_DENIED if the caller may not grant what it restores. */
const judgeReturning = async (context: ChangeContext, resource: BoundResource, record: JsonObject): Promise<Fit | string> => {
  const place = placeOfResource(resource, text(record, "uid"));
  const capabilities = creating(resource);
  const draft = { ...record };
  // A grant never outlives its grantor (0003), and neither does the permission to create.
  const delegate: ChangeContext["delegate"] = (delegation) =>
    context.delegate({ ...delegation, rights: [...delegation.rights, { capabilities, path: place }] });
  const found = await resource.rules?.(draft, { ...context, delegate, parent: place, before: undefined, isUndelete: true });
  const [first] = found ?? [];
  return first ? reasonOf(record, first) : { record, draft };
};

const creating = ({ operations, fact }: BoundResource): readonly string[] => operations.find(({ rpc }) => rpc === `Create${fact.short}`)?.capabilities ?? [];

const judgeAll = async (context: ChangeContext, resource: BoundResource, records: readonly JsonObject[]): Promise<Judgement> => {
  const places = await holdPlaces(
    context,
    resource,
    records.map((record) => placeOfResource(resource, text(record, "uid"))),
  );
  const fit: Fit[] = [];
  const leftOut: LeftOut[] = [];
  const leave = (record: JsonObject, reason: string): void => void leftOut.push({ resourceType: resource.fact.name, resourceUid: text(record, "uid"), reason });
  const returning = records.filter((record) => {
    const place = placeOfResource(resource, text(record, "uid"));
    if (!places.has(place)) leave(record, `its parent ${place} no longer exists`);
    else if (hasEnded(record, context.nowMs)) leave(record, endedReason);
    else return true;
    return false;
  });
  for (const place of new Set(returning.map((record) => placeOfResource(resource, text(record, "uid"))))) context.require(creating(resource), place);
  for (let from = 0; from < returning.length; from += limits.returningBatchMax) {
    const batch = returning.slice(from, from + limits.returningBatchMax);
    const judged = await Promise.all(batch.map((record) => judgeReturning(context, resource, record)));
    for (const [index, each] of judged.entries()) {
      if (typeof each !== "string") fit.push(each);
      else leave(batch[index] ?? {}, each);
    }
  }
  return { fit, leftOut };
};

/** Restores rows of a resource; returns them as a Get does. With `unlessTaken`, skips rows that conflict with an existing one. */
const bringBack = async (
  context: ChangeContext,
  resource: BoundResource,
  deletion: string,
  fit: readonly Fit[],
  unlessTaken: boolean,
): Promise<JsonObject[]> => {
  const { rows } = context;
  const { shape } = resource;
  const [first] = fit;
  if (!first) return [];
  const uids = fit.map(({ record }) => text(record, "uid"));
  const back = await namingQuota(text(first.record, "uid"), returnResources(rows, deletion, shape.table, uids, unlessTaken));
  const returned: JsonObject[] = [];
  for (const { record, draft } of fit) {
    const uid = text(record, "uid");
    if (!back.has(uid)) continue;
    const after = presented(resource, draft);
    const fields = shape.fields.filter((field) => JSON.stringify(record[field.json]) !== JSON.stringify(after[field.json]));
    if (fields.length > 0) updateRow(rows, shape.table, uid, shape.write(after, fields));
    returned.push(after);
  }
  return hydrate(rows, resource, returned);
};

/** References to permanently deleted rows (documents of imports) cannot be restored. */
const namingGone = async <T>(resource: BoundResource, uid: string, work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof Fault && sqlState(thrown.cause) === "23503")
      throw blocked("REFERENCE_GONE", uid, [cannot(resource, "a resource that it depends on no longer exists")]);
    throw thrown;
  }
};

/** Checks each permission once: ten thousand bindings of one role are one check. */
const askingOnce = (context: ChangeContext): ChangeContext => {
  const asked = new Set<string>();
  const once = (question: string, ask: () => void): void => {
    if (asked.has(question)) return;
    ask();
    asked.add(question);
  };
  return {
    ...context,
    require: (capabilities, place) => once(JSON.stringify([[...capabilities], place]), () => context.require(capabilities, place)),
    delegate: (delegation) =>
      once(JSON.stringify([delegation.rights, delegation.untilMs, delegation.receiver === context.caller?.uid]), () => context.delegate(delegation)),
  };
};

/** Returns the events of the restored rows. The bindings that allowed it are computed once. */
const eventsOf = (context: ChangeContext, returned: readonly { readonly resource: BoundResource; readonly record: JsonObject }[]): OutboxEvent[] => {
  const bindings = context.cause.bindings();
  const telling = { ...context, cause: { ...context.cause, bindings: () => bindings } };
  return returned.flatMap(({ resource, record }) => rowEventOf(telling, resource, "Create", record) ?? []);
};

/**
 * Restores what the deletion keeps; the caller has locked its row. Throws FAILED_PRECONDITION, ALREADY_EXISTS, RESOURCE_EXHAUSTED or
 * PERMISSION_DENIED.
 */
export const undeleteTree = async (asking: ChangeContext, resource: BoundResource, deletion: JsonObject): Promise<Returned> => {
  const context = askingOnce(asking);
  const { rows, resources } = context;
  const [uid, resourceUid] = [text(deletion, "uid"), text(deletion, "resourceUid")];
  const tables = await findKeptTables(rows, uid);
  for (const { table, capabilities = [] } of resource.sideTables ?? [])
    if (tables.some(({ name }) => name === table)) context.require(capabilities, resourceUid);
  const along = [...resource.cascades.map(({ resource: referring }) => referring), ...cascadesBelow(resource, resources)].filter(isTold);
  const told: { readonly resource: BoundResource; readonly record: JsonObject }[] = [];
  const leftOut: LeftOut[] = [];
  let top: JsonObject | undefined;
  for (const { name } of tables) {
    const found = name === resource.shape.table.name ? resource : along.find(({ shape }) => shape.table.name === name);
    if (!found) {
      await namingGone(resource, resourceUid, namingQuota(resourceUid, returnRows(rows, uid, name)));
      continue;
    }
    const records = (await findDeletedRows(rows, uid, found.shape.table)).map((row) => found.shape.read(row, 0));
    const judged = await judgeAll(context, found, records);
    const isTop = found === resource;
    const [wrong] = judged.leftOut;
    if (isTop && wrong) throw blocked("UNDELETE_BLOCKED", resourceUid, [cannot(resource, wrong.reason)]);
    const back = await bringBack(context, found, uid, judged.fit, !isTop);
    if (isTop) top = back[0];
    const returned = new Set(back.map((record) => text(record, "uid")));
    leftOut.push(...judged.leftOut);
    for (const { record } of judged.fit)
      if (!returned.has(text(record, "uid")))
        leftOut.push({ resourceType: found.fact.name, resourceUid: text(record, "uid"), reason: "the same resource already exists" });
    for (const record of back) told.push({ resource: found, record });
  }
  if (!top) throw blocked("UNDELETE_BLOCKED", resourceUid, [cannot(resource, "it can no longer be restored")]);
  return { record: top, events: eventsOf(context, told), leftOut };
};
