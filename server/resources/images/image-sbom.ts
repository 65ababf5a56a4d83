// SBOMs that were pushed for images, and whether they could be read. Filled by pushes and by what reads them
// (server/feeds/sbom/read-waiting.ts).

import { ImageSbomSchema, ImageSbomsService } from "#contract/gen/gantry/images/v1/image_sboms_pb.js";
import { resource } from "#kernel";

export const imageSbom = resource({
  service: ImageSbomsService,
  message: ImageSbomSchema,
  table: "image_sboms",
});
