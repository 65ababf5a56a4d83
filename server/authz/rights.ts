// What a caller holds: loaded from its bindings, kept in memory under the version of its root, and checked against
// the store's version by each request's own statement (store/accessVersion.ts).
//
// decisions: Access. A right counts at the binding's group and everywhere below. An identity of group G acts within G
// only: a binding above or beside G carries nothing.

import { capabilityBySymbol } from "#contract/capabilities.ts";
import { covers, EVERYWHERE, isRoot, parentOf, rootOf } from "#base/uid.ts";
import { limits } from "#base/limits.ts";
import type { Read, AccessVersion } from "#store";
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
}

/** What a token narrows its bearer's rights to. */
export interface Downscoping {
  readonly uid: string;
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
  /** The sign-in that it came from, where that gives rights of its own. */
  readonly session?: string;
}

/** One binding of an identity, and whether it counts. */
export interface HeldBinding {
  readonly uid: string;
  readonly path: string;
  readonly role: string;
  readonly capabilities: ReadonlySet<string>;
  /** When it ends, in milliseconds since 1970; Infinity: never. */
  readonly endMs: number;
  /** "outside": above or beside the group that the identity belongs to. "suspended": its organization is. */
  readonly standing: "counts" | "expired" | "outside" | "suspended";
}

/** What the store says of an identity's rights; all of its bindings, those that do not count too. */
export interface HeldBindings {
  /** Undefined: the root has no rights at all yet. */
  readonly version: string | undefined;
  /** False: there is no such identity, or nobody has signed in as it yet. */
  readonly exists: boolean;
  /** True: it lives in an organization that is suspended. */
  readonly closed: boolean;
  readonly bindings: readonly HeldBinding[];
}

/** Closed to its members by the operator, who alone may still act there (resources: Groups, status). */
const suspended = "ORG_STATUS_SUSPENDED";

const statement = `
  select held.version, identity.uid, binding.uid, binding.role_uid, role.capabilities, (extract(epoch from binding.expire_time) * 1000)::bigint,
    organization.status, home.status
  from (values (1)) as always
  left join access_versions as held on held.root = $1
  left join identities as identity on identity.uid = $2
  left join role_bindings as binding on binding.identity_uid = $2
  left join roles as role on role.uid = binding.role_uid
  left join groups as organization on organization.uid = left(binding.uid, 40)
  left join groups as home on home.uid = $1`;

// The same role's text recurs in every request that loads rights; parsed once, bounded by being few and small.
const parsed = new Map<string, ReadonlySet<string>>();
const parsedMax = 1_000;

/** The names ("repo.list") of a role's capabilities, from its row's text. */
export const capabilityNames = (capabilities: string): ReadonlySet<string> => {
  let names = parsed.get(capabilities);
  if (!names) {
    const symbols: unknown = JSON.parse(capabilities);
    const known = Array.isArray(symbols) ? symbols.map((symbol) => capabilityBySymbol(String(symbol))?.name) : [];
    names = new Set(known.filter((name) => name !== undefined));
    if (parsed.size >= parsedMax) parsed.clear();
    parsed.set(capabilities, names);
  }
  return names;
};

/** Above every root, and so held at each of them, those to come included. No row: a list could not show its place. */
export const operatorGrant: Grant = { path: EVERYWHERE, capabilities: new Set(builtInRoles.operator) };

/** Every binding of this identity, and whether it counts at `nowMs`: the one place where that is decided. */
export const loadBindings = async (read: Read, uid: string, nowMs: number): Promise<HeldBindings> => {
  const rows = await read.query(statement, [rootOf(uid), uid]);
  const [version, identity, , , , , , status] = rows[0] ?? [];
  const home = isRoot(uid) ? EVERYWHERE : parentOf(uid);
  const bindings = rows.flatMap(([, , binding, role, capabilities, expires, status]): HeldBinding[] => {
    if (!binding || !role || !capabilities) return [];
    const path = parentOf(binding);
    const endMs = expires ? Number(expires) : Number.POSITIVE_INFINITY;
    const standing = !covers(home, path) ? "outside" : endMs <= nowMs ? "expired" : status === suspended ? "suspended" : "counts";
    return [{ uid: binding, path, role, capabilities: capabilityNames(capabilities), endMs, standing }];
  });
  return { version: version ?? undefined, exists: identity !== null && identity !== undefined, closed: status === suspended, bindings };
};

/** The rights that follow; undefined where the identity does not exist. */
export const rightsFrom = (uid: string, { version, exists, closed, bindings }: HeldBindings): Rights | undefined => {
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
    untilMs: counting.reduce((earliest, { endMs }) => Math.min(earliest, endMs), Number.POSITIVE_INFINITY),
  };
};

/** The rights of this identity at `nowMs` as the store has them now; undefined where the identity does not exist. */
export const loadRights = async (read: Read, uid: string, nowMs: number): Promise<Rights | undefined> => rightsFrom(uid, await loadBindings(read, uid, nowMs));

const sessionStatement = `
  select mapping.uid, mapping.scope, role.capabilities, (extract(epoch from session.expire_time) * 1000)::bigint, organization.status
  from sessions as session
  join external_group_role_mappings as mapping
    on mapping.identity_provider_uid = session.identity_provider_uid and mapping.external_group_id = any(session.groups)
  join roles as role on role.uid = mapping.role_uid
  left join groups as organization on organization.uid = left(mapping.scope, 40)
  where session.id = $1 and session.identity_uid = $2`;

/**
 * The rights with what a sign-in adds to them until it ends: the roles to which its provider's mappings lead from the
 * groups that the person was in (resources: ExternalGroupRoleMappings). `rights` were read before, so that their
 * accessVersion is not younger than what is added: whatever changes in between proves it wrong.
 */
export const withSession = async (read: Read, rights: Rights, session: string, nowMs: number): Promise<Rights> => {
  const grants = [...rights.grants];
  const closed = new Set(rights.suspended);
  let { untilMs } = rights;
  for (const [binding, scope, capabilities, ends, status] of await read.query(sessionStatement, [session, rights.uid])) {
    const endMs = Number(ends);
    if (!binding || !scope || !capabilities || endMs <= nowMs) continue;
    untilMs = Math.min(untilMs, endMs);
    if (status === suspended) closed.add(rootOf(scope));
    else grants.push({ path: scope, capabilities: capabilityNames(capabilities), binding });
  }
  return { ...rights, grants, suspended: [...closed], untilMs };
};

/** The same rights, no more of them than the token allows. */
export const downscope = (rights: Rights, { capabilities, scopes }: Downscoping): Rights => {
  if (!capabilities && !scopes) return rights;
  const kept = capabilities && new Set(capabilities);
  const grants = rights.grants.flatMap((grant) => {
    const held = kept ? new Set([...grant.capabilities].filter((name) => kept.has(name))) : grant.capabilities;
    if (!scopes) return [{ ...grant, capabilities: held }];
    // "Those inherited from ancestors": a right above a scope counts at the scope.
    const places = scopes.flatMap((scope) => (covers(grant.path, scope) ? [scope] : covers(scope, grant.path) ? [grant.path] : []));
    return [...new Set(places)].map((path) => ({ ...grant, path, capabilities: held }));
  });
  return { ...rights, grants };
};

export interface RightsCache {
  /**
   * The caller's rights, narrowed to its token. `fresh` reads the store; otherwise they may be of an older version,
   * which the request's first statement finds out. Undefined: the identity is gone.
   */
  of(caller: Downscoping, nowMs: number, fresh: boolean): Promise<Rights | undefined> | Rights;
}

/** Attack 11: what a session adds is nobody's but its own tokens'. A uid has no spaces. */
const keyOf = ({ uid, session }: Downscoping): string => (session === undefined ? uid : `${uid} ${session}`);

export const openRightsCache = (read: Read): RightsCache => {
  const byCaller = new Map<string, Rights>();
  const narrowed = new WeakMap<Downscoping, { from: Rights; to: Rights }>();
  const forCaller = (caller: Downscoping, from: Rights): Rights => {
    const kept = narrowed.get(caller);
    if (kept?.from === from) return kept.to;
    const to = downscope(from, caller);
    narrowed.set(caller, { from, to });
    return to;
  };
  const load = async (caller: Downscoping, nowMs: number): Promise<Rights | undefined> => {
    const own = await loadRights(read, caller.uid, nowMs);
    if (!own) {
      byCaller.delete(keyOf(caller));
      return undefined;
    }
    const rights = caller.session === undefined ? own : await withSession(read, own, caller.session, nowMs);
    if (byCaller.size >= limits.rightsCacheEntries) byCaller.clear();
    byCaller.set(keyOf(caller), rights);
    return forCaller(caller, rights);
  };
  return {
    of(caller, nowMs, fresh) {
      const held = fresh ? undefined : byCaller.get(keyOf(caller));
      return held && held.untilMs > nowMs ? forCaller(caller, held) : load(caller, nowMs);
    },
  };
};
