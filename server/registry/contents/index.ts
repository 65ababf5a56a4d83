// Entry point: the packages in the layers of an image.

export { type AttachedSbomManifest, attachedSbomAnnotation, attachedSbomManifest } from "./attached-sbom.ts";
export type { ImageContents, ImagePackage, LayerProblem } from "./compose.ts";
export { openComposer } from "./compose-process.ts";
export { type LayerReading, openLayerReader } from "./layer-process.ts";
export { packContents, readerVersion, unpackContents } from "./packed-contents.ts";
export { type FindLayer, readImage } from "./read-image.ts";
