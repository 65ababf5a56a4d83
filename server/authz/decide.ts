// May they, and where. Pure: rights in, answer out; nothing is fetched, since a uid carries its ancestry, and so
// nothing can tell by its timing whether a resource exists.
//
//   scoped     every capability at one path: missingCapability() names the first that is not held
//   unscoped   the paths where all are held: visiblePaths() answers with branches that become a filter

import { ancestry, covers, EVERYWHERE } from "#base/uid.ts";
import type { Rights } from "./rights.ts";

/** The first of these capabilities that is not held at `path`; undefined where all are. */
export const missingCapability = (rights: Rights, capabilities: Iterable<string>, path: string): string | undefined => {
  for (const capability of capabilities) {
    if (!rights.grants.some((grant) => grant.capabilities.has(capability) && covers(grant.path, path))) return capability;
  }
  return undefined;
};

/** What gives these capabilities at `path`: for each the first binding that does. Empty for the operator's own right. */
export const bindingsGiving = (rights: Rights, capabilities: readonly string[], path: string): string[] => {
  const found = capabilities.map((name) => rights.grants.find((grant) => grant.capabilities.has(name) && covers(grant.path, path))?.binding);
  return [...new Set(found)].filter((binding) => binding !== undefined);
};

/** A right that is not the giver's for as long as it would be given. */
export interface ShortRight {
  readonly capability: string;
  readonly path: string;
  /** When the last binding that gives it ends; undefined: none does, it comes from the groups of a sign-in. */
  readonly endMs: number | undefined;
}

/** Capabilities at the place where they are handed on, or needed to hand on others. */
interface PlacedCapabilities {
  readonly capabilities: readonly string[];
  readonly path: string;
}

/**
 * Nothing outlives its giver: the one of these rights, all of which are held, that ends first and before `untilMs`; undefined
 * where each lasts until then. A right by a binding counts for as long as the binding, one from a sign-in's groups only where
 * `sessionsCount`.
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

/** The topmost paths where every one of these capabilities is held, none below another. */
export const visiblePaths = (rights: Rights, capabilities: readonly string[]): string[] => {
  const [only] = rights.grants;
  if (only && rights.grants.length === 1) return capabilities.every((name) => only.capabilities.has(name)) ? [only.path] : [];
  const grantsAt = Map.groupBy(rights.grants, ({ path }) => path);
  const holdsAll = (path: string): boolean => {
    const held = [...ancestry(path), EVERYWHERE].flatMap((above) => grantsAt.get(above) ?? []);
    return capabilities.every((name) => held.some((grant) => grant.capabilities.has(name)));
  };
  const top: string[] = [];
  // In order, everything below a path comes directly behind it.
  for (const path of [...grantsAt.keys()].sort()) {
    const last = top.at(-1);
    if ((last === undefined || !covers(last, path)) && holdsAll(path)) top.push(path);
  }
  return top;
};
