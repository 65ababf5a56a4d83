// The loop that keeps the log: refusals are written down, and what is new in the outbox is sealed. Any number of servers
// do this at once; one at a time seals.

import { enqueueDeliveries } from "#delivery";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { Vault } from "#store";
import { openRefusals, type RefusalParts, type Refused } from "./refusals.ts";
import { sealNext } from "./seal.ts";

export interface Audit {
  /** Notes a refused call; never fails and never waits. */
  refused(refused: Refused): void;
  /** Begins to keep the log by itself. */
  start(): void;
  /** Writes and seals all there is. */
  finish(): Promise<void>;
  /** Writes what was noted, and no more by itself. What is not sealed yet is sealed by whoever comes next. */
  stop(): Promise<void>;
}

export interface AuditParts extends RefusalParts {
  readonly vault: Pick<Vault, "seal" | "open">;
}

export const openAudit = (parts: AuditParts): Audit => {
  const { store, vault, clock, log } = parts;
  const refusals = openRefusals(parts);
  let timer: NodeJS.Timeout | undefined;
  let turning: Promise<void> | undefined;
  let stopping = false;

  const now = (): string => timestamp(clock());

  const turn = async (): Promise<void> => {
    await refusals.flush(false);
    while (!stopping && (await sealNext(store, vault, now())));
  };

  return {
    refused: refusals.note,
    start() {
      timer = setInterval(() => {
        turning ??= turn()
          .catch((cause: unknown) => log("audit.turn.failed", { cause }))
          .finally(() => {
            turning = undefined;
          });
      }, limits.sealPollMs);
      timer.unref();
    },
    async finish() {
      await refusals.flush(true);
      while (await enqueueDeliveries(store, now()));
      while (await sealNext(store, vault, now()));
    },
    async stop() {
      stopping = true;
      clearInterval(timer);
      await turning;
      await refusals.flush(true);
    },
  };
};
