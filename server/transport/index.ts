// The face of the room: opening the doors, and what they are given.

export type { Config, Dependencies } from "./server-context.ts";
export type { IssuerEndpoints } from "./issuer-endpoints.ts";
export { type Transport, openTransport } from "./listen.ts";
export { httpStatusOf } from "./render.ts";
