// What is known of one request while it passes: filled in by whoever knows it, read when the request is over, for the
// request log, the metrics and the traces. The transport makes it; whatever works for the request finds it by itself.
//
// By AsyncLocalStorage, and not handed on: statements are sent for a call from authn, authz, from caches and from batches of
// many calls' rows, where no call is known and none should be. Measured on Node 24: 1 µs for the whole record of a call, 9 ns
// to find it; a read takes 50 µs and more.

import { AsyncLocalStorage } from "node:async_hooks";
import { type Code, Fault } from "#base/fault.ts";

/** "http": what is beside the contract, such as pages, keys, the open feed. */
export type CallProtocol = "rest" | "grpc" | "oci" | "scim" | "mcp" | "http";

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

/** Who asks for what nobody serves: one name, so that strangers make none. */
export const unknownOperation = "unknown";

/** google.rpc.Code's own mapping, the other way round. */
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

/** Times are of performance.now(). */
export class CallRecord {
  readonly requestId: string;
  /** Undefined: the call is not traced. */
  readonly trace: CallTrace | undefined;
  readonly startedMs = performance.now();
  protocol: CallProtocol;
  /** The operation that was called, of version 1 where that was; of what is beside the contract a fixed name. */
  operation = unknownOperation;
  /** True for a call that stays open for as long as its caller likes. */
  isStream = false;
  /** The caller's uid; "" as long as nobody knows it. */
  caller = "";
  /** The resource path that it is about; "" where it names none. */
  path = "";
  code: Code | "OK" = "OK";
  /** ErrorInfo's reason of a refusal; "" where it has none but its code. */
  reason = "";
  /** The limit or quota that is used up. */
  quota = "";
  /** Of HTTP; 0 over gRPC, and where there was no answer. */
  status = 0;
  /** Of bodies, as they come and go. */
  receivedBytes = 0;
  sentBytes = 0;
  /** Waiting for a turn among its organization's calls. */
  turnMs = 0;
  /** Waiting for a turn of its statements, for a connection, and on it for those before it. */
  databaseWaitMs = 0;
  /** From when the database could begin with its statements until they were answered; those at the same time count each. */
  databaseMs = 0;
  statements = 0;
  /** When its answer began. */
  answeredMs: number | undefined;
  endedMs: number | undefined;
  /** True where it ended before its answer did: the client disconnected, or the server cut it off. */
  isCut = false;

  constructor(requestId: string, protocol: CallProtocol, trace?: CallTrace) {
    this.requestId = requestId;
    this.protocol = protocol;
    this.trace = trace;
  }

  /** How long it took to its answer, or to its end where there was none. */
  get toAnswerMs(): number {
    return (this.answeredMs ?? this.endedMs ?? performance.now()) - this.startedMs;
  }

  get inAllMs(): number {
    return (this.endedMs ?? performance.now()) - this.startedMs;
  }

  /** Why it is refused. What comes last counts: it is what the caller is told. */
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

  /** Its answer begins. `status`: of HTTP, where it is one; from it follows the code of a refusal that was no fault, such as a page. */
  answer(status = 0): void {
    this.status = status;
    if (status >= 400 && this.code === "OK") this.code = codeOfStatus(status);
    this.answeredMs ??= performance.now();
  }
}

const running = new AsyncLocalStorage<CallRecord>();

/** Everything that `work` begins belongs to the call. */
export const runInCall = <T>(call: CallRecord, work: () => T): T => running.run(call, work);

/** The call for which this runs. None for the server's own work, also when a call has begun it that is over. */
export const currentCall = (): CallRecord | undefined => {
  const call = running.getStore();
  return call?.endedMs === undefined ? call : undefined;
};

/** Says of the call for which this runs what is known of it. */
export const describeCall = (facts: Readonly<Partial<Pick<CallRecord, "operation" | "caller" | "path">>>): void => {
  const call = currentCall();
  if (!call) return;
  if (facts.operation !== undefined) call.operation = facts.operation;
  if (facts.caller !== undefined) call.caller = facts.caller;
  if (facts.path !== undefined) call.path = facts.path;
};

/** Says that the call for which this runs is refused. */
export const refuseCall = (thrown: unknown): void => {
  if (thrown instanceof Fault) currentCall()?.refuse(thrown);
};

/** Runs `work`, and says of the call for which it runs how long it took. */
const timed = async <T>(work: Promise<T>, took: (call: CallRecord, fromMs: number, untilMs: number) => void): Promise<T> => {
  const call = currentCall();
  const fromMs = performance.now();
  try {
    return await work;
  } finally {
    if (call) took(call, fromMs, performance.now());
  }
};

/** Counts what the call waits for its turn. */
export const waitForTurn = <T>(turn: Promise<T>): Promise<T> =>
  timed(turn, (call, fromMs, untilMs) => {
    call.turnMs += untilMs - fromMs;
    call.trace?.part("wait in the queue", fromMs, untilMs);
  });

/** Of a connection that is there it is nothing to tell. */
const toldWaitMs = 0.2;

/** Counts what the call waits until it may send a statement. */
export const waitForDatabase = <T>(place: Promise<T>): Promise<T> =>
  timed(place, (call, fromMs, untilMs) => {
    call.databaseWaitMs += untilMs - fromMs;
    if (untilMs - fromMs > toldWaitMs) call.trace?.part("wait for the database", fromMs, untilMs);
  });

export interface StatementTime {
  /** The text, in which no value stands. */
  readonly text: string;
  readonly sentMs: number;
  /** When the database could begin with it, which is where the one before on its connection ended. */
  readonly turnMs: number;
  readonly endedMs: number;
  readonly failed: boolean;
}

/** A statement of the call was answered. */
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

/** Tells of a part of the call for which this runs, where it is traced; times by performance.now(). */
export const tracePart = (name: string, fromMs: number, attributes: Attributes, failed?: string): void =>
  currentCall()?.trace?.part(name, fromMs, performance.now(), attributes, failed);
