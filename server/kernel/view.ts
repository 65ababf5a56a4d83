// How version 1 differs from version 2, apart from names: lists are complete, and errors use its own field names.

import { blocked, Fault, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { ViewedMethodFact } from "#contract/facts.ts";
import { replyInView, violationInView } from "#contract/views.ts";
import type { Outcome, ReadContext, Reads } from "./context.ts";
import { pluralOf } from "./paging.ts";
import { keyForCaller, keyForAddress } from "./fairness-keys.ts";

export const isWholeList = ({ input, view }: ViewedMethodFact): boolean => view.of.input.byName.has("page_token") && !input.byName.has("page_token");

const tooLong = (count: number, most: string): Fault =>
  blocked("LIST_TOO_LONG", "", [`the list has ${count} entries; version 1 gives at most ${most} at once: narrow it, or list in pages with version 2`]);

/**
 * Joins all pages of a list. Encodes each page before it reads the next one, so that memory holds the values of one page only.
 * Throws FAILED_PRECONDITION for more than `most` entries, or more bytes than clients accept.
 */
export const wholeList =
  (view: ViewedMethodFact, reads: Reads["reads"], most: number): Reads["reads"] =>
  async (context) => {
    const { call, caller } = context;
    const plural = pluralOf(context.method)?.json ?? "";
    const { organization } = caller ? keyForCaller(caller) : keyForAddress(call.origin().address);
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
 * Returns a version 1 list that is not a view, encoded piece by piece. Throws FAILED_PRECONDITION for more bytes than clients
 * accept.
 * @param total number of entries; rejected before any is read if above the maximum
 */
export const ownWholeList = async (
  { call, caller, method, services }: ReadContext,
  total: number,
  pieces: AsyncIterable<readonly JsonObject[]>,
): Promise<Outcome> => {
  if (total > services.listMax) throw tooLong(total, String(services.listMax));
  const plural = pluralOf(method)?.json ?? "";
  const { organization } = caller ? keyForCaller(caller) : keyForAddress(call.origin().address);
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
