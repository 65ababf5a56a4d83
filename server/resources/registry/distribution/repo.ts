// The repo that an operation is about, and the one that a first push makes, with the groups between the organization and it.

import { GroupSchema } from "#contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { RepoSchema } from "#contract/gen/chainguard/platform/registry/v2/repos_pb.js";
import { text } from "#base/json.ts";
import { covers, isUid } from "#base/uid.ts";
import { boundOf, change, holdParent, type ReadContext, type WriteContext } from "#kernel";
import { findGroupByNames, findRow, lockNamed, lockRow } from "#store";
import { nameUnknown } from "./faults.ts";

/** A repo's uid and name. */
export interface KnownRepo {
  readonly uid: string;
  readonly name: string;
}

const repoTable = { name: "repos", columns: ["uid", "name"] };

/** Throws NAME_UNKNOWN where it is gone meanwhile, or was never there. */
export const requireRepo = async ({ request, rows }: ReadContext): Promise<KnownRepo> => {
  const uid = text(request, "repo");
  const found = isUid(uid) ? await findRow(rows, repoTable, uid) : undefined;
  if (!found) throw nameUnknown();
  return { uid, name: found.row[found.offset + 1] ?? "" };
};

/** The same, kept from being deleted until the transaction ends. */
export const holdRepo = async ({ request, rows }: WriteContext): Promise<KnownRepo> => {
  const uid = text(request, "repo");
  const row = await lockRow(rows, repoTable, uid, "key share");
  if (!row) throw nameUnknown();
  return { uid, name: row[1] ?? "" };
};

/**
 * Makes the repo of a path of names, and what is missing of the groups above it. The place was found, and the capabilities there
 * asked for, before (place.ts); whoever else makes a part of the path at the same moment is waited for.
 */
const makeRepo = async (context: WriteContext, path: string, group: string): Promise<KnownRepo> => {
  const { rows } = context;
  const groups = boundOf(context, GroupSchema);
  const repos = boundOf(context, RepoSchema);
  const names = path.split("/");
  const name = names.pop() ?? "";
  // Of two pushes at once the second one waits here, and finds what the first one has made.
  if (!(await lockRow(rows, { name: "groups", columns: ["uid"] }, group))) throw nameUnknown();
  const deepest = await findGroupByNames(rows, names);
  if (!deepest || deepest.isAmbiguous || !covers(group, deepest.uid)) throw nameUnknown();
  let parent = deepest.uid;
  for (const missing of names.slice(deepest.depth)) {
    const { record } = await change(context, groups, { kind: "create", parent, body: { name: missing } }, "row");
    parent = text(record, "uid");
  }
  await holdParent(context, repos, parent);
  const made = await change(context, repos, { kind: "create", parent, body: { name }, unlessTaken: true }, "row");
  if (made.changed) return { uid: text(made.record, "uid"), name };
  const row = await lockNamed(rows, repos.shape.table, parent, name);
  if (!row) throw nameUnknown();
  return { uid: text(repos.shape.read(row, 0), "uid"), name };
};

/** The repo that is pushed to, made where it does not exist. */
export const repoForPush = async (context: WriteContext): Promise<KnownRepo> => {
  const given = text(context.request, "repo");
  if (isUid(given)) return holdRepo(context);
  const [place] = context.permitted;
  if (!place) throw nameUnknown();
  return makeRepo(context, given, place.path);
};
