// Maps the actions of registry scopes to capabilities. Each operation of the OCI Distribution protocol belongs to one action.

import { type RegistryAction, registryActions } from "#base/registry-access.ts";
import { methods } from "./catalog.ts";
import type { MethodFact } from "./facts.ts";

export const actionCapabilities: Readonly<Record<RegistryAction, readonly string[]>> = {
  pull: ["manifest.list", "repo.blobs.get", "tag.list", "referrers.list"],
  push: ["manifest.create", "tag.create"],
  delete: ["manifest.delete", "tag.delete"],
};

export const registryOperations: ReadonlyMap<string, RegistryAction> = new Map(
  methods.flatMap(({ name, distribution, capabilities, unscoped }) => {
    // A list of all repositories has its own scope.
    if (!distribution || capabilities.length === 0 || unscoped) return [];
    const actions = registryActions.filter((action) => capabilities.some((capability) => actionCapabilities[action].includes(capability)));
    const [action, another] = actions;
    if (action === undefined || another !== undefined) throw new Error(`${name} must need the capabilities of exactly one action of registry scopes`);
    return [[name, action] as const];
  }),
);

/** Returns the action of an operation; undefined if it does not concern a repository. */
export const actionOf = ({ name }: Pick<MethodFact, "name">): RegistryAction | undefined => registryOperations.get(name);
