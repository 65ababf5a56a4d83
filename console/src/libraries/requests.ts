// Requests about libraries: request groups with their items, demand, and the catalog. Their commands name uids as words.

import type {
  Availability,
  CreateRequestGroupRequest,
  Ecosystem,
  GetArtifactCountResponse,
  ListArtifactsResponse,
  ListArtifactVersionsResponse,
  ListRequestedLibrariesResponse,
  ListRequestedLibraryVersionsResponse,
  ListRequestGroupItemsResponse,
  ListRequestGroupsResponse,
  RemoveItemsResponse,
  RequestGroup,
  RestoreItemsResponse,
} from "../../../client/package.ts";
import type { Question } from "../api.ts";
import type { Version } from "../conflict.tsx";
import { shellWord } from "../format.ts";
import { pageFrom } from "../questions.ts";

export const ecosystems = ["ECOSYSTEM_PYTHON", "ECOSYSTEM_JAVA"] as const satisfies readonly Ecosystem[];

const requestGroups = "gantry libraries request-groups";

type Flags = Readonly<Record<string, string | number | boolean | undefined>>;

/** Returns flags in the order of the record, without those that are undefined or false. */
const flags = (values: Flags): string =>
  Object.entries(values)
    .flatMap(([name, value]) => (value === undefined || value === false ? [] : [value === true ? ` --${name}` : ` --${name} ${shellWord(String(value))}`]))
    .join("");

const pageFlags = ({ pageSize, skip }: ReturnType<typeof pageFrom>): Flags => ({ limit: pageSize, skip });

export const requestsBelow = (parent: string, skip: number): Question<ListRequestGroupsResponse> => {
  const page = pageFrom(skip);
  const request = { parent, orderBy: "create_time desc", ...page };
  return {
    name: "libraries.request-groups.list",
    request,
    command: `${requestGroups} list${flags({ parent, "order-by": request.orderBy, ...pageFlags(page) })}`,
    send: (gantry, signal) => gantry.libraries.requestGroups.list(request, { signal }).page(),
  };
};

/** A request group with its ETag. */
export const requestAt = (uid: string): Question<Version<RequestGroup>> => ({
  name: "libraries.request-groups.get",
  request: { uid },
  command: `${requestGroups} get ${uid}`,
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.libraries.requestGroups.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

/** Items in this state; all, with removed ones, without it. */
export const itemsOf = (uid: string, availability: Availability | undefined, skip: number): Question<ListRequestGroupItemsResponse> => {
  const page = pageFrom(skip);
  const request = { uid, ...(availability === undefined ? { includeRemoved: true } : { availability }), ...page };
  return {
    name: "libraries.request-groups.list-items",
    request,
    command: `${requestGroups} list-items ${uid}${flags({ availability, "include-removed": availability === undefined, ...pageFlags(page) })}`,
    send: (gantry, signal) => gantry.libraries.requestGroups.listItems(request, { signal }).page(),
  };
};

/** The largest page. */
export const blockingMax = 200;

/** The first items that prevent a submission. */
export const blockingItemsOf = (uid: string): Question<ListRequestGroupItemsResponse> => {
  const request = { uid, availability: "AVAILABILITY_INVALID_REQUIREMENT", pageSize: blockingMax } as const;
  return {
    name: "libraries.request-groups.list-items",
    request,
    send: (gantry, signal) => gantry.libraries.requestGroups.listItems(request, { signal }).page(),
  };
};

/** The command reads the content from the file. */
export const createRequest = (request: CreateRequestGroupRequest): Question<RequestGroup> => {
  const { parent, name, filename = "requirements.txt", format, forCveRemediation } = request;
  const shown = flags({ parent, name, content: `@${filename}`, filename: request.filename, format, "for-cve-remediation": forCveRemediation });
  return {
    name: "libraries.request-groups.create",
    request: { ...request },
    command: `${requestGroups} create${shown}`,
    send: (gantry, signal) => gantry.libraries.requestGroups.create(request, { signal }),
  };
};

export const renameRequest = (uid: string, name: string, ifMatch: string | undefined): Question<RequestGroup> => {
  const request = { requestGroup: { uid, name }, updateMask: ["name"] as const };
  return {
    name: "libraries.request-groups.update",
    request,
    send: (gantry, signal) => gantry.libraries.requestGroups.update(request, { signal, ifMatch }),
  };
};

export const submitRequest = (uid: string): Question<RequestGroup> => ({
  name: "libraries.request-groups.submit",
  request: { uid },
  command: `${requestGroups} submit ${uid}`,
  send: (gantry, signal) => gantry.libraries.requestGroups.submit({ uid }, { signal }),
});

export const refreshRequest = (uid: string): Question<RequestGroup> => ({
  name: "libraries.request-groups.refresh-coverage",
  request: { uid },
  command: `${requestGroups} refresh-coverage ${uid}`,
  send: (gantry, signal) => gantry.libraries.requestGroups.refreshCoverage({ uid }, { signal }),
});

export const deleteRequest = (uid: string): Question<void> => ({
  name: "libraries.request-groups.delete",
  request: { uid },
  command: `${requestGroups} delete ${uid}`,
  send: (gantry, signal) => gantry.libraries.requestGroups.delete({ uid }, { signal }),
});

export const removeItems = (uid: string, itemUids: readonly string[]): Question<RemoveItemsResponse> => ({
  name: "libraries.request-groups.remove-items",
  request: { uid, itemUids },
  command: `${requestGroups} remove-items ${uid}${flags({ "item-uids": itemUids.join(",") })}`,
  send: (gantry, signal) => gantry.libraries.requestGroups.removeItems({ uid, itemUids }, { signal }),
});

export const restoreItems = (uid: string, itemUids: readonly string[]): Question<RestoreItemsResponse> => ({
  name: "libraries.request-groups.restore-items",
  request: { uid, itemUids },
  command: `${requestGroups} restore-items ${uid}${flags({ "item-uids": itemUids.join(",") })}`,
  send: (gantry, signal) => gantry.libraries.requestGroups.restoreItems({ uid, itemUids }, { signal }),
});

/** Libraries of the submitted requests of a group and everything below it. */
export const demandBelow = (parent: string, skip: number): Question<ListRequestedLibrariesResponse> => {
  const page = pageFrom(skip);
  const request = { parent, ...page };
  return {
    name: "libraries.requested-libraries.list",
    request,
    command: `gantry libraries requested-libraries list${flags({ parent, ...pageFlags(page) })}`,
    send: (gantry, signal) => gantry.libraries.requestedLibraries.list(request, { signal }).page(),
  };
};

export const demandedVersions = (parent: string, ecosystem: Ecosystem, name: string, skip: number): Question<ListRequestedLibraryVersionsResponse> => {
  const request = { parent, name, ecosystem, ...pageFrom(skip) };
  return {
    name: "libraries.requested-libraries.list-versions",
    request,
    send: (gantry, signal) => gantry.libraries.requestedLibraries.listVersions(request, { signal }).page(),
  };
};

export interface CatalogFilter {
  readonly ecosystem: Ecosystem | undefined;
  /** A part of the name; "" for any. */
  readonly query: string;
  readonly isRemediated: boolean;
}

export const catalogWith = ({ ecosystem, query, isRemediated }: CatalogFilter, skip: number): Question<ListArtifactsResponse> => {
  const request = {
    ecosystems: ecosystem === undefined ? ecosystems : [ecosystem],
    ...(query === "" ? {} : { query }),
    ...(isRemediated ? { remediated: true } : {}),
    ...pageFrom(skip),
  };
  return { name: "libraries.artifacts.list", request, send: (gantry, signal) => gantry.libraries.artifacts.list(request, { signal }).page() };
};

export const catalogCounts = (): Question<GetArtifactCountResponse> => ({
  name: "libraries.artifacts.get-count",
  request: { ecosystems },
  send: (gantry, signal) => gantry.libraries.artifacts.getCount({ ecosystems }, { signal }),
});

export const versionsOf = (artifactId: string, skip: number): Question<ListArtifactVersionsResponse> => {
  const page = pageFrom(skip);
  const request = { artifactId, ...page };
  return {
    name: "libraries.artifacts.list-versions",
    request,
    command: `gantry libraries artifacts list-versions ${shellWord(artifactId)}${flags(pageFlags(page))}`,
    send: (gantry, signal) => gantry.libraries.artifacts.listVersions(request, { signal }).page(),
  };
};
