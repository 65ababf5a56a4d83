// Delete (AIP-135). A missing uid is NOT_FOUND everywhere (decisions: Access); a resource that others stand on stays.

import { blocked, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { deleteBelow, deleteRow, holdsBelow, lockRow } from "#store";
import type { Outcome, WriteContext } from "../context.ts";
import type { BoundResource } from "../resource.ts";

/** "RoleBinding" as "role binding". */
const words = (name: string): string => name.replace(/(?<=.)[A-Z]/g, " $&").toLowerCase();

export const remove =
  (resource: BoundResource) =>
  async ({ request, rows }: WriteContext): Promise<Outcome> => {
    const uid = text(request, "uid");
    const { table } = resource.shape;
    const row = await lockRow(rows, table, uid);
    if (!row) throw missing(resource.domain, resource.fact.short, uid);
    const held: string[] = [];
    for (const child of resource.children) {
      if (!child.table) continue;
      if (child.goesWithParent) await deleteBelow(rows, child.table, "uid", uid);
      else if (await holdsBelow(rows, child.table, uid))
        held.push(`cannot delete ${words(resource.fact.short)} with child ${child.table.replaceAll("_", " ")}`);
    }
    if (held.length > 0) throw blocked("RESOURCE_NOT_EMPTY", "", held);
    for (const { table: taken, column } of resource.takes ?? []) await deleteBelow(rows, taken, column, uid);
    await deleteRow(rows, table, uid);
    return { reply: {} };
  };
