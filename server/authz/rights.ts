// What a caller holds: loaded from its bindings, kept in memory under the version of its root, and checked against
// the store's version by each request's own statement (store/access-version.ts).
//
// decisions: Access. A right counts at the binding's group and everywhere below. An identity of group G acts within G
// only: a binding above or beside G carries nothing. A user's binding in an organization that the user has not joined is pending
// and grants nothing either (docs/decisions/0067): it is not even loaded.

import { capabilityBySymbol } from "#contract/capabilities.ts";
import { actionCapabilities } from "#contract/registry-actions.ts";
import type { RegistryAccess } from "#base/registry-access.ts";
import { type Fault, unauthenticated } from "#base/fault.ts";
import { covers, EVERYWHERE, isRoot, parentOf, rootOf } from "#base/uid.ts";
import { limits } from "#base/limits.ts";
import type { Metrics } from "#metrics";
import type { AccessVersion, Read } from "#db";
import { type BindingRow, type BoundIdentity, findBoundIdentity, findMappingGrants, findSessionGrants, isGrantRevoked, type MappingGrantRow } from "#iam/store";
import { operatorUid } from "./builtin.ts";
import { builtInRoles } from "./roles.ts";

export interface Grant {
  /** The group where the right begins; EVERYWHERE for the operator's. */
  readonly path: string;
  /** Capability names ("repo.list"). */
  readonly capabilities: ReadonlySet<string>;
  /** The role binding that gives it, or the mapping of a group to a role; absent: it is the operator's. */
  readonly binding?: string;
  /** When the binding that gives it ends, in milliseconds since 1970; absent: never. */
  readonly endMs?: number;
  /** True: the groups of a sign-in give it, by the mapping in `binding`; whether they still do, nobody asks until the next one. */
  readonly isFromSession?: boolean;
}

export interface Rights {
  readonly uid: string;
  readonly grants: readonly Grant[];
  readonly accessVersion: AccessVersion;
  /** True: the identity lives in a suspended organization, and may do nothing at all. */
  readonly closed?: boolean;
  /** The suspended organizations where it would have rights; absent: none. */
  readonly suspended?: readonly string[];
  /** Milliseconds since 1970: a grant ends then, and these rights with it. Infinity: none of them ends. */
  readonly untilMs: number;
  /** Of a registry token: the rights before its access narrowed them. Only for a repository that the token may create. */
  readonly beforeRegistry?: Rights;
}

/** The refusal of a caller without rights (`RightsCache.of` returns undefined). */
export const withoutRights = (): Fault =>
  unauthenticated("the identity of this token no longer exists or has expired (expireTime), or its session was revoked");

/** What a token limits its bearer's rights to. */
export interface Downscoping {
  readonly uid: string;
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
  /** The sign-in that it came from, where that gives rights of its own. */
  readonly session?: string;
  /** The session that the token belongs to: if it is revoked, the token has no rights. */
  readonly grant?: string;
  /** What a registry token permits. */
  readonly registry?: RegistryAccess;
}

/** One binding of an identity, and whether it counts. */
export interface HeldBinding {
  readonly uid: string;
  readonly path: string;
  readonly role: string;
  readonly capabilities: ReadonlySet<string>;
  /** When it ends, in milliseconds since 1970; Infinity: never. */
  readonly endMs: number;
  /**
   * "outside": above or beside the group that the identity belongs to. "suspended": its organization is. "pending": its user has not
   * accepted membership in the organization.
   */
  readonly standing: "counts" | "expired" | "outside" | "pending" | "suspended";
}

/** What the store says of an identity's rights; bindings that do not count too. */
export interface HeldBindings {
  /** Undefined: the root has no rights at all yet. */
  readonly version: string | undefined;
  /** False: there is no such identity, nobody has signed in as it yet, or it has ended. */
  readonly exists: boolean;
  /** When it ends, in milliseconds since 1970; Infinity: never. */
  readonly endMs: number;
  /** True: it lives in an organization that is suspended. */
  readonly closed: boolean;
  readonly bindings: readonly HeldBinding[];
}

/** Closed to its members by the operator, who alone may still act there (resources: Groups, status). */
const suspended = "ORG_STATUS_SUSPENDED";

// The same role's text recurs in every request that loads rights; parsed once, bounded by being few and small.
const namesOfRole = new Map<string, ReadonlySet<string>>();
const rolesMax = 1_000;

/** The names ("repo.list") of a role's capabilities, from its row's text. */
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

/** Above every root, and so held at each of them, those to come included. No row: a list could not show its path. */
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

/** Every binding of this identity, pending ones too, and whether it counts at `nowMs`: decided nowhere else. */
export const loadBindings = (read: Read, uid: string, nowMs: number): Promise<HeldBindings> =>
  heldOf(findBoundIdentity(read, rootOf(uid), uid, true), uid, nowMs);

/** The rights that follow; undefined where the identity does not exist. */
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

/** The rights of this identity at `nowMs` as the store has them now; undefined where the identity does not exist. */
export const loadRights = async (read: Read, uid: string, nowMs: number): Promise<Rights | undefined> =>
  rightsFrom(uid, await heldOf(findBoundIdentity(read, rootOf(uid), uid), uid, nowMs));

const sessionGrant = ({ mappingUid, scope, capabilities }: Pick<MappingGrantRow, "mappingUid" | "scope" | "capabilities">): Grant => ({
  path: scope,
  capabilities: capabilityNames(capabilities),
  binding: mappingUid,
  isFromSession: true,
});

/**
 * The rights with what a sign-in adds to them until it ends: the roles to which its provider's mappings lead from the
 * groups that the person was in (resources: ExternalGroupRoleMappings). `rights` were read before, so that their
 * accessVersion is not younger than what is added: whatever changes in between proves it wrong.
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

/** The rights with what these mappings give to whoever is in their groups: what somebody had by a sign-in that may be over. */
export const withMappings = async (read: Read, rights: Rights, mappings: readonly string[]): Promise<Rights> => {
  const found = mappings.length === 0 ? [] : await findMappingGrants(read, mappings);
  return { ...rights, grants: [...rights.grants, ...found.filter(({ organizationStatus }) => organizationStatus !== suspended).map(sessionGrant)] };
};

/** Returns the part of these grants that counts at `path`, limited to `capabilities`. */
export const grantsAt = (grants: readonly Grant[], path: string, capabilities: ReadonlySet<string>): Grant[] =>
  grants.flatMap((grant) => {
    if (!covers(grant.path, path)) return [];
    const held = new Set([...grant.capabilities].filter((name) => capabilities.has(name)));
    return held.size === 0 ? [] : [{ ...grant, path, capabilities: held }];
  });

/** Capabilities that only show a repository: without them a refusal could not say that a permission is missing there. */
export const visibilityCapabilities = ["repo.list", "groups.list"];

/** The same rights, only at the token's repositories and only for its actions. */
const withinRegistryAccess = (rights: Rights, { repos }: RegistryAccess): Rights => ({
  ...rights,
  grants: repos.flatMap(({ repo, actions }) =>
    grantsAt(rights.grants, repo, new Set([...visibilityCapabilities, ...actions.flatMap((action) => actionCapabilities[action])])),
  ),
  beforeRegistry: rights,
});

/** The same rights, no more of them than the token allows. */
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
    // "Those inherited from ancestors": a right above a scope counts at the scope.
    const paths = scopes.flatMap((scope) => (covers(grant.path, scope) ? [scope] : covers(scope, grant.path) ? [grant.path] : []));
    return [...new Set(paths)].map((path) => ({ ...grant, path, capabilities: held }));
  });
  return { ...rights, grants };
};

export interface RightsCache {
  /**
   * The caller's rights, downscoped to its token. `fresh` reads the store; otherwise they may be of an older version,
   * which the request's first statement finds out. Undefined: the identity is gone.
   */
  of(caller: Downscoping, nowMs: number, fresh: boolean): Promise<Rights | undefined> | Rights;
}

/** Attack 11: what a session adds is nobody's but its own tokens'. A uid has no spaces. */
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
  // Sessions that were not revoked when these rights were in memory. Revoking one changes the version of its person's rights, so what
  // proves the rights of a request proves its session too. Only a person's own version changes: an identity that a person acts as
  // has its organization's, and its tokens are looked up with each request.
  const liveSessions = new WeakMap<Rights, Set<string>>();
  const isKnownLive = ({ uid, grant }: Downscoping, held: Rights): boolean =>
    grant === undefined || (isRoot(uid) && liveSessions.get(held)?.has(grant) === true);
  const load = async (caller: Downscoping, held: Rights | undefined, nowMs: number): Promise<Rights | undefined> => {
    const rights = held ?? (await loadOwn(caller, nowMs));
    if (!rights || caller.grant === undefined) return rights && forCaller(caller, rights);
    // After the rights: a revocation between the two is found here, and a later one gives the rights another version.
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
