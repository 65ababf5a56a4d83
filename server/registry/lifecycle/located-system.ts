// The operating systems of images, each with its end of life.

import { isObject, type JsonObject, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { Read } from "#db";
import { knownLifecycles } from "./known-lifecycles.ts";
import { endOfLife, namesOfSystem } from "./operating-system.ts";

export interface LocatedSystem {
  /** Uid of the repo's group. */
  readonly group: string;
  /** Undefined if the image has none. */
  readonly system: JsonObject | undefined;
}

/** Returns the systems with their end of life, by the lifecycles that apply in their groups today (UTC). */
export const withEndOfLife = async (rows: Read, located: readonly LocatedSystem[], nowMs: number): Promise<readonly (JsonObject | undefined)[]> => {
  const found = located.map(({ group, system }) => ({ group, system, names: isObject(system) ? namesOfSystem(text(system, "id"), text(system, "name")) : [] }));
  const find = await knownLifecycles(
    rows,
    found.flatMap(({ group, system }) => (system ? [group] : [])),
    found.flatMap(({ names }) => names),
  );
  const today = timestamp(nowMs).slice(0, 10);
  return found.map(({ group, system, names }) => system && { ...system, ...endOfLife(find(group, names), text(system, "version"), today) });
};
