// Maps a tag to a version line, and computes the line's lifecycle state on a day. Pure.

import type { Lifecycle } from "#registry/store";
import type { LifecycleRelease } from "#advisories/store";

/** Values of version 1's enums EolTagStatus and EolGracePeriodStatus. */
export interface LifeState {
  readonly tagStatus: "TAG_ACTIVE" | "TAG_IN_GRACE" | "TAG_INACTIVE";
  readonly graceStatus: "GRACE_NOT_ELIGIBLE" | "GRACE_ELIGIBLE" | "GRACE_ACTIVE" | "GRACE_BROKEN" | "GRACE_EXPIRED";
  /** The day on which the grace period ends; "" without one, or before it starts. */
  readonly graceEnd: string;
}

/** No known end. */
export const unknownLife: LifeState = { tagStatus: "TAG_ACTIVE", graceStatus: "GRACE_NOT_ELIGIBLE", graceEnd: "" };
/** Explicitly ended, without a grace period. */
export const endedLife: LifeState = { tagStatus: "TAG_INACTIVE", graceStatus: "GRACE_NOT_ELIGIBLE", graceEnd: "" };

const dayMs = 24 * 60 * 60 * 1000;

/** "2025-08-31" plus 6 months is "2026-02-28": the last day of a shorter month. */
export const addMonths = (day: string, months: number): string => {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  const lastDate = new Date(Date.UTC(year, month + months, 1) - dayMs).getUTCDate();
  return new Date(Date.UTC(year, month - 1 + months, Math.min(date, lastDate))).toISOString().slice(0, 10);
};

/** True if the date has been reached, or the value is "true": ended at an unknown date. */
const holdsOn = (said: string, today: string): boolean => said === "true" || (said !== "" && said <= today);

export const hasEnded = ({ end }: LifecycleRelease, today: string): boolean => holdsOn(end, today);

export const isLongSupported = ({ lts }: LifecycleRelease, today: string): boolean => holdsOn(lts, today);

/** @param today UTC, "2026-04-30". A version ends at the start of its end date, as do tags ended by a policy. */
export const lifeOf = (release: LifecycleRelease, graceMonths: number, today: string): LifeState => {
  const hasGrace = graceMonths > 0 && release.end !== "" && release.end !== "true";
  if (!hasEnded(release, today))
    return { tagStatus: "TAG_ACTIVE", graceStatus: hasGrace && !release.broken ? "GRACE_ELIGIBLE" : "GRACE_NOT_ELIGIBLE", graceEnd: "" };
  if (!hasGrace) return endedLife;
  if (release.broken) return { tagStatus: "TAG_INACTIVE", graceStatus: "GRACE_BROKEN", graceEnd: "" };
  const graceEnd = addMonths(release.end, graceMonths);
  return today < graceEnd
    ? { tagStatus: "TAG_IN_GRACE", graceStatus: "GRACE_ACTIVE", graceEnd }
    : { tagStatus: "TAG_INACTIVE", graceStatus: "GRACE_EXPIRED", graceEnd };
};

// Permitted after a version line: more of the version, an image variant, a Java update, a release candidate. Not any letter, because a
// commit hash may start with digits.
const behindVersion = /^(?:$|[._+-]|(?:u|rc)[0-9])/;

/** Returns the release of a version or tag: "3.12.4-slim" belongs to "3.12", not to "3.1" or "3". */
export const releaseOf = ({ releases }: Pick<Lifecycle, "releases">, version: string): LifecycleRelease | undefined => {
  const plain = version.toLowerCase().replace(/^v(?=[0-9])/, "");
  const fitting = releases.filter((release) => {
    const line = release.version.toLowerCase();
    return plain.startsWith(line) && behindVersion.test(plain.slice(line.length));
  });
  return fitting.reduce<LifecycleRelease | undefined>((best, release) => (best && best.version.length >= release.version.length ? best : release), undefined);
};
