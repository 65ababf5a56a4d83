// Selects lifecycles: one imported for a group applies there and below, and the nearest wins. Imports of other organizations or
// sibling groups have no effect (docs/decisions/0039).

import { withoutTrailing } from "#base/trailing.ts";
import { ancestry } from "#base/uid.ts";
import { findLifecycles, type Lifecycle } from "#registry/store";
import type { Read } from "#db";

/** Returns the lifecycle that applies in a group, for the first name that has one. */
export type FindLifecycle = (group: string, names: readonly string[]) => Lifecycle | undefined;

/** Selects among lifecycles of a group: the product's own name first, then the latest change. */
export const chooseLifecycle = (found: readonly Lifecycle[], name: string): Lifecycle | undefined => {
  const named = found.filter(({ names }) => names.includes(name));
  return named.find(({ product }) => product.toLowerCase() === name) ?? named[0];
};

export const knownLifecycles = async (rows: Read, groups: readonly string[], names: readonly string[]): Promise<FindLifecycle> => {
  const owners = [...new Set(groups.flatMap(ancestry))];
  const found = owners.length === 0 || names.length === 0 ? [] : await findLifecycles(rows, owners, [...new Set(names)]);
  const byOwner = Map.groupBy(found, ({ owner }) => owner);
  return (group, wanted) => {
    for (const name of wanted) {
      for (const place of ancestry(group)) {
        const chosen = chooseLifecycle(byOwner.get(place) ?? [], name);
        if (chosen) return chosen;
      }
    }
    return undefined;
  };
};

/** Returns product names of a repo: its last name, and without a "-fips" suffix. */
export const namesOfRepo = (repoName: string): string[] => {
  const name = (repoName.split("/").at(-1) ?? "").toLowerCase();
  return name.endsWith("-fips") ? [name, name.slice(0, -"-fips".length)] : [name];
};

/** Returns product names of a package: "python-3.12" and "postgresql16" contain their version line. */
export const namesOfPackage = (packageName: string): string[] => {
  const name = packageName.toLowerCase();
  const plain = withoutTrailing(withoutTrailing(name, "0123456789."), "-");
  return plain === "" || plain === name ? [name] : [name, plain];
};
