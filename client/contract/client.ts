// The client for every operation of the contract, over REST and gRPC, used by the command line and tests. Operations are
// identified by name, descriptor or facts; `@gantry/client` is built from the layer below.

import type { DescService } from "@bufbuild/protobuf";
import type { JsonObject } from "#base/json.ts";
import {
  ApiError,
  type ApiFile,
  type Caller,
  type CallOptions,
  type ClientOptions as RestOptions,
  createClient as createRestClient,
  type PagesOptions,
  type Transport,
} from "#client";
import { type Operation, operationFact } from "./operation.ts";
import { type ServiceClient, serviceClient } from "./typed-service.ts";

export interface ClientOptions extends RestOptions {
  /** gRPC only in Node. */
  readonly transport?: "rest" | "grpc" | undefined;
}

export interface Client extends Caller<Operation> {
  readonly server: string;
  /** Calls an operation that returns a file, always over HTTP. The timeout ends when the response starts. */
  file(operation: Operation, request: JsonObject, options?: CallOptions): Promise<ApiFile>;
  /** Returns typed functions for a service, from its generated descriptor. */
  service<Service extends DescService>(service: Service): ServiceClient<Service>;
}

/** Loaded on demand: browsers and most programs do not need it. */
const lazyGrpc = (server: string, answerBytesMax: number): Transport => {
  let loaded: Promise<Pick<Transport, "call">> | undefined;
  const load = async (): Promise<Pick<Transport, "call">> => (await import("./grpc.ts")).grpcTransport(server, answerBytesMax);
  return {
    call: async (attempt) => (await (loaded ??= load())).call(attempt),
    file: () => Promise.reject(new ApiError("UNIMPLEMENTED", "files are available over REST only")),
  };
};

/** Creates a client; it sends nothing before the first call. */
export const createClient = (options: ClientOptions): Client => {
  const rest = createRestClient(options, options.transport === "grpc" ? lazyGrpc : undefined);

  async function* pages(operation: Operation, request: JsonObject, given?: CallOptions & PagesOptions): AsyncGenerator<JsonObject> {
    yield* rest.pages(await operationFact(operation), request, given);
  }

  async function* items(operation: Operation, request: JsonObject, given?: CallOptions & PagesOptions): AsyncGenerator<JsonObject> {
    yield* rest.items(await operationFact(operation), request, given);
  }

  const client: Client = {
    server: rest.server,
    call: async (operation, request, given) => rest.call(await operationFact(operation), request, given),
    answer: async (operation, request, given) => rest.answer(await operationFact(operation), request, given),
    pages,
    items,
    file: async (operation, request, given) => rest.file(await operationFact(operation), request, given),
    service: (service) => serviceClient(client, service),
  };
  return client;
};
