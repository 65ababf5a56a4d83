// The only error type. Each module creates faults with the functions below, and only server/transport/render.ts serializes them.
// The cause is for the log and never leaves the server.

import type { Code, Violation } from "./codes.ts";
import { limits } from "./limits.ts";

export { type Code, codes, type Violation } from "./codes.ts";

/**
 * Collects violations up to the number that a response shows; checks stop when it is full.
 * A class, because every request creates one and an object literal with a getter costs ten times as much.
 */
export class FoundViolations {
  readonly list: Violation[] = [];
  #earlier = 0;

  get isFull(): boolean {
    return this.list.length >= limits.violationsMax;
  }

  /** Adds a violation, unless an earlier step has reported this field or one of its alternatives (`instead`). */
  add(field: string, description: string, ...instead: readonly string[]): void {
    if (this.isFull) return;
    for (let index = 0; index < this.#earlier; index++) {
      const told = this.list[index]?.field ?? "";
      if (told === field || instead.includes(told)) return;
    }
    this.list.push({ field, description });
  }

  nextStep(): void {
    this.#earlier = this.list.length;
  }
}

/** Details of an error; render.ts maps each to its google.rpc type. */
export type Detail =
  | { readonly kind: "reason"; readonly reason: string; readonly metadata?: Readonly<Record<string, string>> }
  | { readonly kind: "fields"; readonly violations: readonly Violation[] }
  | { readonly kind: "precondition"; readonly violations: readonly { type: string; subject: string; description: string }[] }
  /** Documents that must be accepted first (resources: Terms). */
  | { readonly kind: "terms"; readonly missing: readonly { readonly id: string; readonly label: string; readonly url: string }[] }
  /** google.rpc.RetryInfo: when to retry the request. */
  | { readonly kind: "retry"; readonly delayMs: number }
  /** google.rpc.QuotaFailure. `subject` is what the limit applies to; `name` is the operator's name of the quota, for the log. */
  | { readonly kind: "quota"; readonly subject: string; readonly description: string; readonly name: string }
  | { readonly kind: "resource"; readonly domain: string; readonly resource: string; readonly name: string }
  | { readonly kind: "request"; readonly id: string };

interface Extras {
  readonly details?: readonly Detail[];
  readonly cause?: unknown;
  /** Response headers (gRPC: metadata) that belong to the error, such as Allow. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Only if the canonical mapping does not fit: 405, 412, 413, 415. */
  readonly httpStatus?: number;
}

export class Fault extends Error {
  readonly code: Code;
  readonly details: readonly Detail[];
  readonly headers: Readonly<Record<string, string>>;
  readonly httpStatus: number | undefined;

  constructor(code: Code, message: string, extras: Extras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = "Fault";
    this.code = code;
    this.details = extras.details ?? [];
    this.headers = extras.headers ?? {};
    this.httpStatus = extras.httpStatus;
  }
}

/** Returns INVALID_ARGUMENT. The message shows the first violation, the details all of them. */
export const invalid = (violations: readonly [Violation, ...Violation[]] | readonly Violation[]): Fault => {
  const first = violations[0];
  const message = first ? `Invalid argument: ${first.field}: ${first.description}` : "Invalid argument";
  return new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "fields", violations: violations.slice(0, limits.violationsMax) }] });
};

/** Returns NOT_FOUND with ResourceInfo. */
export const missing = (domain: string, resource: string, name: string): Fault =>
  new Fault("NOT_FOUND", `${resource} ${JSON.stringify(name)} not found`, {
    details: [{ kind: "resource", domain, resource, name }],
  });

/** Returns FAILED_PRECONDITION with PreconditionFailure; `type` is machine-readable (RESOURCE_NOT_EMPTY). */
export const blocked = (type: string, subject: string, descriptions: readonly string[]): Fault =>
  new Fault("FAILED_PRECONDITION", `Precondition failed: ${descriptions[0] ?? type}`, {
    details: [{ kind: "precondition", violations: descriptions.map((description) => ({ type, subject, description })) }],
  });

/** Returns ALREADY_EXISTS with ResourceInfo. */
export const taken = (domain: string, resource: string, name: string): Fault =>
  new Fault("ALREADY_EXISTS", `${resource} ${JSON.stringify(name)} already exists`, {
    details: [{ kind: "resource", domain, resource, name }],
  });

/** A rate or concurrency limit, as response headers describe it. */
export interface RateLimit {
  /** Letters and "-" only. */
  readonly name: string;
  readonly quota: number;
  /** The window of the quota; undefined for a limit of concurrent requests. */
  readonly windowMs?: number;
  /** The earliest time for a retry. */
  readonly retryMs: number;
}

/**
 * Returns a RESOURCE_EXHAUSTED that a retry can overcome: RetryInfo, and over REST `Retry-After` (RFC 9110 §10.2.3) with the
 * `RateLimit` fields of draft-ietf-httpapi-ratelimit-headers.
 */
export const throttled = (message: string, { name, quota, windowMs, retryMs }: RateLimit): Fault => {
  const seconds = Math.max(1, Math.ceil(retryMs / 1000));
  const unit = windowMs === undefined ? 'qu="concurrent-requests"' : `w=${Math.max(1, Math.round(windowMs / 1000))}`;
  return new Fault("RESOURCE_EXHAUSTED", message, {
    details: [
      { kind: "reason", reason: "RATE_LIMIT_EXCEEDED", metadata: { limit: name, quota: String(quota) } },
      { kind: "retry", delayMs: retryMs },
    ],
    headers: { "retry-after": String(seconds), "ratelimit-policy": `"${name}";q=${quota};${unit}`, ratelimit: `"${name}";r=0;t=${seconds}` },
  });
};

/** Returns a RESOURCE_EXHAUSTED that a retry cannot overcome: QuotaFailure alone, so that clients do not retry. */
export const quotaExceeded = (message: string, subject: string, description: string, name = ""): Fault =>
  new Fault("RESOURCE_EXHAUSTED", message, {
    details: [
      { kind: "reason", reason: "QUOTA_EXCEEDED" },
      { kind: "quota", subject, description, name },
    ],
  });

/** Returns an UNAVAILABLE that a retry can overcome: RetryInfo, and over REST `Retry-After`. */
export const unavailable = (message: string, cause: unknown, reason?: string): Fault =>
  new Fault("UNAVAILABLE", message, {
    details: [...(reason === undefined ? [] : [{ kind: "reason", reason } as const]), { kind: "retry", delayMs: 1000 }],
    headers: { "retry-after": "1" },
    cause,
  });

/** Returns PERMISSION_DENIED. The message must not depend on whether the resource exists (decisions: Access). */
export const denied = (message: string): Fault => new Fault("PERMISSION_DENIED", message);

/** Returns UNAUTHENTICATED; its 401 carries the challenge. */
export const unauthenticated = (message: string, cause?: unknown): Fault =>
  new Fault("UNAUTHENTICATED", message, { headers: { "www-authenticate": "Bearer" }, cause });

export const unimplemented = (what: string): Fault => new Fault("UNIMPLEMENTED", `${what} is not implemented`);

/** Returns INTERNAL. Only the log shows the cause. */
export const internal = (cause: unknown): Fault => new Fault("INTERNAL", "internal error", { cause });

/** Returns a thrown fault unchanged; wraps anything else as INTERNAL. */
export const toFault = (thrown: unknown): Fault => (thrown instanceof Fault ? thrown : internal(thrown));
