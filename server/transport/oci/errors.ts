// Converts a Fault to an error of the OCI Distribution protocol: codes, body, and the challenge that directs clients to the token
// endpoint (oci: 2, 4).

import type { Code, Fault } from "#base/fault.ts";
import type { HttpResponse } from "../http-message.ts";
import { httpStatusOf } from "../render.ts";

/** Codes that operations set themselves (details: reason). */
const protocolCodes: ReadonlySet<string> = new Set([
  "BLOB_UNKNOWN",
  "BLOB_UPLOAD_INVALID",
  "BLOB_UPLOAD_UNKNOWN",
  "DENIED",
  "DIGEST_INVALID",
  "MANIFEST_BLOB_UNKNOWN",
  "MANIFEST_INVALID",
  "MANIFEST_UNKNOWN",
  "NAME_INVALID",
  "NAME_UNKNOWN",
  "PAGINATION_NUMBER_INVALID",
  "RANGE_INVALID",
  "SIZE_INVALID",
  "TAG_INVALID",
  "UNSUPPORTED",
]);

const fieldCodes: Readonly<Record<string, string>> = {
  repo: "NAME_INVALID",
  tag: "TAG_INVALID",
  digest: "DIGEST_INVALID",
  n: "PAGINATION_NUMBER_INVALID",
};

const codesOfFaults: Partial<Record<Code, string>> = {
  UNAUTHENTICATED: "UNAUTHORIZED",
  PERMISSION_DENIED: "DENIED",
  NOT_FOUND: "NAME_UNKNOWN",
  RESOURCE_EXHAUSTED: "TOOMANYREQUESTS",
  UNIMPLEMENTED: "UNSUPPORTED",
  UNAVAILABLE: "UNAVAILABLE",
  FAILED_PRECONDITION: "DENIED",
  ABORTED: "DENIED",
};

interface ProtocolError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
}

/** Waiting does not free a quota; 429 would make clients retry. */
const isQuota = ({ details }: Fault): boolean => details.some((detail) => detail.kind === "reason" && detail.reason === "QUOTA_EXCEEDED");

const errorsOf = (fault: Fault): readonly ProtocolError[] => {
  const { details, message } = fault;
  const reason = details.find((detail) => detail.kind === "reason");
  const fields = details.find((detail) => detail.kind === "fields");
  const named = reason && protocolCodes.has(reason.reason) ? reason.reason : undefined;
  // One entry per missing item.
  if (named && fields) return fields.violations.map(({ field, description }) => ({ code: named, message: description, detail: field }));
  if (named) return [{ code: named, message }];
  if (fields) return fields.violations.map(({ field, description }) => ({ code: fieldCodes[field] ?? "UNSUPPORTED", message: description }));
  return [{ code: isQuota(fault) ? "DENIED" : (codesOfFaults[fault.code] ?? "UNKNOWN"), message }];
};

const protocolStatusOf = (fault: Fault): number =>
  isQuota(fault) || (fault.code === "FAILED_PRECONDITION" && fault.httpStatus === undefined) ? 403 : httpStatusOf(fault);

/** The challenge for a client that needs a token. */
export interface Challenge {
  readonly realm: string;
  readonly service: string;
  /** Scopes that the operation needs (scope.ts). */
  readonly scopes: readonly string[];
  /** The request had a token, which was insufficient. */
  readonly hadToken: boolean;
}

const isInsufficientScope = ({ details }: Fault): boolean => details.some((detail) => detail.kind === "reason" && detail.reason === "INSUFFICIENT_SCOPE");

const challengeText = ({ realm, service, scopes, hadToken }: Challenge, fault: Fault): string =>
  [
    `Bearer realm="${realm}"`,
    `service="${service}"`,
    // Clients fail on an empty name, so omit the scope (oci: 4).
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    // Otherwise containerd keeps using an expired or insufficient token.
    ...(isInsufficientScope(fault) ? ['error="insufficient_scope"'] : hadToken ? ['error="invalid_token"'] : []),
  ].join(",");

/** Returns the response to a failed request. `headers`: headers of every response. */
export const distributionError = (fault: Fault, challenge: Challenge, headers: readonly string[]): HttpResponse => {
  const status = protocolStatusOf(fault);
  const own = Object.entries(fault.headers)
    .filter(([name]) => name !== "www-authenticate")
    .flat();
  const asking = status === 401 ? ["www-authenticate", challengeText(challenge, fault)] : [];
  return { status, headers: ["content-type", "application/json", ...headers, ...own, ...asking], body: JSON.stringify({ errors: errorsOf(fault) }) };
};
