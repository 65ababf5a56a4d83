// Detects the protocol of a clear-text connection by its first bytes: HTTP/2 with prior knowledge starts with a fixed preface (RFC
// 9113, 3.4), which no HTTP/1.1 request can. Node has no option for it (nodejs/node#44887).
//
// Two traps (measurements): the preface may arrive in pieces, so bytes are collected and then put back at once; and a silent peer must
// be disconnected, because no HTTP server watches the socket yet.

import type { Socket } from "node:net";

const http2Preface = Buffer.from("PRI * HTTP/2.0");

/** "undecided" while the bytes are a prefix of the preface. */
const protocolOf = (bytes: Buffer): "http1" | "http2" | "undecided" => {
  const length = Math.min(bytes.length, http2Preface.length);
  if (http2Preface.compare(bytes, 0, length, 0, length) !== 0) return "http1";
  return length === http2Preface.length ? "http2" : "undecided";
};

/** Reads the first bytes, puts them back and passes the socket on; destroys it if they do not arrive in time. */
export const peek = (socket: Socket, timeoutMs: number, handOver: (protocol: "http1" | "http2") => void): void => {
  let received: Buffer | undefined;
  const stopListening = (): void => {
    clearTimeout(timer);
    socket.off("data", onData).off("end", drop).off("error", drop).off("close", stopListening);
  };
  const drop = (): void => {
    stopListening();
    socket.destroy();
  };
  const onData = (chunk: Buffer): void => {
    received = received ? Buffer.concat([received, chunk]) : chunk;
    const protocol = protocolOf(received);
    if (protocol === "undecided") return;
    stopListening();
    // Paused, or the bytes put back would be emitted before the server listens.
    socket.pause();
    socket.unshift(received);
    handOver(protocol);
    if (protocol === "http1") socket.resume();
  };
  const timer = setTimeout(drop, timeoutMs);
  socket.on("data", onData).on("end", drop).on("error", drop).on("close", stopListening);
};
