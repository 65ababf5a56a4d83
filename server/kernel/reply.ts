// Converts an outcome to a reply: adds the ETag of a single resource, and handles If-None-Match.

import type { JsonObject } from "#base/json.ts";
import { matchesEtag } from "#base/etag.ts";
import { replyInView } from "#contract/views.ts";
import { lockRow, type Read, type Write } from "#db";
import { resourcePathOf } from "./validate.ts";
import type { Call, Reply } from "./call.ts";
import type { Context, Outcome } from "./context.ts";
import type { Kernel } from "./kernel.ts";
import { etagOf } from "./safe-write.ts";

const hasEtag = ({ method }: Call): boolean =>
  !method.distribution && (method.rpc.startsWith("Get") || method.rpc.startsWith("Update")) && method.output.byName.has("uid");

export const replyOf = (call: Call, outcome: Outcome): Reply => {
  if (outcome.parts) return { message: {}, parts: outcome.parts };
  if (outcome.content) return { message: outcome.reply, content: outcome.content };
  if (outcome.file) return { message: outcome.reply, file: outcome.file, ...(outcome.headers ? { headers: outcome.headers } : {}) };
  const reply = replyInVersion2(call, outcome);
  if (!call.view) return reply;
  // The ETag is the resource's, the same in both versions.
  const { json: _json, ...rest } = reply;
  return { ...rest, message: replyInView(call.view, reply.message) };
};

/** Returns the fields of both versions, so that the ETag is the same. A change of the others changes updateTime. */
const inBothVersions = (call: Call, record: JsonObject): JsonObject => {
  if (!call.view) return record;
  const own = call.method.output.fields.filter(({ version1Only }) => version1Only).map(({ json }) => json);
  return own.length === 0 ? record : Object.fromEntries(Object.entries(record).filter(([key]) => !own.includes(key)));
};

const replyInVersion2 = (call: Call, { reply, headers }: Outcome): Reply => {
  if (!hasEtag(call)) return headers ? { message: reply, headers } : { message: reply };
  const json = JSON.stringify(inBothVersions(call, reply));
  const etag = etagOf(json);
  // RFC 9110, 13.1.2: in a write, If-None-Match has another meaning, which no client uses here.
  const unchanged = !call.method.writes && matchesEtag(call.ifNoneMatch, etag);
  return { message: reply, json, headers: { ...headers, etag }, ...(unchanged ? { httpStatus: 304 } : {}) };
};

/** Returns a read of the resource before an update or delete, for If-Match; by its Get, so the ETags match. */
export const currentOf = (kernel: Kernel, context: Omit<Context<Read>, "rows">): ((rows: Write) => Promise<JsonObject>) | undefined => {
  const { method, call } = context;
  if (call.ifMatch === undefined) return undefined;
  const current = kernel.currentReads.get(method.name);
  const uid = resourcePathOf(call);
  if (!current || uid === undefined) return undefined;
  return async (rows) => {
    await lockRow(rows, { name: current.table, columns: ["uid"] }, uid);
    const { reply } = await current.reads({ ...context, method: current.get, request: { uid }, visiblePaths: [uid], rows });
    return inBothVersions(call, reply);
  };
};
