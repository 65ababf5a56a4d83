// Decompresses documents in gzip or zstd: some tools push them like layers.

import { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { limits } from "#base/limits.ts";

type Unpacked = { readonly bytes: Uint8Array } | { readonly problem: string };

const startsWith = (first: Uint8Array, ...magic: number[]): boolean => magic.every((byte, index) => first[index] === byte);

/** Stops at limits.sbomBytesMax. */
export const unpack = async (chunks: readonly Uint8Array[]): Promise<Unpacked> => {
  const packed = Buffer.concat(chunks);
  const unpacker = startsWith(packed, 0x1f, 0x8b) ? createGunzip() : startsWith(packed, 0x28, 0xb5, 0x2f, 0xfd) ? createZstdDecompress() : undefined;
  if (unpacker === undefined) return { bytes: packed };
  const found: Uint8Array[] = [];
  let size = 0;
  try {
    const source = Readable.from([packed]);
    source.on("error", (error) => unpacker.destroy(error));
    for await (const chunk of source.pipe(unpacker) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > limits.sbomBytesMax) return { problem: `has more than ${limits.sbomBytesMax} bytes when it is unpacked` };
      found.push(chunk);
    }
  } catch {
    return { problem: "cannot be unpacked" };
  }
  return { bytes: Buffer.concat(found) };
};
