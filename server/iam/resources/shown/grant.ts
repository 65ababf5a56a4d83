// Shows role bindings as sources of a permission: in full if the caller may list them, otherwise only as inherited
// (docs/decisions/0003).

import { missingCapability, type Rights } from "#authz";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { covers } from "#base/uid.ts";

/** Closest to granting the permission first. */
const effects = ["GIVES", "PENDING", "EXPIRED", "ROLE_LACKS_CAPABILITY", "ELSEWHERE", "OUTSIDE_IDENTITY_GROUP", "NO_IDENTITY", "SUSPENDED"] as const;
export type Effect = (typeof effects)[number];

/** The source of a permission, or a binding that nearly grants it. */
export interface Source {
  readonly effect: Effect;
  /** The group of the binding; EVERYWHERE for the operator. */
  readonly group: string;
  readonly groupName: string;
  /** "" for the operator, which needs no binding. */
  readonly binding: string;
  readonly role: string;
  readonly roleName: string;
  readonly endMs: number | undefined;
}

const named = (key: string, value: string): JsonObject => (value === "" ? {} : { [key]: value });

const open = (source: Source, place: string): JsonObject => ({
  effect: `EFFECT_${source.effect}`,
  inherited: source.group !== place && covers(source.group, place),
  hidden: false,
  ...named("bindingUid", source.binding),
  ...named("roleUid", source.role),
  ...named("roleName", source.roleName),
  ...named("groupUid", source.group),
  ...named("groupName", source.groupName),
  ...(source.endMs === undefined ? {} : { expireTime: timestamp(source.endMs) }),
});

/** True if the caller may list the role bindings of `group`. */
export const seesBindings = (rights: Rights, group: string): boolean => missingCapability(rights, ["role_bindings.list"], group) === undefined;

/** Returns the sources visible to this caller; omits hidden ones that grant nothing. */
export const shownGrants = (rights: Rights, place: string, sources: readonly Source[]): JsonObject[] => {
  const visible = sources.filter(({ group }) => seesBindings(rights, group));
  const rank = ({ effect }: Source): number => effects.indexOf(effect);
  const shown = visible
    .sort((one, other) => rank(one) - rank(other) || (one.binding < other.binding ? -1 : 1))
    .slice(0, limits.reasonGrantsMax)
    .map((source) => open(source, place));
  const hidden = sources.some((source) => source.effect === "GIVES" && !visible.includes(source));
  return hidden ? [...shown, { effect: "EFFECT_GIVES", inherited: true, hidden: true }] : shown;
};
