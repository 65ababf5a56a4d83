// Update (AIP-134; requirement: Update convention). Partial, by mask; what does not change makes no event.

import { Fault, invalid, missing, taken, type Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import { lockRow, updateRow } from "#store";
import { checkMessage, resourceField } from "../field-behavior.ts";
import type { Outcome, WriteContext } from "../context.ts";
import { hydrate } from "../hydrate.ts";
import { applyMask, immutableChanges, keptChanges, maskedFields, withImmutables } from "../mask.ts";
import type { BoundResource } from "../resource.ts";
import { arranged } from "../shape.ts";
import { presented } from "./create.ts";

/** Strictly later than before: two updates in one millisecond still have different times, so different ETags. */
const laterThan = (before: string, nowMs: number): string => timestamp(Math.max(nowMs, Date.parse(before || timestamp(0)) + 1));

export const update =
  (resource: BoundResource) =>
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
    const found: Violation[] = [];
    checkMessage(resource.fact, draft, "", "json", found, maskedFields(mask));
    if (found.length > 0) throw invalid(found);
    const broken = (await resource.rules?.(draft, { ...context, parent: parentOf(uid), before })) ?? [];
    if (broken.length > 0) throw invalid(broken);

    const after = presented(resource, draft);
    const changed = resource.shape.fields.filter((field) => JSON.stringify(before[field.json]) !== JSON.stringify(after[field.json]));
    if (changed.length > 0) {
      const time = resource.shape.fields.find((field) => field.json === "updateTime");
      if (time) after.updateTime = laterThan(text(before, "updateTime"), context.nowMs);
      try {
        await updateRow(rows, resource.shape.table, uid, resource.shape.write(after, time ? [...changed, time] : changed));
      } catch (thrown) {
        if (thrown instanceof Fault && thrown.code === "ALREADY_EXISTS") throw taken(resource.domain, resource.fact.short, text(after, "name") || uid);
        throw thrown;
      }
    }
    const [hydrated] = await hydrate(rows, resource, [after]);
    return { reply: hydrated ?? after, unchanged: changed.length === 0 };
  };
