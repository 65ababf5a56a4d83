// Public entry point of the transport module.

export type { IssuerEndpoints } from "./issuer-endpoints.ts";
export { type Transport, openTransport } from "./listen.ts";
export { openPrivatePort, type PrivatePort } from "./private-port.ts";
export { readJsonText } from "./body.ts";
export { withDeadline } from "./deadline.ts";
export { type ErrorContext, errorBody, httpStatusOf, logFault } from "./render.ts";
export type { Config, Dependencies, HandedConnections } from "./server-context.ts";
