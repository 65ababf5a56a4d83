// Decompresses documents in gzip or zstd: some tools push them like layers.

import { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { limits } from "#base/limits.ts";

type Unpacked = { readonly bytes: Uint8Array } | { readonly problem: string };

const startsWith = (first: Uint8Array, ...magic: number[]): boolean => magic.every((byte, index) => first[index] === byte);

const isZstdFrame = (packed: Uint8Array): boolean => startsWith(packed, 0x28, 0xb5, 0x2f, 0xfd);

/** Metadata that decompressors skip (RFC 8878 §3.1.2). */
const isSkippableFrame = (packed: Uint8Array): boolean => ((packed[0] ?? 0) & 0xf0) === 0x50 && startsWith(packed.subarray(1), 0x2a, 0x4d, 0x18);

const skippableBytes = (packed: Buffer): number => (packed.length < 8 ? packed.length : 8 + packed.readUInt32LE(4));

/** Stops at limits.sbomBytesMax. */
export const unpack = async (chunks: readonly Uint8Array[]): Promise<Unpacked> => {
  const packed = Buffer.concat(chunks);
  const isGzip = startsWith(packed, 0x1f, 0x8b);
  return isGzip || isZstdFrame(packed) || isSkippableFrame(packed) ? unpackAll(packed, isGzip) : { bytes: packed };
};

/** Node's decompressor takes all members of gzip, but only one frame of zstd, without an error. */
const unpackAll = async (packed: Buffer, isGzip: boolean): Promise<Unpacked> => {
  const found: Uint8Array[] = [];
  let size = 0;
  try {
    for (let rest = packed; rest.length > 0; ) {
      if (!isGzip && isSkippableFrame(rest)) {
        rest = rest.subarray(skippableBytes(rest));
        continue;
      }
      const unpacker = isGzip ? createGunzip() : createZstdDecompress();
      const source = Readable.from([rest]);
      source.on("error", (error) => unpacker.destroy(error));
      for await (const chunk of source.pipe(unpacker) as AsyncIterable<Uint8Array>) {
        size += chunk.length;
        if (size > limits.sbomBytesMax) return { problem: `has more than ${limits.sbomBytesMax} bytes when it is unpacked` };
        found.push(chunk);
      }
      rest = isGzip ? rest.subarray(rest.length) : rest.subarray(Math.max(1, unpacker.bytesWritten));
    }
  } catch {
    return { problem: "cannot be unpacked" };
  }
  return { bytes: Buffer.concat(found) };
};
