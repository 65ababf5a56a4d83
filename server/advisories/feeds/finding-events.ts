// Digest events about findings: one for each group and kind of change, however many findings changed (docs/decisions/0091).

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { operatorUid } from "#base/operator.ts";
import { timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import { type Cause, type Services, toldEvent } from "#kernel";
import { record } from "#outbox";
import {
  countNewlyOverdue,
  type DecisionExpiry,
  type EndingDecision,
  type FindingCount,
  findOverdueRoots,
  findRootsOfEndingDecisions,
  lockMatching,
  takeEndingDecisions,
} from "#advisories/store";
import type { Write } from "#db";
import { severityRanks } from "./reports/findings.ts";

interface Kind {
  readonly message: string;
  /** The query of the list of these findings. */
  readonly query: (nowMs: number) => Readonly<Record<string, string>>;
}

const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  // The list has what appeared after a time.
  ["appeared", { message: "gantry.findings.v1.FindingsAppeared", query: (nowMs) => ({ appearedSince: timestamp(nowMs - 1) }) }],
  ["resolved", { message: "gantry.findings.v1.FindingsResolved", query: () => ({ states: "AFFECTED_IMAGE_STATE_RESOLVED", orderBy: "update_time desc" }) }],
  ["reopened", { message: "gantry.findings.v1.FindingsReopened", query: () => ({ orderBy: "update_time desc" }) }],
  ["overdue", { message: "gantry.findings.v1.FindingsOverdue", query: () => ({ overdue: "true", orderBy: "due_time" }) }],
]);

export const backgroundCause = (operation: string, requestId: string): Cause => ({
  operation,
  requestId,
  actor: { subject: operatorUid },
  bindings: () => [],
  origin: () => ({ address: "", userAgent: "gantry import" }),
});

interface Digest {
  readonly owner: string;
  readonly change: string;
  readonly severityCounts: number[];
  exploitedCount: number;
  fixableCount: number;
}

/** Counts of a transaction. */
export class FindingDigests {
  readonly #digests = new Map<string, Digest>();

  add(counts: readonly FindingCount[]): void {
    for (const { owner, change, severityRank, count, exploitedCount, fixableCount } of counts) {
      const key = `${owner} ${change}`;
      const digest = this.#digests.get(key) ?? { owner, change, severityCounts: severityRanks.map(() => 0), exploitedCount: 0, fixableCount: 0 };
      this.#digests.set(key, digest);
      digest.severityCounts[severityRank] = (digest.severityCounts[severityRank] ?? 0) + count;
      digest.exploitedCount += exploitedCount;
      digest.fixableCount += fixableCount;
    }
  }

  /** Records an event for each group and kind of change. */
  async record(rows: Write, services: Services, cause: Cause, nowMs: number): Promise<void> {
    for (const { owner, change, severityCounts, exploitedCount, fixableCount } of this.#digests.values()) {
      const kind = kinds.get(change);
      if (!kind) throw new Error(`no event is declared for findings that are ${change}`);
      const findingCount = severityCounts.reduce((sum, each) => sum + each, 0);
      const query = new URLSearchParams({ "uidp.childrenOf": owner, ...kind.query(nowMs) });
      const body: JsonObject = {
        groupUid: owner,
        findingCount: String(findingCount),
        severityCounts: [...severityCounts.entries()]
          .filter(([, count]) => count > 0)
          .map(([rank, count]) => ({ severity: `FINDING_SEVERITY_${severityRanks[rank] ?? "UNKNOWN"}`, count: String(count) }))
          .reverse(),
        exploitedCount: String(exploitedCount),
        fixableCount: String(fixableCount),
        listUrl: `${services.publicUrl}/gantry/v1/findings?${query.toString()}`,
      };
      await record(rows, toldEvent(services, kind.message, body, cause, findingCount));
    }
  }
}

// ---- events of passing time -------------------------------------------------------------------------------------

/** Runs a transaction for each organization. A failed one delays no other, and is retried in the next turn. */
export const forEachRoot = async ({ store, log }: Services, roots: Iterable<string>, work: (rows: Write, root: string) => Promise<void>): Promise<void> => {
  for (const root of roots)
    await store.write((rows) => work(rows, root)).catch((cause: unknown) => log("findings.events.failed", { organization: root, cause }));
};

const recordOverdue = async (services: Services, cause: Cause): Promise<void> => {
  const { store, clock } = services;
  await forEachRoot(services, await findOverdueRoots(store.read, clock()), async (rows, root) => {
    await lockMatching(rows, root);
    const nowMs = clock();
    const digests = new FindingDigests();
    digests.add(await countNewlyOverdue(rows, root, nowMs, limits.overdueFindings));
    await digests.record(rows, services, cause, nowMs);
  });
};

const expiryMessages: Readonly<Record<DecisionExpiry, string>> = {
  expiring: "gantry.findings.v1.FindingDecisionsExpiring",
  expired: "gantry.findings.v1.FindingDecisionsExpired",
};

const decisionOf = ({ uid, vulnerability, state, expireTime }: EndingDecision): JsonObject => ({ uid, vulnerability, state, expireTime });

const recordExpiries = async (services: Services, cause: Cause, expiry: DecisionExpiry): Promise<void> => {
  const { store, clock } = services;
  const beforeMs = clock() + (expiry === "expiring" ? limits.decisionNoticeMs : 0);
  await forEachRoot(services, await findRootsOfEndingDecisions(store.read, expiry, beforeMs), async (rows, root) => {
    const taken = await takeEndingDecisions(rows, root, expiry, beforeMs, limits.decisionNoticeMs);
    for (const [groupUid, own] of Map.groupBy(taken, ({ uid }) => parentOf(uid))) {
      const body: JsonObject = { groupUid, decisions: own.slice(0, limits.namedDecisionsMax).map(decisionOf), decisionCount: own.length };
      await record(rows, toldEvent(services, expiryMessages[expiry], body, cause, own.length));
    }
  });
};

/** Records events of due dates and of expiries of decisions that have passed or come near. */
export const recordPassedTimes = async (services: Services): Promise<void> => {
  const cause = backgroundCause("push", crypto.randomUUID());
  await recordOverdue(services, cause);
  await recordExpiries(services, cause, "expiring");
  await recordExpiries(services, cause, "expired");
};
