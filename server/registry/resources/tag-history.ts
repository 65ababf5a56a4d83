// The former digests of a tag. tag.ts writes the rows with each change.

import { missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { findTagHistory, findTagName } from "#registry/store";

const getTagHistory = async ({ request, rows }: ReadContext): Promise<Outcome> => {
  const uid = text(request, "tagUid");
  const name = await findTagName(rows, uid);
  if (name === undefined) throw missing("registry", "Tag", uid);
  const entries = await findTagHistory(rows, parentOf(uid), name, text(request, "start"), text(request, "end"));
  return {
    reply: {
      entries: entries.map(({ digest, updateTime, endTime }) => ({ updateTime, digest, ...(endTime === "" ? {} : { endTime }) })),
    },
  };
};

export const tagHistory = resource({
  service: "gantry.registry.v1.TagHistoryService",
  message: "gantry.registry.v1.TagHistory",
  methods: { GetTagHistory: { reads: getTagHistory } },
});
