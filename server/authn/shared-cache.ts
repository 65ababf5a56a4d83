// Cache with a share per tenant: an insertion evicts only entries of the same tenant. A shared entry stays as long as one tenant
// holds it.

export interface SharedCache<V> {
  /** Returns the value and adds it to the tenant's share. */
  use(key: string, fairnessKey: string): V | undefined;
  /** Returns the value without counting as a use. */
  peek(key: string): V | undefined;
  set(key: string, value: V, fairnessKey: string, weight?: number): void;
  delete(key: string): void;
  readonly size: number;
}

interface Entry<V> {
  readonly value: V;
  readonly weight: number;
  readonly holders: Set<string>;
}

/** `shareMax`: total weight (default 1 per entry) per tenant. Beyond `partiesMax` tenants, the least recently used one is evicted. */
export const sharedCache = <V>(shareMax: number, partiesMax: number): SharedCache<V> => {
  const entries = new Map<string, Entry<V>>();
  /** Both in order of use. */
  const keysByCaller = new Map<string, { readonly keys: Set<string>; weight: number }>();

  const letGo = (fairnessKey: string, key: string): void => {
    const entry = entries.get(key);
    const share = keysByCaller.get(fairnessKey);
    if (!entry || !share?.keys.delete(key)) return;
    share.weight -= entry.weight;
    entry.holders.delete(fairnessKey);
    if (entry.holders.size === 0) entries.delete(key);
  };

  const forget = (fairnessKey: string): void => {
    for (const key of [...(keysByCaller.get(fairnessKey)?.keys ?? [])]) letGo(fairnessKey, key);
    keysByCaller.delete(fairnessKey);
  };

  const remove = (key: string): void => {
    for (const fairnessKey of [...(entries.get(key)?.holders ?? [])]) letGo(fairnessKey, key);
  };

  const hold = (fairnessKey: string, key: string, entry: Entry<V>): void => {
    const share = keysByCaller.get(fairnessKey) ?? { keys: new Set<string>(), weight: 0 };
    keysByCaller.delete(fairnessKey);
    keysByCaller.set(fairnessKey, share);
    if (!share.keys.delete(key)) share.weight += entry.weight;
    share.keys.add(key);
    entry.holders.add(fairnessKey);
    for (const oldest of share.keys) {
      if (share.weight <= shareMax || oldest === key) break;
      letGo(fairnessKey, oldest);
    }
    for (const oldest of keysByCaller.keys()) {
      if (keysByCaller.size <= partiesMax) break;
      forget(oldest);
    }
  };

  return {
    use: (key, fairnessKey) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      hold(fairnessKey, key, entry);
      return entry.value;
    },
    peek: (key) => entries.get(key)?.value,
    set: (key, value, fairnessKey, weight = 1) => {
      const holders = [...(entries.get(key)?.holders ?? [])];
      remove(key);
      const entry: Entry<V> = { value, weight, holders: new Set() };
      entries.set(key, entry);
      // A renewed value is renewed for all its holders.
      for (const holder of new Set([...holders, fairnessKey])) hold(holder, key, entry);
    },
    delete: remove,
    get size() {
      return entries.size;
    },
  };
};
