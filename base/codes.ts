// The codes of google.rpc.Code, and a field that cannot be accepted: what the server and its clients say of a failure. Apart from the
// error itself, so that a client loads nothing else.

/** Canonical codes of google.rpc.Code by name. */
export const codes = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;
export type Code = keyof typeof codes;

/** One field that cannot be accepted, and why. `field` is the path in the body's own JSON names. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}
