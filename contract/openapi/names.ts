// Names of schemas and operations in the OpenAPI documents. They are in clients' code, so they follow from the contract's names alone
// and from nothing that may come beside them.

import type { EnumFact, MessageFact, MethodFact } from "../facts.ts";

/** Where two packages have the same name, one of them says its own. */
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

type Named = Pick<MessageFact | EnumFact, "name">;

/** "chainguard.platform.iam.v2.GroupInvite" as "GroupInvite". Packages are in lower case, types are not. */
export const schemaNameOf = ({ name }: Named): string =>
  (prefixes[name] ?? "") +
  name
    .split(".")
    .filter((part) => /^[A-Z]/.test(part))
    .join("");

/** Messages and enums of version 1 that WhoAmI shows beside their namesakes of version 2. */
const inWhoAmI: ReadonlySet<string> = new Set(["Group", "Role", "OrgKind", "OrgStatus"].map((name) => `chainguard.platform.iam.${name}`));

/** The name in the documents of version 2. */
export const currentSchemaNameOf = (fact: Named): string => (inWhoAmI.has(fact.name) ? "WhoAmI" : "") + schemaNameOf(fact);

/** "GroupsService": the tag of its operations. */
export const tagOf = ({ service }: MethodFact): string => service.slice(service.lastIndexOf(".") + 1);

/** "GroupsService_GetGroup"; of an operation's further paths "SecurityTokenService_Exchange_2". */
export const operationIdOf = (method: MethodFact, binding: number): string => `${tagOf(method)}_${method.rpc}${binding === 0 ? "" : `_${binding + 1}`}`;

/** The document of version 1. */
export const version1Document = "v1";

/** The document in which an operation stands: the domain of its package, of ours the word behind "gantry". */
export const documentOf = ({ service, domain, version }: MethodFact): string => {
  if (version === "v1") return version1Document;
  if (domain === "oidc") return "auth";
  return domain === "gantry" ? (service.split(".")[1] ?? domain) : domain;
};
