// Periodic maintenance, on any number of servers. Parts run bounded batches in turn, so that neither a large nor a failing part
// blocks others.

import { auditRetention } from "#audit/log";
import { limits } from "#base/limits.ts";
import { openPauses, type Pauses } from "#base/pieces.ts";
import type { Kernel } from "#kernel";
import { openCollection } from "#registry/collection";
import { deleteExpiredInvites } from "#iam/signin";
import { defaultPeriods, type RetentionPeriods } from "#base/retention-periods.ts";
import { retentions } from "./retentions.ts";
import { type Swept, sweptNothing } from "#db";

type MaintenanceKernel = Pick<Kernel, "services" | "resources">;

export interface MaintenancePeriods {
  /** Includes the current month. */
  readonly auditMonths: number;
  readonly periods: RetentionPeriods;
}

interface Part {
  readonly name: string;
  run(): Promise<Swept>;
}

const uncounted = async (run: () => Promise<boolean>): Promise<Swept> => ({ deleted: 0, more: await run() });

// Keeps the position of the walk between runs.
const collections = new WeakMap<MaintenanceKernel, () => Promise<boolean>>();

const collectionOf = (kernel: MaintenanceKernel): (() => Promise<boolean>) => {
  const found = collections.get(kernel) ?? openCollection(kernel.services);
  collections.set(kernel, found);
  return found;
};

const partsOf = (kernel: MaintenanceKernel, { auditMonths, periods }: MaintenancePeriods, nowMs: number): Part[] => {
  const { store, authn, seal, log } = kernel.services;
  return [
    ...[...retentions, auditRetention(seal, log, auditMonths)].map(
      ({ table, deleteExpired }): Part => ({
        name: table,
        run: () => deleteExpired(store, nowMs, periods),
      }),
    ),
    { name: "blobs", run: () => uncounted(collectionOf(kernel)) },
    { name: "group_invites", run: () => uncounted(() => deleteExpiredInvites(kernel)) },
    {
      name: "signing_keys",
      async run() {
        await authn.rotateIfDue();
        return sweptNothing;
      },
    },
  ];
};

const openMaintenancePauses = (): Pauses => openPauses(limits.maintenanceMs / 2, limits.maintenancePauseMaxMs);

/** Deletes expired rows of every table, and rotates the signing key if due. */
export const runMaintenance = async (
  kernel: MaintenanceKernel,
  {
    auditMonths = limits.auditMonths,
    periods = defaultPeriods,
    pauses = openMaintenancePauses(),
    only,
  }: Partial<MaintenancePeriods> & { readonly pauses?: Pauses; readonly only?: string } = {},
): Promise<void> => {
  const { clock, log, metrics } = kernel.services;
  const nowMs = clock();
  let parts = partsOf(kernel, { auditMonths, periods }, nowMs).filter(({ name }) => (only ?? name) === name && !pauses.isPaused(name, nowMs));
  // Stops at the interval, so that a part with a large backlog does not delay the others' next turn.
  while (parts.length > 0 && clock() - nowMs < limits.maintenanceMs) {
    const more: Part[] = [];
    for (const part of parts) {
      try {
        const swept = await part.run();
        if (swept.deleted > 0) metrics.count("gantry_retention_deleted_rows_total", { table: part.name }, swept.deleted);
        if (swept.more) more.push(part);
        else {
          pauses.end(part.name);
          metrics.count("gantry_maintenance_runs_total", { part: part.name, outcome: "done" });
        }
      } catch (cause) {
        metrics.count("gantry_maintenance_runs_total", { part: part.name, outcome: "failed" });
        log("maintenance.failed", { part: part.name, failures: pauses.fail(part.name, nowMs), cause });
      }
    }
    parts = more;
  }
};

const watchOldest = ({ services: { store, seal, log, clock, metrics } }: MaintenanceKernel, { auditMonths }: MaintenancePeriods): void => {
  const watched = [...retentions, auditRetention(seal, log, auditMonths)];
  metrics.watch("gantry_retention_oldest_seconds", async () => {
    const found = await Promise.all(watched.map(async ({ table, findOldestMs }) => ({ table, oldestMs: await findOldestMs?.(store) })));
    return found.flatMap(({ table, oldestMs }) => (oldestMs === undefined ? [] : [{ labels: { table }, value: Math.max(0, clock() - oldestMs) / 1000 }]));
  });
};

/** Runs maintenance periodically until stopped. */
export const startMaintenance = (kernel: MaintenanceKernel, { auditMonths, periods }: MaintenancePeriods): { stop: () => void } => {
  const pauses = openMaintenancePauses();
  watchOldest(kernel, { auditMonths, periods });
  let isRunning = false;
  const run = (only?: string): void => {
    // A run may take longer than the interval.
    if (isRunning) return;
    isRunning = true;
    void runMaintenance(kernel, { auditMonths, periods, pauses, ...(only === undefined ? {} : { only }) }).finally(() => {
      isRunning = false;
    });
  };
  // Leftovers of crashes among blobs are collected more often.
  const timers = [setInterval(() => run(), limits.maintenanceMs), setInterval(() => run("blobs"), limits.leftoversMs / 2)];
  for (const timer of timers) timer.unref();
  return {
    stop: () => {
      for (const timer of timers) clearInterval(timer);
    },
  };
};
