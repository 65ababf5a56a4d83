// SBOMs pushed for images, and whether they could be read. Written by pushes and server/advisories/feeds/sbom/read-waiting.ts.

import { resource } from "#kernel";

export const imageSbom = resource({
  service: "gantry.images.v1.ImageSbomsService",
  message: "gantry.images.v1.ImageSbom",
  table: "image_sboms",
});
