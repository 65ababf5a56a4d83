// Exit statuses by kind of error, so that scripts need not parse messages. Commands of the local server (serve, import, …) use
// only 0, 1 and 2 (decisions: Command line).

import { type Code, Fault } from "#base/fault.ts";

export const exitStatus = {
  done: 0,
  failed: 1,
  partly: 2,
  declined: 3,
  notSignedIn: 4,
  denied: 5,
  notFound: 6,
  conflict: 7,
  invalid: 8,
  unavailable: 9,
  unimplemented: 10,
  found: 11,
  usage: 64,
  interrupted: 130,
  terminated: 143,
} as const;

export const exitStatusText = `Exit status: 0 success (also an empty list), 1 another failure, 2 partial success, 3 declined, or no confirmation
possible, 4 not signed in, 5 permission denied (can also mean absent), 6 not found, 7 already exists or conflict,
8 invalid values, or an ambiguous name, 9 no response, or busy, 10 not supported by the server, 11 found what
--exit-code or --fail-on checks for, 64 wrong usage, 130 and 143 stopped by a signal.`;

const statusOfCode: Readonly<Partial<Record<Code, number>>> = {
  CANCELLED: exitStatus.interrupted,
  UNAUTHENTICATED: exitStatus.notSignedIn,
  PERMISSION_DENIED: exitStatus.denied,
  NOT_FOUND: exitStatus.notFound,
  ALREADY_EXISTS: exitStatus.conflict,
  ABORTED: exitStatus.conflict,
  FAILED_PRECONDITION: exitStatus.conflict,
  INVALID_ARGUMENT: exitStatus.invalid,
  OUT_OF_RANGE: exitStatus.invalid,
  UNAVAILABLE: exitStatus.unavailable,
  DEADLINE_EXCEEDED: exitStatus.unavailable,
  RESOURCE_EXHAUSTED: exitStatus.unavailable,
  UNIMPLEMENTED: exitStatus.unimplemented,
};

const statusOfReason: Readonly<Record<string, number>> = { USAGE: exitStatus.usage, DECLINED: exitStatus.declined };

const reasoned = (code: Code, reason: string, message: string, cause?: unknown): Fault =>
  new Fault(code, message, { details: [{ kind: "reason", reason }], cause });

/** Returns an error for invalid arguments: 64. */
export const wrongUsage = (message: string, cause?: unknown): Fault => reasoned("INVALID_ARGUMENT", "USAGE", message, cause);

/** Returns an error for missing required values: 64. Each field is a path in the request. */
export const missingValues = (fields: readonly string[]): Fault =>
  new Fault("INVALID_ARGUMENT", `${fields.join(", ")} required`, {
    details: [
      { kind: "reason", reason: "USAGE" },
      { kind: "fields", violations: fields.map((field) => ({ field, description: "is required" })) },
    ],
  });

/** Returns an error for a declined or impossible confirmation: 3. */
export const declined = (message: string): Fault => reasoned("CANCELLED", "DECLINED", message);

const ownReason = (thrown: Fault): string => thrown.details.flatMap((detail) => (detail.kind === "reason" ? [detail.reason] : []))[0] ?? "";

/** Returns true for invalid arguments, found by commander or a command. */
export const isWrongUsage = (thrown: unknown): boolean => thrown instanceof Fault && ownReason(thrown) === "USAGE";

/** Returns the status of a thrown Fault or client error. */
export const exitStatusOf = (thrown: unknown): number => {
  if (thrown instanceof Fault && ownReason(thrown) in statusOfReason) return statusOfReason[ownReason(thrown)] ?? exitStatus.failed;
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return statusOfCode[code as Code] ?? exitStatus.failed;
};
