// What a deletion has taken comes back (docs/decisions/0058-undelete.md): the resource first, then what went along, each after what
// it stands on, with the uids that they had.
//
// An undelete is a grant: of every row that comes back the same is asked as of making it, by the same rules, with the same words
// for what is wrong. What is wrong with the resource itself ends the undelete; what only went along stays gone then, since less
// comes back than was there, and never more. A right that the caller lacks ends it in any case.

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

/** What went along and stays gone. */
export interface LeftOut {
  readonly resourceType: string;
  readonly resourceUid: string;
  readonly reason: string;
}

export interface Returned {
  /** What was deleted, as it is now. */
  readonly record: JsonObject;
  /** Of every resource that came back, in the order in which they did. */
  readonly events: readonly OutboxEvent[];
  readonly leftOut: readonly LeftOut[];
}

/** A row that may come back: as it was, and as the rules want it now. */
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

/** With what the field holds: the uid of what is gone, say. */
const reasonOf = (record: JsonObject, { field, description }: Violation): string => {
  const held = record[field];
  return [field, ...(typeof held === "string" ? [held] : []), description.startsWith(`${field} `) ? description.slice(field.length + 1) : description].join(
    " ",
  );
};

/** Of these places those that are there, kept until the transaction ends. */
const holdPlaces = async ({ rows }: ChangeContext, { parent }: BoundResource, places: Iterable<string>): Promise<ReadonlySet<string>> => {
  const all = [...new Set(places)];
  const table = parent?.table;
  if (table === undefined) return new Set(all);
  const held = await Promise.all(
    all.map(async (place) => place === EVERYWHERE || (await lockRow(rows, { name: table, columns: ["uid"] }, place, "key share")) !== undefined),
  );
  return new Set(all.filter((_, index) => held[index]));
};

/** What is wrong with one of them. Throws PERMISSION_DENIED where the caller may not give what comes back with it. */
const judgeReturning = async (context: ChangeContext, resource: BoundResource, record: JsonObject): Promise<Fit | string> => {
  const place = placeOfResource(resource, text(record, "uid"));
  const capabilities = creating(resource);
  const draft = { ...record };
  // Nothing outlives its giver (0019): the right to make it, too.
  const handOn: ChangeContext["handOn"] = (gift) => context.handOn({ ...gift, rights: [...gift.rights, { capabilities, path: place }] });
  const found = await resource.rules?.(draft, { ...context, handOn, parent: place, before: undefined, isUndelete: true });
  const [first] = found ?? [];
  return first ? reasonOf(record, first) : { record, draft };
};

const creating = ({ operations, fact }: BoundResource): readonly string[] => operations.find(({ rpc }) => rpc === `Create${fact.short}`)?.capabilities ?? [];

/** Looks at all of them as their creates would. Throws PERMISSION_DENIED. */
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

/** Brings rows of a resource back, and returns them as a Get shows them. Whose like is there already stays gone, unless it is the only one. */
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

/** What other rows stand on that are gone for good (imports' own documents) cannot be made up for. */
const namingGone = async <T>(resource: BoundResource, uid: string, work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof Fault && sqlState(thrown.cause) === "23503")
      throw blocked("REFERENCE_GONE", uid, [cannot(resource, "a resource that it depends on no longer exists")]);
    throw thrown;
  }
};

/** The same context, in which what was asked once is not asked again: of ten thousand bindings of one role it is one question. */
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
    handOn: (gift) => once(JSON.stringify([gift.rights, gift.untilMs, gift.receiver === context.caller?.uid]), () => context.handOn(gift)),
  };
};

/** The events of what came back. By which bindings it was allowed is found out once for all of them. */
const eventsOf = (context: ChangeContext, returned: readonly { readonly resource: BoundResource; readonly record: JsonObject }[]): OutboxEvent[] => {
  const bindings = context.cause.bindings();
  const telling = { ...context, cause: { ...context.cause, bindings: () => bindings } };
  return returned.flatMap(({ resource, record }) => rowEventOf(telling, resource, "Create", record) ?? []);
};

/**
 * Brings back what the deletion keeps, as `deletion` describes it, held by the caller. Throws FAILED_PRECONDITION, ALREADY_EXISTS,
 * RESOURCE_EXHAUSTED, PERMISSION_DENIED.
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
