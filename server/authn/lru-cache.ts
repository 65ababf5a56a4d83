// Bounded cache with least-recently-used eviction.

/** Returns an entry's weight: one per started KiB, about the size of a token. */
export const entryWeightOf = (...texts: readonly string[]): number => Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 1024);

export interface LruCache<V> {
  /** Returns the value without counting as a use, for hot paths where reordering costs too much. */
  peek(key: string): V | undefined;
  /** Returns the value and marks it as the most recently used. */
  use(key: string): V | undefined;
  set(key: string, value: V, weight?: number): void;
  delete(key: string): void;
  readonly size: number;
}

/** Creates a cache with a maximum total weight (default 1 per entry). */
export const lruCache = <V>(weightMax: number): LruCache<V> => {
  const entries = new Map<string, { readonly value: V; readonly weight: number }>();
  let total = 0;
  const remove = (key: string): void => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    total -= entry.weight;
  };
  return {
    peek: (key) => entries.get(key)?.value,
    use: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set: (key, value, weight = 1) => {
      remove(key);
      if (weight > weightMax) return;
      for (const oldest of entries.keys()) {
        if (total + weight <= weightMax) break;
        remove(oldest);
      }
      entries.set(key, { value, weight });
      total += weight;
    },
    delete: remove,
    get size() {
      return entries.size;
    },
  };
};
