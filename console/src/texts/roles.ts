// Texts of roles.

import { counted } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  roleCount: (number: number): string => counted(number, "role", "roles"),
  kindsOfRoles: "Which roles",
  builtIn: "Built-in",
  rolesHere: "Custom roles of this group and of the groups above it. Role bindings here and below can use them.",
  rolesBelow: "Custom roles of this group and of the groups below it.",
  rolesBuiltIn: "Built-in roles can be used in every group, and cannot be changed.",
  noRolesTitle: "No custom roles here",
  noRolesText: "The built-in roles, such as viewer, editor and owner, can be used in every group.",
  builtInRoles: "Show the built-in roles",
  capabilities: "Capabilities",
  inGroup: "Group",
  uses: "Used by",
  usesOf: (number: number): string => `${counted(number, "role binding", "role bindings")} that you can see`,
  actions: "Actions",

  newRole: "New role",
  editRole: "Edit the role",
  editRoleOf: (name: string): string => `Edit the role ${name}`,
  deleteRole: "Delete the role",
  deleteRoleOf: (name: string): string => `Delete the role ${name}`,
  edit: "Edit",
  delete: "Delete",
  nameHint: "Lowercase letters, digits, spaces, periods, hyphens and underscores.",
  descriptionOptional: "Description (optional)",
  usableIn: "Role bindings can use the role in",
  andBelowIt: "and below.",
  editEffect: "Identities with this role get the new capabilities at once.",
  capabilitiesHint: "You can choose the capabilities that you have in this group. You lack those that are disabled.",
  capabilityRequired: "Choose at least one capability.",
  roleAdded: "Role created",
  roleChanged: "Role changed",
  roleDeleted: "Role deleted",

  countingUses: "Counting the role bindings that use it…",
  unused: "No role binding that you can see uses it. You can bring it back from Deleted.",
  usedBy: (number: number): string =>
    number === 1 ? "1 role binding uses it. Remove that first." : `${counted(number, "role binding uses", "role bindings use")} it. Remove them first.`,
  gone: "This role does not exist any more, or you may not see it.",
} as const;
