// The client for every operation of the contract, for the command line and the gRPC export of the package `gantry`.

export {
  type Answer,
  ApiError,
  type ApiFile,
  type CallOptions,
  type ErrorDetail,
  errorOfHttp,
  exchangedToken,
  type ExchangeOptions,
  type Fetch,
  fileToken,
  type IssuedToken,
  keptToken,
  type PagesOptions,
  type Reason,
  type TokenSource,
  type TokenWanted,
} from "#client";
export { type Client, type ClientOptions, createClient } from "./client.ts";
export type { Operation } from "./operation.ts";
export type { ItemOf, ListFunction, OperationFunction, Sent, ServiceClient } from "./typed-service.ts";
