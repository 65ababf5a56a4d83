// One port for everything (decisions: One host). A listener accepts the connection, and an HTTP/1.1 or an HTTP/2 server
// that never listen themselves serve it:
//
//   clear text   net.Server  → the first bytes decide (peek.ts) ┐ HTTP/1.1 → REST
//   TLS          tls.Server  → ALPN decides                     ┘ HTTP/2   → content-type: gRPC or REST
//
// Stopping: no new connection, the open ones get their protocol's notice (Connection: close, GOAWAY), what is in flight
// finishes within limits.drainMs, then every connection that is left is closed.

import { createServer as createHttp1Server, type IncomingMessage, type Server as Http1Server, type ServerResponse } from "node:http";
import { constants, createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import { createServer as createListener, type Server, type Socket } from "node:net";
import { createServer as createTlsListener, type TLSSocket } from "node:tls";
import { Fault } from "#base/fault.ts";
import { withDeadline } from "./deadline.ts";
import { healthService } from "./health.ts";
import { headerListBytes, http1Sender, http2Sender, newRequestId, requestOfHttp1, requestOfHttp2 } from "./http-message.ts";
import { originReader } from "./origin.ts";
import { peek } from "./peek.ts";
import { reflectionService } from "./reflection.ts";
import { errorBody, httpStatusOf, platformDomain } from "./render.ts";
import { restTransport } from "./rest.ts";
import { grpcTransport, isGrpc } from "./rpc.ts";
import { type Bounds, boundsOf, type Config, type Dependencies, type ServerContext } from "./server-context.ts";

export interface Transport {
  readonly address: string;
  readonly port: number;
  /** Stops gracefully; resolves when the last connection is gone. */
  readonly close: () => Promise<void>;
}

/** What all request bodies together may hold in memory: those of as many calls as one connection may have open. */
const bodiesBytesMax = (bounds: Bounds): number => bounds.streamsMax * bounds.bodyBytesMax;

/**
 * True for a connection whose peer has an address. Read as soon as it comes: node keeps it, and the system has none once
 * the peer is gone, whose request is served all the same. Without one the connection was reset before it was accepted:
 * there is nobody to answer, and what it asked for could not be attributed to anybody.
 */
const hasPeerAddress = (socket: Socket): boolean => {
  if (socket.remoteAddress !== undefined) return true;
  socket.destroy();
  return false;
};

/** node:http's error about a request that it could not parse, as a fault. */
const parseFault = (error: Error & { code?: string }): Fault => {
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

/** Answers a peer that has no request of node:http's: written by hand, and the connection ends. */
const refuseSocket = (socket: Socket, fault: Fault, { bounds, config: { serviceDomain } }: ServerContext): void => {
  // node:http has let go of a socket that asked for CONNECT: without a listener a reset would end the process, and
  // without a limit a peer that never hangs up would stay.
  socket.on("error", () => {});
  socket.setTimeout(bounds.headersTimeoutMs, () => socket.destroy());
  socket.resume();
  const requestId = newRequestId();
  const body = errorBody(fault, { domain: platformDomain, serviceDomain, requestId });
  const status = httpStatusOf(fault);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\nx-request-id: ${requestId}\r\ncache-control: no-store\r\n` +
      `x-content-type-options: nosniff\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
};

const http1Server = (context: ServerContext, rest: ReturnType<typeof restTransport>): Http1Server => {
  const { bounds } = context;
  /** Connections whose request was answered before it came to its end. */
  const answeredEarly = new WeakSet<Socket>();
  const noteEarlyAnswer = (message: IncomingMessage, response: ServerResponse): void => {
    response.once("finish", () => {
      if (message.complete) return;
      answeredEarly.add(message.socket);
      message.once("end", () => answeredEarly.delete(message.socket));
    });
  };
  const serve = (message: IncomingMessage, response: ServerResponse): void => {
    const request = requestOfHttp1(message, newRequestId());
    if (request.hasBody) noteEarlyAnswer(message, response);
    rest(request, http1Sender(response, context.draining));
  };
  const serveExpecting = (message: IncomingMessage, response: ServerResponse): void => {
    let continued = false;
    const sendContinue = (): void => {
      continued = true;
      response.writeContinue();
    };
    const request = requestOfHttp1(message, newRequestId(), sendContinue);
    // RFC 9110, 10.1.1: without the interim response nobody knows whether the body still comes.
    rest(
      request,
      http1Sender(response, () => context.draining() || (request.hasBody && !continued)),
    );
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
  server.on("checkContinue", serveExpecting);
  server.on("checkExpectation", serve);
  server.on("connect", (_message: IncomingMessage, socket: Socket) =>
    refuseSocket(socket, new Fault("UNIMPLEMENTED", "CONNECT is not offered here", { httpStatus: 405 }), context),
  );
  server.on("clientError", (error: Error & { code?: string }, socket: Socket & { _httpMessage?: ServerResponse | null }) => {
    // The response in flight, as node:http's own handler finds it.
    const inFlight = socket._httpMessage;
    // What still comes of a request that has its answer gets no second one.
    if (error.code === "ECONNRESET" || !socket.writable || answeredEarly.has(socket)) socket.destroy();
    else if (inFlight?.req.complete) {
      // Nonsense behind a complete request: that request gets its own answer, and the connection ends with it.
      socket.pause();
      inFlight.shouldKeepAlive = false;
      inFlight.once("finish", () => socket.end());
    } else if (inFlight?.headersSent) socket.destroy();
    else refuseSocket(socket, parseFault(error), context);
  });
  // An http.Server that never listens enforces no time limit until it has emitted "listening".
  server.emit("listening");
  return server;
};

const http2Server = (context: ServerContext, rest: ReturnType<typeof restTransport>, sessions: Set<ServerHttp2Session>): Http2Server => {
  const { bounds } = context;
  const rpc = grpcTransport(context, new Map([...healthService(context), ...reflectionService(context)]));
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
    // The session has its socket only as long as it lives, and a request may outlive it.
    const address = session.socket.remoteAddress ?? "";
    let open = 0;
    session.on("stream", (stream, headers, _flags, raw: readonly string[]) => {
      open++;
      stream.once("close", () => open--);
      // The setting above binds a peer only when it has acknowledged it; node lets 64 KiB through until then.
      const tooLarge = headerListBytes(raw) > bounds.headerBytesMax;
      if (!tooLarge && isGrpc(headers)) {
        rpc(stream, headers, address);
        return;
      }
      stream.on("error", () => {});
      // A peer that does not take its answer.
      stream.setTimeout(bounds.idleTimeoutMs, () => stream.close(constants.NGHTTP2_CANCEL));
      const request = requestOfHttp2(stream, headers, address, tooLarge ? bounds.headerBytesMax : undefined, newRequestId());
      rest(request, http2Sender(stream, request.verb));
    });
    session.setTimeout(bounds.idleTimeoutMs, () => {
      if (open === 0) {
        session.close();
        return;
      }
      // A watched stream is quiet for long: whoever still answers may go on watching.
      const pingTimer = setTimeout(() => session.destroy(), bounds.headersTimeoutMs);
      if (
        !session.ping((error) => {
          clearTimeout(pingTimer);
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

/** One check of readiness at a time however many ask for it; a check that fails or takes too long is "not ready". */
const sharedReadiness = (ready: Dependencies["ready"], timeoutMs: number): (() => Promise<boolean>) => {
  let checking: Promise<boolean> | undefined;
  const check = async (): Promise<boolean> => {
    try {
      return await withDeadline(timeoutMs, () => ready());
    } catch {
      return false;
    }
  };
  return () =>
    (checking ??= check().finally(() => {
      checking = undefined;
    }));
};

/** Opens the port. Rejects where it cannot be had. */
export const openTransport = async (config: Config, dependencies: Dependencies): Promise<Transport> => {
  const bounds = boundsOf(config);
  const onDrain = new Set<() => void>();
  const sockets = new Set<Socket>();
  /** Connections whose protocol is not known yet. */
  const undetected = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let draining = false;
  let reservedBytes = 0;
  const context: ServerContext = {
    dependencies: { ...dependencies, ready: sharedReadiness(dependencies.ready, bounds.outboundTimeoutMs) },
    config,
    bounds,
    originOf: originReader(config.trustedProxies, bounds.userAgentLengthMax),
    draining: () => draining,
    onDrain: (end) => {
      onDrain.add(end);
      return () => void onDrain.delete(end);
    },
    reserveBytes: (bytes) => {
      if (reservedBytes + bytes > bodiesBytesMax(bounds)) return false;
      reservedBytes += bytes;
      return true;
    },
    releaseBytes: (bytes) => {
      reservedBytes -= bytes;
    },
  };
  const rest = restTransport(context);
  const http1 = http1Server(context, rest);
  const http2 = http2Server(context, rest, sessions);
  const handOver = (socket: Socket, protocol: "http1" | "http2"): void => void (protocol === "http2" ? http2 : http1).emit("connection", socket);

  const listener: Server = config.tls
    ? createTlsListener(
        { ...config.tls, minVersion: "TLSv1.2", ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: bounds.prefaceTimeoutMs, noDelay: true },
        (socket: TLSSocket) => {
          if (hasPeerAddress(socket)) handOver(socket, socket.alpnProtocol === "h2" ? "http2" : "http1");
        },
      )
    : createListener({ noDelay: true }, (socket) => {
        if (!hasPeerAddress(socket)) return;
        undetected.add(socket);
        peek(socket, bounds.prefaceTimeoutMs, (protocol) => {
          undetected.delete(socket);
          handOver(socket, protocol);
        });
      });
  // Node reports a handshake that failed or took too long, and leaves the connection open.
  listener.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
  listener.maxConnections = bounds.connectionsMax;
  listener.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      undetected.delete(socket);
    });
  });
  await listenOn(listener, config);
  listener.on("error", (error) => config.log("listener", { error }));

  const close = async (): Promise<void> => {
    draining = true;
    const closed = new Promise<void>((resolve) => void listener.close(() => resolve()));
    for (const end of [...onDrain]) end();
    for (const socket of undetected) socket.destroy();
    http1.close();
    http1.closeIdleConnections();
    for (const session of sessions) session.close();
    const drainTimer = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, bounds.drainMs);
    await closed;
    clearTimeout(drainTimer);
  };
  const bound = listener.address();
  let closing: Promise<void> | undefined;
  return {
    address: typeof bound === "object" && bound ? bound.address : config.host,
    port: typeof bound === "object" && bound ? bound.port : config.port,
    close: () => (closing ??= close()),
  };
};
