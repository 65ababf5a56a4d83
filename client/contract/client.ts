// The client for every operation of the contract, over REST and gRPC: operations are named by their text, their descriptor or their
// facts. It is the client of the command line and of the tests; `@gantry/client` is made from the module below it.

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
  /** gRPC in Node alone. */
  readonly transport?: "rest" | "grpc" | undefined;
}

export interface Client extends Caller<Operation> {
  readonly server: string;
  /** An operation that gives a file. Over HTTP, whatever the transport; the time limit is until it begins. */
  file(operation: Operation, request: JsonObject, options?: CallOptions): Promise<ApiFile>;
  /** A service of the contract by its generated descriptor, with the types of its messages in JSON. */
  service<Service extends DescService>(service: Service): ServiceClient<Service>;
}

/** Loaded when it is chosen: browsers have none of it, and most programs do not need it. */
const lazyGrpc = (server: string, answerBytesMax: number): Transport => {
  let loaded: Promise<Pick<Transport, "call">> | undefined;
  const load = async (): Promise<Pick<Transport, "call">> => (await import("./grpc.ts")).grpcTransport(server, answerBytesMax);
  return {
    call: async (attempt) => (await (loaded ??= load())).call(attempt),
    file: () => Promise.reject(new ApiError("UNIMPLEMENTED", "files are available over REST only")),
  };
};

/** A client of the server at this address. Nothing is sent before the first call. */
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
