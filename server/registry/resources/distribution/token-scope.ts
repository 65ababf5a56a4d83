// Enforces a registry token on each request (docs/decisions/0069). The token narrows current rights. Its repositories are matched by
// uid, so a reused name grants nothing. Anything else gets the same response whether it exists or not: a challenge for the required
// scope.

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

/** Rights for resolving the path: those of the identity, in the group where the token may create the repository. */
const rightsToFind = (rights: Rights, live: Rights, { group, actions }: NewRepoAccess): Rights =>
  withGrants(rights, grantsAt(live.grants, group, new Set([...visibilityCapabilities, ...creationCapabilities, ...capabilitiesOf(actions)])));

/**
 * Rights for the rest of the request: at the repository or pending path, or at the group for what a push needs to start it. Never a
 * pull at the group, which would allow mounts from its other repositories.
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
  // The client may learn that nothing exists: it was allowed to create it.
  if (found instanceof Fault || found.isMissing) return found;
  // Another tenant's repository, or one moved here from outside the group.
  if (!covers(access.group, found.path)) return insufficientScope(action);
  return { ...found, rights: rightsAt(rights, live, access, found) };
};

/** Resolves the repository like `findRepoPlace`, within the limits of the caller's registry token. */
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
