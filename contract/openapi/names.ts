// Names of schemas and operations in OpenAPI. Client code depends on them, so they follow only from the contract's names.

import type { EnumFact, MessageFact, MethodFact } from "../facts.ts";

/** Prefixes that distinguish equal names of two packages. */
const prefixes: Readonly<Record<string, string>> = {
  "chainguard.platform.advisory.v2.Severity": "Document",
  "chainguard.platform.advisory.v2.Severity.Type": "Document",
  "chainguard.platform.advisory.Advisory": "Document",
  "chainguard.platform.advisory.Severity": "Document",
  "chainguard.platform.advisory.Severity.Type": "Document",
  "chainguard.platform.auth.Profile": "WhoAmI",
  "chainguard.platform.tenant.Fix": "Tenant",
  "chainguard.platform.tenant.Fix.State": "Tenant",
  "chainguard.platform.tenant.Scanner": "Tenant",
  "chainguard.platform.tenant.VulnReport": "Tenant",
  "gantry.sessions.v1.Kind": "Session",
  "gantry.sessions.v1.Session": "SignIn",
};

/** Names that generators would also make for a field: "AccountAssociationGitHub" with "appInstallations". */
const ownNames: Readonly<Record<string, string>> = {
  "chainguard.platform.iam.v2.AccountAssociation.GitHubAppInstallations": "GitHubAppInstallations",
  "chainguard.platform.iam.AccountAssociations.GitHubAppInstallations": "GitHubAppInstallations",
};

type Named = Pick<MessageFact | EnumFact, "name">;

/** Returns "GroupInvite" for "chainguard.platform.iam.v2.GroupInvite". */
export const schemaNameOf = ({ name }: Named): string =>
  ownNames[name] ??
  (prefixes[name] ?? "") +
    name
      .split(".")
      .filter((part) => /^[A-Z]/.test(part))
      .join("");

/** Version 1 messages and enums in WhoAmI that have namesakes in version 2. */
const inWhoAmI: ReadonlySet<string> = new Set(["Group", "Role", "OrgKind", "OrgStatus"].map((name) => `chainguard.platform.iam.${name}`));

/** Returns the name in the documents of version 2. */
export const currentSchemaNameOf = (fact: Named): string => (inWhoAmI.has(fact.name) ? "WhoAmI" : "") + schemaNameOf(fact);

/** Returns the tag of the operation: "GroupsService". */
export const tagOf = ({ service }: MethodFact): string => service.slice(service.lastIndexOf(".") + 1);

/** Returns "GroupsService_GetGroup"; for further paths "SecurityTokenService_Exchange_2". */
export const operationIdOf = (method: MethodFact, binding: number): string => `${tagOf(method)}_${method.rpc}${binding === 0 ? "" : `_${binding + 1}`}`;

export const version1Document = "v1";

/** Returns the document of an operation: its package's domain, or for Gantry's packages the word after "gantry". */
export const documentOf = ({ service, domain, version }: MethodFact): string => {
  if (version === "v1") return version1Document;
  if (domain === "oidc") return "auth";
  return domain === "gantry" ? (service.split(".")[1] ?? domain) : domain;
};
