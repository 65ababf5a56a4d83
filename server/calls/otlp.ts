// Traces by OpenTelemetry's SDK as OTLP over HTTP, loaded only with an endpoint (index.ts). Spans exist only for sampled calls. The
// operator chooses the collector's URL, so it bypasses the guarded client.

import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, BatchSpanProcessor, type SpanExporter, type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Code } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Attributes, CallRecord, CallTrace } from "./record.ts";
import { openSampling, type SamplingSettings } from "./sampling.ts";
import type { CountSpans, Traces, TracesOptions } from "./trace.ts";
import { readTraceparent, type TraceParent, tracedRequestId, traceOfRequest, traceparentOf } from "./traceparent.ts";

export interface TracesSettings extends SamplingSettings {
  readonly url: string;
}

/** Codes that count as server errors (OpenTelemetry semantic conventions for gRPC). */
const serverFaults: ReadonlySet<Code | "OK"> = new Set(["UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"]);

const timeOf = (ms: number): number => performance.timeOrigin + ms;

/** Failures are only logged. Has its own bound, because the SDK drops silently beyond its own. */
const openSpanQueue = (exporter: SpanExporter, log: Log, countSpans: CountSpans): SpanProcessor => {
  let waiting = 0;
  let dropped = 0;
  const processor = new BatchSpanProcessor({
    exporter: {
      export(spans, done) {
        waiting -= spans.length;
        if (dropped > 0) log("traces.failed", { spans: dropped, cause: `more than ${limits.traceQueueSpans} spans would have waited for the collector` });
        dropped = 0;
        exporter.export(spans, ({ error, code }) => {
          if (code !== 0) log("traces.failed", { spans: spans.length, cause: error?.message });
          countSpans(code === 0 ? "sent" : "failed", spans.length);
          done({ code: 0 });
        });
      },
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: limits.traceQueueSpans,
    maxExportBatchSize: limits.traceBatchSpans,
    scheduledDelayMillis: limits.traceBatchMs,
    exportTimeoutMillis: limits.traceExportMs,
  });
  return {
    onStart: () => {},
    onEnd(span) {
      if (waiting < limits.traceQueueSpans) {
        waiting++;
        processor.onEnd(span);
        return;
      }
      dropped++;
      countSpans("dropped", 1);
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  };
};

const callAttributes = (call: CallRecord): Attributes => ({
  "rpc.method": call.operation,
  "gantry.protocol": call.protocol,
  "gantry.code": call.code,
  "gantry.request_id": call.requestId,
  ...(call.caller === "" ? {} : { "gantry.caller": call.caller }),
  ...(call.path === "" ? {} : { "gantry.path": call.path }),
  ...(call.reason === "" ? {} : { "gantry.reason": call.reason }),
  ...(call.quota === "" ? {} : { "gantry.quota": call.quota }),
  ...(call.status === 0 ? {} : { "http.response.status_code": call.status }),
  ...(call.isCut ? { "gantry.cut": true } : {}),
  "http.request.body.size": call.receivedBytes,
  "http.response.body.size": call.sentBytes,
});

const contextOf = ({ traceId, spanId }: Pick<TraceParent, "traceId" | "spanId">): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });

export const openOtlp = (settings: TracesSettings, { version, log, countSpans = () => {} }: TracesOptions): Traces => {
  const sampling = openSampling(settings);
  const provider = new TracerProvider({
    // Environment: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES.
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "gantry", "service.version": version }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: new AlwaysOnSampler(),
    spanLimits: { attributeValueLengthLimit: limits.traceTextMax },
    spanProcessors: [
      // Environment: OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT, _COMPRESSION, _CERTIFICATE.
      openSpanQueue(new OTLPTraceExporter({ url: settings.url }), log, countSpans),
    ],
  });
  const tracer = provider.getTracer("gantry", version);

  const callTrace = (span: Span): CallTrace => {
    const own = span.spanContext();
    const context = trace.setSpan(ROOT_CONTEXT, span);
    let parts = 0;
    return {
      traceparent: traceparentOf(own),
      requestId: tracedRequestId(own),
      part(name, fromMs, untilMs, attributes, failed) {
        if (++parts > limits.tracePartsMax) return;
        // Parts with attributes are requests to others; the rest is waiting.
        const kind = attributes ? SpanKind.CLIENT : SpanKind.INTERNAL;
        const child = tracer.startSpan(name, { kind, startTime: timeOf(fromMs), attributes: attributes ?? {} }, context);
        if (failed !== undefined) child.setAttribute("error.type", failed).setStatus({ code: SpanStatusCode.ERROR });
        child.end(timeOf(untilMs));
      },
      end(call) {
        span.updateName(call.operation).setAttributes(callAttributes(call));
        if (parts > limits.tracePartsMax) span.setAttribute("gantry.parts_left_out", parts - limits.tracePartsMax);
        if (serverFaults.has(call.code)) span.setStatus({ code: SpanStatusCode.ERROR, message: call.code });
        span.end(timeOf(call.endedMs ?? performance.now()));
      },
    };
  };

  return {
    beginCall(header) {
      const parent = readTraceparent(header);
      if (!sampling.call(parent)) return undefined;
      const options = { kind: SpanKind.SERVER, startTime: timeOf(performance.now()) };
      return callTrace(tracer.startSpan("call", options, parent ? contextOf(parent) : ROOT_CONTEXT));
    },
    beginDelivery(requestId, attributes) {
      const cause = traceOfRequest(requestId);
      if (cause === undefined || !sampling.delivery()) return undefined;
      const span = tracer.startSpan("deliver", { kind: SpanKind.PRODUCER, startTime: timeOf(performance.now()), attributes }, contextOf(cause));
      return {
        headers: { traceparent: traceparentOf(span.spanContext()), "ce-traceparent": traceparentOf(cause) },
        end(outcome, failed) {
          span.setAttribute("gantry.outcome", outcome);
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
          span.end(timeOf(performance.now()));
        },
      };
    },
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, limits.tracesCloseMs);
      });
      await Promise.race([provider.shutdown().catch((cause: unknown) => log("traces.failed", { cause })), late]);
      clearTimeout(timer);
    },
  };
};
