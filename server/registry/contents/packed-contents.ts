// Contents of a layer as bytes, to be stored. Paths are hashes, which do not compress; the rest compresses well.

import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { limits } from "#base/limits.ts";
import type { LayerContents } from "./read-layer.ts";

/** Increase it when a reader finds more or other packages: layers are read again. */
export const readerVersion = 3;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const pathBytes = Float64Array.BYTES_PER_ELEMENT;

/** The length of the JSON text, the text, and the paths in little-endian order. */
export const packContents = async ({ paths, ...rest }: LayerContents): Promise<Buffer> => {
  const text = Buffer.from(JSON.stringify(rest));
  const packed = Buffer.alloc(4 + text.length + paths.length * pathBytes);
  packed.writeUInt32LE(text.length);
  text.copy(packed, 4);
  for (const [index, path] of paths.entries()) packed.writeDoubleLE(path, 4 + text.length + index * pathBytes);
  return compress(packed);
};

/** Takes what packContents of the same reader version returned. */
export const unpackContents = async (bytes: Uint8Array): Promise<LayerContents> => {
  const packed = await decompress(bytes, { maxOutputLength: limits.packedContentsBytesMax });
  const pathsFrom = 4 + packed.readUInt32LE();
  const rest = JSON.parse(packed.subarray(4, pathsFrom).toString("utf8")) as Omit<LayerContents, "paths">;
  const paths = Float64Array.from({ length: (packed.length - pathsFrom) / pathBytes }, (_, index) => packed.readDoubleLE(pathsFrom + index * pathBytes));
  return { ...rest, paths };
};
