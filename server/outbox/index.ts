// The face of the room: what shall be told.

export { type Circumstances, eventOrder, newEventId, type Occurrence, record } from "./record.ts";
export { isRefusal, recordRefusals, type Refusal, refusedType } from "./refusals.ts";
export { recordSignIn, type SignIn, signedInType } from "./sign-in.ts";
