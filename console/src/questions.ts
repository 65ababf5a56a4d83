// The questions of all views.

import type {
  Architectures,
  Gantry,
  Group,
  ListGroupsResponse,
  ListIdentitiesResponse,
  ListReposResponse,
  ListRoleBindingsResponse,
  ListRolesResponse,
  ListTagsResponse,
  Repo,
  Size,
  WhoAmI,
} from "../../client/package.ts";
import { ApiError } from "../../client/package.ts";
import { isUidPart } from "./address.ts";
import type { Question } from "./api.ts";

export const pageSize = 50;
/** The largest page, for the children of a group in the tree. */
export const treeSize = 200;

/** For what every page needs. */
const freshMs = 15_000;

type Position = { readonly pageSize?: number; readonly skip?: number; readonly orderBy?: string };

const at = (skip: number): Position => ({ pageSize, ...(skip > 0 ? { skip } : {}) });

export const whoAmI = (): Question<WhoAmI> => ({ name: "auth.validate", request: {}, freshMs, send: (gantry, signal) => gantry.auth.validate({}, { signal }) });

const groupsQuestion = (request: Parameters<Gantry["iam"]["groups"]["list"]>[0] & object): Question<ListGroupsResponse> => ({
  name: "iam.groups.list",
  request: { ...request },
  send: (gantry, signal) => gantry.iam.groups.list(request, { signal }).page(),
});

export const organizations = (skip: number): Question<ListGroupsResponse> => groupsQuestion({ uidp: { inRoot: true }, orderBy: "name", ...at(skip) });

export const groupsIn = (parent: string, skip: number): Question<ListGroupsResponse> => groupsQuestion({ parent, orderBy: "name", ...at(skip) });

/** Children of a group for the tree; roots without one. */
export const treeGroups = (parent: string | undefined): Question<ListGroupsResponse> => ({
  ...groupsQuestion({ ...(parent === undefined ? { uidp: { inRoot: true } } : { parent }), orderBy: "name", pageSize: treeSize }),
  freshMs,
});

/** For callers without access to any organization as a whole. */
export const visibleGroups = (): Question<ListGroupsResponse> => groupsQuestion({ orderBy: "uid", pageSize: treeSize });

export const reposIn = (parent: string, skip: number): Question<ListReposResponse> => {
  const request = { parent, orderBy: "name", ...at(skip) };
  return { name: "registry.repos.list", request, send: (gantry, signal) => gantry.registry.repos.list(request, { signal }).page() };
};

/** Whether the server has any repo that the caller can see. */
export const anyRepo = (): Question<ListReposResponse> => {
  const request = { pageSize: 1 };
  return { name: "registry.repos.list", request, send: (gantry, signal) => gantry.registry.repos.list(request, { signal }).page() };
};

export const tagsIn = (parent: string, skip: number): Question<ListTagsResponse> => {
  const request = { parent, orderBy: "update_time desc", includeDates: true, includeEpochs: true, ...at(skip) };
  return { name: "registry.tags.list", request, send: (gantry, signal) => gantry.registry.tags.list(request, { signal }).page() };
};

export const architectures = (repoUid: string, digest: string): Question<Architectures> => {
  const request = { repoUid, digest };
  return { name: "registry.repos.get-architectures", request, send: (gantry, signal) => gantry.registry.repos.getArchitectures(request, { signal }) };
};

export const imageSize = (repoUid: string, digest: string): Question<Size> => {
  const request = { repoUid, digest };
  return { name: "registry.repos.get-size", request, send: (gantry, signal) => gantry.registry.repos.getSize(request, { signal }) };
};

export const identitiesIn = (parent: string, skip: number): Question<ListIdentitiesResponse> => {
  const request = { parent, orderBy: "name", ...at(skip) };
  return { name: "iam.identities.list", request, send: (gantry, signal) => gantry.iam.identities.list(request, { signal }).page() };
};

export const rolesIn = (parent: string, skip: number): Question<ListRolesResponse> => {
  const request = { parent, orderBy: "name", ...at(skip) };
  return { name: "iam.roles.list", request, send: (gantry, signal) => gantry.iam.roles.list(request, { signal }).page() };
};

export const bindingsIn = (parent: string, skip: number): Question<ListRoleBindingsResponse> => {
  const request = { parent, orderBy: "create_time", ...at(skip) };
  return { name: "iam.role-bindings.list", request, send: (gantry, signal) => gantry.iam.roleBindings.list(request, { signal }).page() };
};

/** The place of an address: the groups of its path; undefined if there is none. */
export const placeAt = (names: readonly string[]): Question<readonly Group[] | undefined> => ({
  name: "iam.groups.list",
  request: { names },
  freshMs,
  send: async (gantry, signal) => {
    const groups: Group[] = [];
    let parent: string | undefined;
    for (const [index, name] of names.entries()) {
      const filter = parent === undefined ? { uidp: { inRoot: true } } : { parent };
      const { groups: found } = isUidPart(name) ? { groups: [] } : await gantry.iam.groups.list({ ...filter, name, pageSize: 2 }, { signal }).page();
      const [only, another] = found;
      if (only && !another) groups.push(only);
      else if (isUidPart(name)) {
        const uid: string = parent === undefined ? name : `${parent}/${name}`;
        const isLast = index === names.length - 1;
        const group = await getOrUndefined(() => gantry.iam.groups.get({ uid }, { signal }));
        if (!group && isLast) return undefined;
        groups.push(group ?? hiddenGroup(uid));
      } else return undefined;
      parent = groups.at(-1)?.uid;
    }
    return groups;
  },
});

export const repoAt = (parent: string, name: string): Question<Repo | undefined> => ({
  name: "registry.repos.list",
  request: { parent, name },
  freshMs,
  send: async (gantry, signal) => {
    const { repos } = isUidPart(name) ? { repos: [] } : await gantry.registry.repos.list({ parent, name, pageSize: 2 }, { signal }).page();
    if (repos.length === 1) return repos[0];
    return isUidPart(name) ? getOrUndefined(() => gantry.registry.repos.get({ uid: `${parent}/${name}` }, { signal })) : undefined;
  },
});

const hiddenGroup = (uid: string): Group => ({
  uid,
  name: "",
  description: "",
  resourceLimits: {},
  verified: false,
  createTime: "",
  updateTime: "",
  kind: "ORG_KIND_UNSPECIFIED",
  status: "ORG_STATUS_UNSPECIFIED",
  authorApproval: false,
});

/** A refusal does not reveal whether it exists. */
const getOrUndefined = async <Resource>(get: () => Promise<Resource>): Promise<Resource | undefined> => {
  try {
    return await get();
  } catch (thrown) {
    if (thrown instanceof ApiError && (thrown.code === "NOT_FOUND" || thrown.code === "PERMISSION_DENIED")) return undefined;
    throw thrown;
  }
};
