// A tag: a name for a digest within a repo. Creating one that exists points it at the new digest.

import { TagSchema, TagsService } from "#contract/gen/chainguard/platform/registry/v2/tags_pb.js";
import { part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { newChild } from "#base/uid.ts";
import { boundOf, holdParent, type Outcome, presented, resource, type WriteContext } from "#kernel";
import { insertRowUnlessTaken, lockNamed, updateRow } from "#store";

// resources: Tags. Create or update; CI pushes the same tag again and again.
const createTag = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, TagSchema);
  const { rows, nowMs } = context;
  const { shape } = found;
  const parent = text(context.request, "parent");
  const body = part(context.request, "tag");
  await holdParent(context, found, parent);
  const now = timestamp(nowMs);
  const draft = { ...body, uid: newChild(parent), createTime: now, updateTime: now };
  if (await insertRowUnlessTaken(rows, shape.table, shape.write(draft))) return { reply: presented(found, draft) };
  const row = await lockNamed(rows, shape.table, parent, text(body, "name"));
  const before = row && shape.read(row, 0);
  // Deleted between the two statements: the next try makes it anew.
  if (!before) return createTag(context);
  const after = presented(found, { ...body, uid: text(before, "uid"), createTime: text(before, "createTime"), updateTime: text(before, "updateTime") });
  const changed = shape.fields.filter((field) => JSON.stringify(before[field.json]) !== JSON.stringify(after[field.json]));
  if (changed.length === 0) return { reply: before, unchanged: true };
  after.updateTime = timestamp(Math.max(nowMs, Date.parse(text(before, "updateTime")) + 1));
  await updateRow(rows, shape.table, text(before, "uid"), shape.write(after));
  return { reply: after };
};

export const tag = resource({
  service: TagsService,
  message: TagSchema,
  table: "tags",
  methods: { CreateTag: { writes: createTag } },
});
