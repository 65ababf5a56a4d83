// What a registry token permits, on each request (docs/decisions/0069). The token narrows, and live rights decide: its repositories
// are found by uid, so a name that has come to mean another repository leads nowhere. What the token does not cover has one
// answer, whether it exists or not: a challenge for the scope that the request needs.

import { type Grant, grantsAt, type Rights, visibilityCapabilities } from "#authz";
import { Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import type { NewRepoAccess, RegistryAction } from "#base/registry-access.ts";
import { covers, isUid } from "#base/uid.ts";
import { actionCapabilities, actionOf } from "#contract/registry-actions.ts";
import type { FindPlace, Place } from "#kernel";
import { insufficientScope } from "./faults.ts";
import { findRepoPlace } from "./place.ts";

const creationCapabilities = ["repo.create", "groups.create"];

const capabilitiesOf = (actions: readonly RegistryAction[]): string[] => actions.flatMap((action) => actionCapabilities[action]);

const withGrants = (rights: Rights, grants: readonly Grant[]): Rights => ({ ...rights, grants: [...rights.grants, ...grants] });

/** The rights to look for the path with: those of the identity, in the group where the token may create the repository. */
const rightsToFind = (rights: Rights, live: Rights, { group, actions }: NewRepoAccess): Rights =>
  withGrants(rights, grantsAt(live.grants, group, new Set([...visibilityCapabilities, ...creationCapabilities, ...capabilitiesOf(actions)])));

/**
 * The rights for the rest of the request: at the repository or at what is pending; or, to begin it, what a push needs at the group. A pull
 * is never permitted at the group, whose other repositories could be mounted from.
 */
const rightsAt = (rights: Rights, live: Rights, { actions }: NewRepoAccess, { path, capabilities, request }: Place): Rights => {
  const own = isUid(text(request, "repo")) ? capabilitiesOf(actions) : actionCapabilities.push;
  return withGrants(rights, grantsAt(live.grants, path, new Set([...(capabilities === undefined ? visibilityCapabilities : creationCapabilities), ...own])));
};

const findNewPlace = async (asked: Parameters<FindPlace>[0], action: RegistryAction, access: NewRepoAccess): Promise<Place | Fault> => {
  const { rights } = asked;
  const live = rights.beforeRegistry;
  if (!live || !access.actions.includes(action)) return insufficientScope(action);
  const found = await findRepoPlace({ ...asked, rights: rightsToFind(rights, live, access) });
  // The client may know that nothing is there: it was permitted to create it.
  if (found instanceof Fault || found.isMissing) return found;
  // Another tenant's repository, or one that was moved here from outside of the group.
  if (!covers(access.group, found.path)) return insufficientScope(action);
  return { ...found, rights: rightsAt(rights, live, access, found) };
};

/** Finds the repository of a request as `findRepoPlace` does, within what the caller's registry token permits. */
export const findScopedPlace: FindPlace = async (asked) => {
  const access = asked.caller?.registry;
  const action = actionOf(asked.method);
  if (!access || !action) return findRepoPlace(asked);
  const name = text(asked.request, "repo");
  const newRepo = access.newRepos.find(({ path }) => path === name);
  if (newRepo) return findNewPlace(asked, action, newRepo);
  const found = await findRepoPlace(asked);
  if (found instanceof Fault) return found.code === "NOT_FOUND" ? insufficientScope(action) : found;
  const isPermitted = access.repos.some(({ repo, actions }) => repo === found.path && actions.includes(action));
  return isPermitted && !found.isMissing ? found : insufficientScope(action);
};
