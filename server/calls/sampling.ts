// Which requests are traced: OpenTelemetry's samplers by their names, and a bound on how many in a second, whoever asks for it.
// A caller chooses its trace's id and flag freely, so a share is drawn by our own lot and not from the id, and what callers ask
// for has a bucket of its own: nobody outside decides how much is exported, or what is left for the rest.

import { openBuckets } from "#base/buckets.ts";
import type { SamplerName } from "#base/sampler-names.ts";
import type { TraceParent } from "./traceparent.ts";

export interface SamplingSettings {
  readonly sampler: SamplerName;
  /** Of a ratio: from 0 to 1. */
  readonly share: number;
  /** Traces in a second: of those that we draw, and of those that callers ask for, each. */
  readonly perSecond: number;
}

export interface Sampling {
  readonly call: (parent: TraceParent | undefined) => boolean;
  /** A delivery of an event whose call was traced: of one call there may be thousands. */
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
