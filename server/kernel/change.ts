// HOW A ROW CHANGES. Every insert, update and delete of a resource's row goes through `change`, whoever causes it: a
// request's verb, a cascade, a sign-in, an invite, an import, a command, or the server by itself.
//
//   rules    what must hold across fields and rows                       the resource's file        INVALID_ARGUMENT
//   quota    how many the organization may have                          quota.ts                   RESOURCE_EXHAUSTED
//   row      written as the contract's fields and the table's columns   shape.ts, store/rows.ts    ALREADY_EXISTS
//   history  what is kept of the change besides                         the resource's file
//   event    in the same transaction, so that nothing changes untold    event.ts, outbox
//
// An operation's own row is told by the operation's event, when it ends (serve.ts: perform): it is noted in
// `toldByCause` here. Every other row is told here by the event of its resource's standard method, with the actor,
// operation and request of its cause. A database for tests refuses a transaction that told less (test/told.ts).

import { Fault, invalid, taken } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { newChild, parentOf } from "#base/uid.ts";
import { type OutboxEvent, recordLast } from "#outbox";
import { insertRow, insertRowUnlessTaken, lockRow, updateRow, type Values } from "#db";
import type { ChangeContext } from "./context.ts";
import { deleteTree } from "./delete-tree.ts";
import { rowEventOf } from "./event.ts";
import { hydrate } from "./hydrate.ts";
import { namingQuota, quotaFaultOf } from "./quota.ts";
import type { BoundResource } from "./resource.ts";
import { presented } from "./shape.ts";
import { type LeftOut, undeleteTree } from "./undelete-tree.ts";

/** Who tells of a row: the event of what caused its change, or one of its own. */
export type ToldBy = "cause" | "row";

export interface Create {
  readonly kind: "create";
  /** Held by the caller where it can be deleted (verbs/create.ts: holdParent). */
  readonly parent: string;
  readonly body: JsonObject;
  /** Given where it is not a new one below the parent. */
  readonly uid?: string;
  /** Columns that are no field of the contract. */
  readonly columns?: Values;
  /** Where a unique index holds its like already, nothing is made. */
  readonly unlessTaken?: boolean;
}

export interface Update {
  readonly kind: "update";
  /** The resource as its locked row has it. */
  readonly before: JsonObject;
  /** The resource as it shall be; common fields are the server's. Absent: only `columns` change, and no rule has a say. */
  readonly draft?: JsonObject;
  /** Columns that are no field of the contract; they count as a change. */
  readonly columns?: Values;
  /** The resource's Create is what changes it too (Tags): then the change is told as that tells it. */
  readonly isUpsert?: boolean;
}

export interface Delete {
  readonly kind: "delete";
  readonly uid: string;
  /** Nothing is kept of it, so that no undelete brings it back: it has ended, or somebody takes leave. What the server does by itself is so anyway. */
  readonly isForGood?: true;
}

export type Change = Create | Update | Delete;

export interface Changed {
  /** The resource as a Get shows it; of a deletion its uid. */
  readonly record: JsonObject;
  /** False where everything was so already: then there is neither row nor event. */
  readonly changed: boolean;
}

/** What a statement has thrown that writes this record: a unique index that it breaks is ALREADY_EXISTS of its resource, and a quota is told. */
const writeFaultOf =
  (resource: BoundResource, record: JsonObject, uid: string) =>
  (thrown: unknown): unknown =>
    thrown instanceof Fault && thrown.code === "ALREADY_EXISTS"
      ? taken(resource.domain, resource.fact.short, text(record, "name") || text(record, "uid"))
      : quotaFaultOf(uid, thrown);

/** The resource as its row has it, kept from other changes until the transaction ends; undefined where there is none. */
export const lockResource = async ({ rows }: Pick<ChangeContext, "rows">, { shape }: BoundResource, uid: string): Promise<JsonObject | undefined> => {
  const row = await lockRow(rows, shape.table, uid);
  return row && shape.read(row, 0);
};

const hydrated = async ({ rows }: ChangeContext, resource: BoundResource, record: JsonObject): Promise<JsonObject> =>
  (await hydrate(rows, resource, [record]))[0] ?? record;

const applyRules = async (
  context: ChangeContext,
  resource: BoundResource,
  draft: JsonObject,
  parent: string,
  before: JsonObject | undefined,
): Promise<void> => {
  const violations = (await resource.rules?.(draft, { ...context, parent, before })) ?? [];
  if (violations.length > 0) throw invalid(violations);
};

const createRow = async (
  context: ChangeContext,
  resource: BoundResource,
  { parent, body, uid = newChild(parent), columns, unlessTaken }: Create,
): Promise<Changed> => {
  const now = timestamp(context.nowMs);
  const draft: JsonObject = { ...body, uid, createTime: now, updateTime: now };
  await applyRules(context, resource, draft, parent, undefined);
  const { table } = resource.shape;
  const values = { ...resource.shape.write(draft), ...columns };
  // Sent together: what is read sees the row, and fails with it.
  if (!unlessTaken) {
    insertRow(context.rows, table, values, writeFaultOf(resource, draft, uid));
    return { record: await hydrated(context, resource, presented(resource, draft)), changed: true };
  }
  const inserted = namingQuota(uid, insertRowUnlessTaken(context.rows, table, values));
  const [isMade, record] = await Promise.all([inserted, hydrated(context, resource, presented(resource, draft))]);
  return isMade ? { record, changed: true } : { record: { uid }, changed: false };
};

/** Strictly later than before: two updates in one millisecond still have different times, so different ETags. */
const laterThan = (before: string, nowMs: number): string => timestamp(Math.max(nowMs, Date.parse(before || timestamp(0)) + 1));

const updateRowOf = async (context: ChangeContext, resource: BoundResource, { before, draft, columns = {} }: Update): Promise<Changed> => {
  const uid = text(before, "uid");
  if (draft) await applyRules(context, resource, draft, parentOf(uid), before);
  const after = presented(resource, draft ?? before);
  const fields = resource.shape.fields.filter((field) => JSON.stringify(before[field.json]) !== JSON.stringify(after[field.json]));
  const changed = fields.length > 0 || Object.keys(columns).length > 0;
  if (changed) {
    const time = resource.shape.fields.find((field) => field.json === "updateTime");
    if (time) after.updateTime = laterThan(text(before, "updateTime"), context.nowMs);
    const values = { ...resource.shape.write(after, time ? [...fields, time] : fields), ...columns };
    updateRow(context.rows, resource.shape.table, uid, values, writeFaultOf(resource, after, uid));
  }
  return { record: await hydrated(context, resource, after), changed };
};

const writeChange = async (context: ChangeContext, resource: BoundResource, change: Change): Promise<Changed> => {
  switch (change.kind) {
    case "create":
      return createRow(context, resource, change);
    case "update":
      return updateRowOf(context, resource, change);
    case "delete": {
      const events = await deleteTree(context, resource, change.uid, change.isForGood ?? context.cause.operation === "");
      for (const event of events) recordLast(context.rows, event);
      return { record: { uid: change.uid }, changed: true };
    }
  }
};

/** Writes a change, and what its resource keeps of it. */
const writeKept = async (context: ChangeContext, resource: BoundResource, wanted: Change): Promise<Changed> => {
  const { keepHistory } = resource;
  if (!keepHistory) return writeChange(context, resource, wanted);
  const before = wanted.kind === "delete" ? await lockResource(context, resource, wanted.uid) : wanted.kind === "update" ? wanted.before : undefined;
  const done = await writeChange(context, resource, wanted);
  if (done.changed) await keepHistory(context, { before, after: wanted.kind === "delete" ? undefined : done.record });
  return done;
};

const verbs = { create: "Create", update: "Update", delete: "Delete" } as const;

/**
 * Changes one row of a resource, and tells of it. A deletion takes along what goes with the row, and tells of that
 * first. Throws INVALID_ARGUMENT by the resource's rules, ALREADY_EXISTS, NOT_FOUND (delete), FAILED_PRECONDITION
 * (delete: others stand on it, or more goes along than one transaction may take).
 */
export const change = async (context: ChangeContext, resource: BoundResource, wanted: Change, toldBy: ToldBy): Promise<Changed> => {
  const done = await writeKept(context, resource, wanted);
  if (!done.changed) return done;
  if (toldBy === "cause") context.toldByCause.push(text(done.record, "uid"));
  else {
    const verb = wanted.kind === "update" && wanted.isUpsert ? "Create" : verbs[wanted.kind];
    const event = rowEventOf(context, resource, verb, done.record);
    if (event) recordLast(context.rows, event);
  }
  return done;
};

/** The cause's event with the further rows that it tells of (batches), for the audit log. */
export const withRows = (event: OutboxEvent, { toldByCause }: ChangeContext): OutboxEvent => {
  const resources = toldByCause.filter((uid) => uid !== event.subject);
  return resources.length === 0 ? event : { ...event, auditContext: { ...event.auditContext, resources } };
};

/**
 * Brings back what a deletion has removed, and tells of each resource as of one that was made; the cause's own event tells of the
 * deletion. Returns what stays gone. Throws what making them would throw; ALREADY_EXISTS where the name is taken,
 * FAILED_PRECONDITION where it cannot come back.
 * @param deletion as its row has it, held by the caller
 */
export const undelete = async (context: ChangeContext, resource: BoundResource, deletion: JsonObject): Promise<readonly LeftOut[]> => {
  const named = { uid: text(deletion, "resourceUid"), name: text(deletion, "resourceName") };
  const returning = undeleteTree(context, resource, deletion).catch((thrown: unknown) => {
    throw writeFaultOf(resource, named, named.uid)(thrown);
  });
  const { record: returned, events, leftOut } = await returning;
  for (const event of events) recordLast(context.rows, event);
  await resource.keepHistory?.(context, { before: undefined, after: returned });
  return leftOut;
};
