// Unpacks a layer by its first bytes: gzip, zstd, or plain. Media types lie, and clients unpack by content too.

import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { limits } from "#base/limits.ts";
import { TarError } from "./tar.ts";
import { unpackZstd } from "./unpack-zstd.ts";

const startsWith = (bytes: Uint8Array, ...magic: number[]): boolean => magic.every((byte, index) => bytes[index] === byte);

async function* unpackGzip(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(pieces);
  const unpacker = createGunzip({ chunkSize: limits.unpackChunkBytes });
  source.on("error", (error) => unpacker.destroy(error));
  try {
    for await (const piece of source.pipe(unpacker) as AsyncIterable<Uint8Array>) yield piece;
  } catch {
    throw new TarError("is damaged gzip");
  }
}

/** Pieces are valid until the next one. Throws TarError. */
export async function* unpackLayer(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < 6) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
  }
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    if (head.length > 0) yield head;
    for (;;) {
      const { value, done } = await iterator.next();
      if (done === true) return;
      yield value;
    }
  };
  if (startsWith(head, 0x1f, 0x8b)) yield* unpackGzip(whole());
  else if (startsWith(head, 0x28, 0xb5, 0x2f, 0xfd) || ((head[0] ?? 0) >> 4 === 5 && startsWith(head.subarray(1), 0x2a, 0x4d, 0x18)))
    yield* unpackZstd(whole());
  else if (startsWith(head, 0x42, 0x5a, 0x68) || startsWith(head, 0xfd, 0x37, 0x7a, 0x58, 0x5a)) throw new TarError("is packed in a way that is not supported");
  else yield* whole();
}
