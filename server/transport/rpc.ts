// gRPC on the streams of node:http2: unary calls to the kernel, and the open services. A library would cost more than the call
// (measured: 18.5k calls per second with grpc-js, 25k without).
//
//   HEADERS :path /package.Service/Method   →  HEADERS 200, x-request-id, the reply's headers
//   DATA    one message                     →  DATA one message
//                                           →  HEADERS grpc-status (the only frame in case of an error)

import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { Fault, toFault, unimplemented } from "#base/fault.ts";
import { type CallRecord, runInCall } from "#calls";
import { type UnreadCall, unreadCall } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import { messageDescriptor } from "#contract/descriptors.ts";
import type { MethodFact } from "#contract/facts.ts";
import { readGrpc, type Reading } from "#contract/read.ts";
import { tooManyBodies } from "./body.ts";
import { decodeWithin } from "./decode.ts";
import { deadlineExceeded, grpcTimeoutMs } from "./deadline.ts";
import { decompress, type Frame, frameMessage, framePrefix, frameReader, prefixBytes } from "./frames.ts";
import { headerObject } from "./http-message.ts";
import { errorTrailers } from "./grpc-errors.ts";
import { domainOfPath, type ErrorContext, logFault } from "./render.ts";
import type { ServerContext } from "./server-context.ts";
import type { CallPacking } from "./whole-lists.ts";
import { framedReply } from "./wire.ts";

interface GrpcCall {
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
  readonly requestId: string;
}

interface UnaryCall extends GrpcCall {
  /** Reads and decompresses the message, at most once. Before, nothing is taken from the stream. Throws a Fault. */
  readonly readMessage: () => Promise<Buffer>;
}

interface StreamingCall extends GrpcCall {
  readonly send: (message: Uint8Array) => void;
  /** Ends the call with OK or the fault; later messages are dropped. */
  readonly end: (fault?: Fault) => void;
  /** Runs `closed` once the request has ended for any reason. */
  readonly onClose: (closed: () => void) => void;
}

interface UnaryAnswer {
  /** The message with its prefix (frames.ts). */
  readonly framed: Buffer;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Further bytes of the message; `release` runs when they have been sent. */
  readonly parts?: readonly Uint8Array[];
  readonly release?: (() => void) | undefined;
}

/** A unary method. A rejection ends the call. */
export interface UnaryProcedure {
  readonly kind: "unary";
  readonly domain: string;
  /** The contract's operation; undefined: the path is the name. */
  readonly operation?: string;
  /** True if only authenticated callers are read, which may send larger messages. */
  readonly guarded?: boolean;
  readonly isVersion1?: boolean;
  readonly answer: (call: UnaryCall) => Promise<UnaryAnswer>;
}

/** A streaming method: `message` runs for each message, `end` after the last. A throw or rejection ends the call. */
export interface StreamingProcedure {
  readonly kind: "streaming";
  readonly domain: string;
  /** True if a call may be quiet indefinitely. */
  readonly neverIdle?: boolean;
  readonly open: (call: StreamingCall) => { readonly message: (bytes: Buffer) => void | Promise<void>; readonly end: () => void };
}

export type Procedure = UnaryProcedure | StreamingProcedure;

// RFC 9113, 7.
const noError = 0;
const internalError = 2;
const cancelled = 8;

const grpcHeaders = ["content-type", "application/grpc", "grpc-accept-encoding", "identity,gzip"];

const withTrailers = { waitForTrailers: true };

const successTrailers = { "grpc-status": 0 };

function sendSuccessTrailers(this: ServerHttp2Stream): void {
  this.sendTrailers(successTrailers);
}

const callOver = (): Fault => new Fault("CANCELLED", "the request has ended");

const firstOf = (value: string | string[] | undefined): string | undefined => (typeof value === "string" ? value : value?.[0]);

/** An unreadable message is a problem, like invalid JSON: the kernel authorizes the caller first. */
const readRequest = ({ budget }: ServerContext, method: MethodFact, bytes: Buffer): Reading => {
  const message = decodeWithin(messageDescriptor(method.input), bytes, budget);
  if (typeof message !== "string") return readGrpc(method, message);
  return { request: {}, problems: [{ field: "body", description: message }], bodyPaths: undefined };
};

const grpcCall = (
  context: ServerContext,
  method: MethodFact,
  { headers, address, requestId, readMessage }: UnaryCall,
  packing: CallPacking | undefined,
): UnreadCall =>
  unreadCall(
    method,
    {
      authorization: headers.authorization,
      identity: firstOf(headers["gantry-identity"]),
      idempotencyKey: firstOf(headers["idempotency-key"]),
      ifMatch: firstOf(headers["if-match"]),
      ifNoneMatch: firstOf(headers["if-none-match"]),
      requestId,
      origin: () => context.originOf(address, headers),
      ...(packing ? { packing } : {}),
    },
    async () => {
      const reading = readRequest(context, method, await readMessage());
      return {
        request: reading.request,
        problems: reading.problems,
        bodyPaths: undefined,
        validateOnly: firstOf(headers["validate-only"]) === "true",
      };
    },
  );

const operationProcedure = (context: ServerContext, method: MethodFact): UnaryProcedure => ({
  kind: "unary",
  domain: method.domain,
  operation: method.name,
  guarded: !method.open,
  isVersion1: method.version === "v1",
  answer: async (call) => {
    const packing = method.version === "v1" ? context.wholeLists((part) => framedReply(method.output, part).subarray(prefixBytes)) : undefined;
    try {
      const { message, parts, headers } = await context.dependencies.serve(grpcCall(context, method, call, packing));
      if (!parts) return { framed: framedReply(method.output, message), metadata: headers };
      // Concatenated messages are one message with all their entries (protobuf.dev, Encoding).
      return { framed: framePrefix(parts.reduce((sum, { length }) => sum + length, 0)), metadata: headers, parts, release: packing?.release };
    } catch (thrown) {
      packing?.release();
      throw thrown;
    }
  },
});

/** Returns the domain: "iam" for "/chainguard.platform.iam.v2.GroupsService/…". */
const domainOfMethodPath = (path: string): string => domainOfPath(`/${/^\/[a-z]+\.platform\.([a-z]+)\./.exec(path)?.[1] ?? ""}`);

/** Waits until the peer has read the pending data. */
const untilDrained = async (stream: ServerHttp2Stream): Promise<void> => {
  while (stream.writableNeedDrain && !stream.destroyed) {
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        stream.off("drain", goOn).off("close", goOn);
        resolve();
      };
      stream.on("drain", goOn).on("close", goOn);
    });
  }
};

/** Serves gRPC. `openServices`: procedures outside the contract, by path. Never throws; returns true for a stream without an idle timeout. */
export const grpcTransport = (
  context: ServerContext,
  openServices: ReadonlyMap<string, Procedure>,
): ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders, address: string, call: CallRecord) => boolean) => {
  const { bounds, config } = context;
  const procedures = new Map(openServices);
  const headersOfAll = headerObject(200, [...grpcHeaders, ...context.fixedHeaders]);
  const initialHeaders = (requestId: string): OutgoingHttpHeaders => ({ ...headersOfAll, "x-request-id": requestId });

  const procedureOf = (path: string): Procedure | undefined => {
    const known = procedures.get(path);
    if (known) return known;
    const method = methodByName(path.slice(1));
    // Operations with bytes outside their messages are served over HTTP only (oci/index.ts, rest.ts).
    if (!method || method.distribution || method.scim || method.givesFile) return undefined;
    // Only methods of the contract are added, so the map stays small.
    const procedure = operationProcedure(context, method);
    procedures.set(path, procedure);
    return procedure;
  };

  return (stream, headers, address, call) => {
    const path = headers[":path"] ?? "";
    const { requestId } = call;
    const procedure = procedureOf(path);
    if (procedure) call.operation = (procedure.kind === "unary" ? procedure.operation : undefined) ?? path.slice(1);
    call.isStream = procedure?.kind === "streaming";
    const mayStay = procedure?.kind === "streaming" && procedure.neverIdle === true;
    const encoding = firstOf(headers["grpc-encoding"]);
    const messageBytesMax = procedure?.kind === "unary" && procedure.guarded ? bounds.grpcMessageBytesMax : bounds.openBytesMax;
    const errorContext = (): ErrorContext => ({
      domain: procedure?.domain ?? domainOfMethodPath(path),
      isVersion1: procedure?.kind === "unary" && procedure.isVersion1 === true,
      serviceDomain: config.serviceDomain,
      requestId,
    });
    const onClose: (() => void)[] = [];
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    let reservedBytes = 0;
    let requestEnded = stream.endAfterHeaders;

    const finish = (): boolean => {
      if (over) return false;
      over = true;
      clearTimeout(timer);
      if (reservedBytes > 0) context.releaseBytes(reservedBytes);
      for (const closed of onClose) closed();
      return true;
    };
    const end = (fault?: Fault): void => {
      if (!finish()) return;
      if (fault) call.refuse(fault);
      call.answer();
      if (fault) logFault(config.log, fault, errorContext(), path);
      if (!stream.destroyed && !stream.closed) {
        try {
          const trailers = fault ? errorTrailers(fault, errorContext()) : successTrailers;
          if (stream.headersSent) {
            stream.once("wantTrailers", () => stream.sendTrailers(trailers));
            stream.end();
          } else stream.respond({ ...initialHeaders(requestId), ...trailers }, { endStream: true });
        } catch (error) {
          // A header that is invalid in HTTP/2.
          config.log("fault", { requestId, call: path, cause: error });
          stream.close(internalError);
        }
      }
      if (stream.readableEnded) return;
      // RFC 9113, 8.1: the response is complete before the request; the rest of the request is not read.
      stream.resume();
      if (!requestEnded) stream.close(noError);
    };
    const sendAnswer = ({ framed, metadata, parts = [], release }: UnaryAnswer): void => {
      if (over || stream.destroyed || stream.closed) return release?.();
      if (release) stream.once("close", release);
      stream.respond(metadata ? { ...initialHeaders(requestId), ...metadata } : initialHeaders(requestId), withTrailers);
      call.answer();
      call.sentBytes = parts.reduce((sum, { length }) => sum + length, framed.length);
      finish();
      stream.once("wantTrailers", sendSuccessTrailers);
      if (parts.length === 0) stream.end(framed);
      else {
        stream.write(framed);
        for (const part of parts) stream.write(part);
        stream.end();
      }
      if (!stream.readableEnded) stream.resume();
    };

    const reserve = (bytes: number): void => {
      // Memory reserved after the end would never be released.
      if (over) throw callOver();
      if (!context.reserveBytes(bytes)) throw tooManyBodies();
      reservedBytes += bytes;
    };

    /** Reads the message of a unary call, after the stream shows that it is the only one. */
    const readFrame = (): Promise<Frame> =>
      new Promise((resolve, reject) => {
        const reader = frameReader(messageBytesMax);
        let only: Frame | undefined;
        let reading = true;
        const refuse = (thrown: unknown): void => {
          reading = false;
          reject(thrown);
        };
        const abort = (): void => {
          if (reading) refuse(callOver());
        };
        if (over) return abort();
        onClose.push(abort);
        stream.on("data", (chunk: Buffer) => {
          if (!reading) return;
          call.receivedBytes += chunk.length;
          try {
            reserve(chunk.length);
            const frames = reader.push(chunk);
            // gRPC status codes: a wrong number of requests is UNIMPLEMENTED.
            if (only ? frames.length > 0 : frames.length > 1) throw unimplemented(`more than one message for the unary ${path.slice(1)}`);
            only ??= frames[0];
          } catch (thrown) {
            refuse(thrown);
          }
        });
        const onEnd = (): void => {
          requestEnded = true;
          if (!reading) return;
          if (reader.pending() > 0) refuse(new Fault("INVALID_ARGUMENT", "the request ends in the middle of a message"));
          else if (!only) refuse(unimplemented(`no message for the unary ${path.slice(1)}`));
          else {
            reading = false;
            resolve(only);
          }
        };
        // Without data the stream may have ended before a listener was added.
        if (stream.readableEnded) onEnd();
        else stream.on("end", onEnd);
      });

    const readMessage = async (): Promise<Buffer> => {
      const frame = await readFrame();
      return frame.compressed ? decompress(frame, encoding, messageBytesMax, reserve) : frame.bytes;
    };

    const serveUnary = async (unary: UnaryProcedure): Promise<void> => {
      try {
        const answer = await unary.answer({ headers, address, requestId, readMessage });
        // Timers have millisecond resolution, and a response may be faster (grpc-timeout: "1n").
        if (deadlineMs !== undefined && performance.now() - call.startedMs >= deadlineMs) end(deadlineExceeded());
        else sendAnswer(answer);
      } catch (thrown) {
        end(toFault(thrown));
      }
    };

    const serveStream = (streaming: StreamingProcedure): void => {
      const inbound = streaming.open({
        headers,
        address,
        requestId,
        send: (message) => {
          if (over || stream.destroyed || stream.closed) return;
          if (!stream.headersSent) stream.respond(initialHeaders(requestId), withTrailers);
          call.answer();
          const framed = frameMessage(message);
          call.sentBytes += framed.length;
          stream.write(framed);
        },
        end,
        onClose: (closed) => void onClose.push(closed),
      });
      const fail = (thrown: unknown): void => end(toFault(thrown));
      const reader = frameReader(messageBytesMax);
      // Messages of a stream are handled in order.
      let before: Promise<void> = Promise.resolve();
      stream.on("data", (chunk: Buffer) => {
        if (over) return;
        call.receivedBytes += chunk.length;
        try {
          reserve(chunk.length);
          const frames = reader.push(chunk);
          // Reads the next chunk after the responses to this one are sent: a client that does not read must wait.
          stream.pause();
          before = before
            .then(async () => {
              for (const frame of frames) {
                if (!over) await inbound.message(await decompress(frame, encoding, messageBytesMax, reserve));
                await untilDrained(stream);
              }
              if (over) return;
              context.releaseBytes(reservedBytes - reader.pending());
              reservedBytes = reader.pending();
              stream.resume();
            })
            .catch(fail);
        } catch (thrown) {
          fail(thrown);
        }
      });
      stream.on("end", () => {
        requestEnded = true;
        if (over) return;
        if (reader.pending() > 0) fail(new Fault("INVALID_ARGUMENT", "the request ends in the middle of a message"));
        else before = before.then(() => inbound.end()).catch(fail);
      });
    };

    stream.on("error", finish);
    stream.on("close", finish);
    // Also closes a call with a client that does not read. Longer than a call may run.
    if (!mayStay) stream.setTimeout(bounds.idleTimeoutMs, () => stream.close(cancelled));

    const refuse = (fault: Fault): boolean => {
      end(fault);
      return false;
    };
    if (!procedure) return refuse(unimplemented(path.slice(1)));
    if (encoding !== undefined && encoding !== "identity" && encoding !== "gzip") return refuse(unimplemented(`grpc-encoding ${JSON.stringify(encoding)}`));
    const timeout = firstOf(headers["grpc-timeout"]);
    const timeoutMs = timeout === undefined ? undefined : grpcTimeoutMs(timeout);
    if (timeout !== undefined && timeoutMs === undefined) return refuse(new Fault("INVALID_ARGUMENT", `grpc-timeout ${JSON.stringify(timeout)} is not a time`));
    const deadlineMs = procedure.kind === "unary" ? Math.min(timeoutMs ?? bounds.callDeadlineMs, bounds.callDeadlineMs) : timeoutMs;
    // Node's longest timer; a longer deadline is no deadline.
    if (deadlineMs !== undefined && deadlineMs < 2 ** 31) timer = setTimeout(() => end(deadlineExceeded()), deadlineMs);

    runInCall(call, () => void (procedure.kind === "unary" ? serveUnary(procedure) : serveStream(procedure)));
    return mayStay;
  };
};
