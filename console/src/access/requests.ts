// Requests of the access page.

import type {
  ExplainResponse,
  ListRoleBindingsResponse,
  ListRolesResponse,
  MineResponse,
  RoleBinding,
  RoleBindingInput,
  WhoCanResponse,
} from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { pageFrom } from "../questions.ts";

const freshMs = 15_000;

/** The largest page. */
const allSize = 200;

export const mine = (place: string): Question<MineResponse> => ({
  name: "iam.access.mine",
  request: { place },
  freshMs,
  send: (gantry, signal) => gantry.iam.access.mine({ place }, { signal }),
});

export const bindingsAt = (group: string): Question<ListRoleBindingsResponse> => {
  const request = { group, orderBy: "create_time", ...pageFrom(0) };
  return { name: "iam.role-bindings.list", request, send: (gantry, signal) => gantry.iam.roleBindings.list(request, { signal }).page() };
};

export const bindingsOf = (identity: string): Question<ListRoleBindingsResponse> => {
  const request = { identity, pageSize: allSize };
  return { name: "iam.role-bindings.list", request, send: (gantry, signal) => gantry.iam.roleBindings.list(request, { signal }).page() };
};

const rolesQuestion = (
  uidp: { readonly inRoot: true } | { readonly descendantsOf: string } | { readonly ids: readonly string[] },
): Question<ListRolesResponse> => {
  const request = { uidp, orderBy: "name", pageSize: allSize };
  return { name: "iam.roles.list", request, freshMs, send: (gantry, signal) => gantry.iam.roles.list(request, { signal }).page() };
};

export const builtInRoles = (): Question<ListRolesResponse> => rolesQuestion({ inRoot: true });

/** Custom roles of a whole organization. */
export const customRoles = (organization: string): Question<ListRolesResponse> => rolesQuestion({ descendantsOf: organization });

export const rolesOf = (ids: readonly string[]): Question<ListRolesResponse> => rolesQuestion({ ids });

export const whoCan = (place: string, capability: string, skip: number): Question<WhoCanResponse> => {
  const request = { place, capability, ...pageFrom(skip) };
  return { name: "iam.access.who-can", request, send: (gantry, signal) => gantry.iam.access.whoCan(request, { signal }) };
};

export const explain = (place: string, identityUid: string, action: string): Question<ExplainResponse> => {
  const request = { place, identityUid, action };
  return { name: "iam.access.explain", request, send: (gantry, signal) => gantry.iam.access.explain(request, { signal }) };
};

/** A rehearsal asks whether the role binding could be made, and makes none. */
export const createBinding = (parent: string, roleBinding: RoleBindingInput, isRehearsal = false): Question<RoleBinding> => ({
  name: isRehearsal ? "iam.role-bindings.create (validateOnly)" : "iam.role-bindings.create",
  request: { parent, roleBinding },
  send: (gantry, signal) => gantry.iam.roleBindings.create({ parent, roleBinding }, { signal, validateOnly: isRehearsal }),
});

/** Lets an existing role binding hold until this time. */
export const extendBinding = (uid: string, expireTime: string, isRehearsal = false): Question<RoleBinding> => {
  const request = { roleBinding: { uid, expireTime }, updateMask: ["expireTime"] as const };
  return {
    name: isRehearsal ? "iam.role-bindings.update (validateOnly)" : "iam.role-bindings.update",
    request,
    send: (gantry, signal) => gantry.iam.roleBindings.update(request, { signal, validateOnly: isRehearsal }),
  };
};

/** A role binding with the tag of its version. */
export interface VersionedBinding {
  readonly binding: RoleBinding;
  readonly etag: string | undefined;
}

export const versionOf = (uid: string): Question<VersionedBinding> => ({
  name: "iam.role-bindings.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.iam.roleBindings.get({ uid }, { signal }).withResponse();
    return { binding: data, etag };
  },
});

interface DeleteOptions {
  readonly validateOnly?: boolean;
  /** Deletes only this version. */
  readonly ifMatch?: string | undefined;
}

export const deleteBinding = (uid: string, options: DeleteOptions = {}): Question<void> => ({
  name: "iam.role-bindings.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.roleBindings.delete({ uid }, { signal, ...options }),
});
