// Delete (AIP-135). Throws NOT_FOUND for a missing uid (decisions: Access), FAILED_PRECONDITION if the resource is in use.

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
