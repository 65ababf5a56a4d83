// Texts of the lists of identities, roles and role bindings.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  identityCount: (number: number): string => counted(number, "identity", "identities"),
  roleCount: (number: number): string => counted(number, "role", "roles"),
  bindingCount: (number: number): string => counted(number, "role binding", "role bindings"),
  person: "User",
  claimMatch: "OIDC issuer",
  staticKeys: "Own keys",
  aws: "AWS",
  service: "Service",
  noIdentitiesTitle: "No identities here",
  noIdentitiesText: "An identity lets a token from an external issuer, such as GitHub Actions, act in this group.",
  noRolesTitle: "No custom roles here",
  noRolesText: "The built-in roles, such as viewer, editor and owner, can be used in every group.",
  noBindingsTitle: "No role bindings here",
  noBindingsText: "Access to this group comes from role bindings in the groups above it.",
  builtInRoles: "Built-in roles",
  ciIdentities: "Set up a CI identity",
  accessModel: "How access works",
  capabilities: "Capabilities",
} as const;
