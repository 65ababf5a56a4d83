// One request and its answer, whichever HTTP it came over: what rest.ts and issuer.ts see of a socket. Cheap on
// purpose, because every request pays for it: no URL, no Headers, no AbortController; the peer's own objects are
// handed on as they are.

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";
import { Fault } from "#base/fault.ts";

/** A request as a door hands it on. */
export interface HttpRequest {
  readonly verb: string;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The peer's, as the socket tells it. */
  readonly address: string;
  /** Where the body is read from. */
  readonly source: Readable;
  /** False where the headers say already that there is no body. */
  readonly bodied: boolean;
  readonly requestId: string;
  /** Why the door refuses the request before anybody looks at it. */
  readonly fault?: Fault;
}

/** An answer: names and values in turn, lower case. No length header: the door adds it. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: string[];
  readonly body: string;
}

/** Sends the answer; a second one, or one to a peer that has gone, is dropped. */
export type SendAnswer = (answer: HttpAnswer) => void;

const noError = 0;

/** Statuses whose answers must have neither a body nor its length (RFC 9110, 8.6). */
const bodiless = (status: number): boolean => status === 304 || status === 204;

/** As many bytes as characters: ASCII, which is copied out as it is, in half the time that UTF-8 takes. */
const encodingOf = (body: string, length: number): "latin1" | "utf8" => (length === body.length ? "latin1" : "utf8");

/** The one value of a header. Node joins repeated ones, except for names that must not repeat: there the first counts. */
export const header = (ask: HttpRequest, name: string): string | undefined => {
  const value = ask.headers[name];
  return typeof value === "string" ? value : value?.[0];
};

// A pool, because a system call for each id would cost more than the rest of the door.
const pool = Buffer.alloc(8 * 1024);
const idBytes = 12;
let used = pool.length;

/** Names one request in the answer, in an error and in the log. */
export const newRequestId = (): string => {
  if (used + idBytes > pool.length) {
    randomBytes(pool.length).copy(pool);
    used = 0;
  }
  used += idBytes;
  return pool.toString("hex", used - idBytes, used);
};

const hostless = (): Fault => new Fault("INVALID_ARGUMENT", "the request has no Host header (RFC 9112, 3.2)");

export const requestOfHttp1 = (request: IncomingMessage, requestId: string): HttpRequest => {
  const { headers } = request;
  const length = headers["content-length"];
  return {
    verb: request.method ?? "GET",
    target: request.url ?? "/",
    headers,
    // Known since the connection came (listen.ts), also when it is gone.
    address: request.socket.remoteAddress ?? "",
    source: request,
    bodied: (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined,
    requestId,
    ...(headers.host === undefined && request.httpVersion === "1.1" ? { fault: hostless() } : {}),
  };
};

/** `last`: the connection ends with this answer, because the server is stopping or the peer cannot be trusted on. */
export const answerHttp1 =
  (response: ServerResponse, last: () => boolean): SendAnswer =>
  (answer) => {
    if (response.headersSent || response.destroyed) return;
    const { status, headers, body } = answer;
    // 408: what is left of the request may never come, so there is no next one (RFC 9110, 15.5.9).
    if (status === 408 || last()) headers.push("connection", "close");
    if (bodiless(status)) {
      response.writeHead(status, headers).end();
      return;
    }
    const length = Buffer.byteLength(body);
    headers.push("content-length", String(length));
    response.writeHead(status, headers).end(body, encodingOf(body, length));
  };

const overweight = (max: number): Fault => new Fault("INVALID_ARGUMENT", `the request's headers are larger than ${max} bytes`, { httpStatus: 431 });

export const requestOfHttp2 = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  address: string,
  heavier: number | undefined,
  requestId: string,
): HttpRequest => ({
  verb: headers[":method"] ?? "GET",
  target: headers[":path"] ?? "/",
  headers,
  address,
  source: stream,
  bodied: !stream.endAfterHeaders,
  requestId,
  ...(heavier === undefined ? {} : { fault: overweight(heavier) }),
});

/** RFC 9113, 6.5.2: names and values and 32 for each pair. */
export const headerListBytes = (raw: readonly string[]): number => {
  let bytes = raw.length * 16;
  for (const text of raw) bytes += text.length;
  return bytes;
};

/** A flat list as the object that node:http2 wants. */
const headerObject = (status: number, flat: readonly string[]): OutgoingHttpHeaders => {
  const headers: OutgoingHttpHeaders = { ":status": status };
  for (let index = 0; index < flat.length; index += 2) headers[flat[index] ?? ""] = flat[index + 1];
  return headers;
};

export const answerHttp2 =
  (stream: ServerHttp2Stream, verb: string): SendAnswer =>
  (answer) => {
    if (stream.headersSent || stream.destroyed || stream.closed) return;
    const { status, headers, body } = answer;
    const length = Buffer.byteLength(body);
    if (!bodiless(status)) headers.push("content-length", String(length));
    const empty = bodiless(status) || length === 0 || verb === "HEAD";
    stream.respond(headerObject(status, headers), { endStream: empty });
    if (!empty) stream.end(body, encodingOf(body, length));
    if (stream.readableEnded) return;
    stream.resume();
    // RFC 9113, 8.1: a whole answer before the whole request; the rest of the request is not wanted.
    if (!stream.endAfterHeaders) stream.close(noError);
  };
