// Resolves and locks the repo of an operation; a first manifest creates it with missing groups. Blobs before that manifest belong to a
// pending path (docs/decisions/0069).

import { text } from "#base/json.ts";
import { quotaExceeded } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { covers, isUid, newChild, rootOf } from "#base/uid.ts";
import { boundOf, change, holdParent, type ReadContext, type WriteContext } from "#kernel";
import { countPendingRepos, findGroupByNames, findPendingRepos, findRepoByName, insertPendingRepo, lockPendingRepo, usePendingRepo } from "#registry/store";
import { findRow, lockNamed, lockRow, StaleAccess, type Write } from "#db";
import { nameUnknown } from "./faults.ts";
import { keepRepo } from "./known-uploads.ts";

export interface KnownRepo {
  readonly uid: string;
  readonly name: string;
}

export interface PushTarget extends KnownRepo {
  readonly isPending: boolean;
}

const repoNameIn = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** The repository as the client wrote it: a path or a uid. */
export const pathOf = ({ call }: Pick<ReadContext, "call">): string => text(call.requestInUrl(), "repo");

/** Returns the repo of a request with a place from memory (known-uploads.ts). The transaction of the request proves and locks it. */
export const assumedTarget = (context: Pick<ReadContext, "call" | "request">): PushTarget => {
  const path = pathOf(context);
  // A call of the server itself has no URL.
  if (path === "") throw new StaleAccess();
  return { uid: text(context.request, "repo"), name: repoNameIn(path), isPending: false };
};

const repoTable = { name: "repos", columns: ["uid", "name"] };

/** Returns the repo; throws NAME_UNKNOWN if it does not exist. */
export const requireRepo = async ({ request, rows }: ReadContext): Promise<KnownRepo> => {
  const uid = text(request, "repo");
  const found = isUid(uid) ? await findRow(rows, repoTable, uid) : undefined;
  if (!found) throw nameUnknown();
  return { uid, name: found.row[found.offset + 1] ?? "" };
};

/** The same, locked against deletion until the transaction ends. */
export const holdRepo = async ({ request, rows }: WriteContext): Promise<KnownRepo> => {
  const uid = text(request, "repo");
  const row = await lockRow(rows, repoTable, uid, "key share");
  if (!row) throw nameUnknown();
  return { uid, name: row[1] ?? "" };
};

/**
 * Creates the repo of a path, and missing groups. The path was resolved and authorized before (place.ts). Waits for concurrent
 * creations on the path.
 */
const makeRepo = async (context: WriteContext, path: string, group: string): Promise<KnownRepo> => {
  const { rows } = context;
  const groups = boundOf(context, "chainguard.platform.iam.v2.Group");
  const repos = boundOf(context, "chainguard.platform.registry.v2.Repo");
  const names = path.split("/");
  const name = names.pop() ?? "";
  // A concurrent push waits for this lock, and then finds the repo.
  if (!(await lockRow(rows, { name: "groups", columns: ["uid"] }, group))) throw nameUnknown();
  const deepest = await findGroupByNames(rows, names);
  if (!deepest || deepest.isAmbiguous || !covers(group, deepest.uid)) throw nameUnknown();
  let parent = deepest.uid;
  for (const missing of names.slice(deepest.depth)) {
    const { record } = await change(context, groups, { kind: "create", parent, body: { name: missing } }, "row");
    parent = text(record, "uid");
  }
  holdParent(context, repos, parent);
  const made = await change(context, repos, { kind: "create", parent, body: { name }, unlessTaken: true }, "row");
  if (made.changed) return { uid: text(made.record, "uid"), name };
  const row = await lockNamed(rows, repos.shape.table, parent, name);
  if (!row) throw nameUnknown();
  return { uid: text(repos.shape.read(row, 0), "uid"), name };
};

/** Returns the repo of a pushed manifest, created if missing. The database moves pending blobs of the path to it. */
export const repoForManifest = async (context: WriteContext): Promise<KnownRepo> => {
  if (context.isAssumed) return assumedTarget(context);
  const given = text(context.request, "repo");
  if (isUid(given)) return holdRepo(context);
  const [place] = context.permitted;
  if (!place) throw nameUnknown();
  const made = await makeRepo(context, given, place.path);
  keepRepo(given, made.uid);
  return made;
};

const holdKnown = async (rows: Write, uid: string): Promise<PushTarget | undefined> => {
  const row = await lockRow(rows, repoTable, uid, "key share");
  return row && { uid, name: row[1] ?? "", isPending: false };
};

const holdTargetOf = async ({ rows, nowMs }: Pick<WriteContext, "rows" | "nowMs">, uid: string): Promise<PushTarget> => {
  const known = await holdKnown(rows, uid);
  if (known) return known;
  const pending = await lockPendingRepo(rows, uid);
  if (!pending) throw nameUnknown();
  const { repoUid, path } = pending;
  if (repoUid === undefined) {
    await usePendingRepo(rows, uid, nowMs, nowMs - limits.pendingUseMs);
    return { uid, name: repoNameIn(path), isPending: true };
  }
  // Its first manifest arrived during this request.
  const adopted = await holdKnown(rows, repoUid);
  if (!adopted) throw nameUnknown();
  return adopted;
};

/**
 * Returns the repo or pending path of the request, locked until the transaction ends. Returns the repo if the path has become one;
 * throws NAME_UNKNOWN if it was deleted.
 */
export const holdTarget = (context: WriteContext): Promise<PushTarget> => holdTargetOf(context, text(context.request, "repo"));

const tooManyPending = (organization: string) =>
  quotaExceeded(
    `the organization ${organization} has ${limits.pendingReposEach} paths with blobs and no manifest, which expire after 24 hours: ` +
      "push their manifests, or check the names that your builds push to",
    `organization:${organization}`,
    `pending paths: at most ${limits.pendingReposEach} in one organization`,
  );

/** Returns the deepest existing group of `names`, locked against creations below it; throws NAME_UNKNOWN if the path leads out of `group`. */
const lockDeepest = async (rows: Write, names: readonly string[], group: string): Promise<string> => {
  for (let locked = group; ; ) {
    if (!(await lockRow(rows, { name: "groups", columns: ["uid"] }, locked))) throw nameUnknown();
    const deepest = await findGroupByNames(rows, names);
    if (!deepest || deepest.isAmbiguous || !covers(locked, deepest.uid)) throw nameUnknown();
    if (deepest.uid === locked) return locked;
    locked = deepest.uid;
  }
};

/** Returns the target of a push's blobs: the repo, or the pending path, which its first push creates. */
export const targetForBlobs = async (context: WriteContext): Promise<PushTarget> => {
  const { rows, request, nowMs } = context;
  const path = text(request, "repo");
  if (isUid(path)) return holdTarget(context);
  const [place] = context.permitted;
  if (!place) throw nameUnknown();
  const group = await lockDeepest(rows, path.split("/").slice(0, -1), place.path);
  // A concurrent push may have created either.
  const repo = await findRepoByName(rows, path);
  if (repo) {
    if (!covers(group, repo.uid)) throw nameUnknown();
    return holdTargetOf(context, repo.uid);
  }
  const begun = (await findPendingRepos(rows, path, group)).find(({ groupUid }) => covers(place.path, groupUid));
  if (begun) return holdTargetOf(context, begun.uid);
  const organization = rootOf(group);
  if ((await countPendingRepos(rows, organization)) >= limits.pendingReposEach) throw tooManyPending(organization);
  const uid = newChild(group);
  await insertPendingRepo(rows, { uid, groupUid: group, path }, nowMs);
  return { uid, name: repoNameIn(path), isPending: true };
};
