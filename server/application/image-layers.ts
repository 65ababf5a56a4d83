// The layers of an image that was read, the layer of each package, and the base image that annotations of its manifest claim.

import { hash } from "node:crypto";
import { isObject, type Json, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { positionsOfPurls } from "#advisories/feeds";
import type { ImageLayers } from "#advisories/store";
import type { ImageContents } from "#registry/contents";

const chainLength = 32;

/** Returns a hash of the digests up to each layer. Digests of blobs, since no pusher can claim those of bytes that the image lacks. */
const chainsOf = (layers: readonly string[]): string[] => {
  let chain = "";
  return layers.map((digest) => (chain = hash("sha256", `${chain} ${digest}`, "hex").slice(0, chainLength)));
};

/** With a host: a name without one could be a path of this server. */
const nameForm = /^(?=[^/]*[.:]|localhost\/)[a-zA-Z0-9.-]+(?::[0-9]+)?\/[a-zA-Z0-9._/-]+(?::[a-zA-Z0-9._-]+)?(?:@[a-z0-9]+:[a-f0-9]+)?$/;
const digestForm = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/** Returns the annotations of the OCI image specification; a digest without a name says nothing. */
const claimOf = (manifest: Readonly<Record<string, Json>>): Pick<ImageLayers, "claimedName" | "claimedDigest"> => {
  const annotations = part(manifest, "annotations");
  const [name, digest] = [text(annotations, "org.opencontainers.image.base.name"), text(annotations, "org.opencontainers.image.base.digest")];
  if (name.length > limits.baseImageNameMax || !nameForm.test(name)) return { claimedName: "", claimedDigest: "" };
  return { claimedName: name, claimedDigest: digestForm.test(digest) ? digest : "" };
};

/** @param manifest in JSON */
export const imageLayersOf = (manifest: string, { state, packages }: ImageContents): ImageLayers => {
  const parsed = JSON.parse(manifest) as Json;
  const listed = isObject(parsed) ? parsed : {};
  const layers = objectList(listed, "layers").map((layer) => text(layer, "digest"));
  const positions = new Map<string, number>();
  for (const [index, digest] of layers.entries()) if (!positions.has(digest)) positions.set(digest, index + 1);
  return {
    layers: layers.slice(0, limits.imageLayersMax),
    // The further layers of an image with too many are not read.
    chains: layers.length > limits.imageLayersMax ? [] : chainsOf(layers),
    packages: positionsOfPurls(packages.map(({ purl, layer }) => ({ purl, position: positions.get(layer) ?? 0 }))),
    isComplete: state === "INDEXED",
    ...claimOf(listed),
  };
};
