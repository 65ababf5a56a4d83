// From an outcome to a reply: the ETag of a single resource, and If-None-Match.

import { missing } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { findRow, type Read, type Write } from "#store";
import type { Call, Reply } from "./call.ts";
import type { Context, Outcome } from "./context.ts";
import { hydrate } from "./hydrate.ts";
import type { Kernel } from "./kernel.ts";
import { etagOf, matches } from "./safe.ts";

/** Only one resource that can be asked for again has an ETag. */
const hasEtag = (call: Call, reply: JsonObject): boolean =>
  text(reply, "uid") !== "" && (call.method.rpc.startsWith("Get") || call.method.rpc.startsWith("Update"));

export const answered = (call: Call, { reply, headers }: Outcome): Reply => {
  if (!hasEtag(call, reply)) return headers ? { message: reply, headers } : { message: reply };
  const etag = etagOf(reply);
  const unchanged = call.ifNoneMatch !== undefined && matches(call.ifNoneMatch, etag);
  return { message: reply, headers: { ...headers, etag }, ...(unchanged ? { httpStatus: 304 } : {}) };
};

/** How to read what an update or delete is about to change, for If-Match; undefined for other operations. */
export const currentOf = (kernel: Kernel, { method, call }: Omit<Context<Read>, "rows">): ((rows: Write) => Promise<JsonObject>) | undefined => {
  if (call.ifMatch === undefined || !/^(?:Update|Delete)/.test(method.rpc)) return undefined;
  const resource = [...kernel.resources.values()].find((each) => each.service.typeName === method.service);
  const scope = method.scope;
  if (!resource || !scope) return undefined;
  return async (rows) => {
    let held: unknown = call.request;
    for (const key of scope) held = typeof held === "object" && held !== null ? Reflect.get(held, key) : undefined;
    const uid = String(held);
    await rows.query(`select 1 from ${resource.shape.table.name} where uid = $1 for update`, [uid]);
    const found = await findRow(rows, resource.shape.table, uid);
    if (!found) throw missing(resource.domain, resource.fact.short, uid);
    const record = resource.shape.read(found.row, found.offset);
    const [hydrated] = await hydrate(rows, resource, [record]);
    return hydrated ?? record;
  };
};
