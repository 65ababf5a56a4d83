// Entry point: events, from their change's transaction to their position.

export { type NumberEvents, openNumbering } from "./number.ts";
export { type AuditContext, type LoggedAt, newEventId, type OutboxEvent, record, recordLast } from "./record.ts";
export { isRefusal, recordRefusals, type Refusal, refusedType, validatedOnlyType } from "./refusals.ts";
export { recordSignIn, type SignIn, signedInType } from "./sign-in.ts";
