// Deletes tags by the retention rules of organizations, in the background. Each piece of a run is one transaction: it locks the run of
// the organization that waited longest, judges the next repos, and deletes some tags with their events. A killed server leaves the run
// where its last piece ended, and any server continues it. Deleted tags can be restored.

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { ownOrigin } from "#base/origin.ts";
import { isPieceFault, openPauses } from "#base/pieces.ts";
import { boundOf, change, changeContext, type Kernel } from "#kernel";
import { judgeTags, rulesOfRepo } from "#registry/collection";
import {
  deleteRetentionRun,
  findReposAfter,
  findRetentionRules,
  finishRetentionRun,
  insertRetentionRuns,
  lockDueRetentionRun,
  lockUnchangedTags,
  noteRetentionPiece,
  type RetentionRule,
  type RetentionRun,
} from "#registry/store";
import type { Write } from "#db";

const byItself = { operation: "", actor: undefined, bindings: () => [], origin: () => ownOrigin, requestId: "" };

type RetentionKernel = Pick<Kernel, "services" | "resources">;

/** Repos whose tags cannot be judged, such as too many, must not block others. */
const pauses = openPauses(limits.retentionRunMs, limits.retentionRunMs);

/** Deletes at most `count` tags of a repo; returns how many, and whether there are more. */
const deleteTags = async (
  kernel: RetentionKernel,
  rows: Write,
  repo: string,
  rules: readonly RetentionRule[],
  count: number,
): Promise<{ readonly deleted: number; readonly more: boolean }> => {
  const context = changeContext(kernel, rows, byItself);
  const judged = await judgeTags(rows, repo, rules, context.nowMs);
  const doomed = judged.filter(({ isDeleted }) => isDeleted).map(({ tag }) => tag);
  const piece = doomed.slice(0, count);
  // Changed since they were judged: judged again in the next piece.
  const unchanged = await lockUnchangedTags(rows, piece);
  for (const { uid } of piece)
    if (unchanged.has(uid)) await change(context, boundOf(context, "chainguard.platform.registry.v2.Tag"), { kind: "delete", uid, isForGood: false }, "row");
  return { deleted: unchanged.size, more: doomed.length > piece.length };
};

const workOn = async (kernel: RetentionKernel, rows: Write, run: RetentionRun): Promise<number> => {
  const { clock, log } = kernel.services;
  const nowMs = clock();
  const { organization } = run;
  const rules = (await findRetentionRules(rows, organization)).filter(({ previewOnly }) => !previewOnly);
  if (rules.length === 0) {
    await deleteRetentionRun(rows, organization);
    return 0;
  }
  const repos = await findReposAfter(rows, organization, run.seenRepoUid, limits.retentionPieceRepos);
  let { seenRepoUid, deletedTags } = run;
  for (const repo of repos) {
    const applied = rulesOfRepo(rules, repo);
    if (applied.length > 0 && !pauses.isPaused(repo, nowMs)) {
      try {
        const { deleted, more } = await deleteTags(kernel, rows, repo, applied, limits.retentionPieceTags);
        deletedTags += deleted;
        if (more) break;
      } catch (cause) {
        if (isPieceFault(cause)) pauses.fail(repo, nowMs);
        // A repo with too many tags, or another failure of the transaction: the next one passes the repo over.
        if (!(cause instanceof Fault && cause.code === "FAILED_PRECONDITION")) throw cause;
        log("tags.retention.failed", { repo, cause });
      }
    }
    seenRepoUid = repo;
    if (deletedTags > run.deletedTags) break;
  }
  const isLast = repos.length < limits.retentionPieceRepos && (repos.length === 0 || seenRepoUid === repos.at(-1));
  if (isLast) await finishRetentionRun(rows, organization, nowMs + limits.retentionRunMs);
  else await noteRetentionPiece(rows, { organization, seenRepoUid, deletedTags }, nowMs);
  if (isLast && deletedTags > 0) log("tags.retention.ended", { organization, deleted: deletedTags });
  return deletedTags - run.deletedTags;
};

/** Organizations whose runs failed must not block others. */
const failedRuns = openPauses(limits.retentionLookMs, limits.retentionRunMs);

/** Works on due runs in turn until none is left; `goOn` returning false ends the work between pieces. */
export const runTagRetention = async (kernel: RetentionKernel, goOn: () => boolean = () => true): Promise<void> => {
  const { store, clock, metrics, log } = kernel.services;
  await store.write((rows) => insertRetentionRuns(rows, clock()));
  while (goOn()) {
    let organization = "";
    try {
      const deleted = await store.write(async (rows) => {
        const run = await lockDueRetentionRun(rows, clock(), failedRuns.paused(clock()));
        organization = run?.organization ?? "";
        return run && workOn(kernel, rows, run);
      });
      if (deleted === undefined) return;
      failedRuns.end(organization);
      if (deleted > 0) metrics.count("gantry_registry_retention_deleted_tags_total", {}, deleted);
    } catch (cause) {
      if (organization === "") throw cause;
      log("tags.retention.failed", { organization, failures: failedRuns.fail(organization, clock()), cause });
    }
  }
};

/** Looks for due runs periodically until stopped. */
export const startTagRetention = (kernel: RetentionKernel): { readonly stop: () => Promise<void> } => {
  let running: Promise<void> | undefined;
  let stopped = false;
  const timer = setInterval(() => {
    running ??= runTagRetention(kernel, () => !stopped)
      .catch((cause: unknown) => kernel.services.log("tags.retention.failed", { cause }))
      .finally(() => {
        running = undefined;
      });
  }, limits.retentionLookMs);
  timer.unref();
  return {
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
};
