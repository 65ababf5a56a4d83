// Every operation there is, and the alias of the earlier version segment.

import { createRegistry, type DescFile, type Registry } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "./gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "./gen/google/rpc/status_pb.js";
import { files as platformFiles } from "./gen/index.ts";
import { type MessageFact, type MethodFact, messageFact, methodFact } from "./facts.ts";

/** The files of the platform's contract, each with its services. */
export const files: readonly DescFile[] = platformFiles;

/** Every message by name; what packs and unpacks typed details. */
export const registry: Registry = createRegistry(...files, file_google_rpc_status, file_google_rpc_error_details);

/** Every operation of the contract. */
export const methods: readonly MethodFact[] = files.flatMap((file) => file.services.flatMap((service) => service.methods.map(methodFact)));

const byName = new Map(methods.map((method) => [method.name, method]));
const messagesByName = new Map<string, MessageFact>(files.flatMap((file) => file.messages.map((message) => [message.typeName, messageFact(message)] as const)));

/** The domains whose paths carry a version segment: "iam", "registry", … */
export const domains: ReadonlySet<string> = new Set(methods.filter((method) => method.version).map((method) => method.domain));

/** The message of this full name. */
export const messageByName = (name: string): MessageFact | undefined => messagesByName.get(name);

// requirement: Versioning 2. The beta segment was renamed; shapes are the same, so it is only another name.
const betaPackage = /^(chainguard\.platform\.[a-z]+)\.v2beta1\./;
const betaPath = /^\/([a-z]+)\/v2beta1(?=\/)/;

/** The operation named "package.Service/Method", under its beta package too. */
export const methodByName = (name: string): MethodFact | undefined => byName.get(name) ?? byName.get(name.replace(betaPackage, "$1.v2."));

/** The same name under the beta package; undefined for what has no version 2. */
export const betaNameOf = (name: string): string | undefined => {
  const beta = name.replace(/^(\.?chainguard[./]platform[./][a-z]+[./])v2(?=[./]|$)/, "$1v2beta1");
  return beta === name ? undefined : beta;
};

/** The path without its beta segment: /iam/v2beta1/roles is /iam/v2/roles. */
export const currentPath = (path: string): string => (path.includes("/v2beta1/") ? path.replace(betaPath, "/$1/v2") : path);
