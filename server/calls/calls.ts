// Requests in flight, and the reports at their end: request log, slow log, metrics and traces.

import { randomBytes } from "node:crypto";
import { Fault } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import { type CallProtocol, CallRecord } from "./record.ts";
import type { Traces } from "./trace.ts";

const slowCallMs = 1000;

/** Callers choose paths. A resource has 16 characters per level. */
const loggedPathMax = 512;

export interface CallsOptions {
  readonly log: Log;
  readonly logsRequests?: boolean;
  /** Called once per finished call. Must not throw. */
  readonly onEnd?: (call: CallRecord) => void;
  readonly traces?: Traces | undefined;
}

export interface Calls {
  /** @param traceparent the header's value, unvalidated */
  begin(protocol: CallProtocol, traceparent?: string): CallRecord;
  /** Ends a call; repeated ends are ignored. `isCut`: its response is incomplete. */
  end(call: CallRecord, isCut: boolean): void;
  inFlight(): number;
}

// Pooled: a system call per ID would cost more than the rest of the transport.
const randomPool = Buffer.alloc(8 * 1024);
const idBytes = 12;
let usedBytes = randomPool.length;

/** Returns an ID for responses, errors and logs. */
export const newRequestId = (): string => {
  if (usedBytes + idBytes > randomPool.length) {
    randomBytes(randomPool.length).copy(randomPool);
    usedBytes = 0;
  }
  usedBytes += idBytes;
  return randomPool.toString("hex", usedBytes - idBytes, usedBytes);
};

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

/** No header, query or body. */
const loggedFactsOf = (call: CallRecord): Readonly<Record<string, unknown>> => ({
  requestId: call.requestId,
  protocol: call.protocol,
  operation: call.operation,
  ...(call.caller === "" ? {} : { caller: call.caller }),
  ...(call.path === "" ? {} : { path: call.path.slice(0, loggedPathMax) }),
  code: call.code,
  ...(call.status === 0 ? {} : { status: call.status }),
  ...(call.reason === "" ? {} : { reason: call.reason }),
  ...(call.quota === "" ? {} : { quota: call.quota }),
  ...(call.isCut ? { cut: true } : {}),
  receivedBytes: call.receivedBytes,
  sentBytes: call.sentBytes,
  turnMs: rounded(call.turnMs),
  databaseWaitMs: rounded(call.databaseWaitMs),
  databaseMs: rounded(call.databaseMs),
  statements: call.statements,
  answerMs: rounded(call.toAnswerMs),
  ms: rounded(call.inAllMs),
});

export const openCalls = ({ log, logsRequests = false, onEnd = () => {}, traces }: CallsOptions): Calls => {
  let underWay = 0;
  return {
    begin(protocol, traceparent) {
      underWay++;
      const trace = traces?.beginCall(traceparent);
      return new CallRecord(trace?.requestId ?? newRequestId(), protocol, trace);
    },
    end(call, isCut) {
      if (call.endedMs !== undefined) return;
      call.endedMs = performance.now();
      underWay--;
      call.isCut = isCut;
      // Without a started response, the client never learned the result.
      if (isCut && (call.code === "OK" || call.answeredMs === undefined)) call.refuse(new Fault("CANCELLED", "the client disconnected"));
      if (logsRequests) log("request", loggedFactsOf(call));
      if (!call.isStream && call.toAnswerMs > slowCallMs) log("slow", loggedFactsOf(call));
      call.trace?.end(call);
      onEnd(call);
    },
    inFlight: () => underWay,
  };
};
