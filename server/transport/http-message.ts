// One request and its response, whichever HTTP it came over: what rest.ts and open-endpoints.ts see of a socket. Cheap on
// purpose, because every request pays for it: no URL, no Headers, no AbortController; node's own objects are handed on as
// they are.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { Fault, toFault } from "#base/fault.ts";
import type { CallRecord } from "#calls";

/** A request whose body has not been read. */
export interface HttpRequest {
  readonly verb: string;
  /** Path and query as they were sent. */
  readonly target: string;
  /** Whom it names as its host: a request line that is a whole URL, or `:authority`, goes before the header (RFC 9112, 3.2.2; RFC 9113, 8.3.1). */
  readonly host: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The peer's IP address, as the socket has it. */
  readonly address: string;
  /** Where the body is read from. */
  readonly source: Readable;
  /** False where the headers say already that there is no body. */
  readonly hasBody: boolean;
  /** Tells a peer that waits for it (Expect: 100-continue) to send the body. */
  readonly sendContinue?: () => void;
  /** The exchange goes on: it is given as much time again. For content, which takes as long as it takes. */
  readonly progress: () => void;
  /** What is known of the request, for whoever is told of it when it is over. */
  readonly call: CallRecord;
  readonly requestId: string;
  /** Why the request is refused whatever it asks for. */
  readonly fault?: Fault;
}

/** A response: header names and values in turn, lower case. The content length is added by whoever sends it. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: string[];
  /** Pieces have no length beforehand. Whoever makes them is asked for the next when the one before was taken. */
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>;
}

/** Sends the response; a second one, or one to a peer that has gone, is dropped. */
export type SendResponse = (response: HttpResponse) => void;

const noError = 0;

/** Statuses whose responses must have neither a body nor its length (RFC 9110, 8.6). */
const isBodiless = (status: number): boolean => status === 304 || status === 204;

/** As many bytes as characters: ASCII, which is copied out as it is, in half the time that UTF-8 takes. */
const encodingOf = (body: string | Uint8Array, length: number): "latin1" | "utf8" => (length === body.length ? "latin1" : "utf8");

const isAtOnce = (body: HttpResponse["body"]): body is string | Uint8Array => typeof body === "string" || body instanceof Uint8Array;

/** The one value of a header. Node joins repeated ones, except for names that must not repeat: there the first counts. */
export const headerOf = (request: HttpRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === "string" ? value : value?.[0];
};

/** What every response of an operation begins with; the type of its body first. */
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
 * A header that names the request's host or caller and stands there twice: two readers of one request would each take
 * another one (RFC 9112, 3.2; RFC 9110, 5.3). `raw`: names and values in turn.
 */
const repeatedHeader = (raw: readonly string[]): string | undefined => {
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? "";
    // By length first: most names are neither, and lower case costs a copy.
    if (name.length === 4 && name.toLowerCase() === "host" && ++hosts > 1) return "Host";
    if (name.length === 13 && name.toLowerCase() === "authorization" && ++authorizations > 1) return "Authorization";
  }
  return undefined;
};

/** RFC 9110, 4.2 and 7.2: a host is there, and no user; commas, which RFC 3986 allows, are left to those who join two hosts. */
const hostForm = /^(?:[A-Za-z0-9._~%-]+|\[[0-9A-Za-z:.%_~-]+\])(?::[0-9]{0,5})?$/;
/** Most requests name the host of the one before. */
let lastHost = "";

const isHost = (host: string): boolean => {
  if (host === lastHost) return true;
  if (!hostForm.test(host)) return false;
  lastHost = host;
  return true;
};

/** Without the port that stands for none. */
const comparedHost = (host: string): string => host.toLowerCase().replace(/:(?:80|443)?$/, "");

/** RFC 9112, 3.2, and RFC 3986, 2: visible ASCII, and no fragment, which one reader would cut off and another one would not. */
const targetForm = /^[!-"$-~]*$/;

const targetFault = (target: string): Fault | undefined =>
  targetForm.test(target) ? undefined : refusedRequest("the request target contains a fragment or unencoded characters (RFC 9112, 3.2)");

/** The authority of a target that is a whole URL (RFC 9112, 3.2.2). */
const urlAuthority = /^https?:\/\/([^/?]*)/i;

const authorityOfTarget = (target: string): string | undefined => (target.startsWith("/") ? undefined : urlAuthority.exec(target)?.[1]);

/** Why an HTTP/1.1 request is refused whatever it asks for. */
const http1Fault = ({ httpVersion, headers, rawHeaders, url = "/" }: IncomingMessage): Fault | undefined => {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return refusedRequest(`HTTP/${httpVersion} is not spoken in a request line (RFC 9113, 3.3)`);
  if (headers.host === undefined && httpVersion === "1.1") return refusedRequest("the request has no Host header (RFC 9112, 3.2)");
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) return refusedRequest(`the request has more than one ${repeated} header`);
  if (headers.host !== undefined && !isHost(headers.host)) return refusedRequest("the Host header names no host (RFC 9112, 3.2)");
  const authority = authorityOfTarget(url);
  if (authority !== undefined && !isHost(authority)) return refusedRequest("the URL in the request line names no host, or a user (RFC 9110, 4.2)");
  const encoding = headers["transfer-encoding"];
  // A coding that is not undone, or framing that HTTP/1.0 does not know: whoever stands in front may see another body.
  if (encoding !== undefined && (httpVersion === "1.0" || encoding.toLowerCase() !== "chunked"))
    return refusedRequest("the request's Transfer-Encoding must be chunked, in HTTP/1.1 (RFC 9112, 6.1)");
  return targetFault(url);
};

/** `sendContinue`: for a request that expects to be told to go on (RFC 9110, 10.1.1). */
export const requestOfHttp1 = (message: IncomingMessage, call: CallRecord, progress: () => void, sendContinue?: () => void): HttpRequest => {
  const { headers, url: target = "/" } = message;
  const length = headers["content-length"];
  const fault = http1Fault(message);
  return {
    verb: message.method ?? "GET",
    target,
    host: authorityOfTarget(target) ?? headers.host,
    headers,
    // Known since the connection came (listen.ts), also when it is gone.
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
 * `fixedHeaders`: what every response carries. `isLast`: the connection ends with this response, because the server is
 * stopping or what follows cannot be told apart.
 */
export const http1Sender =
  (to: ServerResponse, call: CallRecord, fixedHeaders: readonly string[], isLast: () => boolean): SendResponse =>
  (response) => {
    const { status, headers, body } = response;
    if (to.headersSent || to.destroyed) return dropBody(response);
    call.answer(status);
    headers.push(...fixedHeaders);
    // 408: what is left of the request may never come, so there is no next one (RFC 9110, 15.5.9).
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

/** Writes one piece, and waits until the system has it; false where the peer has gone. */
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
 * Sends piece by piece, as fast as the peer reads, and asks for the next when the one before was taken: who gives them may use its memory
 * again. Where one cannot be had, the connection or stream ends without its end.
 */
const sendPieces = async (pieces: AsyncIterable<string | Uint8Array>, to: Writable, call: CallRecord, sent: () => void = () => {}): Promise<void> => {
  // Whatever it is, it ends in "close".
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
    // The peer sees it by the end that is missing.
    call.refuse(toFault(thrown));
  } finally {
    if (!isWhole) {
      to.destroy();
      await source.return?.();
    }
  }
};

/** An answer that nobody gets. */
const dropBody = ({ body }: HttpResponse): void => {
  if (!isAtOnce(body)) void body[Symbol.asyncIterator]().return?.();
};

const headersTooLarge = (max: number): Fault => new Fault("INVALID_ARGUMENT", `the request's headers are larger than ${max} bytes`, { httpStatus: 431 });

/** Why an HTTP/2 request is refused whatever it asks for. `raw`: names and values in turn. */
export const http2Fault = (headers: IncomingHttpHeaders, raw: readonly string[], headerBytesMax: number): Fault | undefined => {
  // The setting binds a peer only when it has acknowledged it; node lets 64 KiB through until then.
  if (headerListBytes(raw) > headerBytesMax) return headersTooLarge(headerBytesMax);
  const repeated = repeatedHeader(raw);
  if (repeated !== undefined) return refusedRequest(`the request has more than one ${repeated} header`);
  const { host, ":authority": authority, ":path": path = "/" } = headers;
  const named = authority ?? host;
  if (named !== undefined && !isHost(named)) return refusedRequest("the request names no host (RFC 9113, 8.3.1)");
  if (authority !== undefined && host !== undefined && comparedHost(authority) !== comparedHost(host))
    return refusedRequest("Host and :authority name different hosts (RFC 9113, 8.3.1)");
  // A whole URL there would name a host beside the one in :authority.
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

/** RFC 9113, 6.5.2: names and values and 32 for each pair. */
const headerListBytes = (raw: readonly string[]): number => {
  let bytes = raw.length * 16;
  for (const text of raw) bytes += text.length;
  return bytes;
};

/** A flat list as the object that node:http2 wants. */
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
      // RFC 9113, 8.1: a complete response before the complete request; the rest of the request is not read.
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

/** True for the protocol that is served here; grpc-web and grpc+json are others. */
export const isGrpc = (headers: IncomingHttpHeaders): boolean => {
  const type = headers["content-type"];
  if (type === "application/grpc" || type === "application/grpc+proto") return headers[":method"] === "POST";
  return type !== undefined && headers[":method"] === "POST" && /^application\/grpc(?:\+proto)?\s*(?:;|$)/i.test(type);
};
