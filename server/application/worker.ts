// A worker process of GANTRY_WORKERS: serves the connections that the accepting process passes to it (workers.ts). It ignores
// signals, because a worker that stopped by itself would be restarted.

import { Socket } from "node:net";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { shareOf, type Siblings } from "#base/siblings.ts";
import type { MetricsDocument } from "#metrics";
import type { HandedConnections } from "#transport";
import type { Server, WorkerPart } from "./server.ts";
import type { Settings } from "./settings.ts";
import type { Added, FromWorker, ToWorker } from "./worker-messages.ts";

export interface WorkerOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly progress: (line: string) => void;
}

/** Announces at the end of this turn of the event loop, or limits.siblingsTellMs after the last time. */
const openBatch = (tell: () => void): (() => void) => {
  let isDue = false;
  let toldMs = Number.NEGATIVE_INFINITY;
  const send = (): void => {
    isDue = false;
    toldMs = performance.now();
    tell();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    const restMs = toldMs + limits.siblingsTellMs - performance.now();
    if (restMs > 0) setTimeout(send, restMs);
    else setImmediate(send);
  };
};

const openSiblings = (count: number, index: number, tell: (added: Added) => void): { readonly siblings: Siblings; hear(added: Added): void } => {
  const hearers = new Map<string, (key: string, amount: number) => void>();
  let sums = new Map<string, Map<string, number>>();
  const announce = openBatch(() => {
    const told = sums;
    sums = new Map();
    tell([...told].flatMap(([name, amounts]) => [...amounts].map(([key, amount]) => [name, key, amount] as const)));
  });
  return {
    siblings: {
      count,
      index,
      share: (total) => shareOf(total, count, index),
      sum(name, hear) {
        hearers.set(name, hear);
        return (key, amount) => {
          let own = sums.get(name);
          if (own === undefined) sums.set(name, (own = new Map()));
          own.set(key, (own.get(key) ?? 0) + amount);
          announce();
        };
      },
    },
    hear(added) {
      for (const [name, key, amount] of added) hearers.get(name)?.(key, amount);
    },
  };
};

const tellAccepting = (message: FromWorker): void => {
  // Without the other process there is no receiver; "disconnect" ends this one.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
};

const openHanded = (): { readonly handed: HandedConnections; take(socket: Socket, holder: string): void } => {
  let accept: ((socket: Socket) => void) | undefined;
  let ended: string[] = [];
  const announce = openBatch(() => {
    tellAccepting({ kind: "closed", holders: ended });
    ended = [];
  });
  return {
    handed: {
      start: (take) => {
        accept = take;
      },
    },
    take(socket, holder) {
      socket.once("close", () => {
        ended.push(holder);
        announce();
      });
      if (accept) accept(socket);
      else socket.destroy();
    },
  };
};

/** Serves until the accepting process stops it. Throws if the start fails. */
export const runWorker = async ({ settings, log, progress }: WorkerOptions): Promise<void> => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const stop = Promise.withResolvers<void>();
  const started = Promise.withResolvers<Extract<ToWorker, { kind: "start" }>>();
  const { handed, take } = openHanded();
  const scrapes = new Map<number, (documents: readonly MetricsDocument[]) => void>();
  let lastScrape = 0;
  let server: Server | undefined;
  let hear = (_: Added): void => {};
  process.on("message", (message: ToWorker, handle: unknown) => {
    switch (message.kind) {
      case "start":
        started.resolve(message);
        break;
      case "connection":
        // Undefined if it was closed on the way.
        if (handle instanceof Socket) take(handle, message.holder);
        else tellAccepting({ kind: "closed", holders: [message.holder] });
        break;
      case "added":
        hear(message.added);
        break;
      case "reload":
        void server?.reload().finally(() => tellAccepting({ kind: "reloaded" }));
        break;
      case "stop":
        stop.resolve();
        break;
      case "collect":
        void server?.readMetrics().then((document) => tellAccepting({ kind: "collected", id: message.id, document }));
        break;
      case "metrics":
        scrapes.get(message.id)?.(message.documents);
        scrapes.delete(message.id);
    }
  });
  // The accepting process has exited, so no more connections arrive.
  process.on("disconnect", () => stop.resolve());
  const { index, count, embedded } = await started.promise;
  const own = openSiblings(count, index, (added) => tellAccepting({ kind: "added", added }));
  hear = own.hear;
  const worker: WorkerPart = {
    siblings: own.siblings,
    handed,
    embedded,
    readAllMetrics: () =>
      new Promise((resolve) => {
        scrapes.set(++lastScrape, resolve);
        tellAccepting({ kind: "scrape", id: lastScrape });
      }),
  };
  const { startServer } = await import("./server.ts");
  server = await startServer(settings, { log, progress: index === 0 ? progress : () => {}, worker });
  tellAccepting({ kind: "ready", firstOrganization: server.firstOrganization });
  await stop.promise;
  await server.close();
};
