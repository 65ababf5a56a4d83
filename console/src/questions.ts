// The questions of all views.

import type {
  Architectures,
  Gantry,
  Group,
  ListGroupsResponse,
  ListIdentitiesResponse,
  ListReposResponse,
  ListRoleBindingsResponse,
  ListTagsResponse,
  LookupResponse,
  Repo,
  SearchResponse,
  Size,
  WhoAmI,
} from "../../client/package.ts";
import { ApiError } from "../../client/package.ts";
import { isUidPart, pageSizeIn } from "./address.ts";
import type { Question } from "./api.ts";

/** The names that one request looks up. */
export const namesMax = 50;
/** The largest page, for the children of a group in the tree. */
export const treeSize = 200;

/** Search starts with this many characters. */
export const queryLengthMin = 3;

/** Kinds of resources with a page of the console. */
export const searchedTypes = ["Group", "Repo", "Tag", "Identity", "Role"] as const;

export const search = (query: string, types: readonly string[] = searchedTypes): Question<SearchResponse> => {
  const request = { query, types, limit: 20 };
  return { name: "names.search", request, freshMs, send: (gantry, signal) => gantry.names.search(request, { signal }) };
};

/** For what every page needs. */
const freshMs = 15_000;

/** The page of a table from a position, as large as the address says. */
export const pageFrom = (skip: number): { readonly pageSize: number; readonly skip?: number } => ({
  pageSize: pageSizeIn(new URL(location.href)),
  ...(skip > 0 ? { skip } : {}),
});

export const whoAmI = (): Question<WhoAmI> => ({ name: "auth.validate", request: {}, freshMs, send: (gantry, signal) => gantry.auth.validate({}, { signal }) });

const groupsQuestion = (request: Parameters<Gantry["iam"]["groups"]["list"]>[0] & object): Question<ListGroupsResponse> => ({
  name: "iam.groups.list",
  request: { ...request },
  send: (gantry, signal) => gantry.iam.groups.list(request, { signal }).page(),
});

export const organizations = (skip: number): Question<ListGroupsResponse> => groupsQuestion({ uidp: { inRoot: true }, orderBy: "name", ...pageFrom(skip) });

export const groupsIn = (parent: string, skip: number): Question<ListGroupsResponse> => groupsQuestion({ parent, orderBy: "name", ...pageFrom(skip) });

/** Children of a group for the tree; roots without one. */
export const treeGroups = (parent: string | undefined): Question<ListGroupsResponse> => ({
  ...groupsQuestion({ ...(parent === undefined ? { uidp: { inRoot: true } } : { parent }), orderBy: "name", pageSize: treeSize }),
  freshMs,
});

/** For callers without access to any organization as a whole. */
export const visibleGroups = (): Question<ListGroupsResponse> => groupsQuestion({ orderBy: "uid", pageSize: treeSize });

export const reposIn = (parent: string, skip: number): Question<ListReposResponse> => {
  const request = { parent, orderBy: "name", ...pageFrom(skip) };
  return { name: "registry.repos.list", request, send: (gantry, signal) => gantry.registry.repos.list(request, { signal }).page() };
};

export const tagsIn = (parent: string, skip: number): Question<ListTagsResponse> => {
  const request = { parent, orderBy: "update_time desc", includeDates: true, includeEpochs: true, ...pageFrom(skip) };
  return { name: "registry.tags.list", request, send: (gantry, signal) => gantry.registry.tags.list(request, { signal }).page() };
};

/** The latest tags of all repos that the caller can see. */
export const newestTags = (): Question<ListTagsResponse> => {
  const request = { includeDates: true, includeEpochs: true, orderBy: "update_time desc", pageSize: 5 };
  return { name: "registry.tags.list", request, send: (gantry, signal) => gantry.registry.tags.list(request, { signal }).page() };
};

export const architectures = (repoUid: string, digest: string): Question<Architectures> => {
  const request = { repoUid, digest };
  return { name: "registry.repos.get-architectures", request, freshMs, send: (gantry, signal) => gantry.registry.repos.getArchitectures(request, { signal }) };
};

export const imageSize = (repoUid: string, digest: string, architecture: string | undefined): Question<Size> => {
  const request = { repoUid, digest, ...(architecture === undefined ? {} : { architecture }) };
  return { name: "registry.repos.get-size", request, send: (gantry, signal) => gantry.registry.repos.getSize(request, { signal }) };
};

export const identitiesIn = (parent: string, skip: number): Question<ListIdentitiesResponse> => {
  const request = { parent, orderBy: "name", ...pageFrom(skip) };
  return { name: "iam.identities.list", request, send: (gantry, signal) => gantry.iam.identities.list(request, { signal }).page() };
};

export const bindingsIn = (parent: string, skip: number): Question<ListRoleBindingsResponse> => {
  const request = { parent, orderBy: "create_time", ...pageFrom(skip) };
  return { name: "iam.role-bindings.list", request, send: (gantry, signal) => gantry.iam.roleBindings.list(request, { signal }).page() };
};

/** Names and paths of resources, 50 at most. */
export const namesOf = (uids: readonly string[]): Question<LookupResponse> => {
  const request = { uids: [...uids] };
  return { name: "names.lookup", request, send: (gantry, signal) => gantry.names.lookup(request, { signal }) };
};

/** A group in the path of a page. Its name is "" if it is hidden. */
export interface Place {
  readonly uid: string;
  readonly name: string;
}

/** The uids of the groups above a group, and its own. */
export const ancestryOf = (uid: string): string[] => uid.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));

/** The groups of a path of uids; undefined if the last is not visible. */
const byUids = async (gantry: Gantry, uid: string, signal: AbortSignal): Promise<Place[] | undefined> => {
  const ids = ancestryOf(uid);
  const { groups } = await gantry.iam.groups.list({ uidp: { ids }, pageSize: ids.length }, { signal }).page();
  const names = new Map(groups.map((group) => [group.uid, group.name]));
  return names.has(uid) ? ids.map((each) => ({ uid: each, name: names.get(each) ?? "" })) : undefined;
};

/** Some segments are names and some are uids: each level is one request. */
const byWalk = async (gantry: Gantry, names: readonly string[], signal: AbortSignal): Promise<Place[] | undefined> => {
  const places: Place[] = [];
  let parent: string | undefined;
  for (const name of names) {
    if (isUidPart(name)) places.push({ uid: parent === undefined ? name : `${parent}/${name}`, name: "" });
    else {
      const filter = parent === undefined ? { uidp: { inRoot: true } } : { parent };
      const { groups } = await gantry.iam.groups.list({ ...filter, name, pageSize: 2 }, { signal }).page();
      const [only, another] = groups;
      if (!only || another) return undefined;
      places.push(only);
    }
    parent = places.at(-1)?.uid;
  }
  return parent === undefined ? undefined : byUids(gantry, parent, signal);
};

/** Names from a group that the caller can list. An organization is preferred to a group below one with the same name. */
const byNames = async (gantry: Gantry, names: readonly string[], signal: AbortSignal): Promise<(readonly Place[])[]> => {
  const request = { path: names.join("/"), types: ["Group"] };
  const found = await undefinedIf(["NOT_FOUND", "INVALID_ARGUMENT"], () => gantry.names.resolve(request, { signal }));
  const paths = (found?.results ?? []).map(({ uid }) => ({
    uid,
    places: ancestryOf(uid)
      .slice(-names.length)
      .map((each, index) => ({ uid: each, name: names[index] ?? "" })),
  }));
  const rooted = paths.filter(({ uid }) => uid.split("/").length === names.length);
  return (rooted.length > 0 ? rooted : paths).map(({ places }) => places);
};

/** The place of an address, as the groups of its path: none if there is no such place, several if the names are ambiguous. */
export const placesAt = (names: readonly string[]): Question<readonly (readonly Place[])[]> => ({
  name: "names.resolve",
  request: { path: names.join("/"), types: ["Group"] },
  freshMs,
  send: async (gantry, signal) => {
    if (names.some((name) => name.includes("/"))) return [];
    if (!names.some(isUidPart)) return byNames(gantry, names, signal);
    // An address can have names and uids that no group has.
    const path = await undefinedIf(["INVALID_ARGUMENT"], () =>
      names.every(isUidPart) ? byUids(gantry, names.join("/"), signal) : byWalk(gantry, names, signal),
    );
    return path ? [path] : [];
  },
});

export const groupAt = (uid: string): Question<Group | undefined> => ({
  name: "iam.groups.get",
  request: { uid },
  freshMs,
  send: (gantry, signal) => undefinedIf(absent, () => gantry.iam.groups.get({ uid }, { signal })),
});

export const repoAt = (parent: string, name: string): Question<Repo | undefined> => ({
  name: "registry.repos.list",
  request: { parent, name },
  freshMs,
  send: async (gantry, signal) => {
    if (!isUidPart(name)) {
      const found = await undefinedIf(["INVALID_ARGUMENT"], () => gantry.registry.repos.list({ parent, name, pageSize: 2 }, { signal }).page());
      return found?.repos.length === 1 ? found.repos[0] : undefined;
    }
    return undefinedIf(absent, () => gantry.registry.repos.get({ uid: `${parent}/${name}` }, { signal }));
  },
});

/** A refusal does not reveal whether a resource exists. */
const absent = ["NOT_FOUND", "PERMISSION_DENIED"];

const undefinedIf = async <Resource>(codes: readonly string[], get: () => Promise<Resource>): Promise<Resource | undefined> => {
  try {
    return await get();
  } catch (thrown) {
    if (thrown instanceof ApiError && codes.includes(thrown.code)) return undefined;
    throw thrown;
  }
};
