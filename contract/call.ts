// A call of an operation over any protocol, and the only place that creates one.
//
// A call arrives unread: headers first, message later. The kernel authenticates before it reads, so that unauthenticated callers
// cannot make the server read, decompress or parse.

import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { isViewed, type MethodFact, type ViewedMethodFact } from "./facts.ts";
import type { Reading } from "./read.ts";
import { readingInward } from "./views.ts";

/** Serializes a response in parts, so that a complete list is never held as values. */
export interface Packing {
  /**
   * Serializes one part: the response message with some entries. `organization` is charged for the memory. Throws
   * RESOURCE_EXHAUSTED if its share is used up.
   */
  readonly pack: (part: JsonObject, organization: string) => Uint8Array;
}

/** Content outside the message: a blob, a manifest. It is read on demand. */
export interface CallContent {
  /** Undefined if the client does not send the length. */
  readonly lengthBytes: number | undefined;
  /** Yields the content once; a chunk is valid until the next one. Throws a Fault if the transfer stops. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Removes what a first attempt of the request has stored of the content, if the second attempt is refused. */
  abandon?: (() => void) | undefined;
}

/** A call before its message is read. */
export interface CallHeaders {
  readonly method: MethodFact;
  /** The called operation of version 1, whose counterpart is `method`; undefined if `method` itself was called. */
  readonly view: ViewedMethodFact | undefined;
  readonly authorization: string | undefined;
  /** Header or metadata Gantry-Identity: the assumable identity for an external token. */
  readonly identity: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string;
  /** Returns the part of the message in the URL; empty over gRPC. */
  readonly requestInUrl: () => JsonObject;
  /** A function, because only writes and errors need it. */
  readonly origin: () => Origin;
  /** Undefined for internal callers, which take values. */
  readonly packing: Packing | undefined;
  /** For operations that take content (contract: Distribution). */
  readonly content: CallContent | undefined;
}

/**
 * The request as plain values. `problems` are reported only after the permission check. Over REST, `bodyPaths` are the keys of
 * the body, dotted, in JSON names: an update's implied mask, because proto3 cannot distinguish empty from absent fields.
 */
export interface RequestReading extends Reading {
  readonly validateOnly: boolean;
}

export interface UnreadCall extends CallHeaders {
  /** Reads the message, at most once. Throws a Fault if it is too large, too slow or cut off. */
  readonly read: () => RequestReading | Promise<RequestReading>;
}

export interface Call extends CallHeaders, RequestReading {}

/** Parameters of a call; omitted ones are absent. */
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

const inward = (view: ViewedMethodFact, reading: RequestReading): RequestReading => ({ ...readingInward(view, reading), validateOnly: reading.validateOnly });

const readInward =
  (view: ViewedMethodFact, read: UnreadCall["read"]): UnreadCall["read"] =>
  () => {
    const reading = read();
    return reading instanceof Promise ? reading.then((come) => inward(view, come)) : inward(view, reading);
  };

const emptyRequest = (): JsonObject => ({});

/** Creates a call; used by transports, imports and commands. Converts version 1 to version 2. */
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

/** Returns the reading of a message that the server itself created. */
export const readingOf = (request: JsonObject): RequestReading => ({ request, problems: [], bodyPaths: undefined, validateOnly: false });

/** Returns a call of the server itself. */
export const callOf = (method: MethodFact, request: JsonObject, options: CallOptions): Call => {
  const reading = readingOf(request);
  return withRequest(
    unreadCall(method, options, () => reading),
    reading,
  );
};
