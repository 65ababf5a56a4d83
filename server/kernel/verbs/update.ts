// Update (AIP-134; requirement: Update convention). Partial, by mask; an update without effect records no event.

import { FoundViolations, invalid, missing } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { lockRow, type Values } from "#db";
import { change } from "../change.ts";
import type { Outcome, WriteContext } from "../context.ts";
import { checkMessage, resourceField } from "../field-behavior.ts";
import { applyMask, immutableChanges, keptChanges, maskedFields, withImmutables } from "../mask.ts";
import type { BoundResource } from "../resource.ts";
import { arranged } from "../shape.ts";

/** @param columns columns that are not fields of the contract and change too; they count as a change */
export const update =
  (resource: BoundResource, columns: Values = {}) =>
  async (context: WriteContext): Promise<Outcome> => {
    const { request, rows, method, mask } = context;
    if (!mask) throw new Error(`${method.name} has no update mask`);
    const key = resourceField(method)?.json ?? "";
    const body = part(request, key);
    const uid = text(body, "uid");

    const row = await lockRow(rows, resource.shape.table, uid);
    if (!row) throw missing(resource.domain, resource.fact.short, uid);
    const before = resource.shape.read(row, 0);
    const wanted = withImmutables(resource.fact, before, applyMask(resource.fact, before, body, mask));
    const draft: JsonObject = arranged(resource.fact, { ...wanted, uid });
    const fixed = [...immutableChanges(resource.fact, before, draft), ...keptChanges(resource.fact, before, draft, mask.replacesAll)];
    if (fixed.length > 0) throw invalid(fixed);
    const found = new FoundViolations();
    checkMessage(resource.fact, draft, "", "json", found, maskedFields(mask));
    if (found.list.length > 0) throw invalid(found.list);
    const { record, changed } = await change(context, resource, { kind: "update", before, draft, columns }, "cause");
    return { reply: record, unchanged: !changed };
  };
