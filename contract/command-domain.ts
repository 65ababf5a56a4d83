// The domain of an operation in commands and tool sets.

import type { MethodFact } from "./facts.ts";

/** Gantry's own packages that belong to a domain of the platform. */
const domainOfPackage: Readonly<Record<string, string>> = {
  access: "iam",
  memberships: "iam",
  organizations: "iam",
  images: "registry",
  feeds: "advisory",
  decisions: "findings",
};

/** Returns the platform's domain ("iam"); for Gantry's packages the related domain, or their own name. */
export const commandDomainOf = ({ name, domain }: MethodFact): string => {
  const own = /^gantry\.([a-z]+)\./.exec(name)?.[1];
  return own === undefined ? domain : (domainOfPackage[own] ?? own);
};
