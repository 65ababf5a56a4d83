// An overlay: additions to images that several repos of an organization can share.

import { OverlaySchema, OverlaysService } from "#contract/gen/chainguard/platform/registry/v2beta1/overlays_pb.js";
import { part } from "#base/json.ts";
import { resource } from "#kernel";
import { overlayViolations } from "./rules/custom-overlay.ts";

export const overlay = resource({
  service: OverlaysService,
  message: OverlaySchema,
  table: "overlays",
  rules: (draft) => overlayViolations(part(draft, "config"), "config"),
});
