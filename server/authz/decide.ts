// Permission decisions. Pure: a uid contains its ancestry, so nothing is fetched, and timing cannot reveal whether a resource exists.
//
//   scoped     every capability at one path: missingCapability() returns the first that the caller lacks
//   unscoped   the paths with all capabilities: visiblePaths() returns branches that become a filter

import { ancestry, covers, EVERYWHERE } from "#base/uid.ts";
import type { Rights } from "./rights.ts";

/** Returns the first of these capabilities that the caller lacks at `path`; undefined if it has all. */
export const missingCapability = (rights: Rights, capabilities: Iterable<string>, path: string): string | undefined => {
  for (const capability of capabilities) {
    if (!rights.grants.some((grant) => grant.capabilities.has(capability) && covers(grant.path, path))) return capability;
  }
  return undefined;
};

/** Returns the first binding that grants each capability at `path`; empty for the operator's own grant. */
export const bindingsGiving = (rights: Rights, capabilities: readonly string[], path: string): string[] => {
  const found = capabilities.map((name) => rights.grants.find((grant) => grant.capabilities.has(name) && covers(grant.path, path))?.binding);
  return [...new Set(found)].filter((binding) => binding !== undefined);
};

/** A permission that the grantor does not hold for as long as it would be granted. */
export interface ShortRight {
  readonly capability: string;
  readonly path: string;
  /** Expiry of its last binding; undefined: it comes from sign-in groups only. */
  readonly endMs: number | undefined;
}

interface PlacedCapabilities {
  readonly capabilities: readonly string[];
  readonly path: string;
}

/**
 * A grant never outlives its grantor: returns the held permission that expires first, before `untilMs`; undefined if all last until
 * then. Permissions from sign-in groups last only if `sessionsCount`.
 */
export const shortestRight = (rights: Rights, given: readonly PlacedCapabilities[], untilMs: number, sessionsCount: boolean): ShortRight | undefined => {
  const short = given.flatMap(({ capabilities, path }) =>
    capabilities.flatMap((capability): ShortRight[] => {
      const grants = rights.grants.filter((grant) => grant.capabilities.has(capability) && covers(grant.path, path));
      const bindingEnds = grants.filter(({ isFromSession }) => !isFromSession).map(({ endMs }) => endMs ?? Number.POSITIVE_INFINITY);
      const lasts = bindingEnds.some((endMs) => endMs >= untilMs) || (sessionsCount && grants.length > bindingEnds.length);
      return lasts ? [] : [{ capability, path, endMs: bindingEnds.length === 0 ? undefined : Math.max(...bindingEnds) }];
    }),
  );
  return short.sort((one, other) => (one.endMs ?? 0) - (other.endMs ?? 0))[0];
};

/** Returns the topmost paths where the caller has all of these capabilities, none below another. */
export const visiblePaths = (rights: Rights, capabilities: readonly string[]): string[] => {
  const [only] = rights.grants;
  if (only && rights.grants.length === 1) return capabilities.every((name) => only.capabilities.has(name)) ? [only.path] : [];
  const grantsAt = Map.groupBy(rights.grants, ({ path }) => path);
  const holdsAll = (path: string): boolean => {
    const held = [...ancestry(path), EVERYWHERE].flatMap((above) => grantsAt.get(above) ?? []);
    return capabilities.every((name) => held.some((grant) => grant.capabilities.has(name)));
  };
  const top: string[] = [];
  // Sorted, so all descendants directly follow a path.
  for (const path of [...grantsAt.keys()].sort()) {
    const last = top.at(-1);
    if ((last === undefined || !covers(last, path)) && holdsAll(path)) top.push(path);
  }
  return top;
};
