// Sampling by OpenTelemetry's samplers, with a rate limit. Callers choose trace IDs and flags, so ratios use our own random numbers,
// and requested traces have a separate limit.

import { openBuckets } from "#base/buckets.ts";
import type { SamplerName } from "#base/sampler-names.ts";
import type { TraceParent } from "./traceparent.ts";

export interface SamplingSettings {
  readonly sampler: SamplerName;
  /** Ratio from 0 to 1. */
  readonly share: number;
  /** Traces per second, separately for our own samples and those requested by callers. */
  readonly perSecond: number;
}

export interface Sampling {
  readonly call: (parent: TraceParent | undefined) => boolean;
  /** For a delivery of a traced call's event, of which there may be thousands. */
  readonly delivery: () => boolean;
}

export const openSampling = (
  { sampler, share, perSecond }: SamplingSettings,
  random: () => number = Math.random,
  nowMs = () => performance.now(),
): Sampling => {
  const buckets = openBuckets({ burst: perSecond, perSecond }, 3);
  const ownShare = sampler.endsWith("always_on") ? 1 : sampler.endsWith("always_off") ? 0 : share;
  const looksAtParent = sampler.startsWith("parentbased_");
  return {
    call(parent) {
      const asked = looksAtParent && parent !== undefined;
      if (asked ? !parent.sampled : random() >= ownShare) return false;
      return buckets.take(asked ? "asked" : "own", nowMs()) === undefined;
    },
    delivery: () => buckets.take("delivery", nowMs()) === undefined,
  };
};
