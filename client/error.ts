// The only error type of the client: an error of the server (AIP-193), or the reason why there was no response.

import { type Code, codes, type Violation } from "#base/codes.ts";
import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";

/** The server's reasons that are more specific than the code. */
export const serverReasons = ["CONDITION_NOT_MET", "MANIFEST_BLOB_UNKNOWN", "NAME_INVALID", "QUOTA_EXCEEDED", "RATE_LIMIT_EXCEEDED", "SIZE_INVALID"] as const;

/** Reasons of the client itself. */
type ClientReason = "ANSWER_LOST" | "ANSWER_TOO_LARGE" | "NO_CONNECTION" | "NO_TOKEN" | "NOT_GANTRY" | "PAGE_RESTARTED" | "REDIRECTED" | "TIME_LIMIT";

export type Reason = Code | (typeof serverReasons)[number] | ClientReason;

/** A typed detail in proto JSON. */
export interface ErrorDetail extends JsonObject {
  readonly "@type": string;
}

export interface ApiErrorOptions {
  readonly reason?: Reason;
  readonly details?: readonly JsonObject[];
  readonly requestId?: string | undefined;
  readonly httpStatus?: number | undefined;
  /** From the Retry-After header, if there is no detail. */
  readonly retryDelayMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

const isDetail = (detail: JsonObject): detail is ErrorDetail => typeof detail["@type"] === "string";

const durationMs = (duration: string): number | undefined => (/^\d{1,9}(?:\.\d{1,9})?s$/.test(duration) ? Number.parseFloat(duration) * 1000 : undefined);

/**
 * Why a call failed. `code` and `reason` are for programs, `message` is for people.
 *
 * @example
 * ```ts
 * try {
 *   await gantry.iam.groups.create({ parent: "GROUP_UID", group: { name: "team" } });
 * } catch (error) {
 *   if (!(error instanceof ApiError)) throw error;
 *   if (error.code === "ALREADY_EXISTS") console.log("It is there.");
 *   else if (error.is("QUOTA_EXCEEDED")) console.error("The organization is full.");
 *   else for (const { field, description } of error.violations) console.error(`${field}: ${description}`);
 * }
 * ```
 */
export class ApiError extends Error {
  readonly code: Code;
  /** The exact kind of failure, or the code. A newer server can have reasons that this client does not list. */
  readonly reason: Reason | (string & {});
  /** All details, as in the response. */
  readonly details: readonly ErrorDetail[];
  /** The fields that are invalid, by their JSON paths. */
  readonly violations: readonly Violation[];
  /** How long to wait before a retry; undefined if the server does not say. */
  readonly retryDelayMs: number | undefined;
  /** The ID of the request in the server's log. */
  readonly requestId: string | undefined;
  /** Undefined over gRPC, and if there was no response. */
  readonly httpStatus: number | undefined;
  /** Headers or metadata of the response, in lower case. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: Code, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ApiError";
    this.code = code;
    this.details = (options.details ?? []).filter(isDetail);
    this.reason = options.reason ?? (text(this.#detail("google.rpc.ErrorInfo"), "reason") || code);
    this.violations = objectList(this.#detail("google.rpc.BadRequest"), "fieldViolations").map((violation) => ({
      field: text(violation, "field"),
      description: text(violation, "description"),
    }));
    this.retryDelayMs = durationMs(text(this.#detail("google.rpc.RetryInfo"), "retryDelay")) ?? options.retryDelayMs;
    this.requestId = options.requestId ?? (text(this.#detail("google.rpc.RequestInfo"), "requestId") || undefined);
    this.httpStatus = options.httpStatus;
    this.headers = options.headers ?? {};
  }

  /**
   * The metadata of the reason, such as the name of a limit.
   *
   * @example
   * ```ts
   * if (error instanceof ApiError) console.error(error.message, error.metadata);
   * ```
   */
  get metadata(): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(part(this.#detail("google.rpc.ErrorInfo"), "metadata")).map(([key, value]) => [key, String(value)]));
  }

  /**
   * Reports whether this is the reason.
   *
   * @example
   * ```ts
   * if (error instanceof ApiError && error.is("NOT_FOUND")) return undefined;
   * ```
   */
  is(reason: Reason): boolean {
    return this.reason === reason;
  }

  /**
   * The details of one type.
   *
   * @example
   * ```ts
   * if (error instanceof ApiError) console.error(error.detailsOf("google.rpc.QuotaFailure"));
   * ```
   */
  detailsOf(type: string): ErrorDetail[] {
    return this.details.filter((detail) => detail["@type"].endsWith(`/${type}`));
  }

  #detail(name: string): JsonObject {
    return this.detailsOf(name)[0] ?? {};
  }
}

const codeNames = new Map(Object.entries(codes).map(([name, number]) => [number as number, name as Code]));

/** Returns the code of this number; UNKNOWN if there is none (google.rpc.Code). */
export const codeOfNumber = (number: number): Code => codeNames.get(number) ?? "UNKNOWN";

/** Returns the code for a status without a readable body, as from a proxy. */
const codeOfStatus = (status: number): Code => {
  const known: Readonly<Partial<Record<number, Code>>> = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "UNAVAILABLE",
  };
  return known[status] ?? "UNKNOWN";
};

/** RFC 9110 §10.2.3: seconds, or a date. */
const retryAfterMs = (value: string | undefined, nowMs: number): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const at = /^[A-Z][a-z]{2}, .* GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(at - nowMs, 0);
};

export interface HttpRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, if it is a JSON object. */
  readonly body: Json | undefined;
  readonly nowMs: number;
}

/** Returns the error of a REST response. */
export const errorOfHttp = ({ status, headers, body, nowMs }: HttpRefusal): ApiError => {
  const shared = { requestId: headers["x-request-id"], httpStatus: status, retryDelayMs: retryAfterMs(headers["retry-after"], nowMs), headers };
  if (status === 0 || (status >= 300 && status < 400))
    return new ApiError("UNKNOWN", "the server returned a redirect, which is not followed", { ...shared, reason: "REDIRECTED" });
  if (isObject(body) && typeof body.code === "number" && typeof body.message === "string")
    return new ApiError(codeOfNumber(body.code), body.message, { ...shared, details: objectList(body, "details") });
  return new ApiError(codeOfStatus(status), `the address is not a Gantry server (HTTP ${status})`, {
    ...shared,
    reason: "NOT_GANTRY",
  });
};
