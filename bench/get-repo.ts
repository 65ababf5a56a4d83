// GetRepo over gRPC, as h2load sends it.

import { fromJson, toBinary } from "@bufbuild/protobuf";
import { methodByName } from "#contract/catalog.ts";
import { messageDescriptor } from "#contract/descriptors.ts";

export const getRepo = "chainguard.platform.registry.v2.ReposService/GetRepo";

export const grpcHeaders = (authorization: string): Record<string, string> => ({ authorization, te: "trailers", "content-type": "application/grpc" });

export const getRepoMessage = (uid: string): Uint8Array => {
  const method = methodByName(getRepo);
  if (!method) throw new Error("the contract has no GetRepo");
  const descriptor = messageDescriptor(method.input);
  return toBinary(descriptor, fromJson(descriptor, { uid }));
};

/** Adds gRPC's prefix: not compressed, length. */
export const grpcFrame = (message: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};
