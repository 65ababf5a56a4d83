// Organizations by last service, so that the least recently served is next.

export interface ServedList {
  note(organization: string): void;
  /** Returns the most recently served last. */
  list(): string[];
}

/** @param most further organizations are forgotten, the least recently served first */
export const openServedList = (most: number): ServedList => {
  const served = new Set<string>();
  return {
    note(organization) {
      served.delete(organization);
      served.add(organization);
      for (const oldest of served) {
        if (served.size <= most) break;
        served.delete(oldest);
      }
    },
    list: () => [...served],
  };
};
