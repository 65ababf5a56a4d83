// What a deletion takes along, and what stands in its way: by the contract, all of it found out before anything is
// deleted, so that a refusal costs nothing and leaves everything as it was.

import { blocked, missing } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { OutboxEvent } from "#outbox";
import { countBelow, countReferences, deleteBelow, deleteRow, holdsBelow, isReferenced, lockRow, takeBelow, takeReferences } from "#store";
import type { ChangeContext } from "./context.ts";
import { rowEventOf } from "./event.ts";
import type { BoundResource } from "./resource.ts";

/** "RoleBinding" as "role binding". */
const wordsOf = (name: string): string => name.replace(/(?<=.)[A-Z]/g, " $&").toLowerCase();

/** Everything that goes along because it lies below, the deepest first: the path of a child's child begins with the same uid. */
const cascadesBelow = ({ children }: BoundResource, resources: ChangeContext["resources"]): BoundResource[] =>
  children.flatMap((child) => {
    const found = child.deletedWithParent ? resources.get(child.fact.name) : undefined;
    return found ? [...cascadesBelow(found, resources), found] : [];
  });

const isTold = (resource: BoundResource): boolean => resource.operations.some(({ rpc, event }) => event && rpc === `Delete${resource.fact.short}`);

/** Throws FAILED_PRECONDITION where something stands below that is not deleted along. */
const requireEmpty = async ({ rows }: ChangeContext, { fact, children }: BoundResource, uid: string): Promise<void> => {
  const held: string[] = [];
  for (const child of children) {
    if (child.deletedWithParent || !child.table || !(await holdsBelow(rows, child.table, uid))) continue;
    held.push(`cannot delete ${wordsOf(fact.short)} with child ${child.table.replaceAll("_", " ")}`);
  }
  if (held.length > 0) throw blocked("RESOURCE_NOT_EMPTY", "", held);
};

/** Throws FAILED_PRECONDITION where others refer to it that keep it. */
const requireUnused = async ({ rows }: ChangeContext, { fact, blocks }: BoundResource, uid: string): Promise<void> => {
  const uses: string[] = [];
  for (const { resource: referring, column, inUseAs } of blocks) {
    if (await isReferenced(rows, referring.shape.table.name, column, uid)) uses.push(`cannot delete ${wordsOf(fact.short)} that is ${inUseAs}`);
  }
  if (uses.length > 0) throw blocked("RESOURCE_IN_USE", uid, uses);
};

/** Throws FAILED_PRECONDITION with the number where more goes along than one transaction may tell of. */
const requireFew = async ({ rows }: ChangeContext, resource: BoundResource, below: readonly BoundResource[], uid: string): Promise<void> => {
  let count = 0;
  for (const { shape } of below.filter(isTold)) count += await countBelow(rows, shape.table.name, uid);
  for (const { resource: referring, column } of resource.cascades) count += await countReferences(rows, referring.shape.table.name, column, uid);
  if (count <= limits.deletedRowsMax) return;
  const bound = `one deletion takes at most ${limits.deletedRowsMax}; delete some of them first`;
  const words = `cannot delete ${wordsOf(resource.fact.short)}: ${count} rows would go along, and ${bound}`;
  throw blocked("DELETION_TOO_LARGE", uid, [words]);
};

/**
 * Deletes the row and what goes along. Returns the events of the rows that went along, in the order of their
 * deletion; the row itself is for the caller to tell. Throws NOT_FOUND, FAILED_PRECONDITION.
 */
export const deleteTree = async (context: ChangeContext, resource: BoundResource, uid: string): Promise<OutboxEvent[]> => {
  const { rows, resources } = context;
  const { table } = resource.shape;
  if (!(await lockRow(rows, table, uid))) throw missing(resource.domain, resource.fact.short, uid);
  const below = cascadesBelow(resource, resources);
  await requireEmpty(context, resource, uid);
  await requireUnused(context, resource, uid);
  await requireFew(context, resource, below, uid);

  const events: OutboxEvent[] = [];
  const tell = (gone: BoundResource, uids: readonly string[]): void => {
    for (const each of uids) {
      const event = rowEventOf(context, gone, "Delete", { uid: each });
      if (event) events.push(event);
    }
  };
  for (const child of below) {
    if (isTold(child)) tell(child, await takeBelow(rows, child.shape.table.name, uid));
    else await deleteBelow(rows, child.shape.table.name, "uid", uid);
  }
  for (const { resource: referring, column } of resource.cascades) tell(referring, await takeReferences(rows, referring.shape.table.name, column, uid));
  for (const { table: side, column } of resource.sideTables ?? []) await deleteBelow(rows, side, column, uid);
  await deleteRow(rows, table, uid);
  return events;
};
