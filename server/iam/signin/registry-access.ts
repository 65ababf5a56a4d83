// What a new registry token permits (docs/decisions/0069): the scopes that its client requests, within what the caller may do at this
// moment. A repository that does not exist, and one that the caller may not see, give the same: nothing.

import type { Caller } from "#authn";
import { missingCapability, type Rights, withoutRights } from "#authz";
import { Fault } from "#base/fault.ts";
import { type NewRepoAccess, noRegistryAccess, type RegistryAccess, type RegistryAction, type RepoAccess } from "#base/registry-access.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { actionCapabilities, registryOperations } from "#contract/registry-actions.ts";
import { callingParty, type FindPlace, type Kernel, type Place } from "#kernel";
import type { RegistryScope } from "./registry-scopes.ts";

type AccessKernel = Pick<Kernel, "services" | "rights" | "answers">;

/** Finds the group of a path that is to be created, whether something is pending for it or not. */
const newRepoOperation = "PutManifest";

/** A repository as a caller finds it. */
type Resolve = (method: MethodFact, name: string) => Promise<Place | undefined>;

/** The operations that find a repository for an action. A push is first: it finds also the group of a repository to create. */
const operations: readonly { readonly method: MethodFact; readonly action: RegistryAction }[] = (["push", "pull", "delete"] as const).flatMap((action) =>
  methods
    .filter((method) => registryOperations.get(method.name) === action && (action !== "push" || method.rpc === newRepoOperation))
    .map((method) => ({ method, action })),
);

/**
 * The one place where a scope's name is resolved: as a request for it would be. A caller sees a repository by different
 * capabilities in different operations, so each of a requested action is tried until one finds it.
 */
const resolveName = async (resolve: Resolve, rights: Rights, { name, actions }: RegistryScope): Promise<Place | undefined> => {
  for (const { method, action } of operations) {
    const found = actions.includes(action) ? await resolve(method, name) : undefined;
    // What is pending is found by a push alone: the token lists its path, with the group.
    const place = found?.capabilities !== undefined && method.rpc !== newRepoOperation ? undefined : found;
    // To create a repository takes what the place says, and the push itself.
    const isPermitted =
      place?.capabilities === undefined || missingCapability(rights, [...place.capabilities, ...method.capabilities], place.path) === undefined;
    if (place && isPermitted) return place;
  }
  return undefined;
};

const pullOperation = methods.find(({ rpc, distribution }) => distribution !== undefined && rpc === "GetManifest");

/** Open repositories may be pulled from by everybody, in whatever way they were found. */
const isOpen = async (resolve: Resolve, place: Place): Promise<boolean> =>
  place.isOpen === true || (pullOperation !== undefined && (await resolve(pullOperation, place.path))?.isOpen === true);

const permittedActions = async (resolve: Resolve, rights: Rights, actions: readonly RegistryAction[], place: Place): Promise<RegistryAction[]> => {
  const isHeld = (action: RegistryAction): boolean =>
    actionCapabilities[action].some((capability) => missingCapability(rights, [capability], place.path) === undefined);
  const held = actions.filter(isHeld);
  const mayBeOpen = place.capabilities === undefined && actions.includes("pull") && !held.includes("pull");
  return mayBeOpen && (await isOpen(resolve, place)) ? ["pull", ...held] : held;
};

/** Returns what the caller's token shall permit of these scopes; throws UNAUTHENTICATED if the caller's identity no longer exists. */
export const findRegistryAccess = async (kernel: AccessKernel, caller: Caller, scopes: readonly RegistryScope[]): Promise<RegistryAccess> => {
  const { services } = kernel;
  // Read fresh: a permission counts from the next token on, as from the next request.
  const rights = await kernel.rights.of(caller, services.clock(), true);
  if (!rights) throw withoutRights();
  // A suspended organization's identity may do nothing; its requests say why.
  if (rights.closed) return noRegistryAccess;
  const rows = services.store.forParty(callingParty(caller)).read;
  const resolve: Resolve = async (method, name) => {
    const findPlace: FindPlace | undefined = kernel.answers.get(method.name)?.findPlace;
    const found = await findPlace?.({ services, method, request: { repo: name }, caller, rights, rows });
    return found === undefined || found instanceof Fault || found.isMissing ? undefined : found;
  };
  const repos = new Map<string, RepoAccess>();
  const newRepos: NewRepoAccess[] = [];
  for (const scope of scopes) {
    const place = await resolveName(resolve, rights, scope);
    const actions = place && (await permittedActions(resolve, rights, scope.actions, place));
    if (!place || !actions || actions.length === 0) continue;
    if (place.capabilities !== undefined) newRepos.push({ path: scope.name, group: place.path, actions });
    // Two scopes may name one repository, by its uid and by its path.
    else repos.set(place.path, { repo: place.path, actions: [...new Set([...(repos.get(place.path)?.actions ?? []), ...actions])] });
  }
  return { repos: [...repos.values()], newRepos };
};
