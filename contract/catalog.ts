// Every operation there is, and the alias of the earlier version segment.

import { createRegistry, type DescFile, type Registry } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "./gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "./gen/google/rpc/status_pb.js";
import { files as platformFiles } from "./gen/index.ts";
import { isView, type MessageFact, type MethodFact, messageFact, methodFact, type ViewedMethodFact, viewedMethodFact } from "./facts.ts";

/** The files of the platform's contract, each with its services. */
export const files: readonly DescFile[] = platformFiles;

/** Every message by name; what packs and unpacks typed details. */
export const registry: Registry = createRegistry(...files, file_google_rpc_status, file_google_rpc_error_details);

const descriptors = files.flatMap((file) => file.services.flatMap((service) => service.methods));

/** Every operation of the contract that is answered as itself. */
export const methods: readonly MethodFact[] = descriptors.filter((method) => !isView(method)).map(methodFact);

const byName = new Map(methods.map((method) => [method.name, method]));

/** The operations of version 1 that are another shape of one of version 2. */
export const views: readonly ViewedMethodFact[] = descriptors.filter(isView).map((method) => viewedMethodFact(method, (name) => byName.get(name)));

for (const view of views) byName.set(view.name, view);

const servicesOfVersion1 = new Set(views.map(({ service }) => service));

/** True for what answers in the shape of version 1, also where it has no counterpart in version 2. */
export const isVersion1 = ({ service }: MethodFact): boolean => servicesOfVersion1.has(service);

const viewsByOperation = new Map(views.map((method) => [method.view.of.name, method]));

/** Version 1 of this operation; undefined where there is none. */
export const viewOf = (method: MethodFact): ViewedMethodFact | undefined => viewsByOperation.get(method.name);
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
