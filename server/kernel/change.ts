// HOW A ROW CHANGES. Every insert, update and delete of a resource's row uses `change`, whatever the cause: a request, a cascade, a
// sign-in, an invite, an import, a command, or the server itself.
//
//   rules    constraints across fields and rows                          the resource's file        INVALID_ARGUMENT
//   quota    maximum number in the organization                          quota.ts                   RESOURCE_EXHAUSTED
//   row      written as the contract's fields and the table's columns    shape.ts, store/rows.ts    ALREADY_EXISTS
//   history  what the resource records about the change                  the resource's file
//   event    in the same transaction                                     event.ts, outbox
//
// The event of an operation (serve.ts: perform) reports the operation's own row, which `reportedByCause` notes. Every other row has an
// event of its resource's standard method. Test databases reject an unreported change (test/told.ts).

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

/** Whether the event of the cause reports a row, or an event of the row itself. */
export type ReportedBy = "cause" | "row";

export interface Create {
  readonly kind: "create";
  /** Locked by the caller if it can be deleted (verbs/create.ts: holdParent). */
  readonly parent: string;
  readonly body: JsonObject;
  /** Default: a new uid below the parent. */
  readonly uid?: string;
  readonly columns?: Values;
  /** Create nothing if a unique index already has such a row. */
  readonly unlessTaken?: boolean;
  /** Returns what to throw instead of ALREADY_EXISTS. */
  readonly takenFault?: () => unknown;
}

export interface Update {
  readonly kind: "update";
  readonly before: JsonObject;
  /** Without common fields, which the server sets. Absent: only `columns` change, and no rules apply. */
  readonly draft?: JsonObject;
  /** Columns outside the contract; they count as a change. */
  readonly columns?: Values;
  /** The change is reported as a Create, because the resource's Create also updates (tags). */
  readonly isUpsert?: boolean;
}

export interface Delete {
  readonly kind: "delete";
  readonly uid: string;
  /** Delete permanently: no undelete. Set for expiry and leaving; the default for the server itself. */
  readonly isForGood?: boolean;
}

export type Change = Create | Update | Delete;

export interface Changed {
  /** As a Get returns it; for a deletion, its uid. */
  readonly record: JsonObject;
  /** False if the row already had these values: then neither row nor event is written. */
  readonly changed: boolean;
}

/** Maps a unique violation to the resource's ALREADY_EXISTS, and names an exceeded quota. */
const writeFaultOf =
  (
    resource: BoundResource,
    record: JsonObject,
    uid: string,
    takenFault = (): unknown => taken(resource.domain, resource.fact.short, text(record, "name") || text(record, "uid")),
  ) =>
  (thrown: unknown): unknown =>
    thrown instanceof Fault && thrown.code === "ALREADY_EXISTS" ? takenFault() : quotaFaultOf(uid, thrown);

/** Returns the resource, locked until the transaction ends; undefined if it does not exist. */
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
  { parent, body, uid = newChild(parent), columns, unlessTaken, takenFault }: Create,
): Promise<Changed> => {
  const now = timestamp(context.nowMs);
  const draft: JsonObject = { ...body, uid, createTime: now, updateTime: now };
  await applyRules(context, resource, draft, parent, undefined);
  const { table } = resource.shape;
  const values = { ...resource.shape.write(draft), ...columns };
  // Sent in one batch: the read sees the inserted row, and fails with the insert.
  if (!unlessTaken) {
    insertRow(context.rows, table, values, writeFaultOf(resource, draft, uid, takenFault));
    return { record: await hydrated(context, resource, presented(resource, draft)), changed: true };
  }
  const inserted = namingQuota(uid, insertRowUnlessTaken(context.rows, table, values));
  const [isMade, record] = await Promise.all([inserted, hydrated(context, resource, presented(resource, draft))]);
  return isMade ? { record, changed: true } : { record: { uid }, changed: false };
};

/** Returns a time strictly later than `before`, so that two updates in one millisecond have different ETags. */
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
 * Changes one row of a resource and records its event. A deletion cascades, and its events come first. Throws INVALID_ARGUMENT by
 * the resource's rules, ALREADY_EXISTS, NOT_FOUND (delete), or FAILED_PRECONDITION (delete: the row is in use, or the cascade is too
 * large).
 */
export const change = async (context: ChangeContext, resource: BoundResource, wanted: Change, reportedBy: ReportedBy): Promise<Changed> => {
  const done = await writeKept(context, resource, wanted);
  if (!done.changed) return done;
  if (reportedBy === "cause") context.reportedByCause.push(text(done.record, "uid"));
  else {
    const verb = wanted.kind === "update" && wanted.isUpsert ? "Create" : verbs[wanted.kind];
    const event = rowEventOf(context, resource, verb, done.record);
    if (event) recordLast(context.rows, event);
  }
  return done;
};

/** Adds the other rows that the event reports (batches), for the audit log. */
export const withRows = (event: OutboxEvent, { reportedByCause }: ChangeContext): OutboxEvent => {
  const resources = reportedByCause.filter((uid) => uid !== event.subject);
  return resources.length === 0 ? event : { ...event, auditContext: { ...event.auditContext, resources } };
};

/**
 * Restores a deletion, with a Create event per resource; the cause's event reports the deletion. Returns what could not be restored.
 * Throws as a create: ALREADY_EXISTS if the name is taken, FAILED_PRECONDITION if it cannot be restored.
 * @param deletion its record; the caller has locked the row
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
