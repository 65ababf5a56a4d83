// A sink that does next to nothing: it answers 204 and notes when each event first came. GET / tells how many came, GET
// /afresh tells all of them (deliveries.ts, Arrived) and forgets them.

import { createServer } from "node:http";

let first = new Map<string, { readonly atMs: number; readonly delayMs: number }>();

const arrived = (): string => {
  const delays = [...first.values()].map(({ delayMs }) => delayMs).sort((one, other) => one - other);
  const times = [...first.values()].map(({ atMs }) => atMs);
  // Insertion order: the first and the last one.
  return JSON.stringify({ events: times.length, firstMs: times[0], lastMs: times.at(-1), delayMs: delays[Math.ceil(delays.length * 0.95) - 1] });
};

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.end(request.url === "/afresh" ? arrived() : JSON.stringify({ events: first.size }));
    if (request.url === "/afresh") first = new Map();
    return;
  }
  const atMs = Date.now();
  const { "ce-id": id, "ce-time": time } = request.headers;
  // A delivery's address names its subscription: one event may come to several.
  const key = `${request.url} ${String(id)}`;
  if (!first.has(key)) first.set(key, { atMs, delayMs: atMs - Date.parse(String(time)) });
  request.resume().on("end", () => response.writeHead(204).end());
});
// Nobody's kept connection ends while the bench looks elsewhere.
server.keepAliveTimeout = 600_000;
server.listen(Number(process.env.BASELINE_PORT), "127.0.0.1", () => process.send?.("ready"));
