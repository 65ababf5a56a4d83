// Finds records of a source that have a new ID (docs/decisions/0073). A successor changes no verdict: it only redirects users of
// the
// old ID. In doubt there is none. Pure.

import type { DroppedRecord, Successor } from "#store";

/** A record that is new in its source. */
export interface AppearedRecord {
  readonly id: string;
  readonly aliases: readonly string[];
  /** As in DroppedRecord. */
  readonly artifact: string;
}

/** Dropped and new records in one part of a source, such as one file. */
export interface PlaceChange {
  readonly dropped: readonly DroppedRecord[];
  readonly appeared: readonly AppearedRecord[];
  /** The part had one document before and has one now. */
  readonly isOneDocument: boolean;
}

/** All names of the records with one ID. */
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
 * Returns the dropped records that were renamed. Either one names the other as an alias, or both are about the same package and
 * share an alias, or they are the only records of their part, about the same package, with no contradicting alias. If there are
 * several candidates, none counts.
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
