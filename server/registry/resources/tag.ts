// A tag: a name for a digest in a repo. Creating an existing one moves it to the new digest.

import { type JsonObject, part, text } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { boundOf, type ChangeContext, holdParent, type Outcome, resource, type WriteContext } from "#kernel";
import { appendTagHistory } from "#registry/store";
import { updateTag, writeTag } from "./tags/write-tag.ts";

// resources: Tags. Create or update, because CI pushes the same tag repeatedly.
const createTag = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const parent = text(context.request, "parent");
  holdParent(context, found, parent);
  const { record, changed } = await writeTag(context, found, parent, part(context.request, "tag"), "cause");
  return { reply: record, unchanged: !changed };
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
  await appendTagHistory(rows, parentOf(text(either, "uid")), text(either, "name"), text(after ?? {}, "digest"), timeMs);
};

export const tag = resource({
  service: "chainguard.platform.registry.v2.TagsService",
  furtherService: "gantry.registry.v1.TagChangesService",
  message: "chainguard.platform.registry.v2.Tag",
  table: "tags",
  sideTables: [{ table: "ended_tags", column: "tag_uid" }],
  keepHistory,
  methods: { CreateTag: { writes: createTag }, UpdateTag: { writes: updateTag } },
});
