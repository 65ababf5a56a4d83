// Which protocol a clear-text connection speaks, from its first bytes: HTTP/2 with prior knowledge begins with a
// fixed preface (RFC 9113, 3.4), and no HTTP/1.1 request can. Node has no switch for it (nodejs/node#44887).
//
// Two traps (measurements): the preface may come in pieces, so bytes are collected and put back at once;
// and whoever says nothing must be cut, because no HTTP server watches the socket yet.

import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0");

/** "unsure" while the bytes so far are a beginning of the preface. */
const judge = (bytes: Buffer): "http1" | "http2" | "unsure" => {
  const length = Math.min(bytes.length, preface.length);
  if (preface.compare(bytes, 0, length, 0, length) !== 0) return "http1";
  return length === preface.length ? "http2" : "unsure";
};

/** Looks at the socket's first bytes, puts them back, and hands the socket over; destroys it if they do not come. */
export const peek = (socket: Socket, timeoutMs: number, give: (protocol: "http1" | "http2") => void): void => {
  let seen: Buffer | undefined;
  const settle = (): void => {
    clearTimeout(timer);
    socket.off("data", look).off("end", drop).off("error", drop).off("close", settle);
  };
  const drop = (): void => {
    settle();
    socket.destroy();
  };
  const look = (chunk: Buffer): void => {
    seen = seen ? Buffer.concat([seen, chunk]) : chunk;
    const protocol = judge(seen);
    if (protocol === "unsure") return;
    settle();
    // Paused, or the bytes that are put back would run out before the server listens.
    socket.pause();
    socket.unshift(seen);
    give(protocol);
    if (protocol === "http1") socket.resume();
  };
  const timer = setTimeout(drop, timeoutMs);
  socket.on("data", look).on("end", drop).on("error", drop).on("close", settle);
};
