// The end of life of an operating system's release. Pure.

import type { Lifecycle } from "#registry/store";
import { hasEnded, releaseOf } from "./release.ts";

/** Products of endoflife.date whose names are not the ID of os-release. */
const products: ReadonlyMap<string, string> = new Map([
  ["amzn", "amazon-linux"],
  ["azurelinux", "azure-linux"],
  ["ol", "oracle-linux"],
  ["opensuse-leap", "opensuse"],
]);

/** Returns names of the product. CentOS Stream has the ID and the releases of CentOS, and other ends. */
export const namesOfSystem = (id: string, name: string): string[] => {
  if (id === "centos" && /\bstream\b/i.test(name)) return ["centos-stream"];
  const product = products.get(id);
  return product === undefined ? [id] : [product, id];
};

export interface EndOfLife {
  readonly endOfLifeState: "END_OF_LIFE_STATE_UNKNOWN" | "END_OF_LIFE_STATE_SUPPORTED" | "END_OF_LIFE_STATE_ENDED";
  readonly endOfLifeDate?: string;
}

/** @param today UTC, "2026-04-30" */
export const endOfLife = (lifecycle: Pick<Lifecycle, "releases"> | undefined, version: string, today: string): EndOfLife => {
  const release = lifecycle && releaseOf(lifecycle, version);
  if (!release) return { endOfLifeState: "END_OF_LIFE_STATE_UNKNOWN" };
  const endOfLifeState = hasEnded(release, today) ? "END_OF_LIFE_STATE_ENDED" : "END_OF_LIFE_STATE_SUPPORTED";
  return release.end === "" || release.end === "true" ? { endOfLifeState } : { endOfLifeState, endOfLifeDate: release.end };
};
