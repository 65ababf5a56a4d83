// The descriptors of the contract, for whatever reads and writes protobuf. They take longer to load than all facts: a command or a
// server that speaks JSON alone does without.

import { createRegistry, type DescFile, type DescMessage, type DescMethod, type Registry } from "@bufbuild/protobuf";
import type { MessageFact, MethodFact } from "./facts.ts";
import { file_google_rpc_error_details } from "./gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "./gen/google/rpc/status_pb.js";
import { files as platformFiles } from "./gen/index.ts";

/** The files of the platform's contract, each with its services. */
export const files: readonly DescFile[] = platformFiles;

/** Every message by name; what packs and unpacks typed details. */
export const registry: Registry = createRegistry(...files, file_google_rpc_status, file_google_rpc_error_details);

const withDependencies = (file: DescFile): DescFile[] => [file, ...file.dependencies.flatMap(withDependencies)];

/** With the messages that the contract's own hold, such as google.protobuf.Struct. */
const every: Registry = createRegistry(...new Set(platformFiles.flatMap(withDependencies)));

/** Throws for a message of another contract. */
export const messageDescriptor = ({ name }: Pick<MessageFact, "name">): DescMessage => {
  const found = every.getMessage(name);
  if (!found) throw new Error(`the contract has no descriptor of ${name}`);
  return found;
};

/** Throws for an operation of another contract. */
export const methodDescriptor = ({ name, service, rpc }: Pick<MethodFact, "name" | "service" | "rpc">): DescMethod => {
  const found = every.getService(service)?.methods.find((method) => method.name === rpc);
  if (!found) throw new Error(`the contract has no descriptor of ${name}`);
  return found;
};
