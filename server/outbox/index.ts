// The public entry: events, from the transaction of their change to their position in the order of all.

export { type NumberEvents, openNumbering } from "./number.ts";
export { type AuditContext, type LoggedAt, newEventId, type OutboxEvent, record, recordLast } from "./record.ts";
export { isRefusal, recordRefusals, type Refusal, refusedType, validatedOnlyType } from "./refusals.ts";
export { recordSignIn, type SignIn, signedInType } from "./sign-in.ts";
