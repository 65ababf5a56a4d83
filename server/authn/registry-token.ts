// Registry tokens (docs/decisions/0069): the header `typ` and the audience each keep them out of everything but the registry.

import { unauthenticated } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { type NewRepoAccess, type RegistryAccess, type RegistryAction, registryActions, type RepoAccess } from "#base/registry-access.ts";
import { isUid } from "#base/uid.ts";
import { withoutTrailingSlash } from "./audiences.ts";
import { claimOf, type Token } from "./token.ts";

const accessClaim = "gantry_access";

/** Returns the audience of registry tokens, which no other part accepts. */
export const registryAudience = (issuer: string): string => `${withoutTrailingSlash(issuer)}/v2/`;

export const registryClaims = ({ repos, newRepos, catalog }: RegistryAccess): JsonObject => ({
  [accessClaim]: [
    ...(catalog ? [{ catalog }] : []),
    ...repos.map(({ repo, actions }) => ({ repo, actions: [...actions] })),
    ...newRepos.map(({ path, group, actions }) => ({ path, group, actions: [...actions] })),
  ],
});

const malformed = (): Error => unauthenticated(`the token is malformed: its claim "${accessClaim}" is not a list of repositories and actions`);

const readActions = (value: Json | undefined): readonly RegistryAction[] => {
  const actions = Array.isArray(value) ? registryActions.filter((action) => value.includes(action)) : [];
  if (!Array.isArray(value) || actions.length !== value.length) throw malformed();
  return Object.freeze(actions);
};

/** Returns the access of a registry token; throws UNAUTHENTICATED if the claim is missing or malformed. */
export const readRegistryAccess = ({ claims }: Token): RegistryAccess => {
  const entries = claimOf(claims, accessClaim);
  if (!Array.isArray(entries)) throw malformed();
  const repos: RepoAccess[] = [];
  const newRepos: NewRepoAccess[] = [];
  let catalog = false;
  for (const entry of entries) {
    if (!isObject(entry)) throw malformed();
    if (entry.catalog === true) {
      catalog = true;
      continue;
    }
    const { repo, path, group } = entry;
    const actions = readActions(entry.actions);
    if (typeof repo === "string" && isUid(repo)) repos.push(Object.freeze({ repo, actions }));
    else if (typeof path === "string" && typeof group === "string" && isUid(group)) newRepos.push(Object.freeze({ path, group, actions }));
    else throw malformed();
  }
  return Object.freeze({ repos: Object.freeze(repos), newRepos: Object.freeze(newRepos), catalog });
};
