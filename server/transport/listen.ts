// One port for everything (decisions: One host). A listener takes the connection, and an http.Server or an HTTP/2
// server that never listen themselves serve it:
//
//   clear text   net.Server  → the first bytes decide (peek.ts) ┐ HTTP/1.1 → REST
//   TLS          tls.Server  → ALPN decides                     ┘ HTTP/2   → content-type: gRPC or REST
//
// Stopping: no new connection, the open ones are told that they end, what is in flight finishes within
// limits.drainMs, then everything left is cut.

import { createServer as createHttp1Server, type IncomingMessage, type Server as Http1Server, type ServerResponse } from "node:http";
import { constants, createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import { createServer as createListener, type Server, type Socket } from "node:net";
import { createServer as createTlsListener, type TLSSocket } from "node:tls";
import { Fault } from "#base/fault.ts";
import { within } from "./deadline.ts";
import { boundsOf, type Bounds, type Config, type ServerContext, type Dependencies } from "./server-context.ts";
import { requestOfHttp1, requestOfHttp2, headerListBytes, newRequestId, answerHttp1, answerHttp2 } from "./http-message.ts";
import { health } from "./health.ts";
import { originReader } from "./origin.ts";
import { peek } from "./peek.ts";
import { reflection } from "./reflection.ts";
import { errorBody, httpStatusOf, nowhere } from "./render.ts";
import { restTransport } from "./rest.ts";
import { isGrpc, grpcTransport } from "./rpc.ts";

export interface Transport {
  readonly address: string;
  readonly port: number;
  /** Stops gracefully; resolves when the last connection is gone. */
  readonly close: () => Promise<void>;
}

/** What all requests together may hold: the bodies of as many calls as one connection may have open. */
const heldBytesMax = (bounds: Bounds): number => bounds.streamsMax * bounds.bodyBytesMax;

/**
 * True for a connection whose peer has a name. Asked as soon as it comes: node keeps the answer, and the system has
 * none once the peer is gone, whose request is served all the same. Without one the connection was reset before
 * anybody looked: there is nobody to answer, and what it asked for would be nobody's deed.
 */
const named = (socket: Socket): boolean => {
  if (socket.remoteAddress !== undefined) return true;
  socket.destroy();
  return false;
};

/** What node:http says about a request that it could not read, in its own words, as a fault. */
const unreadable = (error: Error & { code?: string }): Fault => {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new Fault("INVALID_ARGUMENT", "the request's headers are too large", { httpStatus: 431 });
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Fault("INVALID_ARGUMENT", "the request's chunk extensions are too large", { httpStatus: 413 });
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Fault("DEADLINE_EXCEEDED", "the request took too long to arrive", { httpStatus: 408 });
    default:
      return new Fault("INVALID_ARGUMENT", `the request is not valid HTTP/1.1 (${error.code ?? error.message})`);
  }
};

/** An error for a peer that has no request we could answer: written by hand, and the connection ends. */
const dismiss = (socket: Socket, fault: Fault, { bounds, config: { serviceDomain } }: ServerContext): void => {
  // node:http has let go of a socket that asked for CONNECT: without a listener a reset would end the process, and
  // without a limit a peer that never hangs up would stay.
  socket.on("error", () => {});
  socket.setTimeout(bounds.headersTimeoutMs, () => socket.destroy());
  socket.resume();
  const requestId = newRequestId();
  const body = errorBody(fault, { domain: nowhere, serviceDomain, requestId });
  const status = httpStatusOf(fault);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\nx-request-id: ${requestId}\r\ncache-control: no-store\r\n` +
      `x-content-type-options: nosniff\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
};

const http1Server = (context: ServerContext, rest: ReturnType<typeof restTransport>): Http1Server => {
  const { bounds } = context;
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const ask = requestOfHttp1(request, newRequestId());
    rest(ask, answerHttp1(response, context.draining));
  };
  const server = createHttp1Server(
    {
      maxHeaderSize: bounds.headerBytesMax,
      headersTimeout: Math.min(bounds.headersTimeoutMs, bounds.requestTimeoutMs),
      requestTimeout: bounds.requestTimeoutMs,
      keepAliveTimeout: bounds.idleTimeoutMs,
      // Node looks for slow peers this often; its default would let them stay three times as long.
      connectionsCheckingInterval: Math.min(1000, bounds.headersTimeoutMs),
      // Its own answer to a missing Host has no body; rest.ts gives one that has.
      requireHostHeader: false,
      noDelay: true,
      optimizeEmptyRequests: true,
    },
    serve,
  );
  // A peer that neither sends nor reads; longer than a call may take.
  server.timeout = bounds.idleTimeoutMs;
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    // RFC 9110, 10.1.1: whoever asks first is told at once that the body is too large.
    if (Number(request.headers["content-length"] ?? 0) <= bounds.bodyBytesMax) response.writeContinue();
    serve(request, response);
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => serve(request, response));
  server.on("connect", (_request: IncomingMessage, socket: Socket) =>
    dismiss(socket, new Fault("UNIMPLEMENTED", "CONNECT is not offered here", { httpStatus: 405 }), context),
  );
  server.on("clientError", (error: Error & { code?: string }, socket: Socket & { _httpMessage?: ServerResponse | null }) => {
    // The answer in flight, as node:http's own handler finds it.
    const inFlight = socket._httpMessage;
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
    else if (inFlight?.req.complete) {
      // Nonsense behind a whole request: that request gets its own answer, and the connection ends with it.
      socket.pause();
      inFlight.shouldKeepAlive = false;
      inFlight.once("finish", () => socket.end());
    } else if (inFlight?.headersSent) socket.destroy();
    else dismiss(socket, unreadable(error), context);
  });
  // An http.Server that never listens enforces no time limit until it believes that it does.
  server.emit("listening");
  return server;
};

const http2Server = (context: ServerContext, rest: ReturnType<typeof restTransport>, sessions: Set<ServerHttp2Session>): Http2Server => {
  const { bounds } = context;
  const rpc = grpcTransport(context, new Map([...health(context), ...reflection(context)]));
  const server = createHttp2Server({
    settings: { maxConcurrentStreams: bounds.streamsMax, maxHeaderListSize: bounds.headerBytesMax, enablePush: false },
    maxHeaderListPairs: 128,
    // Rapid reset (CVE-2023-44487): a bucket of resets that fills again slowly; an empty one ends the connection.
    streamResetBurst: bounds.streamResetsMax,
    streamResetRate: Math.max(1, Math.round(bounds.streamResetsMax / 30)),
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    // The session knows its socket only as long as it lives, and a request may outlive it.
    const address = session.socket.remoteAddress ?? "";
    let open = 0;
    session.on("stream", (stream, headers, _flags, raw: readonly string[]) => {
      open++;
      stream.once("close", () => open--);
      // The setting above binds a peer only when it has said so; node lets 64 KiB through until then.
      const heavy = headerListBytes(raw) > bounds.headerBytesMax;
      if (!heavy && isGrpc(headers)) {
        rpc(stream, headers, address);
        return;
      }
      stream.on("error", () => {});
      // A peer that does not take its answer.
      stream.setTimeout(bounds.idleTimeoutMs, () => stream.close(constants.NGHTTP2_CANCEL));
      const ask = requestOfHttp2(stream, headers, address, heavy ? bounds.headerBytesMax : undefined, newRequestId());
      rest(ask, answerHttp2(stream, ask.verb));
    });
    session.setTimeout(bounds.idleTimeoutMs, () => {
      if (open === 0) {
        session.close();
        return;
      }
      // A watched stream is quiet for long: whoever still answers may go on watching.
      const given = setTimeout(() => session.destroy(), bounds.headersTimeoutMs);
      if (
        !session.ping((error) => {
          clearTimeout(given);
          if (error) session.destroy();
        })
      )
        session.destroy();
    });
  });
  return server;
};

const listenOn = (server: Server, config: Config): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: config.host, port: config.port }, () => {
      server.off("error", reject);
      resolve();
    });
  });

/** Readiness as the doors ask it: one question at a time however many ask, and whoever cannot answer is not ready. */
const readiness = (services: Dependencies, bounds: Bounds): (() => Promise<boolean>) => {
  let asking: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      return await within(bounds.outboundTimeoutMs, services.ready());
    } catch {
      return false;
    }
  };
  return () =>
    (asking ??= ask().finally(() => {
      asking = undefined;
    }));
};

/** Opens the port. Rejects where it cannot be had. */
export const openTransport = async (config: Config, services: Dependencies): Promise<Transport> => {
  const bounds = boundsOf(config);
  const drains = new Set<() => void>();
  const sockets = new Set<Socket>();
  /** Connections that have not said yet what they speak. */
  const silent = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let draining = false;
  let held = 0;
  const context: ServerContext = {
    dependencies: { ...services, ready: readiness(services, bounds) },
    config,
    bounds,
    originOf: originReader(config.trustedProxies, bounds.userAgentLengthMax),
    draining: () => draining,
    onDrain: (end) => {
      drains.add(end);
      return () => void drains.delete(end);
    },
    hold: (bytes) => {
      if (held + bytes > heldBytesMax(bounds)) return false;
      held += bytes;
      return true;
    },
    release: (bytes) => {
      held -= bytes;
    },
  };
  const rest = restTransport(context);
  const http1 = http1Server(context, rest);
  const http2 = http2Server(context, rest, sessions);
  const give = (socket: Socket, protocol: "http1" | "http2"): void => void (protocol === "http2" ? http2 : http1).emit("connection", socket);

  const listener: Server = config.tls
    ? createTlsListener(
        { ...config.tls, minVersion: "TLSv1.2", ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: bounds.prefaceTimeoutMs, noDelay: true },
        (socket: TLSSocket) => {
          if (named(socket)) give(socket, socket.alpnProtocol === "h2" ? "http2" : "http1");
        },
      )
    : createListener({ noDelay: true }, (socket) => {
        if (!named(socket)) return;
        silent.add(socket);
        peek(socket, bounds.prefaceTimeoutMs, (protocol) => {
          silent.delete(socket);
          give(socket, protocol);
        });
      });
  // Node tells of a handshake that failed or took too long, and leaves the connection open.
  listener.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
  listener.maxConnections = bounds.connectionsMax;
  listener.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      silent.delete(socket);
    });
  });
  await listenOn(listener, config);
  listener.on("error", (error) => config.log("listener", { error }));

  const close = async (): Promise<void> => {
    draining = true;
    const closed = new Promise<void>((resolve) => void listener.close(() => resolve()));
    for (const end of [...drains]) end();
    for (const socket of silent) socket.destroy();
    http1.close();
    http1.closeIdleConnections();
    for (const session of sessions) session.close();
    const cut = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, bounds.drainMs);
    await closed;
    clearTimeout(cut);
  };
  const bound = listener.address();
  let closing: Promise<void> | undefined;
  return {
    address: typeof bound === "object" && bound ? bound.address : config.host,
    port: typeof bound === "object" && bound ? bound.port : config.port,
    close: () => (closing ??= close()),
  };
};
