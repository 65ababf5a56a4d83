// A tag: a name for a digest within a repo. Creating one that exists points it at the new digest.

import { TagSchema, TagsService } from "#contract/gen/chainguard/platform/registry/v2/tags_pb.js";
import { part, text } from "#base/json.ts";
import { boundOf, change, holdParent, type Outcome, resource, type WriteContext } from "#kernel";
import { lockNamed } from "#store";

// resources: Tags. Create or update; CI pushes the same tag again and again.
const createTag = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, TagSchema);
  const parent = text(context.request, "parent");
  const body = part(context.request, "tag");
  await holdParent(context, found, parent);
  const made = await change(context, found, { kind: "create", parent, body, unlessTaken: true }, "cause");
  if (made.changed) return { reply: made.record };
  const row = await lockNamed(context.rows, found.shape.table, parent, text(body, "name"));
  // Deleted between the two statements: the next try makes it anew.
  if (!row) return createTag(context);
  const before = found.shape.read(row, 0);
  const draft = { ...body, uid: text(before, "uid"), createTime: text(before, "createTime"), updateTime: text(before, "updateTime") };
  const { record, changed } = await change(context, found, { kind: "update", before, draft }, "cause");
  return { reply: record, unchanged: !changed };
};

export const tag = resource({
  service: TagsService,
  message: TagSchema,
  table: "tags",
  methods: { CreateTag: { writes: createTag } },
});
