// What version 1 does otherwise than version 2 besides names: lists come whole, and errors name its own fields.

import { blocked, Fault, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { ViewedMethodFact } from "#contract/facts.ts";
import { violationInView } from "#contract/views.ts";
import type { Reads } from "./context.ts";
import { pluralOf } from "./paging.ts";

/** True for a list that version 2 gives in pages and version 1 as a whole. */
export const isWholeList = ({ input, view }: ViewedMethodFact): boolean => view.of.input.byName.has("page_token") && !input.byName.has("page_token");

const tooLong = (count: number, most: number): Fault =>
  blocked("LIST_TOO_LONG", "", [`the list has ${count} entries, and version 1 gives at most ${most} at once; narrow it, or list in pages with version 2`]);

/**
 * All pages of a list as one (v1: List). Pages are small, so that no statement holds more rows than one of version 2's.
 * Throws FAILED_PRECONDITION where there are more than `most`.
 */
export const wholeList =
  (reads: Reads["reads"], most: number): Reads["reads"] =>
  async (context) => {
    const plural = pluralOf(context.method)?.json ?? "";
    const records: JsonObject[] = [];
    for (let pageToken = ""; ; ) {
      const { reply } = await reads({ ...context, request: { ...context.request, pageSize: limits.pageSizeMax, pageToken } });
      if (Number(reply.totalCount) > most) throw tooLong(Number(reply.totalCount), most);
      records.push(...objectList(reply, plural));
      if (records.length > most) throw tooLong(records.length, most);
      pageToken = text(reply, "nextPageToken");
      if (pageToken === "") return { reply: { ...reply, [plural]: records } };
    }
  };

/** A fault by the names of version 1. */
export const faultInView = (view: ViewedMethodFact, fault: Fault): Fault => {
  const details = fault.details.map((detail) =>
    detail.kind === "fields" ? { ...detail, violations: detail.violations.map((violation) => violationInView(view, violation)) } : detail,
  );
  const fields = (given: Fault["details"]): readonly Violation[] => given.flatMap((detail) => (detail.kind === "fields" ? detail.violations : []));
  const [before] = fields(fault.details);
  const [first] = fields(details);
  const message = before && first ? fault.message.replace(`${before.field}: ${before.description}`, () => `${first.field}: ${first.description}`) : fault.message;
  return new Fault(fault.code, message, { details, cause: fault.cause, headers: fault.headers, ...(fault.httpStatus === undefined ? {} : { httpStatus: fault.httpStatus }) });
};
