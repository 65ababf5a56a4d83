// What version 1 does otherwise than version 2 besides names: lists come whole, and errors name its own fields.

import { blocked, Fault, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { ViewedMethodFact } from "#contract/facts.ts";
import { replyInView, violationInView } from "#contract/views.ts";
import type { Outcome, ReadContext, Reads } from "./context.ts";
import { pluralOf } from "./paging.ts";
import { callingParty, strangerAt } from "./party.ts";

/** True for a list that version 2 gives in pages and version 1 as a whole. */
export const isWholeList = ({ input, view }: ViewedMethodFact): boolean => view.of.input.byName.has("page_token") && !input.byName.has("page_token");

const tooLong = (count: number, most: string): Fault =>
  blocked("LIST_TOO_LONG", "", [`the list has ${count} entries; version 1 gives at most ${most} at once: narrow it, or list in pages with version 2`]);

/**
 * All pages of a list as one. Each page becomes bytes before the next one is read, so that no more values are held than of one of
 * version 2's. Throws FAILED_PRECONDITION where there are more than `most` entries, or more bytes than clients take.
 */
export const wholeList =
  (view: ViewedMethodFact, reads: Reads["reads"], most: number): Reads["reads"] =>
  async (context) => {
    const { call, caller } = context;
    const plural = pluralOf(context.method)?.json ?? "";
    const { organization } = caller ? callingParty(caller) : strangerAt(call.origin().address);
    const records: JsonObject[] = [];
    const parts: Uint8Array[] = [];
    let [count, bytes, pageToken] = [0, 0, ""];
    do {
      const { reply } = await reads({ ...context, request: { ...context.request, pageSize: limits.pageSizeMax, pageToken } });
      const total = Number(reply.totalCount);
      const page = objectList(reply, plural);
      count += page.length;
      if (Math.max(total, count) > most) throw tooLong(Math.max(total, count), String(most));
      if (call.packing) {
        const part = call.packing.pack(replyInView(view, { [plural]: page }), organization);
        bytes += part.length;
        if (bytes > limits.wholeListBytesMax) throw tooLong(total, `${limits.wholeListBytesMax} bytes`);
        parts.push(part);
      } else records.push(...page);
      pageToken = text(reply, "nextPageToken");
    } while (pageToken !== "");
    return call.packing ? { reply: {}, parts } : { reply: { [plural]: records } };
  };

/**
 * A list of version 1 that is no view, in pieces: each becomes bytes before the next one is read. Throws FAILED_PRECONDITION where it
 * has more bytes than clients take.
 * @param total how many entries there are; more than the server gives at once are refused before any is read
 */
export const ownWholeList = async (
  { call, caller, method, services }: ReadContext,
  total: number,
  pieces: AsyncIterable<readonly JsonObject[]>,
): Promise<Outcome> => {
  if (total > services.listMax) throw tooLong(total, String(services.listMax));
  const plural = pluralOf(method)?.json ?? "";
  const { organization } = caller ? callingParty(caller) : strangerAt(call.origin().address);
  const [records, parts]: [JsonObject[], Uint8Array[]] = [[], []];
  let bytes = 0;
  for await (const piece of pieces) {
    if (!call.packing) {
      records.push(...piece);
      continue;
    }
    const part = call.packing.pack({ [plural]: [...piece] }, organization);
    bytes += part.length;
    if (bytes > limits.wholeListBytesMax) throw tooLong(total, `${limits.wholeListBytesMax} bytes`);
    parts.push(part);
  }
  return call.packing ? { reply: {}, parts } : { reply: { [plural]: records } };
};

/** A fault by the names of version 1. */
export const faultInView = (view: ViewedMethodFact, fault: Fault): Fault => {
  const { code, cause, headers, httpStatus } = fault;
  const details = fault.details.map((detail) =>
    detail.kind === "fields" ? { ...detail, violations: detail.violations.map((violation) => violationInView(view, violation)) } : detail,
  );
  const firstOf = (given: Fault["details"]): Violation | undefined => given.flatMap((detail) => (detail.kind === "fields" ? detail.violations : []))[0];
  const [before, after] = [firstOf(fault.details), firstOf(details)];
  const message =
    before && after ? fault.message.replace(`${before.field}: ${before.description}`, () => `${after.field}: ${after.description}`) : fault.message;
  return new Fault(code, message, { details, cause, headers, ...(httpStatus === undefined ? {} : { httpStatus }) });
};
