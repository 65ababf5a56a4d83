// Sends the sealed audit log to the operator's targets. Each target has its own loop and a lease: a slow one delays no other, and
// one server at a time sends to it. A target's position advances after its confirmation, so delivery is at least once, in the order
// of sealing (server/audit/store/audit-entries.ts).

import { recordLine, recordsOf } from "#audit/log";
import type { Outbound } from "#authn";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Metrics } from "#metrics";
import { setAsideMs } from "#base/pieces.ts";
import { type Clock, timestamp } from "#base/time.ts";
import {
  advanceTarget,
  claimTarget,
  countTargetFailures,
  failTarget,
  findEntriesSealedAfter,
  findTargets,
  noteTargets,
  releaseTarget,
  type SealPlace,
} from "#audit/store";
import type { Store } from "#db";
import type { Send } from "./send.ts";
import { sendToFile } from "./send-file.ts";
import { sendToHttp } from "./send-http.ts";
import { sendToSyslog } from "./send-syslog.ts";
import type { AuditTarget } from "./targets-file.ts";

export interface AuditTargetServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly outbound: Pick<Outbound, "fetch" | "connect">;
  readonly publicUrl: string;
  /** gantry/VERSION */
  readonly userAgent: string;
  readonly metrics: Metrics;
}

export interface AuditTargets {
  start(): void;
  /** Sends everything sealed to every due target that no other server holds. */
  send(): Promise<void>;
  /** Stops within limits.stopMs; an interrupted batch is sent again. */
  stop(): Promise<void>;
}

const sendTo = (target: AuditTarget, { outbound, publicUrl, userAgent }: AuditTargetServices): Send => {
  if (target.kind === "file") return sendToFile(target.path);
  if (target.kind === "syslog") return sendToSyslog(outbound, target, publicUrl);
  return sendToHttp(outbound, target, userAgent);
};

/** For the database, from which `gantry doctor` reports it. */
const shortReason = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, 500);

interface Sending {
  /** Sends until nothing is left or a batch fails. */
  run(): Promise<void>;
}

interface Ends {
  /** No new batch starts. */
  readonly ending: AbortSignal;
  /** Batches in flight are aborted. */
  readonly stopping: AbortSignal;
}

const openSending = (services: AuditTargetServices, target: AuditTarget, holder: string, { ending, stopping }: Ends): Sending => {
  const { store, clock, log, metrics } = services;
  const { name } = target;
  const send = sendTo(target, services);
  // Halved after a failure, in case the batch is too large for the receiver.
  let count: number = limits.auditBatchMax;
  let behindToldMs = Number.NEGATIVE_INFINITY;
  const leaseEnd = (): string => timestamp(clock() + limits.auditTargetLeaseMs);

  const fail = async (thrown: unknown, first: SealPlace, entries: number): Promise<void> => {
    count = Math.max(1, Math.floor(entries / 2));
    const nowMs = clock();
    await store.write(async (rows) => {
      const failures = (await countTargetFailures(rows, name)) + 1;
      const nextTime = timestamp(nowMs + setAsideMs(failures, limits.auditTargetPauseMaxMs));
      await failTarget(rows, name, holder, { now: timestamp(nowMs), nextTime, failures, problem: shortReason(thrown) });
      log("audit.target.failed", { target: name, failures, organization: first.root, sequence: first.sequence, cause: thrown });
    });
    metrics.count("gantry_audit_target_failures_total", { target: name });
  };

  /** Returns the new position; undefined if there is nothing, or the batch failed. */
  const sendNext = async (place: SealPlace): Promise<SealPlace | undefined> => {
    const found = await findEntriesSealedAfter(store.read, place, count, limits.auditBatchBytes);
    const [first, last] = [found[0]?.place, found.at(-1)?.place];
    if (!first || !last) {
      await store.write((rows) => releaseTarget(rows, name, holder));
      return undefined;
    }
    const records = await recordsOf(
      store.read,
      found.map(({ place: { root }, entry }) => ({ root, entry })),
    );
    const tooLong = AbortSignal.timeout(limits.auditSendMs);
    try {
      await send(records.map(recordLine), AbortSignal.any([stopping, tooLong]));
    } catch (thrown) {
      // Stopping this server is not the target's failure.
      if (stopping.aborted) await store.write((rows) => releaseTarget(rows, name, holder));
      else await fail(thrown, first, found.length);
      return undefined;
    }
    count = Math.min(limits.auditBatchMax, Math.ceil(count * 1.25));
    metrics.count("gantry_audit_target_entries_total", { target: name }, found.length);
    const advanced = await store.write((rows) => advanceTarget(rows, name, holder, { to: last, entries: found.length, leaseUntil: leaseEnd() }));
    return advanced ? last : undefined;
  };

  /** At most once an hour: a target slower than the log never fails. */
  const tellBehind = (sinceMs: number): void => {
    const nowMs = clock();
    if (nowMs - sinceMs < limits.auditBehindMs || nowMs - behindToldMs < limits.auditBehindMs) return;
    behindToldMs = nowMs;
    log("audit.target.behind", { target: name, since: timestamp(sinceMs) });
  };

  return {
    async run() {
      // Read outside a transaction first, because most polls find nothing.
      const [state] = await findTargets(store.read, [name], timestamp(clock()), holder);
      if (state?.waitingSinceMs !== undefined) tellBehind(state.waitingSinceMs);
      if (!state?.isDue || state.waitingSinceMs === undefined) return;
      let place = await store.write((rows) => claimTarget(rows, name, holder, timestamp(clock()), leaseEnd()));
      const isBack = place !== undefined && state.failures > 0;
      while (place !== undefined && !ending.aborted) {
        const next = await sendNext(place);
        if (next !== undefined && isBack && place.sealTime === state.place.sealTime && place.sequence === state.place.sequence)
          log("audit.target.resumed", { target: name, failures: state.failures, failedSince: state.failedSince });
        place = next;
      }
      if (place !== undefined) await store.write((rows) => releaseTarget(rows, name, holder));
    },
  };
};

export const openAuditTargets = (services: AuditTargetServices, targets: readonly AuditTarget[]): AuditTargets => {
  const { store, clock, log, metrics } = services;
  const names = targets.map(({ name }) => name);
  const holder = crypto.randomUUID();
  const ending = new AbortController();
  const stopping = new AbortController();
  const ends: Ends = { ending: ending.signal, stopping: stopping.signal };
  const sendings = new Map(targets.map((target) => [target.name, openSending(services, target, holder, ends)]));
  const running = new Map<string, Promise<void>>();
  let notedMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const noteOwn = async (): Promise<void> => {
    const nowMs = clock();
    if (Math.abs(nowMs - notedMs) < limits.auditTargetNoteMs) return;
    await store.write((rows) => noteTargets(rows, names, timestamp(nowMs)));
    notedMs = nowMs;
  };

  if (names.length > 0)
    metrics.watch("gantry_audit_target_behind_seconds", async () => {
      const nowMs = clock();
      const found = await findTargets(store.read, names, timestamp(nowMs));
      return found.map(({ name, waitingSinceMs = nowMs }) => ({ labels: { target: name }, value: Math.max(0, nowMs - waitingSinceMs) / 1000 }));
    });

  const begin = async (): Promise<void> => {
    await noteOwn();
    for (const [name, sending] of sendings) {
      if (running.has(name) || ending.signal.aborted) continue;
      const run = sending
        .run()
        .catch((cause: unknown) => log("audit.target.broken", { target: name, cause }))
        .finally(() => running.delete(name));
      running.set(name, run);
    }
  };

  return {
    start() {
      if (targets.length === 0) return;
      timer = setInterval(() => void begin().catch((cause: unknown) => log("audit.target.broken", { cause })), limits.auditSendPollMs);
      timer.unref();
    },
    async send() {
      await begin();
      await Promise.all(running.values());
    },
    async stop() {
      clearInterval(timer);
      ending.abort();
      const late = setTimeout(() => stopping.abort(), limits.stopMs / 2);
      await Promise.all(running.values());
      clearTimeout(late);
    },
  };
};
