// A tag: a name for a digest in a repo. Creating an existing one moves it to the new digest.

import type { Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { boundOf, type ChangeContext, etagOf, holdParent, lockResource, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { appendTagHistory } from "#registry/store";
import { hasImmutableTagRules, requireMutableTag } from "./tags/immutable-tags.ts";
import { isConditional, requireCondition } from "./tags/write-condition.ts";
import { updateTag, writeTag } from "./tags/write-tag.ts";

// resources: Tags. Create or update, because CI pushes the same tag repeatedly.
const createTag = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const parent = text(context.request, "parent");
  holdParent(context, found, parent);
  const condition = { ifMatch: context.call.ifMatch, ifNoneMatch: context.call.ifNoneMatch };
  const check = (before: JsonObject | undefined): void => requireCondition(condition, before ? [etagOf(JSON.stringify(before))] : []);
  const checks = isConditional(condition) ? { check } : {};
  const { record, changed } = await writeTag(context, found, parent, part(context.request, "tag"), "cause", checks);
  // A rehearsed tag is never read, so it has no ETag.
  const headers = context.call.validateOnly ? {} : { etag: etagOf(JSON.stringify(record)) };
  return { reply: record, unchanged: !changed, headers };
};

const rules = async (draft: JsonObject, { before, rows }: RuleContext): Promise<readonly Violation[]> => {
  // A tag without a digest names nothing yet.
  if (!before || text(before, "digest") === "") return [];
  const [uid, name] = [text(before, "uid"), text(before, "name")];
  const isRenamed = name !== text(draft, "name");
  if (isRenamed || text(before, "digest") !== text(draft, "digest"))
    await requireMutableTag(rows, parentOf(uid), { uid, name }, isRenamed ? "cannot rename the tag" : "cannot move the tag");
  return [];
};

const requireDeletable = async (context: ChangeContext, uid: string): Promise<void> => {
  const repo = parentOf(uid);
  if (!(await hasImmutableTagRules(context.rows, repo))) return;
  const tag = await lockResource(context, boundOf(context, "chainguard.platform.registry.v2.Tag"), uid);
  if (tag && text(tag, "digest") !== "") await requireMutableTag(context.rows, repo, { uid, name: text(tag, "name") }, "cannot delete the tag");
};

const keepHistory = async (
  context: ChangeContext,
  { before, after }: { readonly before: JsonObject | undefined; readonly after: JsonObject | undefined },
): Promise<void> => {
  // A history belongs to a name.
  const isRenamed = before !== undefined && after !== undefined && before.name !== after.name;
  if (isRenamed) await keepHistory(context, { before, after: undefined });
  if (before?.digest === after?.digest && !(isRenamed && after.digest !== undefined)) return;
  const { rows, nowMs } = context;
  const either = after ?? before ?? {};
  const timeMs = after ? Date.parse(text(after, "updateTime")) : nowMs;
  appendTagHistory(rows, parentOf(text(either, "uid")), text(either, "name"), text(after ?? {}, "digest"), timeMs);
};

export const tag = resource({
  service: "chainguard.platform.registry.v2.TagsService",
  furtherService: "gantry.registry.v1.TagChangesService",
  message: "chainguard.platform.registry.v2.Tag",
  table: "tags",
  sideTables: [{ table: "ended_tags", column: "tag_uid" }],
  rules,
  requireDeletable,
  keepHistory,
  methods: { CreateTag: { writes: createTag }, UpdateTag: { writes: updateTag } },
});
