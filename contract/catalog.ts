// Every operation there is, and the alias of the earlier version segment.

import { createRegistry, type DescFile, type DescMethod, type DescService, type Registry } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "./gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "./gen/google/rpc/status_pb.js";
import { files as platformFiles } from "./gen/index.ts";
import { linksOfMethod, scopeInView } from "./views.ts";
import { isView, isViewed, type MessageFact, type MethodFact, messageFact, methodFact, type ViewedMethodFact, viewedMethodFact } from "./facts.ts";

/** The files of the platform's contract, each with its services. */
export const files: readonly DescFile[] = platformFiles;

/** Every message by name; what packs and unpacks typed details. */
export const registry: Registry = createRegistry(...files, file_google_rpc_status, file_google_rpc_error_details);

const services = files.flatMap((file) => file.services);
/** A package is of one version: a service that has no counterpart at all is version 1 beside services that have. */
const packagesOfVersion1 = new Set(services.filter(({ methods: own }) => own.some(isView)).map(({ file }) => file.proto.package));
const isVersion1 = ({ file }: DescService): boolean => packagesOfVersion1.has(file.proto.package);
const descriptorsOf = (chosen: readonly DescService[]): DescMethod[] => chosen.flatMap((service) => service.methods);

/** Every operation of version 2, and of our own. */
export const methods: readonly MethodFact[] = descriptorsOf(services.filter((service) => !isVersion1(service))).map(methodFact);

const byName = new Map(methods.map((method) => [method.name, method]));

/** With the path of its own request to the place where capabilities are needed. Throws where a field has no counterpart. */
const withOwnScope = (method: ViewedMethodFact): ViewedMethodFact => {
  linksOfMethod(method);
  return { ...method, scope: scopeInView(method) };
};

/** Every operation of version 1: those that are another shape of one of version 2, and the few that have no counterpart there. */
export const version1: readonly MethodFact[] = descriptorsOf(services.filter(isVersion1)).map((method) =>
  isView(method) ? withOwnScope(viewedMethodFact(method, (name) => byName.get(name))) : { ...methodFact(method), version: "v1" },
);

for (const method of version1) byName.set(method.name, method);

/** Those that are another shape of one of version 2. */
export const views: readonly ViewedMethodFact[] = version1.filter(isViewed);

const viewsByOperation = new Map(views.map((method) => [method.view.of.name, method]));

/** Version 1 of this operation; undefined where there is none. */
export const viewOf = (method: MethodFact): ViewedMethodFact | undefined => viewsByOperation.get(method.name);
const messagesByName = new Map<string, MessageFact>(files.flatMap((file) => file.messages.map((message) => [message.typeName, messageFact(message)] as const)));

/** The domains whose paths carry a version segment: "iam", "registry", … */
export const domains: ReadonlySet<string> = new Set(methods.filter((method) => method.version).map((method) => method.domain));

/** The message of this full name. */
export const messageByName = (name: string): MessageFact | undefined => messagesByName.get(name);

// requirement: Versioning 2. The beta segment was renamed; shapes are the same, so it is only another name. The few services
// that were not renamed are in the contract under it.
const betaPackage = /^(chainguard\.platform\.[a-z]+)\.v2beta1\./;
const betaPath = /^\/([a-z]+)\/v2beta1(?=\/)/;

/** The operation named "package.Service/Method", under its beta package too. */
export const methodByName = (name: string): MethodFact | undefined => byName.get(name) ?? byName.get(name.replace(betaPackage, "$1.v2."));

/** The same name under the beta package; undefined for what has no version 2. */
export const betaNameOf = (name: string): string | undefined => {
  const beta = name.replace(/^(\.?chainguard[./]platform[./][a-z]+[./])v2(?=[./]|$)/, "$1v2beta1");
  return beta === name ? undefined : beta;
};

/** True for the beta package of a domain and what is in it. */
export const isBetaName = (name: string): boolean => /^\.?chainguard[./]platform[./][a-z]+[./]v2beta1(?=[./]|$)/.test(name);

/** The path without its beta segment: /iam/v2beta1/roles is /iam/v2/roles. */
export const currentPath = (path: string): string => (path.includes("/v2beta1/") ? path.replace(betaPath, "/$1/v2") : path);

/** The path under the beta segment: /iam/v2/roles as /iam/v2beta1/roles. */
export const betaPathOf = (path: string): string => path.replace(/^\/([a-z]+)\/v2(?=\/)/, "/$1/v2beta1");
