// To which domain an operation belongs where people name it: commands, and sets of tools.

import type { MethodFact } from "./facts.ts";

/** Packages of ours that stand with a domain of the platform. */
const domainOfPackage: Readonly<Record<string, string>> = { access: "iam", memberships: "iam", images: "registry", feeds: "advisory" };

/** The platform's domain ("iam"); of a package of ours the one that it stands with, or its own name. */
export const commandDomainOf = ({ name, domain }: MethodFact): string => {
  const own = /^gantry\.([a-z]+)\./.exec(name)?.[1];
  return own === undefined ? domain : (domainOfPackage[own] ?? own);
};
