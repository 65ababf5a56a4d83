// Entry for other modules of this project; package.ts has the exports of `@gantry/client`.

export { type Answer, answerWith, type ApiFile, type Attempt, type Transport } from "./answer.ts";
export type { Caller, CallOptions } from "./caller.ts";
export { type ClientOptions, createClient } from "./client.ts";
export { ApiError, codeOfNumber, type ErrorDetail, errorOfHttp, type Reason } from "./error.ts";
export { exchangedToken, type ExchangeOptions } from "./exchange.ts";
export { listedField } from "./operation.ts";
export type { PagesOptions } from "./pages.ts";
export type { Fetch } from "./rest.ts";
export { fileToken, type IssuedToken, keptToken, type TokenSource, type TokenWanted } from "./tokens.ts";
