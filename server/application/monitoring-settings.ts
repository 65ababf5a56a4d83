// Settings of log level, metrics and traces.

import type { TracesSettings } from "#calls";
import { limits } from "#base/limits.ts";
import { type LogLevel, logLevels } from "#base/log-events.ts";
import { samplerNames } from "#base/sampler-names.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { settingTexts } from "./setting-names.ts";
import { type Given, readHttpUrl, readListen, readSettingFile, readWholeNumber, settingFault } from "./setting-values.ts";

export interface MetricsSettings {
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly token: string | undefined;
}

export const readLogLevel = (value: string = settingTexts.GANTRY_LOG_LEVEL.byDefault): LogLevel => {
  const level = logLevels.find((each) => each === value);
  if (level === undefined) throw settingFault("GANTRY_LOG_LEVEL", `must be one of ${logLevels.join(", ")}, not ${JSON.stringify(value)}`);
  return level;
};

export const readMetrics = (given: Given): MetricsSettings | undefined => {
  const { GANTRY_METRICS_LISTEN: listen, GANTRY_METRICS_TOKEN_FILE: file } = given;
  if (listen === undefined && file === undefined) return undefined;
  const token = file === undefined ? undefined : readSettingFile("GANTRY_METRICS_TOKEN_FILE", file).trim();
  if (token !== undefined && !(token.length >= limits.metricsTokenLengthMin && /^[!-~]+$/.test(token)))
    throw settingFault(
      "GANTRY_METRICS_TOKEN_FILE",
      `must contain one token of at least ${limits.metricsTokenLengthMin} characters without spaces. Create one with: openssl rand -base64 24`,
    );
  return { listen: listen === undefined ? undefined : readListen(listen, "GANTRY_METRICS_LISTEN"), token };
};

export const readTraces = (given: Given): TracesSettings | undefined => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole, OTEL_EXPORTER_OTLP_PROTOCOL: protocol = "http/protobuf" } = given;
  const name = given.OTEL_TRACES_SAMPLER ?? settingTexts.OTEL_TRACES_SAMPLER.byDefault;
  const share = Number(given.OTEL_TRACES_SAMPLER_ARG ?? "1");
  const url = whole
    ? readHttpUrl("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", whole)
    : base && `${withoutTrailing(readHttpUrl("OTEL_EXPORTER_OTLP_ENDPOINT", base), "/")}/v1/traces`;
  // OpenTelemetry's variables may be meant for others; without an endpoint tracing is off.
  if (!url) return undefined;
  if (protocol !== "http/protobuf")
    throw settingFault("OTEL_EXPORTER_OTLP_PROTOCOL", `must be http/protobuf (port 4318 of collectors), not ${JSON.stringify(protocol)}`);
  const sampler = samplerNames.find((each) => each === name);
  if (sampler === undefined) throw settingFault("OTEL_TRACES_SAMPLER", `must be one of ${samplerNames.join(", ")}, not ${JSON.stringify(name)}`);
  if (!(share >= 0 && share <= 1))
    throw settingFault("OTEL_TRACES_SAMPLER_ARG", `must be a share from 0 to 1, not ${JSON.stringify(given.OTEL_TRACES_SAMPLER_ARG)}`);
  const perSecond = readWholeNumber(given, "GANTRY_TRACES_PER_SECOND", 1, limits.tracesPerSecondMax) ?? limits.tracesPerSecond;
  return { url, sampler, share, perSecond };
};
