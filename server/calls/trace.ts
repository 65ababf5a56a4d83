// Interface of tracing; only otlp.ts depends on OpenTelemetry.

import type { Log } from "#base/log.ts";
import type { Attributes, CallTrace } from "./record.ts";

/** Called once per kept span: sent, failed, or dropped from a full queue. */
export type CountSpans = (outcome: "sent" | "failed" | "dropped", spans: number) => void;

export interface TracesOptions {
  readonly version: string;
  readonly log: Log;
  readonly countSpans?: CountSpans | undefined;
}

/** A delivery within the trace of the call that caused its event. */
export interface DeliveryTrace {
  /** Headers for the receiver: this attempt's trace, and the event's (CloudEvents distributed tracing). */
  readonly headers: Readonly<Record<string, string>>;
  end(outcome: string, failed: boolean): void;
}

export interface Traces {
  /** `traceparent`: the caller's header. Returns undefined if the call is not sampled. */
  beginCall(traceparent: string | undefined): CallTrace | undefined;
  /** `requestId`: the call that caused the event. Returns undefined if it was not traced, or beyond the limit. */
  beginDelivery(requestId: string, attributes: Attributes): DeliveryTrace | undefined;
  /** Flushes within limits.tracesCloseMs. */
  close(): Promise<void>;
}
