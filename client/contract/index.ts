// The client for every operation of the contract, as the command line uses it and as the package `gantry` exports it for gRPC.

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
