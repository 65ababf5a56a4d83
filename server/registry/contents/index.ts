// Entry point: the packages in the layers of an image.

export type { ImageContents, ImagePackage } from "./compose.ts";
export { openLayerReader } from "./layer-process.ts";
export { readImage } from "./read-image.ts";
