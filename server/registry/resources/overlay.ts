// An overlay: additions to images, shared by several repos of an organization.

import { part } from "#base/json.ts";
import { resource } from "#kernel";
import { overlayViolations } from "./rules/custom-overlay.ts";

export const overlay = resource({
  service: "chainguard.platform.registry.v2beta1.OverlaysService",
  message: "chainguard.platform.registry.v2beta1.Overlay",
  table: "overlays",
  rules: (draft) => overlayViolations(part(draft, "config"), "config"),
});
