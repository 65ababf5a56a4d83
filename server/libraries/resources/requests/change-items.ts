// Changes to request groups: a draft's items, its submission, and a new comparison with the catalog.

import { blocked, invalid, missing } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { type BoundResource, boundOf, change, lockResource, type Outcome, remove, type WriteContext } from "#kernel";
import { findItemUids, setItemsRemoved } from "#libraries/store";
import { type LibraryEcosystem, refreshItems, summaryOf } from "./coverage.ts";

interface HeldGroup {
  readonly resource: BoundResource;
  readonly before: JsonObject;
}

const holdGroup = async (context: WriteContext): Promise<HeldGroup> => {
  const resource = boundOf(context, "chainguard.platform.libraries.v2beta1.RequestGroup");
  const uid = text(context.request, "uid");
  const before = await lockResource(context, resource, uid);
  if (!before) throw missing(resource.domain, resource.fact.short, uid);
  return { resource, before };
};

const isSubmitted = (group: JsonObject): boolean => text(group, "submitTime") !== "";

const holdDraft = async (context: WriteContext): Promise<HeldGroup> => {
  const held = await holdGroup(context);
  if (isSubmitted(held.before))
    throw blocked("REQUEST_GROUP_SUBMITTED", text(held.before, "uid"), ["the request group is submitted, and does not change any more"]);
  return held;
};

const ecosystemOfGroup = (group: JsonObject): LibraryEcosystem => (group.ecosystem === "ECOSYSTEM_JAVA" ? "ECOSYSTEM_JAVA" : "ECOSYSTEM_PYTHON");

const summarized = async ({ rows }: WriteContext, before: JsonObject, itemsChanged: boolean, now: string): Promise<JsonObject> => {
  const { message, items, built } = await summaryOf(rows, text(before, "uid"));
  const draft: JsonObject = { ...before, availabilitySummary: message, ...(itemsChanged ? { itemsUpdateTime: now } : {}) };
  // Gantry builds nothing: a submitted group is completed once the catalog has all of it.
  if (isSubmitted(before)) draft.status = items === built ? "REQUEST_GROUP_STATUS_COMPLETED" : "REQUEST_GROUP_STATUS_PROCESSING";
  return draft;
};

const setRemoved = async (context: WriteContext, removed: boolean): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const { resource, before } = await holdDraft(context);
  const uid = text(before, "uid");
  const uids = [...new Set(texts(request, "itemUids"))];
  const own = await findItemUids(rows, uid, uids);
  const unknown = uids.flatMap((each) => (own.has(each) ? [] : [{ field: `itemUids[${texts(request, "itemUids").indexOf(each)}]`, each }]));
  if (unknown.length > 0) throw invalid(unknown.map(({ field }) => ({ field, description: "is not an item of this request group" })));
  const count = await setItemsRemoved(rows, uids, removed, nowMs);
  if (count > 0) {
    const draft = await summarized(context, before, true, timestamp(nowMs));
    await change(context, resource, { kind: "update", before, draft }, "cause");
  }
  const reply: JsonObject = {
    [removed ? "removedCount" : "restoredCount"]: count,
    availabilitySummary: (await summaryOf(rows, uid)).message,
    uid,
    parentId: text(before, "parentId"),
  };
  return { reply, unchanged: count === 0 };
};

export const removeItems = (context: WriteContext): Promise<Outcome> => setRemoved(context, true);

export const restoreItems = (context: WriteContext): Promise<Outcome> => setRemoved(context, false);

export const submitRequestGroup = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, nowMs, caller } = context;
  const { resource, before } = await holdDraft(context);
  const uid = text(before, "uid");
  const refreshed = await refreshItems(rows, uid, ecosystemOfGroup(before), nowMs);
  const { items, blocking } = await summaryOf(rows, uid);
  if (items === 0) throw blocked("REQUEST_GROUP_EMPTY", uid, ["the request group has no items that were not removed"]);
  if (blocking > 0) {
    const count = blocking === 1 ? "one item has" : `${blocking} items have`;
    throw blocked("REQUEST_GROUP_INVALID", uid, [`${count} no exact version of a library: remove the items with AVAILABILITY_INVALID_REQUIREMENT`]);
  }
  const submitted: JsonObject = {
    ...before,
    submitTime: timestamp(nowMs),
    submittedBy: caller?.uid ?? "",
    ...(typeof request.forCveRemediation === "boolean" ? { forCveRemediation: request.forCveRemediation } : {}),
  };
  const draft = await summarized(context, submitted, refreshed > 0, timestamp(nowMs));
  const { record } = await change(context, resource, { kind: "update", before, draft }, "cause");
  return { reply: record };
};

export const refreshCoverage = async (context: WriteContext): Promise<Outcome> => {
  const { rows, nowMs } = context;
  const { resource, before } = await holdGroup(context);
  const changed = await refreshItems(rows, text(before, "uid"), ecosystemOfGroup(before), nowMs);
  if (changed === 0) return { reply: before, unchanged: true };
  const draft = await summarized(context, before, true, timestamp(nowMs));
  const { record } = await change(context, resource, { kind: "update", before, draft }, "cause");
  return { reply: record };
};

/** Only the operator can delete a submitted group. */
export const deleteRequestGroup = async (context: WriteContext): Promise<Outcome> => {
  const { resource, before } = await holdGroup(context);
  if (isSubmitted(before)) context.require(["libraries.request_groups.delete_submitted"], text(before, "uid"));
  return remove(resource)(context);
};
