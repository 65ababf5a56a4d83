// Parses the scopes of a token request (oci: 4): "repository:<name>:<action>,<action>", and
// "registry:catalog:*", separated by spaces or repeated. Malformed scopes, other types and unknown actions are ignored.

import { invalid } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { catalogScope, type RegistryAction, registryActions } from "#base/registry-access.ts";

export interface RegistryScope {
  readonly name: string;
  readonly actions: readonly RegistryAction[];
}

export interface RequestedScopes {
  readonly repositories: readonly RegistryScope[];
  readonly catalog: boolean;
}

const scopeForm = /^repository(?:\([a-z0-9]+\))?:(.+):([^:]*)$/;

const actionsIn = (text: string): readonly RegistryAction[] => {
  const named = new Set(text.split(","));
  return registryActions.filter((action) => named.has(action) || named.has("*"));
};

/** Returns the repositories that the scopes name, once each, with all actions; throws INVALID_ARGUMENT if there are too many for one token. */
export const readRegistryScopes = (texts: readonly string[]): RequestedScopes => {
  const byName = new Map<string, readonly RegistryAction[]>();
  const scopes = texts.flatMap((text) => text.split(" "));
  for (const scope of scopes) {
    const [, name = "", actionsText = ""] = scopeForm.exec(scope) ?? [];
    const actions = actionsIn(actionsText);
    if (actions.length === 0) continue;
    const known = byName.get(name) ?? [];
    byName.set(
      name,
      registryActions.filter((action) => known.includes(action) || actions.includes(action)),
    );
    if (byName.size > limits.registryTokenReposMax)
      throw invalid([{ field: "scope", description: `the scopes of one token must name at most ${limits.registryTokenReposMax} repositories` }]);
  }
  return { repositories: [...byName].map(([name, actions]) => ({ name, actions })), catalog: scopes.includes(catalogScope) };
};
