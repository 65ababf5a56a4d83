// Which images a vulnerability is in (docs/decisions/0026). Filled by the step behind imports (server/feeds/match-images.ts).

import { AffectedImageSchema, AffectedImagesService } from "#contract/gen/gantry/images/v1/affected_images_pb.js";
import { texts } from "#base/json.ts";
import { type ReadContext, resource } from "#kernel";
import type { Condition } from "#store";

/** An advisory has its own number and its aliases; the column holds all of them. */
const conditions = ({ request }: ReadContext): Promise<Condition[]> => {
  const ids = [...new Set(texts(request, "advisoryIds"))];
  return Promise.resolve(ids.length > 0 ? [{ column: "advisory_ids", comparison: "has", value: ids, indexed: true }] : []);
};

export const affectedImage = resource({
  service: AffectedImagesService,
  message: AffectedImageSchema,
  table: "affected_images",
  conditions,
});
