// Entry point: which lifecycle applies in a group, and the state of a release on a day.

export { chooseLifecycle, knownLifecycles, namesOfPackage, namesOfRepo } from "./known-lifecycles.ts";
export { endOfLife, namesOfSystem } from "./operating-system.ts";
export { endedLife, hasEnded, isLongSupported, lifeOf, releaseOf, unknownLife } from "./release.ts";
export { type LocatedSystem, withEndOfLife } from "./located-system.ts";
