// All operations, and the alias of the earlier version segment.

import { contractOf } from "./fact-data.ts";
import { contractFacts, type MessageName } from "./gen/facts.ts";
import { isViewed, type MessageFact, type MethodFact, type ViewedMethodFact } from "./facts.ts";

const contract = contractOf(contractFacts);

/** Every operation of version 2 and of Gantry's own API. */
export const methods: readonly MethodFact[] = contract.methods;

/** Every operation of version 1: views of version 2, and the few without a counterpart. */
export const version1: readonly MethodFact[] = contract.version1;

const byName = new Map([...methods, ...version1].map((method) => [method.name, method]));

export const views: readonly ViewedMethodFact[] = version1.filter(isViewed);

const viewsByOperation = new Map(views.map((method) => [method.view.of.name, method]));

export const viewOf = (method: MethodFact): ViewedMethodFact | undefined => viewsByOperation.get(method.name);
/** Domains with a version segment in their paths: "iam", "registry", … */
export const domains: ReadonlySet<string> = new Set(methods.filter((method) => method.version).map((method) => method.domain));

export const messageByName = (name: string): MessageFact | undefined => contract.messages.get(name);

/** The same; throws if it does not exist. */
export const messageNamed = (name: MessageName): MessageFact => {
  const found = messageByName(name);
  if (!found) throw new Error(`the contract has no message ${name}`);
  return found;
};

// requirement: Versioning 2. The beta segment was renamed with the same shapes, so it is an alias. The few services that kept it
// are in the contract under that name.
const betaPackage = /^(chainguard\.platform\.[a-z]+)\.v2beta1\./;
const betaPath = /^\/([a-z]+)\/v2beta1(?=\/)/;

/** Returns the operation "package.Service/Method", also under its beta package. */
export const methodByName = (name: string): MethodFact | undefined => byName.get(name) ?? byName.get(name.replace(betaPackage, "$1.v2."));

/** Returns the name under the beta package; undefined outside version 2. */
export const betaNameOf = (name: string): string | undefined => {
  const beta = name.replace(/^(\.?chainguard[./]platform[./][a-z]+[./])v2(?=[./]|$)/, "$1v2beta1");
  return beta === name ? undefined : beta;
};

/** Returns true for names in the beta package of a domain. */
export const isBetaName = (name: string): boolean => /^\.?chainguard[./]platform[./][a-z]+[./]v2beta1(?=[./]|$)/.test(name);

/** Returns the path without its beta segment: /iam/v2/roles for /iam/v2beta1/roles. */
export const currentPath = (path: string): string => (path.includes("/v2beta1/") ? path.replace(betaPath, "/$1/v2") : path);

/** Returns the path with the beta segment: /iam/v2beta1/roles for /iam/v2/roles. */
export const betaPathOf = (path: string): string => path.replace(/^\/([a-z]+)\/v2(?=\/)/, "/$1/v2beta1");
