// Judges DNS by real lookups, so that an idle or isolated server is healthy. One tenant's dead zone is no failure of DNS: it takes
// several names without a response, and none with one.

import { limits } from "#base/limits.ts";
import type { Dependency } from "#health";

/** No name server responded, as opposed to one that does not know the name. */
const silentCodes: ReadonlySet<unknown> = new Set(["ETIMEOUT", "ECONNREFUSED", "ECANCELLED", "ESERVFAIL", "EREFUSED"]);

const codeOf = (thrown: unknown): unknown => (thrown instanceof Error && "code" in thrown ? thrown.code : undefined);

export const watchLookups = <T>(
  resolve: (name: string) => Promise<T>,
  dependency: Dependency,
  restMs: number = limits.dnsRestMs,
): ((name: string) => Promise<T>) => {
  const silentNames = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    for (let times = 0; times < limits.recoveryProbes; times++) dependency.good();
    silentNames.clear();
  };
  const fail = (name: string, code: unknown): void => {
    // No more: a tenant may have any number of names in a dead zone.
    if (silentNames.size < limits.dnsNamesMin) silentNames.add(name);
    if (silentNames.size < limits.dnsNamesMin) return;
    dependency.bad(`the last ${silentNames.size} names got no response (${String(code)})`);
    // Without lookups nothing would ever end it.
    clearTimeout(timer);
    timer = setTimeout(end, restMs).unref();
  };
  return async (name) => {
    try {
      const found = await resolve(name);
      silentNames.clear();
      dependency.good();
      return found;
    } catch (thrown) {
      const code = codeOf(thrown);
      if (silentCodes.has(code)) fail(name, code);
      else {
        silentNames.clear();
        dependency.good();
      }
      throw thrown;
    }
  };
};
