// What was read in the layers of images. Written by pushes and server/application/image-indexing.ts.

import { resource } from "#kernel";

export const imageContents = resource({
  service: "gantry.images.v1.ImageContentsService",
  message: "gantry.images.v1.ImageContents",
  table: "image_contents",
});
