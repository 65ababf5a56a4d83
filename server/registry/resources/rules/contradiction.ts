// Retention rules that contradict each other: of two rules for the same tags, at least one can never have the effect that it states.

import { covers, parentOf } from "#base/uid.ts";
import type { RetentionRule } from "#registry/store";

export type ComparedRule = Pick<
  RetentionRule,
  "uid" | "name" | "repoUid" | "tagPattern" | "versionRange" | "keepAll" | "keepLast" | "keepVersions" | "keepDays" | "keepPulledDays"
>;

/** The repo or group to whose repos the rule applies. */
const reachOf = ({ uid, repoUid }: ComparedRule): string => repoUid || parentOf(uid);

const matchesSame = (one: ComparedRule, other: ComparedRule): boolean => one.tagPattern === other.tagPattern && one.versionRange === other.versionRange;

const matchesAll = ({ tagPattern, versionRange }: ComparedRule): boolean => tagPattern === "" && versionRange === "";

/** The first rule keeps everything that the second one could delete. */
const keepsAllOf = (one: ComparedRule, other: ComparedRule): boolean =>
  one.keepAll && !other.keepAll && covers(reachOf(one), reachOf(other)) && (matchesAll(one) || matchesSame(one, other));

/** Returns why the rules contradict each other; undefined if they do not. */
export const contradictionOf = (one: ComparedRule, other: ComparedRule): string | undefined => {
  if (keepsAllOf(one, other) || keepsAllOf(other, one)) {
    const keeping = one.keepAll ? one : other;
    return `${JSON.stringify(keeping.name)} keeps all tags that the other one could delete`;
  }
  if (reachOf(one) === reachOf(other) && matchesSame(one, other)) return "both match the same tags of the same repos; combine them in one rule";
  return undefined;
};
