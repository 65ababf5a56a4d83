// An overlay binding applies an overlay to tags of a repo.

import type { Violation } from "#base/fault.ts";
import { text, texts, type JsonObject } from "#base/json.ts";
import { covers, parentOf } from "#base/uid.ts";
import { boundOf, change, holdParent, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { lockRow } from "#db";

// Like a role, an overlay applies at its group and below. This is checked before the lookup, so that the error does not reveal others.
const rules = async (draft: JsonObject, { parent, rows }: RuleContext): Promise<Violation[]> => {
  const overlay = text(draft, "overlayUid");
  if (!covers(parentOf(overlay), parent)) return [{ field: "overlay", description: "must belong to the repo's group or to one above it" }];
  const found = await lockRow(rows, { name: "overlays", columns: ["uid"] }, overlay, "key share");
  return found ? [] : [{ field: "overlay", description: "does not exist" }];
};

const createBinding = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.registry.v2beta1.OverlayBinding");
  const { request } = context;
  const parent = text(request, "parent");
  holdParent(context, found, parent);
  const body = { repo: parent, overlayUid: text(request, "overlay"), tags: texts(request, "tags") };
  const { record } = await change(context, found, { kind: "create", parent, body }, "cause");
  return { reply: record };
};

export const overlayBinding = resource({
  service: "chainguard.platform.registry.v2beta1.OverlayBindingsService",
  message: "chainguard.platform.registry.v2beta1.OverlayBinding",
  table: "overlay_bindings",
  rules,
  hydrate: { overlay: { by: "overlayUid", table: "overlays" } },
  methods: { CreateOverlayBinding: { writes: createBinding } },
});
