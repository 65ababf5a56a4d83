// Deletes a row with its cascade. All blockers are found by the contract before anything is deleted. The deleting statements keep the
// rows under one deletion for an undelete (undelete-tree.ts).

import { blocked, type Fault, missing } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { text } from "#base/json.ts";
import { EVERYWHERE, newChild, parentOf } from "#base/uid.ts";
import type { OutboxEvent } from "#outbox";
import {
  areEmpty,
  countBelow,
  countReferences,
  deleteBelow,
  type DeletedRange,
  deleteRow,
  holdsBelow,
  insertDeletion,
  isReferenced,
  keepDeleted,
  keepHeldRow,
  type KeptTable,
  lockRow,
  type Row,
  type RowRange,
  takeBelow,
  takeDeleted,
  takeReferences,
} from "#db";
import type { ChangeContext } from "./context.ts";
import { rowEventOf } from "./event.ts";
import type { BoundResource } from "./resource.ts";

export const wordsOf = (name: string): string => name.replace(/(?<=.)[A-Z]/g, " $&").toLowerCase();

/** Returns all resources that are deleted with a parent, deepest first: the path of a grandchild starts with the same uid. */
export const cascadesBelow = ({ children }: BoundResource, resources: ChangeContext["resources"]): BoundResource[] =>
  children.flatMap((child) => {
    const found = child.deletedWithParent ? resources.get(child.fact.name) : undefined;
    return found ? [...cascadesBelow(found, resources), found] : [];
  });

export const isTold = (resource: BoundResource): boolean => resource.operations.some(({ rpc, event }) => event && rpc === `Delete${resource.fact.short}`);

/** FAILED_PRECONDITION if rows below it are not deleted with it. */
const findHeld = async ({ rows }: ChangeContext, { fact, children }: BoundResource, uid: string): Promise<Fault | undefined> => {
  const tables = children.flatMap(({ deletedWithParent, table }) => (deletedWithParent || !table ? [] : [table]));
  const holds = await Promise.all(tables.map((table) => holdsBelow(rows, table, uid)));
  const held = tables.filter((_, index) => holds[index]);
  const words = held.map((table) => `cannot delete ${wordsOf(fact.short)} with child ${table.replaceAll("_", " ")}`);
  return words.length > 0 ? blocked("RESOURCE_NOT_EMPTY", "", words) : undefined;
};

/** FAILED_PRECONDITION if rows that block its deletion refer to it. */
const findUses = async ({ rows }: ChangeContext, { fact, blocks }: BoundResource, uid: string): Promise<Fault | undefined> => {
  const isUsed = await Promise.all(blocks.map(({ resource: referring, column }) => isReferenced(rows, referring.shape.table.name, column, uid)));
  const words = blocks.filter((_, index) => isUsed[index]).map(({ inUseAs }) => `cannot delete ${wordsOf(fact.short)} that is ${inUseAs}`);
  return words.length > 0 ? blocked("RESOURCE_IN_USE", uid, words) : undefined;
};

const countAlong = async (
  { rows }: ChangeContext,
  { cascades }: BoundResource,
  below: readonly BoundResource[],
  uid: string,
  most?: number,
): Promise<number> => {
  const counts = await Promise.all([
    ...below.filter(isTold).map(({ shape }) => countBelow(rows, shape.table.name, uid, most)),
    ...cascades.map(({ resource: referring, column }) => countReferences(rows, referring.shape.table.name, column, uid, most)),
  ]);
  return counts.reduce((sum, count) => sum + count, 0);
};

/** Returns every range of rows that a deletion affects or that can block it. */
const rangesAround = ({ children, cascades, blocks, sideTables = [] }: BoundResource, below: readonly BoundResource[]): RowRange[] => [
  ...children.flatMap(({ deletedWithParent, table }) => (deletedWithParent || !table ? [] : [{ table, column: "uid", isExact: false }])),
  ...below.map(({ shape }) => ({ table: shape.table.name, column: "uid", isExact: false })),
  ...[...cascades, ...blocks].map(({ resource, column }) => ({ table: resource.shape.table.name, column, isExact: true })),
  ...sideTables.map(({ table, column }) => ({ table, column, isExact: false })),
];

const tooMany = ({ fact }: BoundResource, count: number, uid: string): Fault => {
  const bound = `one deletion takes at most ${limits.deletedRowsMax}; delete some of them first`;
  const words = `cannot delete ${wordsOf(fact.short)}: ${count} rows would go along, and ${bound}`;
  return blocked("DELETION_TOO_LARGE", uid, [words]);
};

/** Returns the path of a resource: its uid if that is the path, otherwise its parent. */
export const placeOfResource = ({ fact, parentMessage }: BoundResource, uid: string): string =>
  parentMessage !== "" && fact.byName.get("uid")?.refersTo === parentMessage ? uid : parentOf(uid);

/** Removes rows from their tables, permanently or kept under one deletion. */
interface Removal {
  /** Removes rows of a resource with events; returns their uids, in order. */
  take(resource: BoundResource, range: DeletedRange): Promise<string[]>;
  /** Removes the row itself, which the transaction has locked. Sends the statement without awaiting it. */
  dropHeld(resource: BoundResource, uid: string): void;
  drop(range: DeletedRange, resource: BoundResource | undefined, isForGood: boolean): Promise<void>;
}

const removeForGood = ({ rows }: ChangeContext): Removal => ({
  dropHeld: ({ shape }, uid) => deleteRow(rows, shape.table.name, uid),
  take: (_, { table, column, uid, isExact }) => (isExact ? takeReferences(rows, table, column, uid) : takeBelow(rows, table, uid)),
  drop: ({ table, column, uid }) => deleteBelow(rows, table, column, uid),
});

interface Kept {
  readonly table: string;
  readonly count: number;
  readonly resource: BoundResource | undefined;
}

const removeKeeping = (context: ChangeContext, deletion: string, kept: Kept[]): Removal => {
  const { rows } = context;
  const forGood = removeForGood(context);
  const keepingOf = (resource: BoundResource | undefined) => ({ deletion, without: resource?.endingColumns ?? [] });
  return {
    dropHeld: (resource, uid) => {
      if (resource.fact.resource?.deletedForGood) return forGood.dropHeld(resource, uid);
      const { name } = resource.shape.table;
      keepHeldRow(rows, name, uid, keepingOf(resource));
      kept.push({ table: name, count: 1, resource });
    },
    take: async (resource, range) => {
      if (resource.fact.resource?.deletedForGood) return forGood.take(resource, range);
      const uids = await takeDeleted(rows, range, keepingOf(resource));
      kept.push({ table: range.table, count: uids.length, resource });
      return uids;
    },
    drop: async (range, resource, isForGood) => {
      if (isForGood || resource?.fact.resource?.deletedForGood) return forGood.drop(range, resource, true);
      kept.push({ table: range.table, count: await keepDeleted(rows, range, keepingOf(resource)), resource });
    },
  };
};

/** Records the deletion and the order in which to restore its tables, referenced rows first. */
const recordDeletion = (context: ChangeContext, resource: BoundResource, row: Row, deletion: string, kept: readonly Kept[]): void => {
  const { rows, services, cause } = context;
  const record = resource.shape.read(row, 0);
  const uid = text(record, "uid");
  const place = placeOfResource(resource, uid);
  const found = kept.filter(({ count }) => count > 0);
  const side = (resource.sideTables ?? []).map(({ table }) => table).reverse();
  const deepest = cascadesBelow(resource, context.resources).map(({ shape }) => shape.table.name);
  const order = [resource.shape.table.name, ...resource.cascades.map(({ resource: referring }) => referring.shape.table.name), ...deepest.reverse(), ...side];
  const tables = order.flatMap((name): KeptTable[] => {
    const count = found.filter(({ table }) => table === name).reduce((sum, each) => sum + each.count, 0);
    return count > 0 ? [{ name, count }] : [];
  });
  const kinds = tables.flatMap(({ name, count }) => {
    const of = found.find(({ table, resource: each }) => table === name && each !== undefined)?.resource;
    return of ? [{ resourceType: of.fact.name, count }] : [];
  });
  const { subject } = cause.actor ?? {};
  insertDeletion(rows, {
    uid: deletion,
    parentUid: place,
    resourceType: resource.fact.name,
    resourceUid: uid,
    resourceName: text(record, "name"),
    deleterUid: typeof subject === "string" ? subject : "",
    createTimeMs: services.clock(),
    expireTimeMs: services.clock() + services.deletedKeptMs,
    kinds,
    // A table that is in the order twice is restored once.
    tables: tables.filter(({ name }, index) => tables.findIndex((other) => other.name === name) === index),
  });
};

const requireDeletable = async (context: ChangeContext, resource: BoundResource, below: readonly BoundResource[], uid: string): Promise<void> => {
  const [held, used, count] = await Promise.all([
    findHeld(context, resource, uid),
    findUses(context, resource, uid),
    countAlong(context, resource, below, uid, limits.deletedRowsMax + 1),
  ]);
  if (held ?? used) throw held ?? used;
  // Counted completely only here: a deletion blocked for another reason may have a million rows below it.
  if (count > limits.deletedRowsMax) throw tooMany(resource, await countAlong(context, resource, below, uid), uid);
};

/**
 * Deletes the row and its cascade. Returns the events of the cascaded rows in order; the caller reports the row. Throws NOT_FOUND or
 * FAILED_PRECONDITION.
 * @param isForGood delete permanently
 */
export const deleteTree = async (context: ChangeContext, resource: BoundResource, uid: string, isForGood: boolean): Promise<OutboxEvent[]> => {
  const { rows, resources, services } = context;
  const { table } = resource.shape;
  const below = cascadesBelow(resource, resources);
  // One batch, run in order, so the check sees the locked row. A single check suffices for most rows: they have nothing around them,
  // and a repo would need eleven.
  const [row, isAlone] = await Promise.all([lockRow(rows, table, uid), areEmpty(rows, uid, rangesAround(resource, below))]);
  if (!row) throw missing(resource.domain, resource.fact.short, uid);
  await resource.requireDeletable?.(context, uid, isAlone);
  if (!isAlone) await requireDeletable(context, resource, below, uid);

  const place = placeOfResource(resource, uid);
  const isKept = !isForGood && services.deletedKeptMs > 0 && !resource.fact.resource?.deletedForGood;
  // An organization has no parent, so its deletion is below itself: there only the operator still has permissions.
  const deletion = newChild(place === EVERYWHERE ? uid : place);
  const kept: Kept[] = [];
  const removal = isKept ? removeKeeping(context, deletion, kept) : removeForGood(context);

  const eventsOf = (gone: BoundResource, uids: readonly string[]): OutboxEvent[] =>
    uids.flatMap((each) => rowEventOf(context, gone, "Delete", { uid: each }) ?? []);
  const untold = async (deleted: Promise<void>): Promise<OutboxEvent[]> => {
    await deleted;
    return [];
  };
  const dropAround = () => [
    ...below.map(async (child) => {
      const range = { table: child.shape.table.name, column: "uid", uid, isExact: false };
      return isTold(child) ? eventsOf(child, await removal.take(child, range)) : untold(removal.drop(range, child, false));
    }),
    ...resource.cascades.map(async ({ resource: referring, column }) =>
      eventsOf(referring, await removal.take(referring, { table: referring.shape.table.name, column, uid, isExact: true })),
    ),
    ...(resource.sideTables ?? []).map(({ table: side, column, isDeletedForGood = false }) =>
      untold(removal.drop({ table: side, column, uid, isExact: false }, undefined, isDeletedForGood)),
    ),
  ];
  const told = isAlone ? [] : await Promise.all(dropAround());
  removal.dropHeld(resource, uid);
  if (isKept) recordDeletion(context, resource, row, deletion, kept);
  return told.flat();
};
