// A version line of a product, in version 1's form.

import { isLongSupported } from "#registry/lifecycle";
import type { JsonObject } from "#base/json.ts";
import type { LifecycleRelease } from "#advisories/store";

/** @param today UTC, "2026-04-30" */
export const packageVersion = (release: LifecycleRelease, today: string): JsonObject => ({
  version: release.version,
  releaseDate: release.releaseDate,
  ...(release.end === "" || release.end === "true" ? {} : { eolDate: release.end }),
  // Announced versions do not exist yet.
  exists: release.releaseDate <= today,
  lts: isLongSupported(release, today),
  ...(release.lts === "" ? {} : { legacyLts: release.lts }),
  ...(release.latest === "" ? {} : { latestVersion: release.latest }),
  eolBroken: release.broken,
});
