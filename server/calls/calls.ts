// The requests that a server has under way, and what is told of each when it is over: a line of the request log, one where it
// was slow, and whatever counts them.

import { randomBytes } from "node:crypto";
import { Fault } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import { type CallProtocol, CallRecord } from "./record.ts";
import type { Traces } from "./trace.ts";

/** A call whose answer takes longer to begin is worth a line in the log. */
const slowCallMs = 1000;

/** A path is what a caller has written: of a long one the log keeps its beginning. A resource's has 16 characters for each level. */
const loggedPathMax = 512;

export interface CallsOptions {
  readonly log: Log;
  /** One line for each request. */
  readonly logsRequests?: boolean;
  /** Is told of each call once, when it is over. Must not throw. */
  readonly onEnd?: (call: CallRecord) => void;
  readonly traces?: Traces | undefined;
}

export interface Calls {
  /** @param traceparent the header of that name, whatever it holds */
  begin(protocol: CallProtocol, traceparent?: string): CallRecord;
  /** The second end of a call is none. `isCut`: before its answer was whole. */
  end(call: CallRecord, isCut: boolean): void;
  /** How many are under way. */
  inFlight(): number;
}

// A pool, because a system call for each id would cost more than the rest of the transport.
const randomPool = Buffer.alloc(8 * 1024);
const idBytes = 12;
let usedBytes = randomPool.length;

/** Names one request in the answer, in an error and in the log. */
export const newRequestId = (): string => {
  if (usedBytes + idBytes > randomPool.length) {
    randomBytes(randomPool.length).copy(randomPool);
    usedBytes = 0;
  }
  usedBytes += idBytes;
  return randomPool.toString("hex", usedBytes - idBytes, usedBytes);
};

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

/** A call as the log shows it: no header, no query, no body. */
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
      // Where no answer had begun, nobody was told of whatever it would have been.
      if (isCut && (call.code === "OK" || call.answeredMs === undefined)) call.refuse(new Fault("CANCELLED", "the client disconnected"));
      if (logsRequests) log("request", loggedFactsOf(call));
      if (!call.isStream && call.toAnswerMs > slowCallMs) log("slow", loggedFactsOf(call));
      call.trace?.end(call);
      onEnd(call);
    },
    inFlight: () => underWay,
  };
};
