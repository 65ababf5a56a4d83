// The access of a registry token: actions on repositories, and the list of them (docs/decisions/0069-repository-paths-and-registry-tokens.md).

/** Actions of registry scopes, in the order of tokens and challenges. */
export const registryActions = ["pull", "push", "delete"] as const;
export type RegistryAction = (typeof registryActions)[number];

/** Actions on a repository that existed when the token was issued. */
export interface RepoAccess {
  readonly repo: string;
  readonly actions: readonly RegistryAction[];
}

/** Actions on a repository to be created: its exact path, at or below the group in which the caller may create it. */
export interface NewRepoAccess {
  readonly path: string;
  readonly group: string;
  readonly actions: readonly RegistryAction[];
}

export interface RegistryAccess {
  readonly repos: readonly RepoAccess[];
  readonly newRepos: readonly NewRepoAccess[];
  /** The list of all repositories that the caller can list. */
  readonly catalog: boolean;
}

/** The scope of the list of repositories. */
export const catalogScope = "registry:catalog:*";

/** The access of a token requested without a scope: it identifies the caller and permits nothing. */
export const noRegistryAccess: RegistryAccess = { repos: [], newRepos: [], catalog: false };
