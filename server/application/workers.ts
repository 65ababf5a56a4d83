// Accepting process of GANTRY_WORKERS: passes each connection to the worker with the fewest, owns the embedded database, restarts
// workers, and relays counts and metrics between them. It does not parse requests (docs/decisions/0056).

import { type ChildProcess, fork } from "node:child_process";
import { createServer, type Socket } from "node:net";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { type LogEventName, logEventOf } from "#base/log-events.ts";
import { openAddressLimit } from "#connections";
import { metricsDocumentOf, keepGrowing, type MetricsDocument } from "#metrics";
import { listenFault } from "./listen-fault.ts";
import { connectionsFor } from "./machine.ts";
import type { Server } from "./server.ts";
import type { Settings } from "./settings.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

export interface WorkersOptions {
  readonly log: Log;
  readonly progress: (line: string) => void;
  /** Node's arguments for a worker: the program that calls runWorker. */
  readonly program: readonly [file: string, ...args: string[]];
}

interface Worker {
  readonly index: number;
  readonly child: ChildProcess;
  readonly startedMs: number;
  isReady: boolean;
  hasEnded: boolean;
  readonly held: Map<string, number>;
  connections: number;
  document: MetricsDocument | undefined;
  reason: string | undefined;
}

const pauseMs = (ends: number): number => Math.min(limits.workerPauseMs * 2 ** (ends - 1), limits.workerPauseMaxMs);

/** Starts the workers. Throws if the first one cannot start. */
export const startWorkers = async (
  settings: Settings,
  { log: tell, progress, program: [file, ...args] }: WorkersOptions,
): Promise<Pick<Server, "firstOrganization" | "reload" | "close">> => {
  const count = settings.workers;
  const told = new Map<LogEventName, number>();
  const log: Log = (event, facts) => {
    told.set(event, (told.get(event) ?? 0) + 1);
    tell(event, facts);
  };
  const database = settings.databaseUrl === undefined ? await (await import("./database.ts")).startSharedDatabase({ settings, log, progress }) : undefined;
  const addresses = openAddressLimit(settings.connectionsPerAddress, settings.trustedProxies, log);
  const workers = new Map<number, Worker>();
  const pauses = new Set<NodeJS.Timeout>();
  const endsOf = new Map<number, number>();
  /** Connections that wait for a worker. */
  let waiting: (readonly [socket: Socket, holder: string])[] = [];
  let [connections, ends, lastHanded] = [0, 0, 0];
  const refused = { address: 0, connections: 0, descriptors: 0 };
  const connectionsMax = Math.min(limits.connectionsMax, count * connectionsFor());
  const fullReason = connectionsMax < limits.connectionsMax ? "descriptors" : "connections";
  let isStopping = false;

  const send = ({ child }: Worker, message: ToWorker, socket?: Socket, done: (error: Error | null) => void = () => {}): void => {
    if (child.connected) child.send(message, socket, { keepOpen: false }, done);
    else done(new Error("the worker has ended"));
  };

  // ---- connections ----------------------------------------------------------------------------------------------------

  const leave = (worker: Worker, holder: string): void => {
    const held = worker.held.get(holder) ?? 0;
    // Already subtracted when the worker exited.
    if (held === 0) return;
    worker.held.set(holder, held - 1);
    worker.connections--;
    connections--;
    addresses.leave(holder);
  };

  /** Round-robin among workers with the fewest connections. */
  const nextWorker = (): Worker | undefined => {
    let best: Worker | undefined;
    for (let step = 1; step <= count; step++) {
      const worker = workers.get((lastHanded + step) % count);
      if (worker?.isReady && (best === undefined || worker.connections < best.connections)) best = worker;
    }
    return best;
  };

  const hand = (socket: Socket, holder: string): void => {
    const worker = nextWorker();
    if (!worker) {
      waiting.push([socket, holder]);
      return;
    }
    lastHanded = worker.index;
    worker.connections++;
    worker.held.set(holder, (worker.held.get(holder) ?? 0) + 1);
    send(worker, { kind: "connection", holder }, socket, (error) => {
      if (error === null) return;
      socket.destroy();
      leave(worker, holder);
    });
  };

  const listener = createServer({ pauseOnConnect: true }, (socket) => {
    // Until a worker has it: without a listener a reset would crash the process.
    socket.on("error", () => {});
    // Without an address it was reset before it was accepted.
    const address = socket.remoteAddress;
    const isFull = connections >= connectionsMax;
    const holder = address === undefined || isFull ? undefined : addresses.enter(address);
    if (holder === undefined) {
      if (address !== undefined) refused[isFull ? fullReason : "address"]++;
      socket.destroy();
      return;
    }
    connections++;
    hand(socket, holder);
  });

  const listen = (): Promise<void> =>
    new Promise((resolve, reject) => {
      listener.once("error", (error) => reject(listenFault(settings, error)));
      listener.listen({ host: settings.host, port: settings.port }, () => {
        listener.removeAllListeners("error").on("error", (error) => log("listener", { error }));
        resolve();
      });
    });

  // ---- metrics --------------------------------------------------------------------------------------------------------

  let ended: MetricsDocument[] = [];
  const collecting = new Map<number, (document: MetricsDocument) => void>();
  let lastCollection = 0;

  /** The last known metrics if the worker does not respond in time. */
  const collect = (worker: Worker): Promise<MetricsDocument> =>
    new Promise((resolve) => {
      const id = ++lastCollection;
      const complete = (document: MetricsDocument): void => {
        collecting.delete(id);
        clearTimeout(timer);
        resolve(document);
      };
      const timer = setTimeout(() => complete(worker.document ?? []), 2 * limits.metricReadMs);
      collecting.set(id, (document) => {
        worker.document = document;
        complete(document);
      });
      send(worker, { kind: "collect", id });
    });

  const ownDocument = (): MetricsDocument => {
    const { user, system } = process.cpuUsage();
    return [
      ...metricsDocumentOf([
        { name: "gantry_workers", labels: {}, value: [...workers.values()].filter(({ isReady }) => isReady).length },
        { name: "process_resident_memory_bytes", labels: {}, value: process.memoryUsage.rss() },
        { name: "process_start_time_seconds", labels: {}, value: Math.round(performance.timeOrigin) / 1000 },
      ]),
      ...metricsDocumentOf([
        ...Object.entries(refused).map(([reason, value]) => ({ name: "gantry_connections_refused_total" as const, labels: { reason }, value })),
        { name: "gantry_worker_ends_total", labels: {}, value: ends },
        { name: "process_cpu_seconds_total", labels: {}, value: (user + system) / 1e6 },
      ]),
      ...metricsDocumentOf(
        [...told].map(([event, value]) => ({ name: "gantry_log_events_total" as const, labels: { event, level: logEventOf(event).level }, value })),
      ),
    ];
  };

  const scrape = async (asker: Worker, id: number): Promise<void> => {
    const documents = await Promise.all([...workers.values()].filter(({ isReady }) => isReady).map(collect));
    if (ended.length > 1) ended = [await keepGrowing(ended)];
    send(asker, { kind: "metrics", id, documents: [...documents, ...ended, ownDocument()] });
  };

  // ---- workers --------------------------------------------------------------------------------------------------------

  const reloading = new Map<Worker, () => void>();

  const take = (worker: Worker, message: FromWorker, ready: (firstOrganization: string | undefined) => void): void => {
    switch (message.kind) {
      case "ready": {
        worker.isReady = true;
        ready(message.firstOrganization);
        const held = waiting;
        waiting = [];
        for (const each of held) hand(...each);
        break;
      }
      case "failed":
        worker.reason = message.reason;
        break;
      case "reloaded":
        reloading.get(worker)?.();
        break;
      case "closed":
        for (const holder of message.holders) leave(worker, holder);
        break;
      case "added":
        for (const other of workers.values()) if (other !== worker) send(other, { kind: "added", added: message.added });
        break;
      case "collected":
        collecting.get(message.id)?.(message.document);
        break;
      case "scrape":
        void scrape(worker, message.id).catch((cause: unknown) => log("metrics.failed", { metric: "all", cause }));
    }
  };

  /** Resolves with the first organization once the worker is ready; rejects if it exits before. */
  const start = (index: number): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const child = fork(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
      const worker: Worker = {
        index,
        child,
        startedMs: performance.now(),
        isReady: false,
        hasEnded: false,
        held: new Map(),
        connections: 0,
        document: undefined,
        reason: undefined,
      };
      workers.set(index, worker);
      const end = (how: Readonly<Record<string, unknown>>): void => {
        if (worker.hasEnded) return;
        worker.hasEnded = true;
        worker.isReady = false;
        for (const [holder, held] of worker.held) for (let each = 0; each < held; each++) leave(worker, holder);
        if (worker.document) ended.push(worker.document);
        reloading.get(worker)?.();
        reject(new Fault("FAILED_PRECONDITION", worker.reason ?? `a worker ended during its start: ${JSON.stringify(how)}`));
        stopped.get(worker)?.();
        if (isStopping || !isServing) return;
        ends++;
        const inRow = performance.now() - worker.startedMs < limits.workerSteadyMs ? (endsOf.get(index) ?? 0) + 1 : 1;
        endsOf.set(index, inRow);
        log("worker.ended", {
          worker: index,
          pid: child.pid,
          ...how,
          ...(worker.reason === undefined ? {} : { reason: worker.reason }),
          pauseMs: pauseMs(inRow),
        });
        const timer = setTimeout(() => {
          pauses.delete(timer);
          start(index).then(
            () => log("worker.started", { worker: index }),
            // Already logged at its exit.
            () => {},
          );
        }, pauseMs(inRow));
        pauses.add(timer);
      };
      child.on("message", (message: FromWorker) => take(worker, message, resolve));
      child.on("error", (error) => {
        if (child.pid === undefined) end({ error: error.message });
      });
      child.on("exit", (code, signal) => end({ code, signal }));
      send(worker, { kind: "start", index, count, embedded: database && { databaseUrl: database.databaseUrl, migrateUrl: database.migrateUrl } });
    });

  const stopped = new Map<Worker, () => void>();
  /** From now on exits cause restarts. */
  let isServing = false;

  /** Kills those that take too long. Returns whether all exited cleanly. */
  const stopWorkers = async (): Promise<boolean> => {
    isStopping = true;
    for (const timer of pauses) clearTimeout(timer);
    for (const [socket] of waiting) socket.destroy();
    const running = [...workers.values()].filter(({ hasEnded }) => !hasEnded);
    const all = running.map((worker) => new Promise<void>((resolve) => void stopped.set(worker, resolve)));
    for (const worker of running) send(worker, { kind: "stop" });
    const late = setTimeout(() => {
      for (const { child } of running) child.kill("SIGKILL");
    }, limits.stopMs + limits.storeCloseMs);
    await Promise.all(all);
    clearTimeout(late);
    return running.every(({ child: { exitCode } }) => exitCode === 0);
  };

  // No worker survives this process, however it ends.
  process.on("exit", () => {
    for (const { child, hasEnded } of workers.values()) if (!hasEnded) child.kill("SIGKILL");
  });

  try {
    // The first one runs one-time work, such as migrations, before the others start.
    const firstOrganization = await start(0);
    await listen();
    await Promise.all(Array.from({ length: count - 1 }, (_, index) => start(index + 1)));
    isServing = true;
    return {
      firstOrganization,
      async reload() {
        const ready = [...workers.values()].filter(({ isReady }) => isReady);
        await Promise.all(
          ready.map(
            (worker) =>
              new Promise<void>((resolve) => {
                reloading.set(worker, resolve);
                send(worker, { kind: "reload" });
              }),
          ),
        );
      },
      async close() {
        listener.close();
        const isInOrder = await stopWorkers();
        await database?.stop();
        if (!isInOrder) throw new Fault("UNAVAILABLE", "a worker did not stop cleanly: its last requests may be incomplete");
      },
    };
  } catch (thrown) {
    listener.close();
    await stopWorkers();
    await database?.stop();
    throw thrown;
  }
};
