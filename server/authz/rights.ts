// A caller's rights: loaded from its bindings, cached under the version of its root, and checked against the store's version by each
// request's first statement (store/access-version.ts).
//
// decisions: Access. A permission applies at the binding's group and below. An identity of group G acts only within G: bindings above
// or outside G grant nothing. A user's binding in an organization that the user has not joined is pending, grants nothing
// (docs/decisions/0067), and is not even loaded.

import { capabilityBySymbol } from "#contract/capabilities.ts";
import { actionCapabilities } from "#contract/registry-actions.ts";
import type { RegistryAccess } from "#base/registry-access.ts";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { covers, EVERYWHERE, isRoot, parentOf, rootOf } from "#base/uid.ts";
import { limits } from "#base/limits.ts";
import type { Metrics } from "#metrics";
import type { AccessVersion, Read } from "#db";
import { type BindingRow, type BoundIdentity, findBoundIdentity, findMappingGrants, findSessionGrants, isGrantRevoked, type MappingGrantRow } from "#iam/store";
import { operatorUid } from "#base/operator.ts";
import { builtInRoles } from "./roles.ts";

export interface Grant {
  /** The group at which the permission starts; EVERYWHERE for the operator. */
  readonly path: string;
  /** Capability names ("repo.list"). */
  readonly capabilities: ReadonlySet<string>;
  /** The role binding, or the mapping of a group to a role; absent for the operator. */
  readonly binding?: string;
  /** Expiry of the binding in milliseconds since 1970; absent: never. */
  readonly endMs?: number;
  /** True if it comes from sign-in groups by the mapping in `binding`; membership is not rechecked until the next sign-in. */
  readonly isFromSession?: boolean;
}

export interface Rights {
  readonly uid: string;
  readonly grants: readonly Grant[];
  readonly accessVersion: AccessVersion;
  /** True: the identity's own organization is suspended, so all requests are denied. */
  readonly closed?: boolean;
  /** The suspended organizations in which it has bindings; absent: none. */
  readonly suspended?: readonly string[];
  /** Earliest expiry of a grant, in milliseconds since 1970; Infinity: never. */
  readonly untilMs: number;
  /** Registry tokens: the rights before narrowing. Only for a repository that the token may create. */
  readonly beforeRegistry?: Rights;
}

/** Returns the error of a caller without rights (`RightsCache.of` returns undefined). */
export const withoutRights = (): Fault =>
  unauthenticated("the identity of this token no longer exists or has expired (expireTime), or its session was revoked");

export interface Downscoping {
  readonly uid: string;
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
  /** The sign-in session, if it adds permissions. */
  readonly session?: string;
  /** The token's session: if it is revoked, the token has no rights. */
  readonly grant?: string;
  readonly registry?: RegistryAccess;
}

/** A binding of an identity, and whether it grants anything. */
export interface HeldBinding {
  readonly uid: string;
  readonly path: string;
  readonly role: string;
  readonly capabilities: ReadonlySet<string>;
  /** Expiry in milliseconds since 1970; Infinity: never. */
  readonly endMs: number;
  /** "outside": above or outside the identity's group. "suspended": in a suspended organization. "pending": the user has not accepted membership. */
  readonly standing: "counts" | "expired" | "outside" | "pending" | "suspended";
}

/** The store's bindings of an identity, including those that grant nothing. */
export interface HeldBindings {
  /** Undefined: the root has no access version yet. */
  readonly version: string | undefined;
  /** False: the identity does not exist, has never signed in, or has expired. */
  readonly exists: boolean;
  /** Expiry of the identity in milliseconds since 1970; Infinity: never. */
  readonly endMs: number;
  /** True: its own organization is suspended. */
  readonly closed: boolean;
  readonly bindings: readonly HeldBinding[];
}

/** Closed to its members by the operator, who alone can still act there (resources: Groups, status). */
const suspended = "ORG_STATUS_SUSPENDED";

// Roles recur in every load of rights, so each text is parsed once.
const namesOfRole = new Map<string, ReadonlySet<string>>();
const rolesMax = 1_000;

/** Returns the capability names ("repo.list") of a role, from its column's text. */
export const capabilityNames = (capabilities: string): ReadonlySet<string> => {
  let names = namesOfRole.get(capabilities);
  if (!names) {
    const symbols: unknown = JSON.parse(capabilities);
    const known = Array.isArray(symbols) ? symbols.map((symbol) => capabilityBySymbol(String(symbol))?.name) : [];
    names = new Set(known.filter((name) => name !== undefined));
    if (namesOfRole.size >= rolesMax) namesOfRole.clear();
    namesOfRole.set(capabilities, names);
  }
  return names;
};

/** Above every root, including future ones. Not a row, because a list could not show its path. */
export const operatorGrant: Grant = { path: EVERYWHERE, capabilities: new Set(builtInRoles.operator) };

const standingOf = ({ expireTimeMs, organizationStatus, isPending }: BindingRow, path: string, home: string, nowMs: number): HeldBinding["standing"] => {
  if (!covers(home, path)) return "outside";
  if (expireTimeMs !== undefined && expireTimeMs <= nowMs) return "expired";
  if (organizationStatus === suspended) return "suspended";
  return isPending ? "pending" : "counts";
};

const heldOf = async (found: Promise<BoundIdentity>, uid: string, nowMs: number): Promise<HeldBindings> => {
  const { version, exists, expireTimeMs: endMs = Number.POSITIVE_INFINITY, homeStatus, bindings } = await found;
  const home = isRoot(uid) ? EVERYWHERE : parentOf(uid);
  const held = bindings.map((binding): HeldBinding => {
    const path = parentOf(binding.uid);
    return {
      uid: binding.uid,
      path,
      role: binding.roleUid,
      capabilities: capabilityNames(binding.capabilities),
      endMs: binding.expireTimeMs ?? Number.POSITIVE_INFINITY,
      standing: standingOf(binding, path, home, nowMs),
    };
  });
  return { version, exists: exists && endMs > nowMs, endMs, closed: homeStatus === suspended, bindings: held };
};

/** Returns every binding of this identity, including pending ones, and whether it grants anything at `nowMs`. The only place that decides this. */
export const loadBindings = (read: Read, uid: string, nowMs: number): Promise<HeldBindings> =>
  heldOf(findBoundIdentity(read, rootOf(uid), uid, true), uid, nowMs);

/** Returns the resulting rights; undefined if the identity does not exist. */
export const rightsFrom = (uid: string, { version, exists, endMs: identityEndMs, closed, bindings }: HeldBindings): Rights | undefined => {
  if (version === undefined || !exists) return undefined;
  const counting = bindings.filter(({ standing }) => standing === "counts");
  return {
    uid,
    closed,
    suspended: [...new Set(bindings.flatMap(({ standing, path }) => (standing === "suspended" ? [rootOf(path)] : [])))],
    grants: [
      ...(uid === operatorUid ? [operatorGrant] : []),
      ...counting.map(({ uid, path, capabilities, endMs }) => ({ path, capabilities, binding: uid, ...(Number.isFinite(endMs) ? { endMs } : {}) })),
    ],
    accessVersion: { root: rootOf(uid), version },
    untilMs: counting.reduce((earliest, { endMs }) => Math.min(earliest, endMs), identityEndMs),
  };
};

/** Returns the current rights of this identity from the store; undefined if it does not exist. */
export const loadRights = async (read: Read, uid: string, nowMs: number): Promise<Rights | undefined> =>
  rightsFrom(uid, await heldOf(findBoundIdentity(read, rootOf(uid), uid), uid, nowMs));

const sessionGrant = ({ mappingUid, scope, capabilities }: Pick<MappingGrantRow, "mappingUid" | "scope" | "capabilities">): Grant => ({
  path: scope,
  capabilities: capabilityNames(capabilities),
  binding: mappingUid,
  isFromSession: true,
});

/**
 * Adds the roles that the provider's mappings assign to the sign-in's groups, until the session expires (resources:
 * ExternalGroupRoleMappings). `rights` must be read first, so that any change in between invalidates their accessVersion.
 */
export const withSession = async (read: Read, rights: Rights, session: string, nowMs: number): Promise<Rights> => {
  const grants = [...rights.grants];
  const closed = new Set(rights.suspended);
  let { untilMs } = rights;
  for (const { mappingUid, scope, capabilities, expireTimeMs, organizationStatus } of await findSessionGrants(read, session, rights.uid)) {
    if (expireTimeMs <= nowMs) continue;
    untilMs = Math.min(untilMs, expireTimeMs);
    if (organizationStatus === suspended) closed.add(rootOf(scope));
    else grants.push(sessionGrant({ mappingUid, scope, capabilities }));
  }
  return { ...rights, grants, suspended: [...closed], untilMs };
};

/** Adds the permissions of these mappings, as of a sign-in that may have expired. */
export const withMappings = async (read: Read, rights: Rights, mappings: readonly string[]): Promise<Rights> => {
  const found = mappings.length === 0 ? [] : await findMappingGrants(read, mappings);
  return { ...rights, grants: [...rights.grants, ...found.filter(({ organizationStatus }) => organizationStatus !== suspended).map(sessionGrant)] };
};

/** Returns the grants that apply at `path`, limited to `capabilities`. */
export const grantsAt = (grants: readonly Grant[], path: string, capabilities: ReadonlySet<string>): Grant[] =>
  grants.flatMap((grant) => {
    if (!covers(grant.path, path)) return [];
    const held = new Set([...grant.capabilities].filter((name) => capabilities.has(name)));
    return held.size === 0 ? [] : [{ ...grant, path, capabilities: held }];
  });

/** Capabilities that only make a repository visible; an error needs them to name the missing permission. */
export const visibilityCapabilities = ["repo.list", "groups.list"];

const withinRegistryAccess = (rights: Rights, { repos }: RegistryAccess): Rights => ({
  ...rights,
  grants: repos.flatMap(({ repo, actions }) =>
    grantsAt(rights.grants, repo, new Set([...visibilityCapabilities, ...actions.flatMap((action) => actionCapabilities[action])])),
  ),
  beforeRegistry: rights,
});

export const downscope = (rights: Rights, { registry, ...downscoping }: Downscoping): Rights => {
  const narrowed = narrow(rights, downscoping);
  return registry === undefined ? narrowed : withinRegistryAccess(narrowed, registry);
};

const narrow = (rights: Rights, { capabilities, scopes }: Pick<Downscoping, "capabilities" | "scopes">): Rights => {
  if (!capabilities && !scopes) return rights;
  const kept = capabilities && new Set(capabilities);
  const grants = rights.grants.flatMap((grant) => {
    const held = kept ? new Set([...grant.capabilities].filter((name) => kept.has(name))) : grant.capabilities;
    if (!scopes) return [{ ...grant, capabilities: held }];
    // "Those inherited from ancestors": a permission above a scope applies at the scope.
    const paths = scopes.flatMap((scope) => (covers(grant.path, scope) ? [scope] : covers(scope, grant.path) ? [grant.path] : []));
    return [...new Set(paths)].map((path) => ({ ...grant, path, capabilities: held }));
  });
  return { ...rights, grants };
};

export interface RightsCache {
  /**
   * Returns the caller's rights, narrowed to its token. `fresh` reads the store; otherwise they may be outdated, which the request's
   * first statement detects. Undefined: the identity no longer exists.
   */
  of(caller: Downscoping, nowMs: number, fresh: boolean): Promise<Rights | undefined> | Rights;
}

/** Attack 11: permissions of a session are only for its own tokens. A uid has no spaces. */
const cacheKey = ({ uid, session }: Downscoping): string => (session === undefined ? uid : `${uid} ${session}`);

export const openRightsCache = (read: Read, metrics?: Pick<Metrics, "watch">): RightsCache => {
  let [hits, misses] = [0, 0];
  metrics?.watch("gantry_cache_requests_total", () => [
    { labels: { cache: "rights", result: "hit" }, value: hits },
    { labels: { cache: "rights", result: "miss" }, value: misses },
  ]);
  const byCaller = new Map<string, Rights>();
  const downscoped = new WeakMap<Downscoping, { from: Rights; to: Rights }>();
  const forCaller = (caller: Downscoping, from: Rights): Rights => {
    const kept = downscoped.get(caller);
    if (kept?.from === from) return kept.to;
    const to = downscope(from, caller);
    downscoped.set(caller, { from, to });
    return to;
  };
  const loadOwn = async (caller: Downscoping, nowMs: number): Promise<Rights | undefined> => {
    const own = await loadRights(read, caller.uid, nowMs);
    if (!own) {
      byCaller.delete(cacheKey(caller));
      return undefined;
    }
    const rights = caller.session === undefined ? own : await withSession(read, own, caller.session, nowMs);
    if (byCaller.size >= limits.rightsCacheEntries) byCaller.clear();
    byCaller.set(cacheKey(caller), rights);
    return rights;
  };
  // Sessions that were not revoked while these rights were cached. Revoking one changes its user's version, so the proof of the rights
  // proves the session too. This holds only for users: an identity that a user acts as has its organization's version, and its tokens
  // are looked up with each request.
  const liveSessions = new WeakMap<Rights, Set<string>>();
  const isKnownLive = ({ uid, grant }: Downscoping, held: Rights): boolean =>
    grant === undefined || (isRoot(uid) && liveSessions.get(held)?.has(grant) === true);
  const load = async (caller: Downscoping, held: Rights | undefined, nowMs: number): Promise<Rights | undefined> => {
    const rights = held ?? (await loadOwn(caller, nowMs));
    if (!rights || caller.grant === undefined) return rights && forCaller(caller, rights);
    // After the rights: finds a revocation in between; a later one changes the version.
    if (await isGrantRevoked(read, caller.grant)) return undefined;
    const live = liveSessions.get(rights) ?? new Set();
    if (live.size >= limits.liveSessionsMax) live.clear();
    liveSessions.set(rights, live.add(caller.grant));
    return forCaller(caller, rights);
  };
  return {
    of(caller, nowMs, fresh) {
      const found = fresh ? undefined : byCaller.get(cacheKey(caller));
      const held = found && found.untilMs > nowMs ? found : undefined;
      if (held && isKnownLive(caller, held)) {
        hits++;
        return forCaller(caller, held);
      }
      misses++;
      return load(caller, held, nowMs);
    },
  };
};
