// How OpenTelemetry chooses what is traced: the names that OTEL_TRACES_SAMPLER may have, for the settings and for the sampling.

export const samplerNames = ["always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"] as const;
export type SamplerName = (typeof samplerNames)[number];
