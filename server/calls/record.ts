// Record of one request for the request log, metrics and traces.
//
// Found through AsyncLocalStorage, because statements run in authn, authz, caches and batches, which know no call. On Node 24 a
// whole record costs 1 µs and a look-up 9 ns; a read takes 50 µs and more.

import { AsyncLocalStorage } from "node:async_hooks";
import { type Code, Fault } from "#base/fault.ts";

/** "http": paths outside the contract, such as pages, keys and public documents. */
export type CallProtocol = "rest" | "grpc" | "oci" | "scim" | "mcp" | "http";

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface CallTrace {
  /** Header for requests sent on behalf of the call. */
  readonly traceparent: string;
  /** Identifies the trace, too. */
  readonly requestId: string;
  /** Adds a finished part of the call; times by performance.now(). `failed`: the reason in a word. */
  part(name: string, fromMs: number, untilMs: number, attributes?: Attributes, failed?: string): void;
  end(call: CallRecord): void;
}

/** One name for all unknown operations, so that callers cannot create names. */
export const unknownOperation = "unknown";

/** Inverse of google.rpc.Code's HTTP mapping. */
const codesOfStatuses: Readonly<Record<number, Code>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  409: "ABORTED",
  412: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const codeOfStatus = (status: number): Code => codesOfStatuses[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");

/** Times are by performance.now(). */
export class CallRecord {
  readonly requestId: string;
  readonly trace: CallTrace | undefined;
  readonly startedMs = performance.now();
  protocol: CallProtocol;
  /** Operation called (possibly version 1), or a fixed name outside the contract. */
  operation = unknownOperation;
  /** The caller decides how long the call stays open. */
  isStream = false;
  /** UID of the caller; "" if not known yet. */
  caller = "";
  /** Resource path of the request; "" if none. */
  path = "";
  code: Code | "OK" = "OK";
  /** ErrorInfo's reason of a refusal; "" if none. */
  reason = "";
  quota = "";
  /** HTTP status; 0 over gRPC and without a response. */
  status = 0;
  /** Of bodies, as transferred. */
  receivedBytes = 0;
  sentBytes = 0;
  /** Time in the organization's queue. */
  turnMs = 0;
  /** Time its statements waited: queue, connection, and earlier statements on it. */
  databaseWaitMs = 0;
  /** Time from when the database could start its statements to their results; concurrent ones add up. */
  databaseMs = 0;
  statements = 0;
  answeredMs: number | undefined;
  endedMs: number | undefined;
  /** Ended before its response was complete: the client disconnected, or the server cut it off. */
  isCut = false;

  constructor(requestId: string, protocol: CallProtocol, trace?: CallTrace) {
    this.requestId = requestId;
    this.protocol = protocol;
    this.trace = trace;
  }

  /** Returns the time to the response, or to the end without one. */
  get toAnswerMs(): number {
    return (this.answeredMs ?? this.endedMs ?? performance.now()) - this.startedMs;
  }

  get inAllMs(): number {
    return (this.endedMs ?? performance.now()) - this.startedMs;
  }

  /** Records a refusal; the last one counts, because the caller gets it. */
  refuse(fault: Fault): void {
    this.code = fault.code;
    this.reason = "";
    this.quota = "";
    for (const detail of fault.details) {
      if (detail.kind === "reason") {
        this.reason = detail.reason;
        this.quota = detail.metadata?.limit ?? this.quota;
      } else if (detail.kind === "quota") this.quota = detail.name;
    }
  }

  /** Records the start of the response. The HTTP `status` sets the code of a refusal without a fault, such as a page. */
  answer(status = 0): void {
    this.status = status;
    if (status >= 400 && this.code === "OK") this.code = codeOfStatus(status);
    this.answeredMs ??= performance.now();
  }
}

const running = new AsyncLocalStorage<CallRecord>();

/** Runs `work` as part of the call. */
export const runInCall = <T>(call: CallRecord, work: () => T): T => running.run(call, work);

/** Returns the current call; undefined for background work and after the call's end. */
export const currentCall = (): CallRecord | undefined => {
  const call = running.getStore();
  return call?.endedMs === undefined ? call : undefined;
};

export const describeCall = (facts: Readonly<Partial<Pick<CallRecord, "operation" | "caller" | "path">>>): void => {
  const call = currentCall();
  if (!call) return;
  if (facts.operation !== undefined) call.operation = facts.operation;
  if (facts.caller !== undefined) call.caller = facts.caller;
  if (facts.path !== undefined) call.path = facts.path;
};

/** Records that the current call is refused. */
export const refuseCall = (thrown: unknown): void => {
  if (thrown instanceof Fault) currentCall()?.refuse(thrown);
};

const timed = async <T>(work: Promise<T>, took: (call: CallRecord, fromMs: number, untilMs: number) => void): Promise<T> => {
  const call = currentCall();
  const fromMs = performance.now();
  try {
    return await work;
  } finally {
    if (call) took(call, fromMs, performance.now());
  }
};

/** Measures the call's time in the queue. */
export const waitInQueue = <T>(turn: Promise<T>): Promise<T> =>
  timed(turn, (call, fromMs, untilMs) => {
    call.turnMs += untilMs - fromMs;
    call.trace?.part("wait in the queue", fromMs, untilMs);
  });

/** Shorter waits are not traced. */
const toldWaitMs = 0.2;

/** Measures the call's wait before a statement. */
export const waitForDatabase = <T>(place: Promise<T>): Promise<T> =>
  timed(place, (call, fromMs, untilMs) => {
    call.databaseWaitMs += untilMs - fromMs;
    if (untilMs - fromMs > toldWaitMs) call.trace?.part("wait for the database", fromMs, untilMs);
  });

export interface StatementTime {
  /** The text, without values. */
  readonly text: string;
  readonly sentMs: number;
  /** When the database could start it: the end of the previous one on its connection. */
  readonly turnMs: number;
  readonly endedMs: number;
  readonly failed: boolean;
}

/** Records a finished statement of the call. */
export const countStatement = (call: CallRecord | undefined, { text, sentMs, turnMs, endedMs, failed }: StatementTime): void => {
  if (!call) return;
  const beganMs = Math.max(sentMs, turnMs);
  call.statements++;
  call.databaseWaitMs += beganMs - sentMs;
  call.databaseMs += endedMs - beganMs;
  if (!call.trace) return;
  const attributes = { "db.system.name": "postgresql", "db.query.text": text, "gantry.waited_ms": beganMs - sentMs };
  call.trace.part(/^\s*(\w+)/.exec(text)?.[1] ?? "statement", beganMs, endedMs, attributes, failed ? "refused" : undefined);
};

/** Adds a part to the current call's trace, if any; times by performance.now(). */
export const tracePart = (name: string, fromMs: number, attributes: Attributes, failed?: string): void =>
  currentCall()?.trace?.part(name, fromMs, performance.now(), attributes, failed);
