// Notifies systemd (sd_notify): ready, reloading, stopping, and watchdog. It runs systemd's own program, because Node cannot open
// datagram sockets of this kind and libraries require compilation. Without NOTIFY_SOCKET (units of Type=notify) it does nothing.

import { execFile } from "node:child_process";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";

export interface ServiceNotices {
  /** Also after a reload. */
  ready(): Promise<void>;
  reloading(): Promise<void>;
  stopping(): Promise<void>;
}

const monotonicMicroseconds = (): bigint => process.hrtime.bigint() / 1000n;

export const openServiceNotices = (environment: Readonly<Record<string, string | undefined>>, log: Log): ServiceNotices => {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdogMicroseconds, PATH: path } = environment;
  if (!socket) return { ready: async () => {}, reloading: async () => {}, stopping: async () => {} };
  let failed = false;
  const tell = (...lines: readonly string[]): Promise<void> =>
    new Promise((resolve) => {
      execFile(
        "systemd-notify",
        lines,
        { env: { NOTIFY_SOCKET: socket, ...(path === undefined ? {} : { PATH: path }) }, timeout: limits.serviceNoticeMs },
        (error) => {
          // Logged once; systemd reports the consequences.
          if (error && !failed) log("service.notice.failed", { reason: error.message });
          failed = error !== null;
          resolve();
        },
      );
    });
  // Twice per watchdog timeout. A blocked event loop sends nothing.
  const aliveMs = Number(watchdogMicroseconds) / 2_000;
  if (aliveMs > 0) setInterval(() => void tell("WATCHDOG=1"), aliveMs).unref();
  return {
    ready: () => tell("READY=1"),
    reloading: () => tell("RELOADING=1", `MONOTONIC_USEC=${monotonicMicroseconds()}`),
    stopping: () => tell("STOPPING=1"),
  };
};
