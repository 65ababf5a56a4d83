// Create (AIP-133). The parent is in the path, the server makes the uid.

import { Fault, invalid, missing, taken } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { newChild } from "#base/uid.ts";
import { insertRow, lockRow } from "#store";
import { resourceField } from "../field-behavior.ts";
import type { Outcome, WriteContext } from "../context.ts";
import { hydrate } from "../hydrate.ts";
import type { BoundResource } from "../resource.ts";
import { arranged } from "../shape.ts";

/** Keeps the parent from being deleted until the transaction ends. Throws NOT_FOUND where there is none. */
export const holdParent = async ({ rows }: WriteContext, resource: BoundResource, parent: string): Promise<void> => {
  const above = resource.parent;
  if (!above?.table) return;
  const row = await lockRow(rows, { name: above.table, columns: ["uid"] }, parent, "key share");
  if (!row) throw missing(above.domain, above.fact.short, parent);
};

/** Writes a new row below `parent`: rules, common fields, insert. Returns the resource as it is answered. */
export const insert = async (context: WriteContext, resource: BoundResource, parent: string, body: JsonObject, uid = newChild(parent)): Promise<JsonObject> => {
  const now = timestamp(context.nowMs);
  const draft: JsonObject = { ...body, uid, createTime: now, updateTime: now };
  const violations = (await resource.rules?.(draft, { ...context, parent, before: undefined })) ?? [];
  if (violations.length > 0) throw invalid(violations);
  try {
    await insertRow(context.rows, resource.shape.table, resource.shape.write(draft));
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "ALREADY_EXISTS") throw taken(resource.domain, resource.fact.short, text(draft, "name") || uid);
    throw thrown;
  }
  const [hydrated] = await hydrate(context.rows, resource, [presented(resource, draft)]);
  return hydrated ?? draft;
};

/** A draft as a read would show it: the same fields, the same ones left out. */
export const presented = (resource: BoundResource, draft: JsonObject): JsonObject => {
  const out: JsonObject = {};
  const values = arranged(resource.fact, draft);
  for (const field of resource.shape.fields) {
    const value = values[field.json];
    const shown = value ?? (field.shape === "one" && field.kind === "bool" ? false : undefined);
    const empty =
      shown === undefined ||
      shown === "" ||
      (Array.isArray(shown) && shown.length === 0) ||
      (field.shape === "map" && Object.keys(shown).length === 0) ||
      (field.kind === "enum" && field.enum?.numbers.get(String(shown)) === 0);
    if (!empty) out[field.json] = shown;
  }
  return out;
};

export const create =
  (resource: BoundResource) =>
  async (context: WriteContext): Promise<Outcome> => {
    const field = resourceField(context.method);
    const parent = text(context.request, "parent");
    await holdParent(context, resource, parent);
    return { reply: await insert(context, resource, parent, part(context.request, field?.json ?? "")) };
  };
