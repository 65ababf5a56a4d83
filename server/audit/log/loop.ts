// Loop of the audit log: writes refusals, numbers new events of the outbox and seals them. Runs on any number of servers; one at a
// time seals.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { NumberEvents } from "#outbox";
import { openLooks, type Vault } from "#db";
import { openRefusals, type RefusalServices, type RefusedCall } from "./refusals.ts";
import { openSealing } from "./seal.ts";

export interface Audit {
  /** Records a refused or validate-only call. Never throws or waits. */
  recordRefusal(call: RefusedCall): void;
  /** Starts the loop. Without `seals`, it only writes refusals, and another process seals. */
  start(seals: boolean): void;
  /** Writes and seals everything pending. */
  finish(): Promise<void>;
  /** Writes the collected refusals and stops. Another server seals the rest. */
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
  let isStarted = false;
  let stopping = false;

  const now = (): string => timestamp(clock());

  const tick = async (): Promise<void> => {
    // Numbering runs here too, so that the log does not depend on the delivery of events.
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

  const flush = (): void => {
    flushing ??= refusals
      .flush(false)
      .catch((cause: unknown) => log("audit.tick.failed", { cause }))
      .finally(() => {
        flushing = undefined;
        if (refusals.isWaiting) return;
        clearInterval(timer);
        timer = undefined;
      });
  };

  const flushLater = (): void => {
    if (isStarted && !stopping) timer ??= setInterval(flush, limits.sealPollMs).unref();
  };

  return {
    recordRefusal(call) {
      refusals.add(call);
      flushLater();
    },
    start(seals) {
      if (seals) running = run();
      isStarted = true;
      if (refusals.isWaiting) flushLater();
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
