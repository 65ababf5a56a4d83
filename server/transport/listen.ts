// One port for all protocols (decisions: One host). A listener accepts connections and passes them to an HTTP/1.1 or HTTP/2 server
// that does not listen itself:
//
//   clear text   net.Server  → by first bytes (peek.ts)  ┐ HTTP/1.1 → REST
//   TLS          tls.Server  → by ALPN                   ┘ HTTP/2   → content-type: gRPC or REST
//
// On stop, new connections are refused, open ones get their protocol's notice (Connection: close, GOAWAY), requests in flight finish
// within limits.drainMs, and remaining connections are closed.

import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import { createServer as createListener, type Server, type Socket } from "node:net";
import { createServer as createTlsListener, type TLSSocket } from "node:tls";
import { Fault } from "#base/fault.ts";
import { alone } from "#base/siblings.ts";
import { type CallRecord, openCalls } from "#calls";
import { openAddressLimit } from "#connections";
import { type Connection, type Connections, endsIn, watchConnections } from "./connections.ts";
import type { GrpcTransport } from "./grpc.ts";
import { http1Sender, http2Fault, http2Sender, isGrpc, requestOfHttp1, requestOfHttp2 } from "./http-message.ts";
import { originReader } from "./origin.ts";
import { type OpenPathName, openPathsOf } from "./open-endpoints.ts";
import { peek } from "./peek.ts";
import { errorBody, httpStatusOf, platformDomain } from "./render.ts";
import { restTransport } from "./rest.ts";
import { type Bounds, boundsOf, fixedHeadersOf, type Config, type Dependencies, type ServerContext } from "./server-context.ts";
import { openWholeLists } from "./whole-lists.ts";

export interface Transport {
  readonly address: string;
  readonly port: number;
  /** Fixed paths outside the contract, with their verbs. */
  readonly openPaths: readonly OpenPathName[];
  /** Uses the certificate for new connections. Throws if it is invalid, or without TLS. */
  readonly renewCertificate: (pair: NonNullable<Config["tls"]>) => void;
  /** Stops gracefully; resolves after the last connection closed. */
  readonly close: () => Promise<void>;
}

/** Memory of all request bodies together: as much as one connection's streams may need. */
const bodiesBytesMax = (bounds: Bounds, { siblings = alone }: Config): number => siblings.share(bounds.streamsMax * bounds.bodyBytesMax);

/**
 * True if the socket has a peer address. Read at once, because Node caches it, and the system forgets it when the peer disconnects,
 * while its request is still served. Without an address the connection was reset before it was accepted.
 */
const hasPeerAddress = (socket: Socket): boolean => {
  if (socket.remoteAddress !== undefined) return true;
  socket.destroy();
  return false;
};

const soleHeader = (header: string | string[] | undefined): string | undefined => (typeof header === "string" ? header : undefined);

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

/** Responds to a peer without a node:http request, and closes the connection. */
const refuseSocket = (socket: Socket, fault: Fault, { calls, config: { serviceDomain }, fixedHeaders }: ServerContext): void => {
  // node:http removes its listeners on CONNECT: without one, a reset would end the process.
  socket.on("error", () => {});
  socket.resume();
  const call = calls.begin("http");
  const { requestId } = call;
  const body = errorBody(fault, { domain: platformDomain, serviceDomain, requestId });
  const status = httpStatusOf(fault);
  call.refuse(fault);
  call.answer(status);
  call.sentBytes = Buffer.byteLength(body);
  calls.end(call, false);
  const fixed = fixedHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\nx-request-id: ${requestId}\r\ncache-control: no-store\r\n` +
      `x-content-type-options: nosniff\r\n${fixed}connection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
};

interface ProtocolServer {
  readonly accept: (socket: Socket) => void;
  readonly drain: () => void;
}

const http1Server = (context: ServerContext, rest: ReturnType<typeof restTransport>, connections: Connections): ProtocolServer => {
  const { bounds } = context;
  /** Longer than Node's own limits for both, which any byte extends. */
  const nextRequestMs = bounds.idleTimeoutMs + bounds.headersTimeoutMs;
  /** Runs when a response ends. A connection belongs to one client, so any response counts as progress. */
  function onAnswered(this: ServerResponse): void {
    const connection = connections.of(this.req.socket);
    if (connection && --connection.busy >= 0 && !connection.leavesUnread) endsIn(connection, connection.busy > 0 ? bounds.exchangeTimeoutMs : nextRequestMs);
  }
  /** Calls in progress by socket. Node emits nothing for a pipelined response if its connection ends. */
  const underWay = new WeakMap<Socket, Set<CallRecord>>();
  const beginCall = ({ socket, headers }: IncomingMessage, response: ServerResponse): CallRecord => {
    const call = context.calls.begin("http", soleHeader(headers.traceparent));
    const others = underWay.get(socket);
    others?.add(call);
    response.on("close", () => {
      others?.delete(call);
      context.calls.end(call, !response.writableFinished);
    });
    return call;
  };
  const watchCalls = (socket: Socket): void => {
    const calls = new Set<CallRecord>();
    underWay.set(socket, calls);
    socket.once("close", () => {
      for (const call of calls) context.calls.end(call, true);
    });
  };
  /** Returns a function that restarts the exchange's timeout. */
  const noteRequest = (message: IncomingMessage, response: ServerResponse): (() => void) => {
    const connection = connections.of(message.socket);
    if (connection && connection.busy++ === 0) endsIn(connection, bounds.exchangeTimeoutMs);
    response.on("close", onAnswered);
    return () => {
      if (connection && connection.busy > 0 && !connection.leavesUnread) endsIn(connection, bounds.exchangeTimeoutMs);
    };
  };
  const refuse = (socket: Socket, fault: Fault): void => {
    const connection = connections.of(socket);
    if (connection) connections.expectHangUp(connection);
    refuseSocket(socket, fault, context);
  };
  /** Connections with a request that will not be read completely, oldest first. */
  const unread = new Set<Socket>();
  /** Connections with a response before the end of the request. */
  const answeredEarly = new WeakSet<Socket>();
  const noteEarlyAnswer = (message: IncomingMessage, response: ServerResponse): void => {
    response.once("finish", () => {
      if (message.complete) return;
      const connection = connections.of(message.socket);
      answeredEarly.add(message.socket);
      // The rest of the request must arrive within a request's time, set after onAnswered.
      response.once("close", () => {
        if (connection && !message.complete && !connection.leavesUnread) endsIn(connection, bounds.requestTimeoutMs);
      });
      message.once("end", () => {
        answeredEarly.delete(message.socket);
        if (connection && !connection.leavesUnread) endsIn(connection, nextRequestMs);
      });
    });
  };
  /**
   * Returns whether the rest of the body is too large to read. Node would read all of it, even of unauthenticated clients, and then
   * reset the connection, which loses the response if the peer still sends (RFC 9112, 9.6). Instead reading stops, and the peer gets
   * time to read the response. Without reading, its disconnect goes unnoticed: the oldest of many such connections is closed, or one
   * client could use up its address's limit.
   */
  const leavesUnread = (message: IncomingMessage): boolean => {
    const { complete, headers, socket } = message;
    if (complete || Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= bounds.openBytesMax) return false;
    const connection = connections.of(socket);
    if (connection) connection.leavesUnread = true;
    // Node discards a body without a reader to its end; once read(0) was called, it takes only what its buffer holds.
    message.read(0);
    socket.destroySoon = () => {
      socket.pause();
      socket.end();
      if (connection) endsIn(connection, bounds.unreadMs);
      unread.add(socket);
      socket.once("close", () => unread.delete(socket));
      const [oldest] = unread;
      if (unread.size > bounds.unreadMax) oldest?.destroy();
    };
    return true;
  };
  const serve = (message: IncomingMessage, response: ServerResponse): void => {
    const request = requestOfHttp1(message, beginCall(message, response), noteRequest(message, response));
    if (request.hasBody) noteEarlyAnswer(message, response);
    const isLast = (): boolean => context.draining() || request.fault !== undefined || (request.hasBody && leavesUnread(message));
    rest(request, http1Sender(response, request.call, context.fixedHeaders, isLast));
  };
  const serveExpecting = (message: IncomingMessage, response: ServerResponse): void => {
    let continued = false;
    const sendContinue = (): void => {
      continued = true;
      response.writeContinue();
    };
    const request = requestOfHttp1(message, beginCall(message, response), noteRequest(message, response), sendContinue);
    // RFC 9110, 10.1.1: without the interim response, it is unknown whether the body will follow.
    rest(
      request,
      http1Sender(response, request.call, context.fixedHeaders, () => context.draining() || request.fault !== undefined || (request.hasBody && !continued)),
    );
  };
  // Not imported: an import reads each export, and one export of node:http loads the client of fetch.
  const server = process.getBuiltinModule("node:http").createServer(
    {
      maxHeaderSize: bounds.headerBytesMax,
      headersTimeout: Math.min(bounds.headersTimeoutMs, bounds.requestTimeoutMs),
      // Messages are limited where they are read (body.ts), content by progress (oci/content.ts).
      requestTimeout: 0,
      keepAliveTimeout: bounds.idleTimeoutMs,
      // Node's interval for slow peers; its default would triple their time.
      connectionsCheckingInterval: Math.min(1000, bounds.headersTimeoutMs),
      // Node's own response to a missing Host has no body; rest.ts sends one with a body.
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
    refuse(socket, new Fault("UNIMPLEMENTED", "CONNECT is not supported", { httpStatus: 405 })),
  );
  server.on("clientError", (error: Error & { code?: string }, socket: Socket & { _httpMessage?: ServerResponse | null }) => {
    // The response in flight, as node:http's own handler finds it.
    const inFlight = socket._httpMessage;
    // The rest of a request that was responded to gets no second response.
    if (error.code === "ECONNRESET" || !socket.writable || answeredEarly.has(socket)) socket.destroy();
    else if (inFlight?.req.complete) {
      // Invalid bytes after a complete request: the request gets its response, then the connection closes.
      socket.pause();
      inFlight.shouldKeepAlive = false;
      inFlight.once("finish", () => socket.end());
    } else if (inFlight?.headersSent) socket.destroy();
    else refuse(socket, parseFault(error));
  });
  // An http.Server that never listens enforces no time limit until it emits "listening".
  server.emit("listening");
  return {
    accept: (socket) => {
      connections.add(socket, nextRequestMs);
      watchCalls(socket);
      server.emit("connection", socket);
    },
    drain: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
};

const http2Server = (context: ServerContext, rest: ReturnType<typeof restTransport>, connections: Connections): ProtocolServer => {
  const { bounds } = context;
  const sessions = new Set<ServerHttp2Session>();
  const serve = (session: ServerHttp2Session, connection: Connection, rpc: GrpcTransport): void => {
    sessions.add(session);
    session.once("close", () => {
      sessions.delete(session);
      // Node waits for the peer to disconnect.
      connections.expectHangUp(connection);
    });
    connection.farewell = () => session.close();
    const isUnused = (): boolean => connection.streams.size === 0 && connection.busy === 0;
    // The session loses its socket when it closes, and a request may outlive it.
    const address = connection.socket.remoteAddress ?? "";
    session.on("stream", (stream, headers, _flags, raw: readonly string[]) => {
      connection.endsAtMs = Number.POSITIVE_INFINITY;
      const fault = http2Fault(headers, raw, bounds.headerBytesMax);
      const isCall = !fault && isGrpc(headers);
      const call = context.calls.begin(isCall ? "grpc" : "http", soleHeader(headers.traceparent));
      const mayStay = isCall && rpc(stream, headers, address, call);
      if (mayStay) connection.busy++;
      else connection.streams.set(stream, performance.now());
      stream.once("close", () => {
        // Node also emits "close" for cut streams.
        context.calls.end(call, stream.aborted || !stream.headersSent || !stream.writableFinished);
        if (mayStay) connection.busy--;
        else connection.streams.delete(stream);
        if (isUnused()) endsIn(connection, connection.farewell ? bounds.idleTimeoutMs : bounds.hangUpMs);
      });
      if (isCall) return;
      stream.on("error", () => {});
      // A peer that does not read its response.
      stream.setTimeout(bounds.idleTimeoutMs, () => stream.close(constants.NGHTTP2_CANCEL));
      const progress = (): void => {
        // Keeps the map sorted by start.
        if (connection.streams.delete(stream)) connection.streams.set(stream, performance.now());
      };
      const request = requestOfHttp2(stream, headers, address, fault, call, progress);
      rest(request, http2Sender(stream, request, context.fixedHeaders));
    });
    session.setTimeout(bounds.idleTimeoutMs, () => {
      if (isUnused()) return;
      // A watched stream is quiet for long: it may stay if the peer answers a ping.
      const pingTimer = setTimeout(() => session.destroy(), bounds.headersTimeoutMs);
      if (
        !session.ping((error) => {
          clearTimeout(pingTimer);
          if (error) session.destroy();
        })
      )
        session.destroy();
    });
  };
  const server = createHttp2Server({
    settings: { maxConcurrentStreams: bounds.streamsMax, maxHeaderListSize: bounds.headerBytesMax, enablePush: false },
    maxHeaderListPairs: 128,
    // Rapid reset (CVE-2023-44487): a slowly refilled bucket of resets; when empty, the connection closes.
    streamResetBurst: bounds.streamResetsMax,
    streamResetRate: Math.max(1, Math.round(bounds.streamResetsMax / 30)),
  });
  /** The connection of the next session: Node creates it synchronously but does not expose its socket. */
  let accepting: [connection: Connection, rpc: GrpcTransport] | undefined;
  server.on("session", (session) => {
    if (accepting) serve(session, ...accepting);
  });
  const take = (socket: Socket, connection: Connection, rpc: GrpcTransport): void => {
    accepting = [connection, rpc];
    server.emit("connection", socket);
    accepting = undefined;
  };
  let opened: GrpcTransport | undefined;
  let opening: Promise<GrpcTransport> | undefined;
  /** Waits until gRPC is loaded; reads nothing meanwhile. */
  const takeLater = async (socket: Socket, connection: Connection): Promise<void> => {
    const ignoreError = (): void => {};
    socket.on("error", ignoreError);
    opened = await (opening ??= import("./grpc.ts").then(({ openGrpc }) => openGrpc(context)));
    socket.off("error", ignoreError);
    if (context.draining()) socket.destroy();
    if (!socket.destroyed) take(socket, connection, opened);
  };
  return {
    accept: (socket) => {
      // An unfinished header block (CONTINUATION, RFC 9113, 6.10) is not a stream yet.
      const connection = connections.add(socket, bounds.headersTimeoutMs);
      if (opened) take(socket, connection, opened);
      else void takeLater(socket, connection);
    },
    drain: () => {
      for (const session of sessions) session.close();
    },
  };
};

const listenOn = (server: Server, config: Config): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: config.host, port: config.port }, () => {
      server.off("error", reject);
      resolve();
    });
  });

const tlsVersions = { minVersion: "TLSv1.2" } as const;

/** Opens the port; rejects if it is unavailable. */
export const openTransport = async (config: Config, dependencies: Dependencies): Promise<Transport> => {
  const bounds = boundsOf(config);
  const onDrain = new Set<() => void>();
  const sockets = new Set<Socket>();
  const lastSocket = Promise.withResolvers<void>();
  const undetected = new Set<Socket>();
  const connections = watchConnections(bounds);
  const bodiesMax = bodiesBytesMax(bounds, config);
  let draining = false;
  let reservedBytes = 0;
  const refused = { address: 0, connections: 0, descriptors: 0 };
  config.metrics?.watch("gantry_connections", () => [{ labels: {}, value: sockets.size }]);
  config.metrics?.watch("gantry_connections_refused_total", () =>
    (["address", "connections", "descriptors"] as const).map((reason) => ({ labels: { reason }, value: refused[reason] })),
  );
  config.metrics?.watch("gantry_request_buffer_bytes", () => [{ labels: {}, value: reservedBytes }]);
  const context: ServerContext = {
    dependencies,
    config,
    bounds,
    calls: dependencies.calls ?? openCalls({ log: config.log }),
    budget: { valuesMax: bounds.messageValuesMax, depthMax: bounds.jsonDepthMax },
    fixedHeaders: fixedHeadersOf(config, bounds),
    originOf: originReader(config.trustedProxies, bounds.userAgentLengthMax),
    wholeLists: openWholeLists(bounds),
    draining: () => draining,
    onDrain: (end) => {
      onDrain.add(end);
      return () => void onDrain.delete(end);
    },
    reserveBytes: (bytes) => {
      if (reservedBytes + bytes > bodiesMax) return false;
      reservedBytes += bytes;
      return true;
    },
    releaseBytes: (bytes) => {
      reservedBytes -= bytes;
    },
  };
  const rest = restTransport(context);
  const http1 = http1Server(context, rest, connections);
  const http2 = http2Server(context, rest, connections);
  const addresses = openAddressLimit(bounds.connectionsPerAddress, config.trustedProxies, config.log);
  const mayConnect = (socket: Socket): boolean => {
    // Counted by the process that accepted it.
    if (config.handed) return true;
    const holder = addresses.enter(socket.remoteAddress ?? "");
    if (holder === undefined) return false;
    socket.once("close", () => addresses.leave(holder));
    return true;
  };

  const secure = config.tls
    ? createTlsListener(
        { ...config.tls, ...tlsVersions, ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: bounds.prefaceTimeoutMs, noDelay: true },
        (socket: TLSSocket) => {
          if (hasPeerAddress(socket)) (socket.alpnProtocol === "h2" ? http2 : http1).accept(socket);
        },
      )
    : undefined;
  const listener: Server = secure ?? createListener({ noDelay: true });
  // Node reports a failed handshake and leaves the connection open.
  listener.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
  // Beyond the descriptors, the system would close connections without a trace.
  listener.maxConnections = config.fewDescriptors?.connectionsMax ?? bounds.connectionsMax;
  listener.on("drop", () => {
    refused[config.fewDescriptors ? "descriptors" : "connections"]++;
    config.fewDescriptors?.onRefused();
  });
  listener.on("connection", (socket: Socket) => {
    if (!hasPeerAddress(socket)) return;
    if (!mayConnect(socket)) {
      refused.address++;
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      undetected.delete(socket);
      if (draining && sockets.size === 0) lastSocket.resolve();
    });
    if (config.tls) return;
    undetected.add(socket);
    peek(socket, bounds.prefaceTimeoutMs, (protocol) => {
      undetected.delete(socket);
      (protocol === "http2" ? http2 : http1).accept(socket);
    });
  });
  if (config.handed)
    config.handed.start((socket) => {
      socket.setNoDelay(true);
      listener.emit("connection", socket);
    });
  else await listenOn(listener, config);
  listener.on("error", (error) => config.log("listener", { error }));

  const close = async (): Promise<void> => {
    draining = true;
    // Without a listener there is nothing to close.
    const closed = config.handed ? lastSocket.promise : new Promise<void>((resolve) => void listener.close(() => resolve()));
    if (sockets.size === 0) lastSocket.resolve();
    for (const end of [...onDrain]) end();
    for (const socket of undetected) socket.destroy();
    http1.drain();
    http2.drain();
    const drainTimer = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, bounds.drainMs);
    await closed;
    clearTimeout(drainTimer);
    connections.close();
  };
  const bound = listener.address();
  let closing: Promise<void> | undefined;
  return {
    address: typeof bound === "object" && bound ? bound.address : config.host,
    port: typeof bound === "object" && bound ? bound.port : config.port,
    openPaths: openPathsOf(context),
    renewCertificate: ({ cert, key }) => {
      if (!secure) throw new Error("the port speaks clear text");
      secure.setSecureContext({ cert, key, ...tlsVersions });
    },
    close: () => (closing ??= close()),
  };
};
