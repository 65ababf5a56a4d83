// @grpc/grpc-js with the same kernel, database and generated messages in one process. Only the transport differs.

import { fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import type { JsonObject } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { ownOrigin } from "#base/origin.ts";
import { unreadCall } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import { messageDescriptor, registry } from "#contract/descriptors.ts";
import { type Reading, readGrpc } from "#contract/read.ts";
import { openApplication, readSettings } from "#application";

const method = methodByName("chainguard.platform.registry.v2.ReposService/GetRepo");
if (!method) throw new Error("the contract has no GetRepo");

const { serve } = await openApplication({ settings: readSettings(process.env), log: silent, join: true });

const service: ServiceDefinition = {
  GetRepo: {
    path: `/${method.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: () => Buffer.alloc(0),
    requestDeserialize: (bytes: Buffer): Reading => readGrpc(method, fromBinary(messageDescriptor(method.input), bytes)),
    responseSerialize: (message: JsonObject): Buffer => {
      const descriptor = messageDescriptor(method.output);
      return Buffer.from(toBinary(descriptor, fromJson(descriptor, message, { registry })));
    },
    responseDeserialize: () => ({}),
  },
};

const getRepo: handleUnaryCall<Reading, JsonObject> = ({ request: { request, problems }, metadata }, reply) => {
  const one = (name: string): string | undefined => metadata.get(name)[0]?.toString();
  const headers = {
    authorization: one("authorization"),
    identity: one("gantry-identity"),
    idempotencyKey: one("idempotency-key"),
    ifMatch: one("if-match"),
    ifNoneMatch: one("if-none-match"),
    requestId: "bench",
    origin: () => ownOrigin,
  };
  const reading = { request, problems, bodyPaths: undefined, validateOnly: false };
  serve(unreadCall(method, headers, () => reading)).then(
    ({ message }) => reply(null, message),
    (error: Error) => reply(error),
  );
};

const server = new Server();
server.addService(service, { GetRepo: getRepo });
server.bindAsync(`127.0.0.1:${process.env.BASELINE_PORT}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  process.send?.("ready");
});
