// The images that a vulnerability affects (docs/decisions/0026), and packages that no source covers (docs/decisions/0074). Written
// after imports (server/advisories/feeds/match-images.ts).

import { objectList, text, texts } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { boundOf, list, type Outcome, type ReadContext, resource } from "#kernel";
import type { Condition } from "#db";
import { coverageStatement, placesOf, unjudgedOfTags } from "./coverage/statement.ts";
import { withoutExpiredDecision } from "./rules/expired-decision.ts";

/** The column has an advisory's own ID and its aliases. */
const conditions = ({ request }: ReadContext): Promise<Condition[]> => {
  const ids = [...new Set(texts(request, "advisoryIds"))];
  return Promise.resolve(ids.length > 0 ? [{ column: "advisory_ids", comparison: "has", value: ids, indexed: true }] : []);
};

/** The list always includes coverage gaps. */
const listAffected = async (context: ReadContext): Promise<Outcome> => {
  const outcome = await list(boundOf(context, "gantry.images.v1.AffectedImage"))(context);
  const records = objectList(outcome.reply, "affectedImages").map((record) => withoutExpiredDecision(record, context.nowMs));
  // Tags of a resolved image may point elsewhere by now.
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
