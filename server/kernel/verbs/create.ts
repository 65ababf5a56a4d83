// Create (AIP-133). The parent is in the path, and the server generates the uid.

import { missing } from "#base/fault.ts";
import { part, text } from "#base/json.ts";
import { requireHeldRow } from "#db";
import { change } from "../change.ts";
import type { ChangeContext, Outcome, WriteContext } from "../context.ts";
import { resourceField } from "../field-behavior.ts";
import type { BoundResource } from "../resource.ts";

/** Locks the parent against deletion until the transaction ends, or fails the transaction with NOT_FOUND. Not awaited. */
export const holdParent = ({ rows }: Pick<ChangeContext, "rows">, resource: BoundResource, parent: string): void => {
  const above = resource.parent;
  if (above?.table) requireHeldRow(rows, above.table, parent, () => missing(above.domain, above.fact.short, parent));
};

export const create =
  (resource: BoundResource) =>
  async (context: WriteContext): Promise<Outcome> => {
    const field = resourceField(context.method);
    const parent = text(context.request, "parent");
    holdParent(context, resource, parent);
    const { record } = await change(context, resource, { kind: "create", parent, body: part(context.request, field?.json ?? "") }, "cause");
    return { reply: record };
  };
