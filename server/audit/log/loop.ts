// The loop that keeps the log: refusals are written down, and new events of the outbox are numbered and sealed. Any number of servers
// do this at once; one at a time seals.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { NumberEvents } from "#outbox";
import { openLooks, type Vault } from "#db";
import { openRefusals, type RefusalServices, type RefusedCall } from "./refusals.ts";
import { openSealing } from "./seal.ts";

export interface Audit {
  /** Takes down a call that was refused or only tried; never fails and never waits. */
  recordRefusal(call: RefusedCall): void;
  /** Begins to keep the log by itself; unless it `seals`, it writes refusals alone, and another process seals. */
  start(seals: boolean): void;
  /** Writes and seals all there is. */
  finish(): Promise<void>;
  /** Writes the refusals that were taken down, and no more by itself. What is not sealed yet is sealed by whoever comes next. */
  stop(): Promise<void>;
}

export interface AuditServices extends RefusalServices {
  readonly vault: Pick<Vault, "seal" | "open">;
  readonly numberEvents: NumberEvents;
}

export const openAudit = (services: AuditServices): Audit => {
  const { store, vault, clock, log, numberEvents } = services;
  const refusals = openRefusals(services);
  const sealNext = openSealing(store, vault, log);
  const looks = openLooks(store.changes, { betweenMs: limits.sealPollMs, restMs: limits.restLookMs });
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;
  let running: Promise<void> | undefined;
  let stopping = false;

  const now = (): string => timestamp(clock());

  const tick = async (): Promise<void> => {
    // By itself: the log waits neither for who sends events nor for a server that does.
    const numbering = (async () => {
      while (!stopping && (await numberEvents(now())));
    })();
    await numbering.catch((cause: unknown) => {
      looks.again();
      log("audit.tick.failed", { cause });
    });
    while (!stopping && (await sealNext(now())));
  };

  const run = async (): Promise<void> => {
    while (!stopping) {
      await tick().catch((cause: unknown) => {
        looks.again();
        log("audit.tick.failed", { cause });
      });
      if (!stopping) await looks.next();
    }
  };

  return {
    recordRefusal: refusals.add,
    start(seals) {
      if (seals) running = run();
      timer = setInterval(() => {
        flushing ??= refusals
          .flush(false)
          .catch((cause: unknown) => log("audit.tick.failed", { cause }))
          .finally(() => {
            flushing = undefined;
          });
      }, limits.sealPollMs);
      timer.unref();
    },
    async finish() {
      await refusals.flush(true);
      while (await numberEvents(now()));
      while (await sealNext(now()));
    },
    async stop() {
      stopping = true;
      clearInterval(timer);
      looks.wake();
      await Promise.all([flushing, running]);
      await refusals.flush(true);
    },
  };
};
