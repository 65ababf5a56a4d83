// The neighbour of neighbours.ts: connections that send one request at a time in a loop. Obedient ones respect Retry-After,
// others retry at once. LOAD is a JSON file: {url, obeys, connections, requests: [{method, path, authorization, body}], everyMs},
// assigned to connections in turn. "{n}" in path and body becomes a unique number. With everyMs, each connection sends all requests,
// then waits; the connections begin at different times.

import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { openHttpConnection, requestBytes } from "../http-connection.ts";
import type { NeighbourLoad } from "../neighbours.ts";

const load = JSON.parse(readFileSync(process.env.LOAD ?? "", "utf8")) as NeighbourLoad;
const counts = { answered: 0, refused: 0, broken: 0 };
let number = Date.now() * 1000;

const run = async (index: number): Promise<void> => {
  const connection = openHttpConnection(load.url);
  const request = load.requests[index % load.requests.length];
  if (!request) return;
  const fixed = requestBytes(`${load.url}${request.path}`, request.method, request.authorization, request.body);
  const numbered = `${request.path}${request.body ?? ""}`.includes("{n}");
  const withNumber = (text: string): string => text.replaceAll("{n}", String(number));
  for (;;) {
    number++;
    const bytes = numbered
      ? requestBytes(`${load.url}${withNumber(request.path)}`, request.method, request.authorization, withNumber(request.body ?? ""))
      : fixed;
    try {
      const { status, retryAfterMs } = await connection.send(bytes);
      if (status < 300) counts.answered++;
      else counts.refused++;
      if (load.obeys && retryAfterMs > 0) await sleep(retryAfterMs);
    } catch {
      // Too many unread requests: the server closes the connection.
      counts.broken++;
      await sleep(1);
    }
  }
};

/** An open page: all its requests, then a pause. */
const open = async (index: number, everyMs: number): Promise<void> => {
  const connection = openHttpConnection(load.url);
  await sleep((index * everyMs) / load.connections);
  for (;;) {
    for (const { method, path, authorization, body } of load.requests) {
      const { status } = await connection.send(requestBytes(`${load.url}${path}`, method, authorization, body));
      if (status >= 400) throw new Error(`${path} was answered with ${status}`);
      counts.answered++;
    }
    await sleep(everyMs);
  }
};

// In production it would run on another machine; here it gets what the others leave.
setPriority(19);
process.on("message", () => process.send?.(counts));
for (let index = 0; index < load.connections; index++) void (load.everyMs === undefined ? run(index) : open(index, load.everyMs));
process.send?.("ready");
