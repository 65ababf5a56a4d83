// If-Match and If-None-Match of writes (RFC 9110, 13.1). In the OCI Distribution protocol, the ETag of a tag is the digest that it points
// to; in the API, it is that of the resource, as for every other one.

import { matchesEtag, matchesStrongEtag } from "#base/etag.ts";
import { Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";

interface WriteCondition {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

const headerIn = (request: JsonObject, field: string): string | undefined => {
  const value = request[field];
  return typeof value === "string" ? value : undefined;
};

/** Returns the condition of a request of the distribution protocol. */
export const conditionIn = (request: JsonObject): WriteCondition => ({ ifMatch: headerIn(request, "ifMatch"), ifNoneMatch: headerIn(request, "ifNoneMatch") });

export const isConditional = ({ ifMatch, ifNoneMatch }: WriteCondition): boolean => ifMatch !== undefined || ifNoneMatch !== undefined;

/** Throws ABORTED (412) unless the condition holds. `etags`: those of what exists; empty if nothing does. */
export const requireCondition = ({ ifMatch, ifNoneMatch }: WriteCondition, etags: readonly string[]): void => {
  const [etag] = etags;
  const refuse = (why: string): Fault =>
    new Fault("ABORTED", `the condition of the request does not hold: ${why}. Read it again`, {
      httpStatus: 412,
      headers: etag === undefined ? {} : { etag },
      details: [{ kind: "reason", reason: "CONDITION_NOT_MET" }],
    });
  if (ifMatch !== undefined && (etag === undefined || !matchesStrongEtag(ifMatch, etags)))
    throw refuse(etag === undefined ? "what If-Match names does not exist" : `it is ${etag} now`);
  if (ifNoneMatch !== undefined && etags.some((each) => matchesEtag(ifNoneMatch, each))) throw refuse(`it exists, as ${etag}`);
};
