// What a caller holds: loaded from its bindings, kept in memory under the version of its root, and checked against
// the store's version by each request's own statement (store/witness.ts).
//
// decisions: Access. A right counts at the binding's group and everywhere below. An identity of group G acts within G
// only: a binding above or beside G carries nothing.

import { capabilityBySymbol } from "#contract/capabilities.ts";
import { covers, EVERYWHERE, isRoot, parentOf, rootOf } from "#base/uid.ts";
import { limits } from "#base/limits.ts";
import type { Read, Witness } from "#store";
import { operatorUid } from "./builtin.ts";
import { builtInRoles } from "./roles.ts";

export interface Grant {
  /** The group where the right begins; EVERYWHERE for the operator's. */
  readonly place: string;
  /** Capability names ("repo.list"). */
  readonly capabilities: ReadonlySet<string>;
}

export interface Rights {
  readonly uid: string;
  readonly grants: readonly Grant[];
  readonly witness: Witness;
  /** Milliseconds since 1970: a grant ends then, and these rights with it. Infinity: none of them ends. */
  readonly untilMs: number;
}

/** What a token narrows its bearer's rights to. */
export interface Narrowing {
  readonly uid: string;
  readonly capabilities: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
}

const statement = `
  select held.version, identity.uid, left(binding.uid, -17), role.capabilities, (extract(epoch from binding.expire_time) * 1000)::bigint
  from access_versions as held
  left join identities as identity on identity.uid = $2
  left join role_bindings as binding on binding.identity_uid = identity.uid
  left join roles as role on role.uid = binding.role_uid
  where held.root = $1`;

// The same role's text recurs in every request that loads rights; parsed once, bounded by being few and small.
const parsed = new Map<string, ReadonlySet<string>>();
const parsedMax = 1_000;

const namesOf = (capabilities: string): ReadonlySet<string> => {
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
const operatorGrant: Grant = { place: EVERYWHERE, capabilities: new Set(builtInRoles.operator) };

/** The rights of this identity at `nowMs` as the store has them now; undefined where the identity does not exist. */
export const loadRights = async (read: Read, uid: string, nowMs: number): Promise<Rights | undefined> => {
  const root = rootOf(uid);
  const rows = await read.query(statement, [root, uid]);
  const version = rows[0]?.[0];
  if (!version || rows[0]?.[1] === null) return undefined;
  const home = isRoot(uid) ? undefined : parentOf(uid);
  const grants: Grant[] = uid === operatorUid ? [operatorGrant] : [];
  let untilMs = Number.POSITIVE_INFINITY;
  for (const [, , place, capabilities, expires] of rows) {
    if (place === null || place === undefined || !capabilities) continue;
    if (home !== undefined && !covers(home, place)) continue;
    const endMs = expires === null || expires === undefined ? Number.POSITIVE_INFINITY : Number(expires);
    if (endMs <= nowMs) continue;
    untilMs = Math.min(untilMs, endMs);
    grants.push({ place, capabilities: namesOf(capabilities) });
  }
  return { uid, grants, witness: { root, version }, untilMs };
};

/** The same rights, no more of them than the token allows. */
export const narrow = (rights: Rights, { capabilities, scopes }: Narrowing): Rights => {
  if (!capabilities && !scopes) return rights;
  const kept = capabilities && new Set(capabilities);
  const grants = rights.grants.flatMap((grant) => {
    const held = kept ? new Set([...grant.capabilities].filter((name) => kept.has(name))) : grant.capabilities;
    if (!scopes) return [{ place: grant.place, capabilities: held }];
    // "Those inherited from ancestors": a right above a scope counts at the scope.
    const places = scopes.flatMap((scope) => (covers(grant.place, scope) ? [scope] : covers(scope, grant.place) ? [grant.place] : []));
    return [...new Set(places)].map((place) => ({ place, capabilities: held }));
  });
  return { ...rights, grants };
};

export interface RightsCache {
  /**
   * The caller's rights, narrowed to its token. `fresh` reads the store; otherwise they may be of an older version,
   * which the request's first statement finds out. Undefined: the identity is gone.
   */
  of(caller: Narrowing, nowMs: number, fresh: boolean): Promise<Rights | undefined> | Rights;
}

export const openRightsCache = (read: Read): RightsCache => {
  const byIdentity = new Map<string, Rights>();
  const narrowed = new WeakMap<Narrowing, { from: Rights; to: Rights }>();
  const forCaller = (caller: Narrowing, from: Rights): Rights => {
    const kept = narrowed.get(caller);
    if (kept?.from === from) return kept.to;
    const to = narrow(from, caller);
    narrowed.set(caller, { from, to });
    return to;
  };
  const load = async (caller: Narrowing, nowMs: number): Promise<Rights | undefined> => {
    const rights = await loadRights(read, caller.uid, nowMs);
    if (!rights) {
      byIdentity.delete(caller.uid);
      return undefined;
    }
    if (byIdentity.size >= limits.rightsCacheEntries) byIdentity.clear();
    byIdentity.set(caller.uid, rights);
    return forCaller(caller, rights);
  };
  return {
    of(caller, nowMs, fresh) {
      const held = fresh ? undefined : byIdentity.get(caller.uid);
      return held && held.untilMs > nowMs ? forCaller(caller, held) : load(caller, nowMs);
    },
  };
};
