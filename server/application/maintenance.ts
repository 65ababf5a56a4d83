// What a server does by itself from time to time. Any number of servers may do it at once: each step takes what is over
// and no more.

import { auditRetention } from "#audit";
import { limits } from "#base/limits.ts";
import type { Kernel } from "#kernel";
import { deleteExpiredInvites } from "#signin";
import { retentions } from "#store";

/** Deletes the rows of every table whose time is over, and replaces a signing key that has signed long enough. */
export const runMaintenance = async (kernel: Pick<Kernel, "services" | "resources">, auditMonths: number = limits.auditMonths): Promise<void> => {
  const { store, authn, clock, seal } = kernel.services;
  const nowMs = clock();
  for (const retention of retentions) await retention.deleteExpired(store, nowMs);
  await deleteExpiredInvites(kernel);
  await authn.rotateIfDue();
  await auditRetention(seal, auditMonths).deleteExpired(store, nowMs);
};

/** Runs maintenance from time to time until stopped. A failure is logged, and tried again the next time. */
export const startMaintenance = (kernel: Pick<Kernel, "services" | "resources">, auditMonths: number): { stop: () => void } => {
  const timer = setInterval(() => {
    runMaintenance(kernel, auditMonths).catch((cause: unknown) => kernel.services.log("maintenance.failed", { cause }));
  }, limits.maintenanceMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
