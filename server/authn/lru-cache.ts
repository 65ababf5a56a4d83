// A cache that cannot grow beyond its bound: the entry that was not used for longest makes room.

/** An entry's weight where its texts may be long: one for each begun KiB, about a token's size. */
export const entryWeightOf = (...texts: readonly string[]): number => Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 1024);

export interface LruCache<V> {
  /** The value at `key`, without counting as a use: for the hot path, where reordering would cost more. */
  peek(key: string): V | undefined;
  /** The value at `key`, which thereby becomes the youngest. */
  use(key: string): V | undefined;
  set(key: string, value: V, weight?: number): void;
  delete(key: string): void;
  readonly size: number;
}

/** Holds entries whose weights (1 where none is given) sum up to at most `weightMax`. */
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
