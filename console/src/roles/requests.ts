// Requests about roles.

import type { ListRoleBindingsResponse, ListRolesResponse, Role, RoleInput, RolePath, RoleUpdate } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import type { Scope } from "../places.tsx";
import { pageFrom } from "../questions.ts";
import type { Version } from "../conflict.tsx";

/** Built-in roles are in the root. */
export const rolesAt = (scope: Scope | { readonly inRoot: true }, skip: number): Question<ListRolesResponse> => {
  const request = { uidp: scope, orderBy: "name", ...pageFrom(skip) };
  return { name: "iam.roles.list", request, send: (gantry, signal) => gantry.iam.roles.list(request, { signal }).page() };
};

export const roleAt = (uid: string): Question<Version<Role>> => ({
  name: "iam.roles.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.iam.roles.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

/** The number of role bindings that use a role is the total of this list. */
export const bindingsWith = (role: string): Question<ListRoleBindingsResponse> => {
  const request = { role, pageSize: 1 };
  return { name: "iam.role-bindings.list", request, send: (gantry, signal) => gantry.iam.roleBindings.list(request, { signal }).page() };
};

export const createRole = (parent: string, role: RoleInput): Question<Role> => ({
  name: "iam.roles.create",
  request: { parent, role },
  send: (gantry, signal) => gantry.iam.roles.create({ parent, role }, { signal }),
});

export const updateRole = (role: RoleUpdate, updateMask: readonly RolePath[], ifMatch: string | undefined): Question<Role> => ({
  name: "iam.roles.update",
  request: { role, updateMask },
  send: (gantry, signal) => gantry.iam.roles.update({ role, updateMask }, { signal, ifMatch }),
});

export const deleteRole = (uid: string): Question<void> => ({
  name: "iam.roles.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.roles.delete({ uid }, { signal }),
});
