// What systemd is told of the server (sd_notify): that it is ready, reads its files again, stops, and is alive. By systemd's own
// program: its socket is one of datagrams, which Node does not open, and every library for it is compiled at installation.
// Without NOTIFY_SOCKET, which systemd sets for units of Type=notify, nothing is told to anybody.

import { execFile } from "node:child_process";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";

export interface ServiceNotices {
  /** Serves; also after it has read its files again. */
  ready(): Promise<void>;
  reloading(): Promise<void>;
  stopping(): Promise<void>;
}

/** What systemd reads as CLOCK_MONOTONIC, which is the clock behind hrtime. */
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
          // Once: systemd itself says what it then does.
          if (error && !failed) log("service.notice.failed", { reason: error.message });
          failed = error !== null;
          resolve();
        },
      );
    });
  // Twice in the time after which systemd takes a silent server for dead. A server that does nothing else any more tells nothing.
  const aliveMs = Number(watchdogMicroseconds) / 2_000;
  if (aliveMs > 0) setInterval(() => void tell("WATCHDOG=1"), aliveMs).unref();
  return {
    ready: () => tell("READY=1"),
    reloading: () => tell("RELOADING=1", `MONOTONIC_USEC=${monotonicMicroseconds()}`),
    stopping: () => tell("STOPPING=1"),
  };
};
