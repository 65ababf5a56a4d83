// The face of the room: what shall be told.

export { type AuditContext, eventOrder, newEventId, type OutboxEvent, record } from "./record.ts";
export { isRefusal, recordRefusals, type Refusal, refusedType } from "./refusals.ts";
export { recordSignIn, type SignIn, signedInType } from "./sign-in.ts";
