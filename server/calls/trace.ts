// What the server and its deliveries see of traces; otlp.ts is the one file that knows OpenTelemetry.

import type { Attributes, CallTrace } from "./record.ts";

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
