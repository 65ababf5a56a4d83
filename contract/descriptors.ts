// The descriptors of the contract, for protobuf. They load slower than all facts, so JSON-only commands and servers do not load
// them.

import { createRegistry, type DescFile, type DescMessage, type DescMethod, type Registry } from "@bufbuild/protobuf";
import type { MessageFact, MethodFact } from "./facts.ts";
import { file_google_rpc_error_details } from "./gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "./gen/google/rpc/status_pb.js";
import { files as platformFiles } from "./gen/index.ts";

export const files: readonly DescFile[] = platformFiles;

/** Every message by name, for typed details. */
export const registry: Registry = createRegistry(...files, file_google_rpc_status, file_google_rpc_error_details);

const withDependencies = (file: DescFile): DescFile[] => [file, ...file.dependencies.flatMap(withDependencies)];

/** Includes messages of dependencies, such as google.protobuf.Struct. */
const every: Registry = createRegistry(...new Set(platformFiles.flatMap(withDependencies)));

/** Throws for a message outside the contract. */
export const messageDescriptor = ({ name }: Pick<MessageFact, "name">): DescMessage => {
  const found = every.getMessage(name);
  if (!found) throw new Error(`the contract has no descriptor of ${name}`);
  return found;
};

/** Throws for an operation outside the contract. */
export const methodDescriptor = ({ name, service, rpc }: Pick<MethodFact, "name" | "service" | "rpc">): DescMethod => {
  const found = every.getService(service)?.methods.find((method) => method.name === rpc);
  if (!found) throw new Error(`the contract has no descriptor of ${name}`);
  return found;
};
