// Get (AIP-131).

import { type Fault, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { covers } from "#base/uid.ts";
import { findRow } from "#db";
import type { Outcome, ReadContext } from "../context.ts";
import { hydrate } from "../hydrate.ts";
import type { BoundResource } from "../resource.ts";

export const get =
  (resource: BoundResource) =>
  async (context: ReadContext): Promise<Outcome> => {
    const { request, rows, method } = context;
    const uid = text(request, "uid");
    const absent = (): Fault => missing(resource.domain, resource.fact.short, uid);
    // decisions: Access. An unscoped Get throws NOT_FOUND for resources invisible to the caller.
    if (method.unscoped && !context.visiblePaths.some((place) => covers(place, uid))) {
      const others = (await resource.alsoVisible?.({ ...context, only: uid })) ?? [];
      if (!others.includes(uid)) throw absent();
    }
    const found = await findRow(rows, resource.shape.table, uid);
    if (!found) throw absent();
    const record = resource.shape.read(found.row, found.offset);
    if (resource.summaries.length === 0 && !resource.computedFields) return { reply: record };
    const [hydrated] = await hydrate(rows, resource, [record]);
    return { reply: hydrated ?? record };
  };
