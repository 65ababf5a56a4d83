// Finds records with a new ID in their source (docs/decisions/0073). A successor only redirects users of the old ID, so in doubt
// there is none. Pure.

import type { DroppedRecord, Successor } from "#advisories/store";

export interface AppearedRecord {
  readonly id: string;
  readonly aliases: readonly string[];
  /** As in DroppedRecord. */
  readonly artifact: string;
}

/** Changes in one part of a source, such as a file. */
export interface PlaceChange {
  readonly dropped: readonly DroppedRecord[];
  readonly appeared: readonly AppearedRecord[];
  /** Both before and now. */
  readonly isOneDocument: boolean;
}

interface Names {
  readonly id: string;
  readonly aliases: ReadonlySet<string>;
  readonly artifacts: ReadonlySet<string>;
}

const namesOf = (records: readonly AppearedRecord[]): Names[] =>
  [...Map.groupBy(records, ({ id }) => id)].map(([id, same]) => ({
    id,
    aliases: new Set(same.flatMap(({ aliases }) => aliases)),
    artifacts: new Set(same.flatMap(({ artifact }) => (artifact === "" ? [] : [artifact]))),
  }));

const intersects = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean => [...one].some((each) => other.has(each));

/** A record without packages contradicts none. */
const isAboutSame = (one: Names, other: Names): boolean => one.artifacts.size === 0 || other.artifacts.size === 0 || intersects(one.artifacts, other.artifacts);

const namesEachOther = (one: Names, other: Names): boolean => one.aliases.has(other.id) || other.aliases.has(one.id);

const isContradicted = (one: Names, other: Names): boolean => one.aliases.size > 0 && other.aliases.size > 0 && !intersects(one.aliases, other.aliases);

const onlyOf = (found: readonly Names[]): Names | undefined => (found.length === 1 ? found[0] : undefined);

/**
 * Returns renamed records: one names the other as an alias, or both share package and alias. Records that are alone in their
 * part, on the same package, need no shared alias, only no contradicting one. Several candidates cancel each other.
 */
export const findRenamed = ({ dropped, appeared, isOneDocument }: PlaceChange): Successor[] => {
  const [old, current] = [namesOf(dropped), namesOf(appeared)];
  const isAlone = isOneDocument && old.length === 1 && current.length === 1;
  return old.flatMap((gone): Successor[] => {
    const named = current.filter((each) => namesEachOther(gone, each));
    const alike = current.filter((each) => isAboutSame(gone, each) && (intersects(gone.aliases, each.aliases) || (isAlone && !isContradicted(gone, each))));
    const successor = onlyOf(named.length > 0 ? named : alike);
    return successor && successor.id !== gone.id ? [{ oldId: gone.id, newId: successor.id }] : [];
  });
};
