// What a server does for itself from time to time. Any number of servers may do it at once: each step takes what is
// due and no more.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { dropMonths } from "#audit";
import { deleteExpired } from "#delivery";
import type { Kernel } from "#kernel";
import { deleteExpiredInvites } from "#signin";

/** Forgets answers, AWS requests, sign-ins and invites whose time is over, and replaces a signing key that has signed long enough. */
export const runMaintenance = async (kernel: Pick<Kernel, "services" | "resources">, auditMonths: number = limits.auditMonths): Promise<void> => {
  const { store, authn, clock, seal } = kernel.services;
  const nowMs = clock();
  await store.write((rows) => rows.query("delete from idempotency_keys where create_time < $1", [timestamp(nowMs - limits.idempotencyLifetimeMs)]));
  await store.write((rows) => rows.query("delete from aws_requests where expire_time < $1", [timestamp(nowMs)]));
  for (const table of ["sign_ins", "sessions", "refresh_tokens"]) {
    await store.write((rows) => rows.query(`delete from ${table} where expire_time < $1`, [timestamp(nowMs)]));
  }
  await deleteExpiredInvites(kernel);
  await deleteExpired(store, nowMs);
  const due = await store.read.query("select 1 from signing_keys having max(create_time) < $1", [timestamp(nowMs - limits.signingKeyLifetimeMs)]);
  if (due.length > 0) await authn.rotate();
  await dropMonths(store, seal, timestamp(nowMs), auditMonths);
};

/** Keeps up now and then until stopped. A failure is logged and tried again at the next turn. */
export const startMaintenance = (kernel: Pick<Kernel, "services" | "resources">, auditMonths: number): { stop: () => void } => {
  const timer = setInterval(() => {
    runMaintenance(kernel, auditMonths).catch((cause: unknown) => kernel.services.log("maintenance.failed", { cause }));
  }, limits.maintenanceMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
