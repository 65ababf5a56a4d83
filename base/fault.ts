// The one error type. Modules make faults at their own edge with the functions below; server/transport/render.ts
// is the only file that turns one into bytes. A cause is for the log and never leaves the server.

import type { Code, Violation } from "./codes.ts";
import { limits } from "./limits.ts";

export { type Code, codes, type Violation } from "./codes.ts";

/**
 * Violations as they are found, up to as many as an answer shows; who looks for them stops when it is full. A class: every
 * request makes one, and an object literal with a getter costs ten times as much.
 */
export class FoundViolations {
  readonly list: Violation[] = [];
  #earlier = 0;

  get isFull(): boolean {
    return this.list.length >= limits.violationsMax;
  }

  /** Of a field of which a step before has told, nothing more is told; nor where it has told of another that would do instead. */
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
  /** Documents that have to be accepted first (resources: Terms). */
  | { readonly kind: "terms"; readonly missing: readonly { readonly id: string; readonly label: string; readonly url: string }[] }
  /** google.rpc.RetryInfo: when the same call is worth another try. */
  | { readonly kind: "retry"; readonly delayMs: number }
  /** google.rpc.QuotaFailure: `subject` is what the limit is of. `name`: what the operator calls the quota, for the log. */
  | { readonly kind: "quota"; readonly subject: string; readonly description: string; readonly name: string }
  /** `domain` is the short one ("iam"), `resource` the message's name ("Group"). */
  | { readonly kind: "resource"; readonly domain: string; readonly resource: string; readonly name: string }
  | { readonly kind: "request"; readonly id: string };

interface Extras {
  readonly details?: readonly Detail[];
  readonly cause?: unknown;
  /** Answer headers (gRPC: metadata) that belong to the error, such as Allow. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Only where the canonical mapping does not fit: 405, 412, 413, 415. */
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

/** INVALID_ARGUMENT. The message shows the first violation, the details all (requirement: Error body). */
export const invalid = (violations: readonly [Violation, ...Violation[]] | readonly Violation[]): Fault => {
  const first = violations[0];
  const message = first ? `Invalid argument: ${first.field}: ${first.description}` : "Invalid argument";
  return new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "fields", violations: violations.slice(0, limits.violationsMax) }] });
};

/** NOT_FOUND with ResourceInfo. */
export const missing = (domain: string, resource: string, name: string): Fault =>
  new Fault("NOT_FOUND", `${resource} ${JSON.stringify(name)} not found`, {
    details: [{ kind: "resource", domain, resource, name }],
  });

/** FAILED_PRECONDITION with PreconditionFailure; `type` is the machine-readable kind (RESOURCE_NOT_EMPTY). */
export const blocked = (type: string, subject: string, descriptions: readonly string[]): Fault =>
  new Fault("FAILED_PRECONDITION", `Precondition failed: ${descriptions[0] ?? type}`, {
    details: [{ kind: "precondition", violations: descriptions.map((description) => ({ type, subject, description })) }],
  });

/** ALREADY_EXISTS with ResourceInfo. */
export const taken = (domain: string, resource: string, name: string): Fault =>
  new Fault("ALREADY_EXISTS", `${resource} ${JSON.stringify(name)} already exists`, {
    details: [{ kind: "resource", domain, resource, name }],
  });

/** A limit of how much at a time or in a time, as the operator and the headers name it. */
export interface RateLimit {
  /** Letters and "-" alone. */
  readonly name: string;
  readonly quota: number;
  /** The time for which the quota holds; absent: requests at a time. */
  readonly windowMs?: number;
  /** The earliest time for a retry. */
  readonly retryMs: number;
}

/**
 * RESOURCE_EXHAUSTED that passes by waiting: RetryInfo, and over REST `Retry-After` (RFC 9110, 10.2.3) with the `RateLimit`
 * fields of draft-ietf-httpapi-ratelimit-headers.
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

/** RESOURCE_EXHAUSTED that does not pass by waiting: QuotaFailure alone, so that clients do not try again in vain. */
export const quotaExceeded = (message: string, subject: string, description: string, name = ""): Fault =>
  new Fault("RESOURCE_EXHAUSTED", message, {
    details: [
      { kind: "reason", reason: "QUOTA_EXCEEDED" },
      { kind: "quota", subject, description, name },
    ],
  });

/** PERMISSION_DENIED. The text must not depend on whether the resource exists (decisions: Access). */
export const denied = (message: string): Fault => new Fault("PERMISSION_DENIED", message);

/** UNAUTHENTICATED; 401 carries the challenge. */
export const unauthenticated = (message: string, cause?: unknown): Fault =>
  new Fault("UNAUTHENTICATED", message, { headers: { "www-authenticate": "Bearer" }, cause });

/** UNIMPLEMENTED. */
export const unimplemented = (what: string): Fault => new Fault("UNIMPLEMENTED", `${what} is not implemented`);

/** INTERNAL: our own error. Its cause goes to the log only. */
export const internal = (cause: unknown): Fault => new Fault("INTERNAL", "internal error", { cause });

/** Whatever was thrown as a fault: a fault as it is, anything else as INTERNAL. */
export const toFault = (thrown: unknown): Fault => (thrown instanceof Fault ? thrown : internal(thrown));
