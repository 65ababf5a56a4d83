// What a registry token permits: actions on repositories (docs/decisions/0069-registry-tokens-with-least-privilege.md).

/** The actions of a registry's scopes, in the order in which tokens and challenges list them. */
export const registryActions = ["pull", "push", "delete"] as const;
export type RegistryAction = (typeof registryActions)[number];

/** Actions on a repository that existed when the token was issued. */
export interface RepoAccess {
  readonly repo: string;
  readonly actions: readonly RegistryAction[];
}

/** Actions on a repository that did not exist yet: its exact path, at or below the group that its creation was permitted in. */
export interface NewRepoAccess {
  readonly path: string;
  readonly group: string;
  readonly actions: readonly RegistryAction[];
}

export interface RegistryAccess {
  readonly repos: readonly RepoAccess[];
  readonly newRepos: readonly NewRepoAccess[];
}

/** The access of a token that was requested without a scope: it proves who the caller is, and permits nothing. */
export const noRegistryAccess: RegistryAccess = { repos: [], newRepos: [] };
