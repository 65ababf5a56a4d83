// May they, and where. Pure: rights in, answer out; nothing is fetched, since a uid carries its ancestry, and so
// nothing can tell by its timing whether a resource exists.
//
//   scoped     every capability at one path: missingCapability() names the first that is not held
//   unscoped   the paths where all are held: visiblePaths() answers with branches that become a filter

import { covers } from "#base/uid.ts";
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

/** What of these rights lasts until then: nothing that is handed on may outlive what it comes from. */
export const rightsLasting = (rights: Rights, untilMs: number): Rights => ({
  ...rights,
  grants: rights.grants.filter(({ endMs }) => endMs === undefined || endMs >= untilMs),
});

/** The topmost paths where every one of these capabilities is held, none below another. */
export const visiblePaths = (rights: Rights, capabilities: readonly string[]): string[] => {
  const [only] = rights.grants;
  if (only && rights.grants.length === 1) return capabilities.every((name) => only.capabilities.has(name)) ? [only.path] : [];
  const paths = [...new Set(rights.grants.map(({ path }) => path))]
    .filter((path) => missingCapability(rights, capabilities, path) === undefined)
    .sort((one, other) => one.length - other.length);
  const top: string[] = [];
  for (const path of paths) if (!top.some((above) => covers(above, path))) top.push(path);
  return top.sort();
};
