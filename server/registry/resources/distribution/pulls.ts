// Records pulls as events (events: 9). Pulls do not wait: events are buffered briefly and written in batches, if the organization has
// a listener. A crash loses the last second.

import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { type ReadContext, registrySource, type Services } from "#kernel";
import { type OutboxEvent, record } from "#outbox";
import { findListeningOrganizations } from "#events/store";
import { requestFacts } from "./push.ts";

const pullType = "dev.chainguard.registry.pull.v1";

export interface Pulled {
  readonly repo: string;
  /** "" for a pull by digest. */
  readonly tag: string;
  readonly digest: string;
  readonly type: "manifest" | "blob";
}

interface WaitingPull {
  readonly group: string;
  /** Called only if the organization has a listener. */
  readonly event: () => OutboxEvent;
}

interface PullLog {
  readonly note: (pull: WaitingPull) => void;
  readonly write: () => Promise<void>;
}

const waitingPull = ({ services, caller, call, method, nowMs, request }: ReadContext, { repo, tag, digest, type }: Pulled): WaitingPull => {
  const group = rootOf(repo);
  const { requestId } = call;
  // Not the call, whose headers would stay in memory.
  const [origin, requestInUrl] = [call.origin(), { repo: text(call.requestInUrl(), "repo") }];
  const [uid, act, isHead] = [caller?.uid, caller?.act, request.head === true];
  const event = (): OutboxEvent => ({
    type: pullType,
    source: registrySource(services.publicUrl),
    subject: repo,
    group,
    audience: "customer",
    extensions: { group },
    actor: uid === undefined ? undefined : { subject: uid, ...(act ? { act: { ...act } } : {}) },
    bodyType: "gantry.registry.v1.Pull",
    body: {
      ...requestFacts(repo, nowMs, { origin: () => origin, requestInUrl: () => requestInUrl }),
      ...(tag === "" ? {} : { tag }),
      digest,
      method: isHead ? "HEAD" : "GET",
      type,
    },
    requestId,
    time: timestamp(nowMs),
    auditContext: { operation: method.name, bindings: [], origin },
  });
  return { group, event };
};

const writePulls = async ({ store }: Pick<Services, "store">, pulls: readonly WaitingPull[]): Promise<void> => {
  const listening = new Set(await findListeningOrganizations(store.read, [...new Set(pulls.map(({ group }) => group))], pullType));
  const told = pulls.filter(({ group }) => listening.has(group));
  for (let first = 0; first < told.length; first += limits.pullsWrittenMax) {
    await store.write(async (rows) => {
      for (const { event } of told.slice(first, first + limits.pullsWrittenMax)) await record(rows, event());
    });
  }
};

const openPullLog = (services: Services): PullLog => {
  let waiting: WaitingPull[] = [];
  let lost = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const pulls = waiting;
    waiting = [];
    // A stopping server must not query a database that may be unavailable.
    if (pulls.length === 0) return writing;
    if (lost > 0) services.log("registry.pulls.lost", { count: lost });
    lost = 0;
    writing = writing.then(() => writePulls(services, pulls)).catch((cause: unknown) => services.log("registry.pulls.failed", { cause, count: pulls.length }));
    return writing;
  };
  services.onStop(write);
  return {
    write,
    note: (pull) => {
      if (waiting.length >= limits.waitingPullsMax) {
        lost++;
        return;
      }
      waiting.push(pull);
      timer ??= setTimeout(() => void write(), limits.pullsWrittenMs).unref();
    },
  };
};

const logs = new WeakMap<Services["store"], PullLog>();

/** Buffers a pull's event for later. Costs one array entry. */
export const notePull = (context: ReadContext, pulled: Pulled): void => {
  const { services } = context;
  const log = logs.get(services.store) ?? openPullLog(services);
  logs.set(services.store, log);
  log.note(waitingPull(context, pulled));
};

/** Resolves once every pull so far is recorded. */
export const finishPulls = async ({ store }: Pick<Services, "store">): Promise<void> => logs.get(store)?.write();
