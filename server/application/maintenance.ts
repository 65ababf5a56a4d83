// What a server does by itself from time to time. Any number of servers may do it at once: each step takes what is over
// and no more.
//
// Each part does a bounded piece, and then it is the next one's turn: neither one that has much to do nor one that fails
// keeps the others from theirs. What fails is told in the log by its name, and tried again later each time.

import { auditRetention } from "#audit";
import { limits } from "#base/limits.ts";
import { openPauses, type Pauses } from "#base/pieces.ts";
import type { Kernel } from "#kernel";
import { openCollection } from "#registry";
import { deleteExpiredInvites } from "#signin";
import { retentions } from "#store";

type MaintenanceKernel = Pick<Kernel, "services" | "resources">;

interface Part {
  readonly name: string;
  /** One piece; true where there may be more. */
  run(): Promise<boolean>;
}

// A walk goes on where the last run left it.
const collections = new WeakMap<MaintenanceKernel, () => Promise<boolean>>();

const collectionOf = (kernel: MaintenanceKernel): (() => Promise<boolean>) => {
  const found = collections.get(kernel) ?? openCollection(kernel.services);
  collections.set(kernel, found);
  return found;
};

const partsOf = (kernel: MaintenanceKernel, auditMonths: number, nowMs: number): Part[] => {
  const { store, authn, seal } = kernel.services;
  return [
    ...[...retentions, auditRetention(seal, auditMonths)].map(({ table, deleteExpired }): Part => ({ name: table, run: () => deleteExpired(store, nowMs) })),
    { name: "blobs", run: collectionOf(kernel) },
    { name: "group_invites", run: () => deleteExpiredInvites(kernel) },
    {
      name: "signing_keys",
      async run() {
        await authn.rotateIfDue();
        return false;
      },
    },
  ];
};

const openMaintenancePauses = (): Pauses => openPauses(limits.maintenanceMs / 2, limits.maintenancePauseMaxMs);

/** Deletes the rows of every table whose time is over, and replaces a signing key that has signed long enough. */
export const runMaintenance = async (
  kernel: MaintenanceKernel,
  auditMonths: number = limits.auditMonths,
  pauses: Pauses = openMaintenancePauses(),
): Promise<void> => {
  const { clock, log, metrics } = kernel.services;
  const nowMs = clock();
  let parts = partsOf(kernel, auditMonths, nowMs).filter(({ name }) => !pauses.isPaused(name, nowMs));
  // Where one part has more than it can do in the time between two runs, the others have their next turn all the same.
  while (parts.length > 0 && clock() - nowMs < limits.maintenanceMs) {
    const more: Part[] = [];
    for (const part of parts) {
      try {
        if (await part.run()) more.push(part);
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

/** Runs maintenance from time to time until stopped. */
export const startMaintenance = (kernel: MaintenanceKernel, auditMonths: number): { stop: () => void } => {
  const pauses = openMaintenancePauses();
  let isRunning = false;
  const timer = setInterval(() => {
    // What has much to delete may take longer than the time between two runs.
    if (isRunning) return;
    isRunning = true;
    void runMaintenance(kernel, auditMonths, pauses).finally(() => {
      isRunning = false;
    });
  }, limits.maintenanceMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
