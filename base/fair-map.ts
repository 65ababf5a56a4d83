// Bounded map with a fair share for each owner: beyond the maximum, the owner with the most entries loses its oldest one. So an owner
// with many entries cannot evict those of others.

export interface FairMap<V> {
  get(key: string): V | undefined;
  /** Makes the entry the owner's newest one. */
  set(key: string, value: V, owner: string): void;
  delete(key: string): void;
}

interface Entry<V> {
  readonly value: V;
  readonly owner: string;
}

export const fairMap = <V>(max: number): FairMap<V> => {
  const entries = new Map<string, Entry<V>>();
  /** Oldest first. */
  const keysByOwner = new Map<string, Set<string>>();
  /** So that the owner with the most entries is found without a search. */
  const ownersBySize = new Map<number, Set<string>>();
  let largest = 0;

  const move = (owner: string, from: number, to: number): void => {
    const left = ownersBySize.get(from);
    left?.delete(owner);
    if (left?.size === 0) ownersBySize.delete(from);
    if (to > 0) ownersBySize.set(to, (ownersBySize.get(to) ?? new Set<string>()).add(owner));
    // A size changes by one.
    if (to > largest || !ownersBySize.has(largest)) largest = to;
  };

  const remove = (key: string): void => {
    const owner = entries.get(key)?.owner;
    const keys = owner === undefined ? undefined : keysByOwner.get(owner);
    if (owner === undefined || !keys) return;
    entries.delete(key);
    keys.delete(key);
    if (keys.size === 0) keysByOwner.delete(owner);
    move(owner, keys.size + 1, keys.size);
  };

  return {
    get: (key) => entries.get(key)?.value,
    set: (key, value, owner) => {
      remove(key);
      const keys = keysByOwner.get(owner) ?? new Set<string>();
      keysByOwner.set(owner, keys.add(key));
      entries.set(key, { value, owner });
      move(owner, keys.size - 1, keys.size);
      if (entries.size <= max) return;
      const [most = ""] = ownersBySize.get(largest) ?? [];
      const [oldest = ""] = keysByOwner.get(most) ?? [];
      remove(oldest);
    },
    delete: remove,
  };
};
