// Versions of a package and their end dates, from imported lifecycles (gantry import lifecycle). Version 1 only.

import { blocked, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { ancestry, covers } from "#base/uid.ts";
import { type Outcome, type ReadContext, requireAnywhere, resource } from "#kernel";
import { chooseLifecycle, hasEnded } from "#registry/lifecycle";
import { findLifecyclesBelow, type Lifecycle } from "#registry/store";
import { packageVersion } from "./lifecycle/package-version.ts";

const saidBy = ({ graceMonths, releases }: Lifecycle): string => JSON.stringify([graceMonths, releases]);

/**
 * Returns the lifecycle that applies where the caller may list versions; otherwise the topmost below. Throws FAILED_PRECONDITION if
 * several organizations or sibling groups have different ones.
 */
const chooseForCaller = (found: readonly Lifecycle[], name: string, places: readonly string[]): Lifecycle | undefined => {
  const byOwner = new Map(
    [...Map.groupBy(found, ({ owner }) => owner)].flatMap(([owner, each]) => {
      const chosen = chooseLifecycle(each, name);
      return chosen ? [[owner, chosen]] : [];
    }),
  );
  const holding = places.flatMap((place) =>
    ancestry(place)
      .flatMap((group) => byOwner.get(group) ?? [])
      .slice(0, 1),
  );
  const below = [...byOwner.values()].filter(({ owner }) => places.some((place) => covers(place, owner)));
  const topmost = below.filter((each) => !below.some((other) => other !== each && covers(other.owner, each.owner)));
  const [first, ...others] = holding.length > 0 ? holding : topmost;
  if (first && (found.length >= limits.lifecyclesComparedMax || others.some((other) => saidBy(other) !== saidBy(first))))
    throw blocked("SEVERAL_LIFECYCLES", "", [
      "several groups that you see have a lifecycle of this package, and they differ; ask with a token that is narrowed to one of them",
    ]);
  return first;
};

const getPackageVersionMetadata = async (context: ReadContext): Promise<Outcome> => {
  requireAnywhere(context);
  const { request, rows, visiblePaths, nowMs } = context;
  const name = text(request, "package").toLowerCase();
  const above = visiblePaths.flatMap(ancestry);
  const found = await findLifecyclesBelow(rows, visiblePaths, [...new Set(above)], name, limits.lifecyclesComparedMax);
  const lifecycle = chooseForCaller(found, name, visiblePaths);
  if (!lifecycle) throw missing("registry", "PackageVersionMetadata", text(request, "package"));
  const today = timestamp(nowMs).slice(0, 10);
  const [ended, active] = [true, false].map((wanted) => lifecycle.releases.filter((release) => hasEnded(release, today) === wanted));
  const released = lifecycle.releases.filter(({ releaseDate }) => releaseDate <= today);
  const newest = released.reduce<(typeof released)[number] | undefined>(
    (best, each) => (best && best.releaseDate >= each.releaseDate ? best : each),
    undefined,
  );
  return {
    reply: {
      eolVersions: (ended ?? []).map((release) => packageVersion(release, today)),
      versions: (active ?? []).map((release) => packageVersion(release, today)),
      lastUpdatedTimestamp: lifecycle.updateTime,
      latestVersion: newest?.latest || (newest?.version ?? ""),
      gracePeriodMonths: lifecycle.graceMonths,
    },
  };
};

export const packageVersionMetadata = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.PackageVersionMetadata",
  methods: { GetPackageVersionMetadata: { reads: getPackageVersionMetadata } },
});
