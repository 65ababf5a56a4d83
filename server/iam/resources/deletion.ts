// A deletion: the deleted resource with its cascade, until it expires (docs/decisions/0058-soft-delete-and-undelete.md).

import { blocked, missing } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { boundOf, type Outcome, resource, undelete, type WriteContext } from "#kernel";
import { findRow, isKeptWhole, lockDeletion, removeDeletion } from "#db";

const holdDeletion = async (context: WriteContext): Promise<JsonObject> => {
  const uid = text(context.request, "uid");
  const { shape } = boundOf(context, "gantry.deletions.v1.Deletion");
  const found = (await lockDeletion(context.rows, uid)) ? await findRow(context.rows, shape.table, uid) : undefined;
  if (!found) throw missing("deletions", "Deletion", uid);
  return shape.read(found.row, found.offset);
};

const undeleteDeletion = async (context: WriteContext): Promise<Outcome> => {
  const { rows, resources, nowMs } = context;
  const deletion = await holdDeletion(context);
  const uid = text(deletion, "uid");
  // Missing once it has expired, or once another server has started to remove it.
  if (Date.parse(text(deletion, "expireTime")) <= nowMs || !(await isKeptWhole(rows, uid))) throw missing("deletions", "Deletion", uid);
  const type = text(deletion, "resourceType");
  const found = resources.get(type);
  if (!found) throw blocked("UNDELETE_BLOCKED", uid, [`cannot undelete ${type}: this version knows no such resource`]);
  const leftOut = await undelete(context, found, deletion);
  await removeDeletion(rows, uid);
  const named = leftOut.slice(0, limits.leftOutMax).map((each): JsonObject => ({ ...each }));
  return { reply: { ...deletion, ...(leftOut.length > 0 ? { leftOut: named, leftOutCount: String(leftOut.length) } : {}) } };
};

const expungeDeletion = async (context: WriteContext): Promise<Outcome> => {
  const deletion = await holdDeletion(context);
  await removeDeletion(context.rows, text(deletion, "uid"));
  return { reply: {} };
};

export const deletion = resource({
  service: "gantry.deletions.v1.DeletionsService",
  message: "gantry.deletions.v1.Deletion",
  table: "deletions",
  methodFields: ["leftOut", "leftOutCount"],
  methods: { UndeleteDeletion: { writes: undeleteDeletion }, ExpungeDeletion: { writes: expungeDeletion } },
});
