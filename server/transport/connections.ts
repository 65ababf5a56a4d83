// When a connection ends that its peer does not end.
//
// Each connection has a time at which it is cut, set anew by each change of its state; one timer for all of them looks
// which times have come, so that a request costs no timer of its own. Before it is cut, HTTP/2 is told (GOAWAY).
//
//   state                                              until                    watched by
//   first bytes, preface (clear text)                  prefaceTimeoutMs         peek.ts
//   TLS handshake                                      prefaceTimeoutMs         node:tls
//   HTTP/1.1  headers                                  headersTimeoutMs         node:http (408)
//             request's message                        requestTimeoutMs         body.ts (408)
//             request's content                        contentSilenceMs         oci/content.ts (408)
//             between requests                         idleTimeoutMs            node:http, and here: bytes do not prolong it
//             request, work and answer                 exchangeTimeoutMs        here; content prolongs it, both ways
//             after our last word                      hangUpMs                 here
//             answered, its body not read              unreadMs                 here
//   HTTP/2    no stream yet                            headersTimeoutMs         here: HEADERS that do not end open no stream
//             no stream any more                       idleTimeoutMs            here
//             a stream, its answer included            exchangeTimeoutMs        here; content prolongs it, both ways
//             a stream that may stay (Watch)           idle + headersTimeoutMs  PING (listen.ts)
//             after GOAWAY                             hangUpMs                 here

import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Bounds } from "./server-context.ts";

export interface Connection {
  readonly socket: Socket;
  /** When it is cut, by performance.now(). */
  endsAtMs: number;
  /** Says farewell; undefined where that was done, or where the protocol has no word for it. */
  farewell: (() => void) | undefined;
  /** HTTP/1.1: the last answer is given while its request still comes, of which nothing more is read. */
  leavesUnread: boolean;
  /** HTTP/1.1: requests without their whole answer. HTTP/2: streams that may stay. */
  busy: number;
  /** HTTP/2: open streams and since when, the oldest first. */
  readonly streams: Map<ServerHttp2Stream, number>;
}

export interface Connections {
  /** From now on the connection is cut after `ms`, where nothing else is said of it. */
  readonly add: (socket: Socket, ms: number) => Connection;
  readonly of: (socket: Socket) => Connection | undefined;
  /** Our last word was said: the peer has a little time to hang up. */
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
      // A peer that takes nothing does not take the reset either.
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
  const timer = setInterval(look, Math.min(1000, bounds.headersTimeoutMs, bounds.hangUpMs, bounds.exchangeTimeoutMs)).unref();
  return {
    add: (socket, ms) => {
      const connection: Connection = { socket, endsAtMs: performance.now() + ms, farewell: undefined, leavesUnread: false, busy: 0, streams: new Map() };
      connections.set(socket, connection);
      socket.once("close", () => connections.delete(socket));
      return connection;
    },
    of: (socket) => connections.get(socket),
    expectHangUp,
    close: () => clearInterval(timer),
  };
};
