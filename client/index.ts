// The public entry: a client of the API, made from the contract, for programs, for the command line and for pages in a browser.
// It knows the server by its address and the contract alone.

export type { Answer, ApiFile } from "./answer.ts";
export type { CallOptions } from "./caller.ts";
export { type Client, type ClientOptions, createClient } from "./client.ts";
export { ApiError, type ErrorDetail, errorOfHttp, type Reason } from "./error.ts";
export { exchangedToken, type ExchangeOptions } from "./exchange.ts";
export type { Operation } from "./operation.ts";
export type { PagesOptions } from "./pages.ts";
export type { Fetch } from "./rest.ts";
export type { ItemOf, ListFunction, OperationFunction, ServiceClient } from "./typed-service.ts";
export { fileToken, type IssuedToken, keptToken, type TokenSource, type TokenWanted } from "./tokens.ts";
