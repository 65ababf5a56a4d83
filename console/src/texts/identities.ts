// Texts of identities.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  identityCount: (number: number): string => counted(number, "identity", "identities"),
  identitiesText: "Users and machines that act in this group.",
  person: "User",
  claimMatch: "OIDC issuer",
  staticKeys: "Own keys",
  aws: "AWS",
  service: "Service",
  noIdentitiesTitle: "No identities here",
  noIdentitiesText: "An identity lets a token from an external issuer, such as GitHub Actions, act in this group.",
  ciIdentities: "Set up a CI identity",
  actions: "Actions",

  edit: "Edit",
  editIdentity: "Edit the identity",
  editOf: (name: string): string => `Edit ${name}`,
  deleteIdentity: "Delete the identity",
  deleteOf: (name: string): string => `Delete ${name}`,
  identityChanged: "Identity changed",
  identityDeleted: "Identity deleted",
  nameHint: "Lowercase letters, digits, spaces, periods, hyphens and underscores.",
  descriptionOptional: "Description (optional)",
  required: "Required",

  match: "What a token must match",
  matches: (name: string): string => `${name} matches`,
  matchHint: "To change it, you need all permissions of the identity. A pattern is RE2, for the whole value. Without aud, the audience is this server.",
  pattern: "Pattern",
  claimNumber: (number: number): string => `claim ${number}`,
  claimName: (number: number): string => `Name of claim ${number}`,
  claimValue: (name: string): string => `Value of ${name}`,
  claimIsPattern: (name: string): string => `Pattern: ${name}`,
  removeClaim: (name: string): string => `Remove ${name}`,
  addClaim: "Add a claim",

  usedLast: (time: string): string => `It was last used ${time}.`,
  neverUsed: "It was never used.",
  countingBindings: "Counting its role bindings…",
  removeText: (bindings: number): string =>
    `Its next request is refused. It loses ${counted(bindings, "role binding", "role bindings")}. You can bring it back from Deleted.`,
} as const;
