// Reads the packages of an image: its layers one after the other, then what is left of them.

import { isObject, type Json, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { ImageContents, ImageLayer } from "./compose.ts";
import { composeLayers } from "./compose.ts";
import type { ImageComposition } from "./compose-process.ts";
import type { ProblemReason } from "./problem.ts";
import { emptyContents, type LayerContents } from "./read-layer.ts";

/** Returns undefined if the layer is not stored. */
export type FindLayer = (digest: string) => Promise<LayerContents | undefined>;

/** Layers of files, packed or not, also those that registries need not have. */
const layerForm =
  /^application\/vnd\.(?:oci\.image\.layer\.(?:nondistributable\.)?v1\.tar|docker\.image\.rootfs\.(?:foreign\.)?diff\.tar)(?:[.+](?:gzip|zstd))?$/;

/** Layers of one image are in memory together. Returns why a further one is not read. */
const openBounds = (longestMs: number): { add(contents: LayerContents): void; problem(): { reason: ProblemReason; detail: string } | undefined } => {
  const startMs = performance.now();
  let [layers, paths, packages] = [0, 0, 0];
  return {
    add(contents) {
      layers++;
      paths += contents.paths.length;
      packages += contents.databases.reduce((sum, database) => sum + database.packages.length, 0);
    },
    problem() {
      if (performance.now() - startMs > longestMs) return { reason: "IMAGE_TOO_SLOW", detail: `is in an image that takes more than ${longestMs / 1000} s` };
      if (layers >= limits.imageLayersMax) return { reason: "IMAGE_TOO_LARGE", detail: `is in an image with more than ${limits.imageLayersMax} layers` };
      const isTooLarge = paths > limits.imagePathsMax || packages > limits.layerPackagesMax;
      return isTooLarge ? { reason: "IMAGE_TOO_LARGE", detail: "is in an image with too many files or packages" } : undefined;
    },
  };
};

export interface ReadImageOptions {
  readonly compose?: ImageComposition;
  readonly longestMs?: number;
}

/**
 * Returns the contents of an image; throws the errors of `find` only.
 * @param manifest in JSON
 */
export const readImage = async (
  manifest: string,
  find: FindLayer,
  { compose = async (layers) => composeLayers(layers), longestMs = limits.imageReadMs }: ReadImageOptions = {},
): Promise<ImageContents> => {
  const parsed = JSON.parse(manifest) as Json;
  const listed = isObject(parsed) ? objectList(parsed, "layers") : [];
  const isSupported = listed.length === 0 || listed.some((layer) => layerForm.test(text(layer, "mediaType")));
  if (!isSupported) return { ...composeLayers([]), state: "UNSUPPORTED" };
  const bounds = openBounds(longestMs);
  const layers: ImageLayer[] = [];
  for (const layer of listed) {
    const [digest, mediaType] = [text(layer, "digest"), text(layer, "mediaType")];
    const tooMuch = bounds.problem();
    if (tooMuch) {
      // One problem for all further layers.
      layers.push({ digest, contents: emptyContents(tooMuch.reason, tooMuch.detail) });
      break;
    }
    const contents = layerForm.test(mediaType)
      ? ((await find(digest)) ?? emptyContents("LAYER_MISSING", "is not stored"))
      : emptyContents("LAYER_UNSUPPORTED", "is encrypted, or is no layer of files");
    bounds.add(contents);
    layers.push({ digest, contents });
  }
  return compose(layers);
};
