// The codes of google.rpc.Code and field violations, shared by server and clients. Separate from Fault, so that a client loads
// only this.

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

/** An invalid field and the reason. `field` is the path in JSON names. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}
