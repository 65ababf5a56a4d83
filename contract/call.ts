// A call of an operation, whichever protocol it came over, and the one place that makes one. Transports know protocols,
// the kernel does not.
//
// A call comes unread: the headers are there, the message is not. The kernel authenticates first and then reads, so that
// nobody without a token makes the server read, unpack or parse anything.

import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { isViewed, type MethodFact, type ViewedMethodFact } from "./facts.ts";
import type { Reading } from "./read.ts";
import { readingInward } from "./views.ts";

/** Makes bytes of an answer part by part, so that a list that is given whole is never held as values. */
export interface Packing {
  /**
   * One part, as the caller's protocol writes it: the answer's message with some of its entries. `organization`: whose share
   * of the memory it takes. Throws RESOURCE_EXHAUSTED where that is used up.
   */
  readonly pack: (part: JsonObject, organization: string) => Uint8Array;
}

/** Bytes that come with a call and are part of no message: a blob, a manifest. Nothing is read of them before somebody asks. */
export interface CallContent {
  /** How many there are; undefined where the sender does not say. */
  readonly lengthBytes: number | undefined;
  /** As they come. Read once; a piece is good until the next one is asked for. Throws a Fault where they stop coming. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** What is known of a call before its message is read. */
export interface CallHeaders {
  readonly method: MethodFact;
  /** The operation of version 1 that was called, of which `method` is the counterpart; undefined: `method` was. */
  readonly view: ViewedMethodFact | undefined;
  /** The Authorization header; undefined where there is none. */
  readonly authorization: string | undefined;
  /** Header or metadata Gantry-Identity: the assumable identity that a foreign token acts as. */
  readonly identity: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string;
  /** Returns what the URL alone says of the message; empty over gRPC. */
  readonly requestInUrl: () => JsonObject;
  /** A function, because writes and refusals alone need it. */
  readonly origin: () => Origin;
  /** Undefined: the caller is no protocol, and takes values. */
  readonly packing: Packing | undefined;
  /** Of an operation that takes content (contract: Distribution), where the sender has sent some. */
  readonly content: CallContent | undefined;
}

/**
 * The request message as plain values, whichever protocol it came over. What could not be read is in `problems`,
 * reported after the caller's permission was decided. Over REST `bodyPaths` are the body's own keys as field paths in
 * JSON names, nested ones dotted: the implied field mask of an update, since proto3 alone cannot tell an empty field
 * from an absent one.
 */
export interface RequestReading extends Reading {
  readonly validateOnly: boolean;
}

/** A call whose message has not been read. */
export interface UnreadCall extends CallHeaders {
  /** Reads the message; called once at most. Throws a Fault where it cannot come (too large, too slow, cut off). */
  readonly read: () => RequestReading | Promise<RequestReading>;
}

/** A call with its message. */
export interface Call extends CallHeaders, RequestReading {}

/** What a maker of calls says; what it leaves out is absent. */
export interface CallOptions {
  readonly requestId: string;
  readonly origin: () => Origin;
  readonly authorization?: string | undefined;
  readonly identity?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly requestInUrl?: () => JsonObject;
  readonly packing?: Packing;
  readonly content?: CallContent | undefined;
}

/** A message of version 1 as version 2 takes it. */
const inward = (view: ViewedMethodFact, reading: RequestReading): RequestReading => ({ ...readingInward(view, reading), validateOnly: reading.validateOnly });

const readInward =
  (view: ViewedMethodFact, read: UnreadCall["read"]): UnreadCall["read"] =>
  () => {
    const reading = read();
    return reading instanceof Promise ? reading.then((come) => inward(view, come)) : inward(view, reading);
  };

const emptyRequest = (): JsonObject => ({});

/** The one place that makes a call: of a transport, an import, a command. One of version 1 becomes one of version 2 here. */
export const unreadCall = (called: MethodFact, options: CallOptions, read: UnreadCall["read"]): UnreadCall => {
  const requestInUrl = options.requestInUrl ?? emptyRequest;
  if (!isViewed(called)) return madeCall(called, undefined, options, requestInUrl, read);
  const url = (): JsonObject => readingInward(called, readingOf(requestInUrl())).request;
  return madeCall(called.view.of, called, options, url, readInward(called, read));
};

const madeCall = (
  method: MethodFact,
  view: ViewedMethodFact | undefined,
  options: CallOptions,
  requestInUrl: () => JsonObject,
  read: UnreadCall["read"],
): UnreadCall => ({
  method,
  view,
  authorization: options.authorization,
  identity: options.identity,
  idempotencyKey: options.idempotencyKey,
  ifMatch: options.ifMatch,
  ifNoneMatch: options.ifNoneMatch,
  requestId: options.requestId,
  origin: options.origin,
  packing: options.packing,
  content: options.content,
  requestInUrl,
  read,
});

/** The same call with its message. */
export const withRequest = (call: UnreadCall, reading: RequestReading): Call => ({
  method: call.method,
  view: call.view,
  authorization: call.authorization,
  identity: call.identity,
  idempotencyKey: call.idempotencyKey,
  ifMatch: call.ifMatch,
  ifNoneMatch: call.ifNoneMatch,
  requestId: call.requestId,
  requestInUrl: call.requestInUrl,
  origin: call.origin,
  packing: call.packing,
  content: call.content,
  request: reading.request,
  problems: reading.problems,
  bodyPaths: reading.bodyPaths,
  validateOnly: reading.validateOnly,
});

/** A message that the server itself made, as if it had been read. */
export const readingOf = (request: JsonObject): RequestReading => ({ request, problems: [], bodyPaths: undefined, validateOnly: false });

/** A call of the server itself. */
export const callOf = (method: MethodFact, request: JsonObject, options: CallOptions): Call => {
  const reading = readingOf(request);
  return withRequest(
    unreadCall(method, options, () => reading),
    reading,
  );
};
