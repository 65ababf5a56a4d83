// A minimal sink: responds 204 and records the first arrival of each event. GET / returns their number; GET /afresh returns
// details (deliveries.ts, Arrived) and resets.

import { createServer } from "node:http";

let first = new Map<string, { readonly atMs: number; readonly delayMs: number }>();

const arrived = (): string => {
  const delays = [...first.values()].map(({ delayMs }) => delayMs).sort((one, other) => one - other);
  const times = [...first.values()].map(({ atMs }) => atMs);
  // In insertion order: the first and the last.
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
  // The URL identifies the subscription; several may receive one event.
  const key = `${request.url} ${String(id)}`;
  if (!first.has(key)) first.set(key, { atMs, delayMs: atMs - Date.parse(String(time)) });
  request.resume().on("end", () => response.writeHead(204).end());
});
// Keep-alive connections survive pauses of the bench.
server.keepAliveTimeout = 600_000;
server.listen(Number(process.env.BASELINE_PORT), "127.0.0.1", () => process.send?.("ready"));
