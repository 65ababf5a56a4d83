// A request and its response over any HTTP version, as seen by rest.ts and open-endpoints.ts. Cheap by design, because every request
// pays for it: no URL, Headers or AbortController; Node's own objects are passed through.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { Fault, toFault } from "#base/fault.ts";
import type { CallRecord } from "#calls";

export interface HttpRequest {
  readonly verb: string;
  /** Path and query as sent. */
  readonly target: string;
  /** The requested host: an absolute request URL or `:authority` overrides the header (RFC 9112, 3.2.2; RFC 9113, 8.3.1). */
  readonly host: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** IP address of the socket's peer. */
  readonly address: string;
  readonly source: Readable;
  /** False if the headers exclude a body. */
  readonly hasBody: boolean;
  /** Asks a peer that sent Expect: 100-continue for the body. */
  readonly sendContinue?: () => void;
  /** Restarts the exchange's timeout; for content, which has no total limit. */
  readonly progress: () => void;
  readonly call: CallRecord;
  readonly requestId: string;
  /** Set if the request is invalid whatever the operation. */
  readonly fault?: Fault;
}

/** A response. Header names (lower case) and values alternate; the sender adds the content length. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: string[];
  /** Chunks have no length in advance; the next is requested once the previous was sent. */
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>;
}

/** Sends the response; drops a second one, or one to a disconnected peer. */
export type SendResponse = (response: HttpResponse) => void;

const noError = 0;

/** Statuses without body and content length (RFC 9110, 8.6). */
const isBodiless = (status: number): boolean => status === 304 || status === 204;

/** If bytes equal characters, the text is ASCII, which latin1 writes in half the time of UTF-8. */
const encodingOf = (body: string | Uint8Array, length: number): "latin1" | "utf8" => (length === body.length ? "latin1" : "utf8");

const isAtOnce = (body: HttpResponse["body"]): body is string | Uint8Array => typeof body === "string" || body instanceof Uint8Array;

/** Returns a header's value. Node joins repeated ones, except for names that must not repeat: the first counts. */
export const headerOf = (request: HttpRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === "string" ? value : value?.[0];
};

/** Headers of every operation's response, starting with the content type. */
export const operationHeaders = (type: string, requestId: string): string[] => [
  "content-type",
  type,
  "x-request-id",
  requestId,
  "cache-control",
  "no-store",
  "x-content-type-options",
  "nosniff",
];

const refusedRequest = (why: string): Fault => new Fault("INVALID_ARGUMENT", why);

/**
 * Returns a repeated header that names the host or caller: two readers could each use another one (RFC 9112, 3.2; RFC 9110, 5.3). In
 * `raw`, names and values alternate.
 */
const repeatedHeader = (raw: readonly string[]): string | undefined => {
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? "";
    // Compares lengths first, because lower case costs a copy.
    if (name.length === 4 && name.toLowerCase() === "host" && ++hosts > 1) return "Host";
    if (name.length === 13 && name.toLowerCase() === "authorization" && ++authorizations > 1) return "Authorization";
  }
  return undefined;
};

/** RFC 9110, 4.2 and 7.2: a host without user information. RFC 3986 permits commas, but they would allow two joined hosts. */
const hostForm = /^(?:[A-Za-z0-9._~%-]+|\[[0-9A-Za-z:.%_~-]+\])(?::[0-9]{0,5})?$/;
/** Most requests repeat the previous host. */
let lastHost = "";

const isHost = (host: string): boolean => {
  if (host === lastHost) return true;
  if (!hostForm.test(host)) return false;
  lastHost = host;
  return true;
};

/** Without a default port. */
const comparedHost = (host: string): string => host.toLowerCase().replace(/:(?:80|443)?$/, "");

/** RFC 9112, 3.2, and RFC 3986, 2: visible ASCII, without a fragment, which only some readers would cut off. */
const targetForm = /^[!-"$-~]*$/;

const targetFault = (target: string): Fault | undefined =>
  targetForm.test(target) ? undefined : refusedRequest("the request target contains a fragment or unencoded characters (RFC 9112, 3.2)");

/** The authority of an absolute URL (RFC 9112, 3.2.2). */
const urlAuthority = /^https?:\/\/([^/?]*)/i;

const authorityOfTarget = (target: string): string | undefined => (target.startsWith("/") ? undefined : urlAuthority.exec(target)?.[1]);

const http1Fault = ({ httpVersion, headers, rawHeaders, url = "/" }: IncomingMessage): Fault | undefined => {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return refusedRequest(`HTTP/${httpVersion} is not spoken in a request line (RFC 9113, 3.3)`);
  if (headers.host === undefined && httpVersion === "1.1") return refusedRequest("the request has no Host header (RFC 9112, 3.2)");
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) return refusedRequest(`the request has more than one ${repeated} header`);
  if (headers.host !== undefined && !isHost(headers.host)) return refusedRequest("the Host header names no host (RFC 9112, 3.2)");
  const authority = authorityOfTarget(url);
  if (authority !== undefined && !isHost(authority)) return refusedRequest("the URL in the request line names no host, or a user (RFC 9110, 4.2)");
  const encoding = headers["transfer-encoding"];
  // A proxy may see another body if a coding is not decoded, or if HTTP/1.0 has chunked framing.
  if (encoding !== undefined && (httpVersion === "1.0" || encoding.toLowerCase() !== "chunked"))
    return refusedRequest("the request's Transfer-Encoding must be chunked, in HTTP/1.1 (RFC 9112, 6.1)");
  return targetFault(url);
};

/** `sendContinue`: for a request with Expect: 100-continue (RFC 9110, 10.1.1). */
export const requestOfHttp1 = (message: IncomingMessage, call: CallRecord, progress: () => void, sendContinue?: () => void): HttpRequest => {
  const { headers, url: target = "/" } = message;
  const length = headers["content-length"];
  const fault = http1Fault(message);
  return {
    verb: message.method ?? "GET",
    target,
    host: authorityOfTarget(target) ?? headers.host,
    headers,
    // Read when the connection opened (listen.ts), so known even after it closed.
    address: message.socket.remoteAddress ?? "",
    source: message,
    hasBody: (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined,
    progress,
    call,
    requestId: call.requestId,
    ...(sendContinue ? { sendContinue } : {}),
    ...(fault ? { fault } : {}),
  };
};

/**
 * `fixedHeaders`: headers of every response. `isLast`: close the connection after this response, because the server is stopping or
 * the next request cannot be found.
 */
export const http1Sender =
  (to: ServerResponse, call: CallRecord, fixedHeaders: readonly string[], isLast: () => boolean): SendResponse =>
  (response) => {
    const { status, headers, body } = response;
    if (to.headersSent || to.destroyed) return dropBody(response);
    call.answer(status);
    headers.push(...fixedHeaders);
    // 408: the rest of the request may never arrive, so the connection cannot be reused (RFC 9110, 15.5.9).
    if (status === 408 || isLast()) headers.push("connection", "close");
    if (isBodiless(status)) {
      to.writeHead(status, headers).end();
      return;
    }
    if (!isAtOnce(body)) {
      to.writeHead(status, headers);
      if (to.req.method === "HEAD") to.end();
      else void sendPieces(body, to, call);
      return;
    }
    const length = Buffer.byteLength(body);
    if (to.req.method !== "HEAD") call.sentBytes = length;
    headers.push("content-length", String(length));
    to.writeHead(status, headers).end(body, encodingOf(body, length));
  };

/** Writes a chunk and waits until the system has it; false if the peer disconnected. */
const writePiece = (to: Writable, piece: string | Uint8Array): Promise<boolean> =>
  new Promise((resolve) => {
    const onClose = (): void => resolve(false);
    to.once("close", onClose);
    to.write(piece, (error) => {
      to.off("close", onClose);
      resolve(!error);
    });
  });

/**
 * Sends chunks as fast as the peer reads, and requests the next after the previous was sent, so that its memory can be reused. If
 * generating fails, the connection or stream is cut without an end.
 */
const sendPieces = async (pieces: AsyncIterable<string | Uint8Array>, to: Writable, call: CallRecord, sent: () => void = () => {}): Promise<void> => {
  // Every error is followed by "close".
  to.on("error", () => {});
  const source = pieces[Symbol.asyncIterator]();
  let isWhole = false;
  try {
    while (!to.destroyed) {
      const next = await source.next();
      if (next.done === true) {
        isWhole = true;
        to.end(sent);
        return;
      }
      if (!(await writePiece(to, next.value))) return;
      call.sentBytes += Buffer.byteLength(next.value);
    }
  } catch (thrown) {
    // The missing end reveals the failure to the peer.
    call.refuse(toFault(thrown));
  } finally {
    if (!isWhole) {
      to.destroy();
      await source.return?.();
    }
  }
};

const dropBody = ({ body }: HttpResponse): void => {
  if (!isAtOnce(body)) void body[Symbol.asyncIterator]().return?.();
};

const headersTooLarge = (max: number): Fault => new Fault("INVALID_ARGUMENT", `the request's headers are larger than ${max} bytes`, { httpStatus: 431 });

/** Returns why an HTTP/2 request is invalid whatever the operation. In `raw`, names and values alternate. */
export const http2Fault = (headers: IncomingHttpHeaders, raw: readonly string[], headerBytesMax: number): Fault | undefined => {
  // The setting binds a peer only after its acknowledgement; until then Node accepts 64 KiB.
  if (headerListBytes(raw) > headerBytesMax) return headersTooLarge(headerBytesMax);
  const repeated = repeatedHeader(raw);
  if (repeated !== undefined) return refusedRequest(`the request has more than one ${repeated} header`);
  const { host, ":authority": authority, ":path": path = "/" } = headers;
  const named = authority ?? host;
  if (named !== undefined && !isHost(named)) return refusedRequest("the request names no host (RFC 9113, 8.3.1)");
  if (authority !== undefined && host !== undefined && comparedHost(authority) !== comparedHost(host))
    return refusedRequest("Host and :authority name different hosts (RFC 9113, 8.3.1)");
  // An absolute URL would name a second host next to :authority.
  if (authorityOfTarget(path) !== undefined) return refusedRequest("the request's :path is a whole URL (RFC 9113, 8.3.1)");
  return targetFault(path);
};

export const requestOfHttp2 = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  address: string,
  fault: Fault | undefined,
  call: CallRecord,
  progress: () => void,
): HttpRequest => ({
  verb: headers[":method"] ?? "GET",
  target: headers[":path"] ?? "/",
  host: headers[":authority"] ?? headers.host,
  headers,
  address,
  source: stream,
  hasBody: !stream.endAfterHeaders,
  progress,
  call,
  requestId: call.requestId,
  ...(fault ? { fault } : {}),
});

/** RFC 9113, 6.5.2: names and values, plus 32 per pair. */
const headerListBytes = (raw: readonly string[]): number => {
  let bytes = raw.length * 16;
  for (const text of raw) bytes += text.length;
  return bytes;
};

export const headerObject = (status: number, flat: readonly string[]): OutgoingHttpHeaders => {
  const headers: OutgoingHttpHeaders = { ":status": status };
  for (let index = 0; index < flat.length; index += 2) headers[flat[index] ?? ""] = flat[index + 1];
  return headers;
};

export const http2Sender =
  (stream: ServerHttp2Stream, { verb, call }: Pick<HttpRequest, "verb" | "call">, fixedHeaders: readonly string[]): SendResponse =>
  (response) => {
    const { status, headers, body } = response;
    if (stream.headersSent || stream.destroyed || stream.closed) return dropBody(response);
    call.answer(status);
    headers.push(...fixedHeaders);
    const leaveRest = (): void => {
      if (stream.readableEnded) return;
      stream.resume();
      // RFC 9113, 8.1: the response is complete before the request; the rest of the request is not read.
      if (!stream.endAfterHeaders) stream.close(noError);
    };
    if (!isAtOnce(body)) {
      stream.respond(headerObject(status, headers), { endStream: verb === "HEAD" });
      if (verb === "HEAD") leaveRest();
      else void sendPieces(body, stream, call, leaveRest);
      return;
    }
    const length = Buffer.byteLength(body);
    if (!isBodiless(status)) headers.push("content-length", String(length));
    const empty = isBodiless(status) || length === 0 || verb === "HEAD";
    if (!empty) call.sentBytes = length;
    stream.respond(headerObject(status, headers), { endStream: empty });
    if (!empty) stream.end(body, encodingOf(body, length));
    leaveRest();
  };

/** True for the supported protocol; grpc-web and grpc+json are not. */
export const isGrpc = (headers: IncomingHttpHeaders): boolean => {
  const type = headers["content-type"];
  if (type === "application/grpc" || type === "application/grpc+proto") return headers[":method"] === "POST";
  return type !== undefined && headers[":method"] === "POST" && /^application\/grpc(?:\+proto)?\s*(?:;|$)/i.test(type);
};
