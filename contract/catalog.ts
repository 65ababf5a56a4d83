// Every operation there is, and the alias of the earlier version segment.

import { contractOf } from "./fact-data.ts";
import { contractFacts, type MessageName } from "./gen/facts.ts";
import { isViewed, type MessageFact, type MethodFact, type ViewedMethodFact } from "./facts.ts";

const contract = contractOf(contractFacts);

/** Every operation of version 2, and of our own. */
export const methods: readonly MethodFact[] = contract.methods;

/** Every operation of version 1: those that are another shape of one of version 2, and the few that have no counterpart there. */
export const version1: readonly MethodFact[] = contract.version1;

const byName = new Map([...methods, ...version1].map((method) => [method.name, method]));

/** Those that are another shape of one of version 2. */
export const views: readonly ViewedMethodFact[] = version1.filter(isViewed);

const viewsByOperation = new Map(views.map((method) => [method.view.of.name, method]));

/** Version 1 of this operation; undefined where there is none. */
export const viewOf = (method: MethodFact): ViewedMethodFact | undefined => viewsByOperation.get(method.name);
/** The domains whose paths carry a version segment: "iam", "registry", … */
export const domains: ReadonlySet<string> = new Set(methods.filter((method) => method.version).map((method) => method.domain));

/** The message of this full name. */
export const messageByName = (name: string): MessageFact | undefined => contract.messages.get(name);

/** The same; throws if the contract has none. */
export const messageNamed = (name: MessageName): MessageFact => {
  const found = messageByName(name);
  if (!found) throw new Error(`the contract has no message ${name}`);
  return found;
};

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
