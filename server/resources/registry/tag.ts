// A tag: a name for a digest within a repo. Creating one that exists points it at the new digest.

import { TagSchema, TagsService } from "#contract/gen/chainguard/platform/registry/v2/tags_pb.js";
import { part, text } from "#base/json.ts";
import { TagChangesService } from "#contract/gen/gantry/registry/v1/tag_changes_pb.js";
import { boundOf, holdParent, type Outcome, resource, type WriteContext } from "#kernel";
import { updateTag, writeTag } from "./tags/write-tag.ts";

// resources: Tags. Create or update; CI pushes the same tag again and again.
const createTag = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, TagSchema);
  const parent = text(context.request, "parent");
  await holdParent(context, found, parent);
  const { record, changed } = await writeTag(context, found, parent, part(context.request, "tag"), "cause");
  return { reply: record, unchanged: !changed };
};

export const tag = resource({
  service: TagsService,
  furtherService: TagChangesService,
  message: TagSchema,
  table: "tags",
  sideTables: [{ table: "ended_tags", column: "tag_uid" }],
  methods: { CreateTag: { writes: createTag }, UpdateTag: { writes: updateTag } },
});
