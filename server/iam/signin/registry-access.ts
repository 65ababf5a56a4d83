// Permissions of a new registry token (docs/decisions/0069): the requested scopes, limited to the caller's current permissions.
// Missing and hidden repositories both give none.

import type { Caller } from "#authn";
import { missingCapability, type Rights, withoutRights } from "#authz";
import { Fault } from "#base/fault.ts";
import { type NewRepoAccess, noRegistryAccess, type RegistryAccess, type RegistryAction, type RepoAccess } from "#base/registry-access.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { actionCapabilities, registryOperations } from "#contract/registry-actions.ts";
import { keyForCaller, type FindPlace, type Kernel, type Place } from "#kernel";
import type { RegistryScope, RequestedScopes } from "./registry-scopes.ts";

type AccessKernel = Pick<Kernel, "services" | "rights" | "answers">;

/** Resolves the group of a path to create, whether or not something is pending for it. */
const newRepoOperation = "PutManifest";

type Resolve = (method: MethodFact, name: string) => Promise<Place | undefined>;

/** Push comes first, because it also resolves the group of a repository to create. */
const operations: readonly { readonly method: MethodFact; readonly action: RegistryAction }[] = (["push", "pull", "delete"] as const).flatMap((action) =>
  methods
    .filter((method) => registryOperations.get(method.name) === action && (action !== "push" || method.rpc === newRepoOperation))
    .map((method) => ({ method, action })),
);

/** Visibility depends on the operation's capability, so every requested action is tried. */
const resolveName = async (resolve: Resolve, rights: Rights, { name, actions }: RegistryScope): Promise<Place | undefined> => {
  for (const { method, action } of operations) {
    const found = actions.includes(action) ? await resolve(method, name) : undefined;
    // Only a push resolves a pending path: the token lists the path with its group.
    const place = found?.capabilities !== undefined && method.rpc !== newRepoOperation ? undefined : found;
    // Creating a repository requires the group's capabilities and those of the push.
    const isPermitted =
      place?.capabilities === undefined || missingCapability(rights, [...place.capabilities, ...method.capabilities], place.path) === undefined;
    if (place && isPermitted) return place;
  }
  return undefined;
};

const pullOperation = methods.find(({ rpc, distribution }) => distribution !== undefined && rpc === "GetManifest");

const isOpen = async (resolve: Resolve, place: Place): Promise<boolean> =>
  place.isOpen === true || (pullOperation !== undefined && (await resolve(pullOperation, place.path))?.isOpen === true);

const permittedActions = async (resolve: Resolve, rights: Rights, actions: readonly RegistryAction[], place: Place): Promise<RegistryAction[]> => {
  const isHeld = (action: RegistryAction): boolean =>
    actionCapabilities[action].some((capability) => missingCapability(rights, [capability], place.path) === undefined);
  const held = actions.filter(isHeld);
  const mayBeOpen = place.capabilities === undefined && actions.includes("pull") && !held.includes("pull");
  return mayBeOpen && (await isOpen(resolve, place)) ? ["pull", ...held] : held;
};

/** Returns the access that a token gets for these scopes; throws UNAUTHENTICATED if the identity no longer exists. */
export const findRegistryAccess = async (kernel: AccessKernel, caller: Caller, { repositories, catalog }: RequestedScopes): Promise<RegistryAccess> => {
  const { services } = kernel;
  // Uncached, so that permission changes apply to the next token.
  const rights = await kernel.rights.of(caller, services.clock(), true);
  if (!rights) throw withoutRights();
  // Identities of a suspended organization have no permissions; their requests report the reason.
  if (rights.closed) return noRegistryAccess;
  const rows = services.store.forParty(keyForCaller(caller)).read;
  const resolve: Resolve = async (method, name) => {
    const findPlace: FindPlace | undefined = kernel.answers.get(method.name)?.findPlace;
    const found = await findPlace?.({ services, method, request: { repo: name }, caller, rights, rows });
    return found === undefined || found instanceof Fault || found.isMissing ? undefined : found;
  };
  const repos = new Map<string, RepoAccess>();
  const newRepos: NewRepoAccess[] = [];
  for (const scope of repositories) {
    const place = await resolveName(resolve, rights, scope);
    const actions = place && (await permittedActions(resolve, rights, scope.actions, place));
    if (!place || !actions || actions.length === 0) continue;
    if (place.capabilities !== undefined) newRepos.push({ path: scope.name, group: place.path, actions });
    // Two scopes may name one repository, by UID and by path.
    else repos.set(place.path, { repo: place.path, actions: [...new Set([...(repos.get(place.path)?.actions ?? []), ...actions])] });
  }
  return { repos: [...repos.values()], newRepos, catalog };
};
