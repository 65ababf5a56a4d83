// What the server and its deliveries see of traces; otlp.ts is the one file that knows OpenTelemetry.

import type { Log } from "#base/log.ts";
import type { Attributes, CallTrace } from "./record.ts";

/** Told of every span that was kept, once: the collector took it, it did not, or too many waited for it. */
export type CountSpans = (outcome: "sent" | "failed" | "dropped", spans: number) => void;

export interface TracesOptions {
  readonly version: string;
  readonly log: Log;
  readonly countSpans?: CountSpans | undefined;
}

/** A delivery of an event, in the trace of the call that caused it. */
export interface DeliveryTrace {
  /** The headers that tell the sink of it: of this attempt, and of the event (CloudEvents, distributed tracing). */
  readonly headers: Readonly<Record<string, string>>;
  end(outcome: string, failed: boolean): void;
}

export interface Traces {
  /** `traceparent`: the caller's header. Undefined: the call is not traced. */
  beginCall(traceparent: string | undefined): CallTrace | undefined;
  /** `requestId`: of the call that caused the event. Undefined where that was not traced, or too much is. */
  beginDelivery(requestId: string, attributes: Attributes): DeliveryTrace | undefined;
  /** Sends what is left, for as long as limits.tracesCloseMs. */
  close(): Promise<void>;
}
