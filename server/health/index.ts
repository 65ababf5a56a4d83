// Entry point: the decision which dependencies of the server have failed.

export { onBeat } from "./beat.ts";
export { dependencies, type Dependency, type DependencyName, type Health, openHealth, unreported } from "./health.ts";
export { type RunningProbe, startProbe } from "./probe.ts";
