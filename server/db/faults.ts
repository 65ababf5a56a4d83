// Maps the driver's errors to Faults, the only database errors above the store.

import { Fault, unavailable } from "#base/fault.ts";

interface DriverError {
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly message?: unknown;
  readonly detail?: unknown;
}

const asDriverError = (thrown: unknown): DriverError => (typeof thrown === "object" && thrown !== null ? thrown : {});

/** Returns the SQLSTATE; empty for errors from elsewhere. */
export const sqlState = (thrown: unknown): string => {
  const { code } = asDriverError(thrown);
  // Node's codes (EPIPE) have no digits.
  return typeof code === "string" && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : "";
};

/** Returns the violated unique constraint, for better messages. */
export const violatedConstraint = (fault: unknown): string | undefined => {
  if (!(fault instanceof Fault) || sqlState(fault.cause) !== "23505") return undefined;
  const { constraint } = asDriverError(fault.cause);
  return typeof constraint === "string" ? constraint : undefined;
};

/** Returns DETAIL; empty if absent. */
export const driverDetail = (thrown: unknown): string => String(asDriverError(thrown).detail ?? "");

/** Returns the message, for errors that our SQL functions raise. */
export const driverMessage = (thrown: unknown): string => String(asDriverError(thrown).message ?? "");

/** A serialization failure or deadlock; a retry may succeed. */
export const lostRace = (thrown: unknown): boolean => ["40001", "40P01"].includes(sqlState(thrown));

/** The connection broke, or the server is stopping or starting. The statement may or may not have taken effect. */
export const brokenConnection = (thrown: unknown): boolean => {
  const state = sqlState(thrown);
  if (state !== "") return /^(08|57P0[1-5])/.test(state);
  const { code, message } = asDriverError(thrown);
  if (typeof code === "string" && /^E[A-Z_]+$/.test(code)) return true;
  // The driver's own errors have only a text (driver-internals.test.ts).
  return typeof message === "string" && /^(Connection terminated|Client (was closed|has encountered)|timeout e)/i.test(message);
};

export const isStatementTimeout = (thrown: unknown): boolean => sqlState(thrown) === "57014";

/** The server is now a standby; a new connection may reach the new primary. */
export const readOnly = (thrown: unknown): boolean => sqlState(thrown) === "25006";

/** The connection lost the prepared statement, or its table changed: prepare it again. */
export const stalePlan = (thrown: unknown): boolean => {
  const state = sqlState(thrown);
  return state === "26000" || (state === "0A000" && String(asDriverError(thrown).message).startsWith("cached plan"));
};

/** Division by zero signals a missing required row (rows.ts). */
export const foundNoRow = (thrown: unknown): boolean => sqlState(thrown) === "22012";

export const unreachable = (cause: unknown): Fault => unavailable("the database is not reachable", cause);

const unknownReason = "OUTCOME_UNKNOWN";

/** The connection broke after the commit was sent, so the change may be durable. */
export const outcomeUnknown = (cause: unknown): Fault =>
  unavailable(
    "the database did not confirm the change, which may have been made or not. Repeat the request with the same Idempotency-Key, or read the resource",
    cause,
    unknownReason,
  );

export const isOutcomeUnknown = (thrown: unknown): boolean =>
  thrown instanceof Fault && thrown.details.some((detail) => detail.kind === "reason" && detail.reason === unknownReason);

const unstorableValue = (message: string, cause: unknown): Fault => new Fault("INVALID_ARGUMENT", message, { cause });

export const databaseFault = (thrown: unknown): Fault => {
  if (thrown instanceof Fault) return thrown;
  const cause = thrown;
  const state = sqlState(thrown);
  if (state === "23505") return new Fault("ALREADY_EXISTS", "already exists", { cause });
  if (lostRace(thrown)) return new Fault("ABORTED", "the change conflicts with a concurrent change. Try again", { cause });
  if (state === "55P03") return new Fault("ABORTED", "a concurrent change holds a lock that this one needs. Try again", { cause });
  if (isStatementTimeout(thrown)) return new Fault("DEADLINE_EXCEEDED", "the database took too long", { cause });
  if (state === "25P03") return new Fault("DEADLINE_EXCEEDED", "the change took too long", { cause });
  if (state === "22021" || state === "22P05" || (state === "22P02" && / type jsonb?/.test(String(asDriverError(thrown).message)))) {
    return unstorableValue("Invalid argument: a text contains a character that cannot be stored (such as U+0000)", cause);
  }
  if (state === "22003" || state === "22008") return unstorableValue("Invalid argument: a value is out of the range that can be stored", cause);
  if (state.startsWith("54")) return unstorableValue("Invalid argument: a value is too long to be stored", cause);
  if (state.startsWith("53")) return unavailable("the database is out of resources. Try again later", cause);
  if (brokenConnection(thrown)) return unreachable(cause);
  return new Fault("INTERNAL", "internal error", { cause });
};
