// Timeouts of connections. Each connection has a deadline, which each change of its state resets. One timer checks all deadlines,
// because one per request is expensive. HTTP/2 sends GOAWAY before it closes the connection.
//
//   state                                              until                    watched by
//   first bytes, preface (clear text)                  prefaceTimeoutMs         peek.ts
//   TLS handshake                                      prefaceTimeoutMs         node:tls
//   HTTP/1.1  headers                                  headersTimeoutMs         node:http (408)
//             request's message                        requestTimeoutMs         body.ts (408)
//             request's content                        contentSilenceMs         oci/content.ts (408)
//             between requests                         idleTimeoutMs            node:http, and here: bytes do not prolong it
//             request, work and response               exchangeTimeoutMs        here; content prolongs it, both ways
//             after the last response                  hangUpMs                 here
//             responded, its body not read             unreadMs                 here
//   HTTP/2    no stream yet                            headersTimeoutMs         here: unfinished HEADERS open no stream
//             all streams closed                       idleTimeoutMs            here
//             a stream, its response included          exchangeTimeoutMs        here; content prolongs it, both ways
//             a long-lived stream (Watch)              idle + headersTimeoutMs  PING (listen.ts)
//             after GOAWAY                             hangUpMs                 here

import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Bounds } from "./server-context.ts";

export interface Connection {
  readonly socket: Socket;
  /** The deadline, by performance.now(). */
  endsAtMs: number;
  /** Sends the protocol's notice; undefined if already sent, or if the protocol has none. */
  farewell: (() => void) | undefined;
  /** HTTP/1.1: the last response is sent before its request has arrived, the rest of which is not read. */
  leavesUnread: boolean;
  /** HTTP/1.1: requests without a complete response. HTTP/2: long-lived streams. */
  busy: number;
  /** HTTP/2: open streams and their start, oldest first. */
  readonly streams: Map<ServerHttp2Stream, number>;
}

export interface Connections {
  readonly add: (socket: Socket, ms: number) => Connection;
  readonly of: (socket: Socket) => Connection | undefined;
  /** Gives the peer a short time to disconnect after the last response. */
  readonly expectHangUp: (connection: Connection) => void;
  readonly close: () => void;
}

export const endsIn = (connection: Connection, ms: number): void => {
  connection.endsAtMs = performance.now() + ms;
};

export const watchConnections = (bounds: Bounds): Connections => {
  const connections = new Map<Socket, Connection>();
  const expectHangUp = (connection: Connection): void => {
    connection.farewell = undefined;
    endsIn(connection, bounds.hangUpMs);
  };
  const endStreams = ({ socket, streams }: Connection, nowMs: number): void => {
    for (const [stream, startedMs] of streams) {
      const ageMs = nowMs - startedMs;
      if (ageMs < bounds.exchangeTimeoutMs) return;
      // A peer that reads nothing does not read the reset either.
      if (ageMs > bounds.exchangeTimeoutMs + bounds.hangUpMs) socket.destroy();
      else stream.close(constants.NGHTTP2_CANCEL);
    }
  };
  const look = (): void => {
    const nowMs = performance.now();
    for (const connection of connections.values()) {
      const { farewell, streams } = connection;
      if (streams.size > 0) endStreams(connection, nowMs);
      if (nowMs < connection.endsAtMs) continue;
      if (farewell) {
        expectHangUp(connection);
        farewell();
      } else connection.socket.destroy();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const everyMs = Math.min(1000, bounds.headersTimeoutMs, bounds.hangUpMs, bounds.exchangeTimeoutMs);
  const remove = (socket: Socket): void => {
    connections.delete(socket);
    if (connections.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    add: (socket, ms) => {
      const connection: Connection = { socket, endsAtMs: performance.now() + ms, farewell: undefined, leavesUnread: false, busy: 0, streams: new Map() };
      connections.set(socket, connection);
      timer ??= setInterval(look, everyMs).unref();
      socket.once("close", () => remove(socket));
      return connection;
    },
    of: (socket) => connections.get(socket),
    expectHangUp,
    close: () => clearInterval(timer),
  };
};
