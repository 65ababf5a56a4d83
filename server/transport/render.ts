// The only place that converts a Fault to text: AIP-193 for REST, RFC 6749 for OAuth, and RFC 7644 for SCIM; grpc-errors.ts encodes
// the same details for gRPC. The cause of a fault is logged, never returned.
//
// requirement: Errors. ErrorInfo is the first detail of every error (decisions: Errors).

import { type Code, codes, type Detail, type Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import { oauthServerErrorOf } from "#base/oauth-error.ts";
import { domains } from "#contract/catalog.ts";

export interface ErrorContext {
  /** Short domain ("iam"). */
  readonly domain: string;
  readonly serviceDomain: string;
  readonly requestId: string;
  /** Version 1 has no typed details. */
  readonly isVersion1?: boolean;
}

/** Domain of errors outside of all domains, such as unknown paths: the name shared by all gRPC packages. */
export const platformDomain = "platform";

/** Returns the first segment of a path if it is a domain. */
export const domainOfPath = (path: string): string => {
  const segment = path.slice(1, path.indexOf("/", 1) < 0 ? undefined : path.indexOf("/", 1));
  return domains.has(segment) ? segment : platformDomain;
};

/** The mapping of google.rpc.Code (comments in code.proto). */
const httpStatuses: Readonly<Record<Code, number>> = {
  CANCELLED: 499,
  UNKNOWN: 500,
  INVALID_ARGUMENT: 400,
  DEADLINE_EXCEEDED: 504,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  FAILED_PRECONDITION: 400,
  ABORTED: 409,
  OUT_OF_RANGE: 400,
  UNIMPLEMENTED: 501,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DATA_LOSS: 500,
  UNAUTHENTICATED: 401,
};

export const httpStatusOf = (fault: Fault): number => fault.httpStatus ?? httpStatuses[fault.code];

/** Faults of the server: they have the request ID and are logged with their cause. */
const internalCodes: ReadonlySet<Code> = new Set(["INTERNAL", "UNKNOWN", "DATA_LOSS"]);

const jsonDetailOf = (context: ErrorContext, detail: Exclude<Detail, { kind: "reason" }>): JsonObject => {
  switch (detail.kind) {
    case "fields":
      return {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: detail.violations.map(({ field, description }) => ({ field, description })),
      };
    case "precondition":
      return {
        "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
        violations: detail.violations.map(({ type, subject, description }) => (subject ? { type, subject, description } : { type, description })),
      };
    case "resource":
      return {
        "@type": "type.googleapis.com/google.rpc.ResourceInfo",
        resourceType: `${detail.domain}.${context.serviceDomain}/${detail.resource}`,
        resourceName: detail.name,
      };
    case "terms":
      return {
        "@type": "type.googleapis.com/chainguard.platform.iam.v2.TermsNotAcceptedDetail",
        missing: detail.missing.map(({ id, label, url }) => ({ id, label, url })),
      };
    case "retry":
      return { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${(detail.delayMs / 1000).toFixed(3)}s` };
    case "quota":
      return { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ subject: detail.subject, description: detail.description }] };
    case "request":
      return { "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId: detail.id };
  }
};

/** Returns the only detail that version 1 has a message for. */
const jsonDetailsInView = (fault: Fault, context: ErrorContext): JsonObject[] =>
  fault.details.flatMap((detail) =>
    detail.kind === "terms" ? [{ ...jsonDetailOf(context, detail), "@type": "type.googleapis.com/chainguard.platform.iam.TermsNotAcceptedDetail" }] : [],
  );

/** Returns all details in proto JSON, for both protocols. */
export const jsonDetailsOf = (fault: Fault, context: ErrorContext): JsonObject[] => {
  if (context.isVersion1) return jsonDetailsInView(fault, context);
  const reason = fault.details.find((detail) => detail.kind === "reason");
  const info: JsonObject = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: reason?.reason ?? fault.code,
    domain: `${context.domain}.${context.serviceDomain}`,
    ...(reason?.metadata ? { metadata: { ...reason.metadata } } : {}),
  };
  const details = [info];
  for (const detail of fault.details) if (detail.kind !== "reason") details.push(jsonDetailOf(context, detail));
  if (internalCodes.has(fault.code) && !fault.details.some((detail) => detail.kind === "request")) {
    details.push(jsonDetailOf(context, { kind: "request", id: context.requestId }));
  }
  return details;
};

/** Returns the AIP-193 body. */
export const errorBody = (fault: Fault, context: ErrorContext): string =>
  JSON.stringify({ code: codes[fault.code], message: fault.message, details: jsonDetailsOf(fault, context) });

/** Returns the fault's headers; 401 always has a challenge (RFC 9110, 11.6.1). */
export const errorHeaders = (fault: Fault): string[] => {
  const headers = Object.entries(fault.headers).flat();
  if (httpStatusOf(fault) === 401 && fault.headers["www-authenticate"] === undefined) headers.push("www-authenticate", "Bearer");
  return headers;
};

const oauthErrors: ReadonlySet<string> = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target",
  // RFC 8628, 3.5.
  "authorization_pending",
  "slow_down",
  "access_denied",
  "expired_token",
]);

const oauthErrorOf = (fault: Fault): string => {
  const reason = fault.details.find((detail) => detail.kind === "reason")?.reason ?? "";
  if (oauthErrors.has(reason)) return reason;
  if (fault.code === "UNIMPLEMENTED") return "unsupported_grant_type";
  // RFC 8693, 2.2.2: a token that is invalid for any reason, or unacceptable by policy, is an invalid request.
  return oauthServerErrorOf(fault.code) ?? "invalid_request";
};

/** RFC 6749, 5.2: returns status and body of a token endpoint's error. */
export const oauthError = (fault: Fault): { status: number; body: string } => {
  const error = oauthErrorOf(fault);
  const canonical = httpStatusOf(fault);
  const status =
    error === "invalid_client"
      ? 401
      : canonical >= 500 && error !== "unsupported_grant_type"
        ? canonical
        : [413, 415, 429].includes(canonical)
          ? canonical
          : 400;
  return { status, body: JSON.stringify({ error, error_description: fault.message }) };
};

/** RFC 7644, 3.12: types that operations set themselves (details: reason). */
const scimTypes: ReadonlySet<string> = new Set(["invalidFilter", "invalidPath", "invalidValue", "mutability", "noTarget", "tooMany", "uniqueness"]);

const scimTypeOf = ({ code, details }: Fault, status: number): string | undefined => {
  const reason = details.find((detail) => detail.kind === "reason")?.reason ?? "";
  if (scimTypes.has(reason)) return reason;
  if (code === "ALREADY_EXISTS") return "uniqueness";
  if (code !== "INVALID_ARGUMENT" || status !== 400) return undefined;
  const fields = details.find((detail) => detail.kind === "fields");
  return fields?.violations.some(({ field }) => field === "body") ? "invalidSyntax" : "invalidValue";
};

/** RFC 7644, 3.12: returns status and body of a SCIM error. */
export const scimError = (fault: Fault): { status: number; body: string } => {
  const status = httpStatusOf(fault);
  const scimType = scimTypeOf(fault, status);
  const error = { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], status: String(status), ...(scimType ? { scimType } : {}), detail: fault.message };
  return { status, body: JSON.stringify(error) };
};

/** Logs an internal fault with its cause, which responses omit. */
export const logFault = (log: Log, fault: Fault, context: ErrorContext, name: string): void => {
  if (!internalCodes.has(fault.code)) return;
  log("fault", { requestId: context.requestId, call: name, code: fault.code, message: fault.message, cause: fault.cause ?? fault });
};
