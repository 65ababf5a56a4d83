// Which version of a product a tag stands for, and where that version is in its life on a day. Pure.

import type { Lifecycle } from "#registry/store";
import type { LifecycleRelease } from "#advisories/store";

/** Values of version 1's enums EolTagStatus and EolGracePeriodStatus. */
export interface LifeState {
  readonly tagStatus: "TAG_ACTIVE" | "TAG_IN_GRACE" | "TAG_INACTIVE";
  readonly graceStatus: "GRACE_NOT_ELIGIBLE" | "GRACE_ELIGIBLE" | "GRACE_ACTIVE" | "GRACE_BROKEN" | "GRACE_EXPIRED";
  /** The day on which the grace ends, or ended; "" where there is none, or it has not begun. */
  readonly graceEnd: string;
}

/** Nothing says that it ends. */
export const unknownLife: LifeState = { tagStatus: "TAG_ACTIVE", graceStatus: "GRACE_NOT_ELIGIBLE", graceEnd: "" };
/** Somebody said that the tag has ended: there is no grace behind that. */
export const endedLife: LifeState = { tagStatus: "TAG_INACTIVE", graceStatus: "GRACE_NOT_ELIGIBLE", graceEnd: "" };

const dayMs = 24 * 60 * 60 * 1000;

/** "2025-08-31" and 6 months are "2026-02-28": the last day of a month that is shorter. */
export const addMonths = (day: string, months: number): string => {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  const lastDate = new Date(Date.UTC(year, month + months, 1) - dayMs).getUTCDate();
  return new Date(Date.UTC(year, month - 1 + months, Math.min(date, lastDate))).toISOString().slice(0, 10);
};

/** Whether what is said for a day, or without one ("true"), holds on this day. */
const holdsOn = (said: string, today: string): boolean => said === "true" || (said !== "" && said <= today);

export const hasEnded = ({ end }: LifecycleRelease, today: string): boolean => holdsOn(end, today);

export const isLongSupported = ({ lts }: LifecycleRelease, today: string): boolean => holdsOn(lts, today);

/** @param today UTC, "2026-04-30": a version is at its end from the first moment of its day on, as tags are that a policy ends */
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

// What may stand behind a line of versions: more of the version, what kind of image it is, an update of Java's, a candidate.
// Not just any letter: a commit's number begins with digits, too.
const behindVersion = /^(?:$|[._+-]|(?:u|rc)[0-9])/;

/** The release whose line a version, or a tag that begins with one, is of: "3.12.4-slim" is of "3.12", not of "3.1" nor of "3". */
export const releaseOf = ({ releases }: Pick<Lifecycle, "releases">, version: string): LifecycleRelease | undefined => {
  const plain = version.toLowerCase().replace(/^v(?=[0-9])/, "");
  const fitting = releases.filter((release) => {
    const line = release.version.toLowerCase();
    return plain.startsWith(line) && behindVersion.test(plain.slice(line.length));
  });
  return fitting.reduce<LifecycleRelease | undefined>((best, release) => (best && best.version.length >= release.version.length ? best : release), undefined);
};
