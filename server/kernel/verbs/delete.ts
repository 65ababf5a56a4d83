// Delete (AIP-135). A missing uid is NOT_FOUND everywhere (decisions: Access); a resource that others stand on stays.

import { text } from "#base/json.ts";
import { change } from "../change.ts";
import type { Outcome, WriteContext } from "../context.ts";
import type { BoundResource } from "../resource.ts";

export const remove =
  (resource: BoundResource) =>
  async (context: WriteContext): Promise<Outcome> => {
    await change(context, resource, { kind: "delete", uid: text(context.request, "uid") }, "cause");
    return { reply: {} };
  };
