// Reads a list's paging from the request and builds its response (AIP-158; requirement: Conventions). The list itself reads the rows.

import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { type Page, pageOf, type PageRequest } from "#base/page.ts";
import type { Outcome, ReadContext } from "./context.ts";
import { queryOf, readPageToken, writePageToken } from "./page.ts";
import { pageSizeOf, pluralOf, skipOf } from "./paging.ts";

/** Bound into the page token. It includes restrictions of the token, because they affect the counted total. */
const callerKey = ({ caller }: ReadContext): string => JSON.stringify([caller?.uid, caller?.capabilities, caller?.scopes]);

/**
 * Answers a List.
 * @param unpaged return everything in one page (decisions: Lists; a gRPC request without the additive page fields)
 */
export const answerPage = async (context: ReadContext, read: (request: PageRequest) => Promise<Page>, unpaged = false): Promise<Outcome> => {
  const { request, method, services, nowMs, order } = context;
  if (!order) throw new Error(`${method.name} is no list`);
  const skip = skipOf(request);
  const token = text(request, "pageToken");
  const query = queryOf(callerKey(context), method.name, request);
  const position = token ? readPageToken(services.seal, query, token, nowMs, services.restoredMs) : undefined;
  const { key: after, total: knownTotal } = position === "expired" || position === undefined ? {} : position;
  const limit = (unpaged ? limits.unpagedListMax : pageSizeOf(request)) + 1;
  const asked: PageRequest = { order, after, skip, limit, total: knownTotal };
  // Past the end, which the token knows, no read is needed. If counting stops early (totalMax), the total is not the end.
  const isBeyond = knownTotal !== undefined && skip >= knownTotal && method.totalMax === undefined;
  const { records, total, next } = isBeyond ? pageOf(asked, [], knownTotal) : await read(asked);
  const reply: JsonObject = {
    [pluralOf(method)?.json ?? ""]: [...records],
    ...(next === undefined ? {} : { nextPageToken: writePageToken(services.seal, query, { key: next, total }, nowMs) }),
    totalCount: String(total),
    skipped: skip,
  };
  return position === "expired" ? { reply, headers: { "gantry-page-restarted": "true" } } : { reply };
};
