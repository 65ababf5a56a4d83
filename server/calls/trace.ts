// What the record of a call, the store and the deliveries see of traces; otlp.ts is the one file that knows OpenTelemetry.

import type { CallRecord } from "./record.ts";

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A call that is traced. */
export interface CallTrace {
  /** For what is sent for the call. */
  readonly traceparent: string;
  /** The request's id, from which the trace is found. */
  readonly requestId: string;
  /** Tells of a part of the call that is over; times by performance.now(). `failed`: why, in a word. */
  part(name: string, fromMs: number, untilMs: number, attributes?: Attributes, failed?: string): void;
  end(call: CallRecord): void;
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
