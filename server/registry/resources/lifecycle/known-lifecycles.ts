// Which lifecycle holds where: what was imported for a group counts in it and below it, and of several the nearest. So what another
// organization imports, or a group beside, is no part of any answer (docs/decisions/0040).

import { withoutTrailing } from "#base/trailing.ts";
import { ancestry } from "#base/uid.ts";
import { findLifecycles, type Lifecycle } from "#registry/store";
import type { Read } from "#db";

/** The lifecycle that counts in a group for the first of these names that has one. */
export type FindLifecycle = (group: string, names: readonly string[]) => Lifecycle | undefined;

/** The one of several, of one group, that counts: a product's own name comes before its other names, then the latest changed. */
export const chooseLifecycle = (found: readonly Lifecycle[], name: string): Lifecycle | undefined => {
  const named = found.filter(({ names }) => names.includes(name));
  return named.find(({ product }) => product.toLowerCase() === name) ?? named[0];
};

/** What is known in these groups under these names. */
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

/** The names by which the product in a repo may be known: the repo's last name, and that of an image which differs in its cryptography alone. */
export const namesOfRepo = (repoName: string): string[] => {
  const name = (repoName.split("/").at(-1) ?? "").toLowerCase();
  return name.endsWith("-fips") ? [name, name.slice(0, -"-fips".length)] : [name];
};

/** The same of a distribution's package: "python-3.12" and "postgresql16" have their line of versions in their names. */
export const namesOfPackage = (packageName: string): string[] => {
  const name = packageName.toLowerCase();
  const plain = withoutTrailing(withoutTrailing(name, "0123456789."), "-");
  return plain === "" || plain === name ? [name] : [name, plain];
};
