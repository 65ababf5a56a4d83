// What a failing database means to a caller: the driver's errors as Faults. Nothing above the store sees another.

import { Fault } from "#base/fault.ts";

/** The fields of the driver's errors that are read. */
interface DriverError {
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly message?: unknown;
  readonly detail?: unknown;
}

const asDriverError = (thrown: unknown): DriverError => (typeof thrown === "object" && thrown !== null ? thrown : {});

/** PostgreSQL's SQLSTATE of a driver's error; "" where it is not the server's own. */
export const sqlState = (thrown: unknown): string => {
  const { code } = asDriverError(thrown);
  // Node's own codes (EPIPE) have no digits.
  return typeof code === "string" && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : "";
};

/** The unique index or constraint that a write violated, for callers that know a better text than "already exists". */
export const violatedConstraint = (fault: unknown): string | undefined => {
  if (!(fault instanceof Fault) || sqlState(fault.cause) !== "23505") return undefined;
  const { constraint } = asDriverError(fault.cause);
  return typeof constraint === "string" ? constraint : undefined;
};

/** What PostgreSQL says besides (DETAIL); "" where it says nothing. */
export const driverDetail = (thrown: unknown): string => String(asDriverError(thrown).detail ?? "");

/** The words that a function of our own raised; "" where there are none. */
export const driverMessage = (thrown: unknown): string => String(asDriverError(thrown).message ?? "");

/** A serialization failure or a deadlock: the same transaction may well succeed the next time. */
export const lostRace = (thrown: unknown): boolean => ["40001", "40P01"].includes(sqlState(thrown));

/** The connection broke, or the server is stopping or starting. Whether the statement took effect is unknown. */
export const brokenConnection = (thrown: unknown): boolean => {
  const state = sqlState(thrown);
  if (state !== "") return /^(08|57P0[1-5])/.test(state);
  const { code, message } = asDriverError(thrown);
  if (typeof code === "string" && /^E[A-Z_]+$/.test(code)) return true;
  // The driver's own errors have a text alone (driver-internals.test.ts holds it to them).
  return typeof message === "string" && /^(Connection terminated|Client (was closed|has encountered)|timeout e)/i.test(message);
};

/** The statement was ended by its time limit. */
export const isStatementTimeout = (thrown: unknown): boolean => sqlState(thrown) === "57014";

/** The server has become a standby that takes no changes; the next connection may find the new primary. */
export const readOnly = (thrown: unknown): boolean => sqlState(thrown) === "25006";

/** A statement that the connection has forgotten or planned for a table that has changed since: plan it anew. */
export const stalePlan = (thrown: unknown): boolean => {
  const state = sqlState(thrown);
  return state === "26000" || (state === "0A000" && String(asDriverError(thrown).message).startsWith("cached plan"));
};

/** A number was divided by zero: so a statement says that it has not found the row without which its transaction may not go on (rows.ts). */
export const foundNoRow = (thrown: unknown): boolean => sqlState(thrown) === "22012";

/** UNAVAILABLE: no database answers. */
export const unreachable = (cause: unknown): Fault => new Fault("UNAVAILABLE", "the database is not reachable", { cause });

const unstorableValue = (message: string, cause: unknown): Fault => new Fault("INVALID_ARGUMENT", message, { cause });

/** The Fault for whatever a statement threw. */
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
  if (state.startsWith("53")) return new Fault("UNAVAILABLE", "the database is out of resources. Try again later", { cause });
  if (brokenConnection(thrown)) return unreachable(cause);
  return new Fault("INTERNAL", "internal error", { cause });
};
