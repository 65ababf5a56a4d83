// gRPC on the streams of node:http2: unary calls to the kernel, and the open services beside it. A library would
// cost more than the call itself (measured: grpc-js 18.5k calls a second, this way 25k).
//
//   HEADERS :path /package.Service/Method   →  HEADERS 200, x-request-id, the reply's headers
//   DATA    one message                     →  DATA one message
//                                           →  HEADERS grpc-status (and with it alone where there is an error)

import { fromBinary, type Message } from "@bufbuild/protobuf";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { Fault, toFault, unimplemented, type Violation } from "#base/fault.ts";
import { methodByName } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { readGrpc } from "#contract/read.ts";
import type { Call } from "#kernel";
import { crowded } from "./body.ts";
import { grpcTimeout, late, noteSlow } from "./deadline.ts";
import type { ServerContext } from "./server-context.ts";
import { newRequestId } from "./http-message.ts";
import { type Frame, frame, frameReader, unpacked } from "./frames.ts";
import { domainOfPath, errorTrailers, noteFault, type Scene } from "./render.ts";
import { framed } from "./wire.ts";

/** One open call: what a method may do with it. */
interface Line {
  readonly headers: IncomingHttpHeaders;
  /** The peer's, as the socket tells it. */
  readonly address: string;
  readonly requestId: string;
  /** One of several messages. */
  readonly send: (message: Uint8Array) => void;
  /** The only message, framed already, and the end. */
  readonly reply: (framed: Buffer, metadata?: Readonly<Record<string, string>>) => void;
  /** Ends the call: OK, or with the fault. What comes after it is dropped. */
  readonly end: (fault?: Fault) => void;
  /** Runs once, when the call is over for whatever reason. */
  readonly onClose: (closed: () => void) => void;
}

/** A method: `message` for each that comes, `end` when no more will. A throw or rejection ends the call. */
export interface Procedure {
  readonly unary: boolean;
  readonly domain: string;
  /** True where a call is quiet for as long as its caller likes. */
  readonly patient?: boolean;
  readonly open: (line: Line) => { readonly message: (bytes: Buffer) => void | Promise<void>; readonly end: () => void };
}

// RFC 9113, 7.
const noError = 0;
const internalError = 2;
const cancelled = 8;
const initial = (requestId: string): OutgoingHttpHeaders => ({
  ":status": 200,
  "content-type": "application/grpc",
  "grpc-accept-encoding": "identity,gzip",
  "x-request-id": requestId,
});

const withTrailers = { waitForTrailers: true };

const success = { "grpc-status": 0 };

function succeed(this: ServerHttp2Stream): void {
  this.sendTrailers(success);
}

/** True for what this door reads; grpc-web and grpc+json are other protocols. */
export const isGrpc = (headers: IncomingHttpHeaders): boolean => {
  const type = headers["content-type"];
  if (type === "application/grpc" || type === "application/grpc+proto") return headers[":method"] === "POST";
  return type !== undefined && headers[":method"] === "POST" && /^application\/grpc(?:\+proto)?\s*(?:;|$)/i.test(type);
};

const one = (value: string | string[] | undefined): string | undefined => (typeof value === "string" ? value : value?.[0]);

const decode = (method: MethodFact, bytes: Buffer): { message: Message | undefined; problems: Violation[] } => {
  try {
    return { message: fromBinary(method.input.descriptor, bytes), problems: [] };
  } catch (error) {
    // Like broken JSON: the kernel decides about the caller first.
    const why = error instanceof Error ? error.message : "it cannot be read";
    return { message: undefined, problems: [{ field: "body", description: `is not a valid ${method.input.name}: ${why}` }] };
  }
};

const callOf = (context: ServerContext, method: MethodFact, line: Line, bytes: Buffer): Call => {
  const { message, problems } = decode(method, bytes);
  const reading = message ? readGrpc(method, message) : { request: {}, problems };
  const { headers, address } = line;
  return {
    method,
    request: reading.request,
    problems: reading.problems,
    bodyPaths: undefined,
    authorization: headers.authorization,
    identity: one(headers["gantry-identity"]),
    idempotencyKey: one(headers["idempotency-key"]),
    validateOnly: one(headers["validate-only"]) === "true",
    ifMatch: one(headers["if-match"]),
    ifNoneMatch: one(headers["if-none-match"]),
    requestId: line.requestId,
    origin: () => context.originOf(address, headers),
  };
};

/** An operation of the contract. */
const operation = (context: ServerContext, method: MethodFact): Procedure => ({
  unary: true,
  domain: method.domain,
  open: (line) => ({
    message: async (bytes) => {
      const reply = await context.dependencies.serve(callOf(context, method, line, bytes));
      line.reply(framed(method.output, reply.message), reply.headers);
    },
    end: () => {},
  }),
});

/** The path's short domain: "/chainguard.platform.iam.v2.GroupsService/…" is "iam". */
const domainOf = (path: string): string => domainOfPath(`/${/^\/[a-z]+\.platform\.([a-z]+)\./.exec(path)?.[1] ?? ""}`);

/** Waits while more is written than the peer takes. */
const drained = async (stream: ServerHttp2Stream): Promise<void> => {
  while (stream.writableNeedDrain && !stream.destroyed) {
    await new Promise<void>((resolve) => {
      const go = (): void => {
        stream.off("drain", go).off("close", go);
        resolve();
      };
      stream.on("drain", go).on("close", go);
    });
  }
};

/** The door for gRPC. `beside`: the open services by path. Never throws. */
export const grpcTransport = (
  context: ServerContext,
  beside: ReadonlyMap<string, Procedure>,
): ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders, address: string) => void) => {
  const { bounds, config } = context;
  const procedures = new Map(beside);

  const procedureOf = (path: string): Procedure | undefined => {
    const known = procedures.get(path);
    if (known) return known;
    const method = methodByName(path.slice(1));
    if (!method) return undefined;
    // Only what the contract names gets here, so the map stays small.
    const made = operation(context, method);
    procedures.set(path, made);
    return made;
  };

  return (stream, headers, address) => {
    const path = headers[":path"] ?? "";
    const requestId = newRequestId();
    const procedure = procedureOf(path);
    const encoding = one(headers["grpc-encoding"]);
    const reader = frameReader(bounds.grpcMessageBytesMax);
    const started = performance.now();
    const scene = (): Scene => ({ domain: procedure?.domain ?? domainOf(path), serviceDomain: config.serviceDomain, requestId });
    const closers: (() => void)[] = [];
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    let held = 0;

    const settle = (): boolean => {
      if (over) return false;
      over = true;
      clearTimeout(timer);
      if (held > 0) context.release(held);
      for (const close of closers) close();
      if (procedure?.unary) noteSlow(config.log, started, path, requestId);
      return true;
    };
    const end = (fault?: Fault): void => {
      if (!settle()) return;
      if (fault) noteFault(config.log, fault, scene(), path);
      if (!stream.destroyed && !stream.closed) {
        try {
          const trailers = fault ? errorTrailers(fault, scene()) : success;
          if (stream.headersSent) {
            stream.once("wantTrailers", () => stream.sendTrailers(trailers));
            stream.end();
          } else stream.respond({ ...initial(requestId), ...trailers }, { endStream: true });
        } catch (error) {
          // A header that HTTP/2 cannot carry.
          config.log("fault", { requestId, call: path, cause: error });
          stream.close(internalError);
        }
      }
      if (stream.readableEnded) return;
      // RFC 9113, 8.1: a whole answer before the whole request; the rest of the request is not wanted.
      stream.resume();
      if (!ended) stream.close(noError);
    };
    const line: Line = {
      headers,
      address,
      requestId,
      send: (message) => {
        if (over || stream.destroyed || stream.closed) return;
        if (!stream.headersSent) stream.respond(initial(requestId), withTrailers);
        stream.write(frame(message));
      },
      reply: (message, metadata) => {
        if (over || stream.destroyed || stream.closed) return;
        stream.respond(metadata ? { ...initial(requestId), ...metadata } : initial(requestId), withTrailers);
        settle();
        stream.once("wantTrailers", succeed);
        stream.end(message);
      },
      end,
      onClose: (closed) => void closers.push(closed),
    };
    const fail = (thrown: unknown): void => end(toFault(thrown));

    let ended = stream.endAfterHeaders;
    stream.on("error", settle);
    stream.on("close", settle);
    // Also a caller that does not take its answer. Longer than a call may run.
    if (!procedure?.patient) stream.setTimeout(bounds.idleTimeoutMs, () => stream.close(cancelled));

    if (!procedure) return end(unimplemented(path.slice(1)));
    if (encoding !== undefined && encoding !== "identity" && encoding !== "gzip") return end(unimplemented(`grpc-encoding ${JSON.stringify(encoding)}`));
    const asked = one(headers["grpc-timeout"]);
    const timeout = asked === undefined ? undefined : grpcTimeout(asked);
    if (asked !== undefined && timeout === undefined) return end(new Fault("INVALID_ARGUMENT", `grpc-timeout ${JSON.stringify(asked)} is not a time`));
    const deadline = procedure.unary ? Math.min(timeout ?? bounds.callDeadlineMs, bounds.callDeadlineMs) : timeout;
    // Node's longest timer; a longer deadline is none.
    if (deadline !== undefined && deadline < 2 ** 31) timer = setTimeout(() => end(late()), deadline);

    const inbound = procedure.open(line);
    // A stream's messages are handled one after another; a unary call's when it is known to be the only one.
    let before: Promise<void> = Promise.resolve();
    let single: Frame | undefined;
    const handle = async (got: Frame): Promise<void> => {
      if (!over) await inbound.message(await unpacked(got, encoding, bounds.grpcMessageBytesMax));
    };
    stream.on("data", (chunk: Buffer) => {
      if (over) return;
      try {
        if (!context.hold(chunk.length)) throw crowded();
        held += chunk.length;
        const frames = reader.push(chunk);
        if (!procedure.unary) {
          // The next chunk is read when these are answered and the answers are on their way: a caller that asks
          // without listening waits.
          stream.pause();
          before = before
            .then(async () => {
              for (const got of frames) {
                await handle(got);
                await drained(stream);
              }
              if (over) return;
              context.release(held - reader.pending());
              held = reader.pending();
              stream.resume();
            })
            .catch(fail);
        } else {
          // gRPC status codes: a wrong number of requests is UNIMPLEMENTED.
          if (single ? frames.length > 0 : frames.length > 1) throw unimplemented(`more than one message for the unary ${path.slice(1)}`);
          single ??= frames[0];
        }
      } catch (thrown) {
        fail(thrown);
      }
    });
    stream.on("end", () => {
      ended = true;
      if (over) return;
      if (reader.pending() > 0) fail(new Fault("INVALID_ARGUMENT", "the request ends within a message"));
      else if (!procedure.unary) before = before.then(() => inbound.end()).catch(fail);
      else if (single) handle(single).catch(fail);
      else fail(unimplemented(`no message for the unary ${path.slice(1)}`));
    });
  };
};
