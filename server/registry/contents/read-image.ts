// Reads the packages of an image: its layers one after the other, then what is left of them.

import { isObject, type Json, objectList, text } from "#base/json.ts";
import { composeLayers, type ImageContents, type ImageLayer } from "./compose.ts";
import type { LayerReading } from "./layer-process.ts";
import { emptyContents } from "./read-layer.ts";

/** Undefined if the layer is not stored. */
export type OpenLayer = (digest: string) => Promise<AsyncIterable<Uint8Array> | undefined>;

/** Layers of files, packed or not, also those that registries need not have. */
const layerForm =
  /^application\/vnd\.(?:oci\.image\.layer\.(?:nondistributable\.)?v1\.tar|docker\.image\.rootfs\.(?:foreign\.)?diff\.tar)(?:[.+](?:gzip|zstd))?$/;

/** @param manifest of an image, in JSON */
export const readImage = async (manifest: string, open: OpenLayer, read: LayerReading): Promise<ImageContents> => {
  const parsed = JSON.parse(manifest) as Json;
  const listed = isObject(parsed) ? objectList(parsed, "layers") : [];
  const isSupported = listed.length === 0 || listed.some((layer) => layerForm.test(text(layer, "mediaType")));
  if (!isSupported) return { ...composeLayers([]), state: "UNSUPPORTED" };
  const layers: ImageLayer[] = [];
  for (const layer of listed) {
    const [digest, mediaType] = [text(layer, "digest"), text(layer, "mediaType")];
    if (!layerForm.test(mediaType)) {
      layers.push({ digest, contents: emptyContents("LAYER_UNSUPPORTED", "is encrypted, or is no layer of files") });
      continue;
    }
    const pieces = await open(digest);
    layers.push({ digest, contents: pieces ? await read(pieces) : emptyContents("LAYER_MISSING", "is not stored") });
  }
  return composeLayers(layers);
};
