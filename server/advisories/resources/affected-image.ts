// Which images a vulnerability is in (docs/decisions/0026), and what no source judges in them (docs/decisions/0074). Filled by the step
// behind imports (server/advisories/feeds/match-images.ts).

import { objectList, text, texts } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { boundOf, list, type Outcome, type ReadContext, resource } from "#kernel";
import type { Condition } from "#db";
import { coverageStatement, placesOf, unjudgedOfTags } from "./coverage/statement.ts";

/** An advisory has its own number and its aliases; the column holds all of them. */
const conditions = ({ request }: ReadContext): Promise<Condition[]> => {
  const ids = [...new Set(texts(request, "advisoryIds"))];
  return Promise.resolve(ids.length > 0 ? [{ column: "advisory_ids", comparison: "has", value: ids, indexed: true }] : []);
};

/** A list of affected images never goes without what was not judged. */
const listAffected = async (context: ReadContext): Promise<Outcome> => {
  const outcome = await list(boundOf(context, "gantry.images.v1.AffectedImage"))(context);
  const records = objectList(outcome.reply, "affectedImages");
  // The tags of a resolved one may have another image by now.
  const images = records.map((record) => ({
    owner: parentOf(text(record, "uid")),
    repo: text(record, "repo"),
    tags: text(record, "endTime") === "" ? texts(record, "tags") : [],
  }));
  const unjudged = await unjudgedOfTags(context, images);
  const shown = records.map((record, index) => {
    const own = unjudged[index] ?? [];
    return own.length === 0 ? record : { ...record, unjudged: own };
  });
  return { ...outcome, reply: { ...outcome.reply, affectedImages: shown, coverage: await coverageStatement(context, placesOf(context)) } };
};

export const affectedImage = resource({
  service: "gantry.images.v1.AffectedImagesService",
  message: "gantry.images.v1.AffectedImage",
  table: "affected_images",
  methodFields: ["unjudged"],
  conditions,
  methods: { ListAffectedImages: { reads: listAffected } },
});
