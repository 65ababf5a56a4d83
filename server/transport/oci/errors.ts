// The only place that turns a Fault into an error of the OCI Distribution protocol: its codes, its body, and the challenge that
// tells a client where to get a token (oci: 2, 4).

import type { Code, Fault } from "#base/fault.ts";
import type { HttpResponse } from "../http-message.ts";
import { httpStatusOf } from "../render.ts";

/** Codes that operations name themselves (details: reason). */
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

/** Which code a wrong field of the request has. */
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
};

interface ProtocolError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
}

/** A quota does not pass by waiting; 429 would make clients try again. */
const isQuota = ({ details }: Fault): boolean => details.some((detail) => detail.kind === "reason" && detail.reason === "QUOTA_EXCEEDED");

const errorsOf = (fault: Fault): readonly ProtocolError[] => {
  const { details, message } = fault;
  const reason = details.find((detail) => detail.kind === "reason");
  const fields = details.find((detail) => detail.kind === "fields");
  const named = reason && protocolCodes.has(reason.reason) ? reason.reason : undefined;
  // One entry for each thing that is missing.
  if (named && fields) return fields.violations.map(({ field, description }) => ({ code: named, message: description, detail: field }));
  if (named) return [{ code: named, message }];
  if (fields) return fields.violations.map(({ field, description }) => ({ code: fieldCodes[field] ?? "UNSUPPORTED", message: description }));
  return [{ code: isQuota(fault) ? "DENIED" : (codesOfFaults[fault.code] ?? "UNKNOWN"), message }];
};

const protocolStatusOf = (fault: Fault): number =>
  isQuota(fault) || (fault.code === "FAILED_PRECONDITION" && fault.httpStatus === undefined) ? 403 : httpStatusOf(fault);

/** What a client that asks for a token is told to ask for. */
export interface Challenge {
  /** The address of the token endpoint. */
  readonly realm: string;
  readonly service: string;
  /** The scopes that the operation needs (scope.ts). */
  readonly scopes: readonly string[];
  /** It came with a token, which was not good enough. */
  readonly hadToken: boolean;
}

const isInsufficientScope = ({ details }: Fault): boolean => details.some((detail) => detail.kind === "reason" && detail.reason === "INSUFFICIENT_SCOPE");

const challengeText = ({ realm, service, scopes, hadToken }: Challenge, fault: Fault): string =>
  [
    `Bearer realm="${realm}"`,
    `service="${service}"`,
    // An empty name breaks clients: then there is no scope at all (oci: 4).
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    // Without it containerd goes on with a token that has expired, or that permits too little.
    ...(isInsufficientScope(fault) ? ['error="insufficient_scope"'] : hadToken ? ['error="invalid_token"'] : []),
  ].join(",");

/** The answer to a request that failed. `headers`: what every answer carries. */
export const distributionError = (fault: Fault, challenge: Challenge, headers: readonly string[]): HttpResponse => {
  const status = protocolStatusOf(fault);
  const own = Object.entries(fault.headers)
    .filter(([name]) => name !== "www-authenticate")
    .flat();
  const asking = status === 401 ? ["www-authenticate", challengeText(challenge, fault)] : [];
  return { status, headers: ["content-type", "application/json", ...headers, ...own, ...asking], body: JSON.stringify({ errors: errorsOf(fault) }) };
};
