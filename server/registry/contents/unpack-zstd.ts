// Unpacks zstd with all its frames (RFC 8878 §3.1). Node's decompressor stops after the first frame without an error, so that the rest
// of a layer in the form zstd:chunked, or of concatenated frames, would seem not to exist.

import { Readable } from "node:stream";
import { constants, createZstdDecompress, zstdDecompressSync } from "node:zlib";
import { limits } from "#base/limits.ts";
import { TarError } from "./tar.ts";

/** Reads exact lengths from pieces. */
class PieceReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#pieces.next();
    if (done === true) return false;
    this.#held = Buffer.concat([this.#held, value]);
    return true;
  }

  /** Returns undefined at the end. Throws TarError if fewer bytes follow. */
  async exactly(length: number): Promise<Buffer | undefined> {
    while (this.#held.length < length) {
      if (await this.#more()) continue;
      if (this.#held.length === 0) return undefined;
      throw new TarError("ends too early");
    }
    const found = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return found;
  }

  async needed(length: number): Promise<Buffer> {
    if (length === 0) return Buffer.alloc(0);
    const found = await this.exactly(length);
    if (!found) throw new TarError("ends too early");
    return found;
  }
}

const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;

interface FrameHeader {
  readonly bytes: Buffer;
  /** Undefined if it is not stated. */
  readonly contentBytes: number | undefined;
  readonly hasChecksum: boolean;
}

const readFrameHeader = async (reader: PieceReader, magic: Buffer): Promise<FrameHeader> => {
  const descriptor = await reader.needed(1);
  const flags = descriptor[0] ?? 0;
  const isSingleSegment = (flags & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3] ?? 0;
  if (dictionaryBytes > 0) throw new TarError("is packed with a dictionary");
  const window = await reader.needed(isSingleSegment ? 0 : 1);
  const windowLog = 10 + ((window[0] ?? 0) >> 3);
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0;
  const size = await reader.needed(sizeBytes);
  const stated = sizeBytes === 0 ? undefined : sizeBytes === 8 ? Number(size.readBigUInt64LE()) : size.readUIntLE(0, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  const isLarge = isSingleSegment ? (stated ?? 0) > 2 ** limits.zstdWindowLogMax : windowLog > limits.zstdWindowLogMax;
  if (isLarge) throw new TarError(`needs more than ${2 ** limits.zstdWindowLogMax} bytes of memory to unpack`);
  return { bytes: Buffer.concat([magic, descriptor, window, size]), contentBytes: stated, hasChecksum: (flags & 4) !== 0 };
};

async function* frameBytes(reader: PieceReader, { bytes, hasChecksum }: FrameHeader): AsyncGenerator<Buffer> {
  yield bytes;
  for (let isLast = false; !isLast; ) {
    const header = await reader.needed(3);
    const fields = header.readUIntLE(0, 3);
    isLast = (fields & 1) === 1;
    const [type, size] = [(fields >> 1) & 3, fields >> 3];
    if (type === 3 || size > limits.zstdBlockBytesMax) throw new TarError("is damaged zstd");
    yield header;
    yield await reader.needed(type === 1 ? 1 : size);
  }
  if (hasChecksum) yield await reader.needed(4);
}

const options = { params: { [constants.ZSTD_d_windowLogMax]: limits.zstdWindowLogMax } };

const damaged = (cause: unknown): TarError => (cause instanceof TarError ? cause : new TarError("is damaged zstd"));

/** Throws TarError. */
export async function* unpackZstd(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = new PieceReader(pieces);
  for (let magic = await reader.exactly(4); magic !== undefined; magic = await reader.exactly(4)) {
    const number = magic.readUInt32LE();
    if ((number & 0xfffffff0) >>> 0 === skippableMagic) {
      let rest = (await reader.needed(4)).readUInt32LE();
      for (; rest > 0; rest -= Math.min(rest, limits.zstdBlockBytesMax)) await reader.needed(Math.min(rest, limits.zstdBlockBytesMax));
      continue;
    }
    if (number !== frameMagic) throw new TarError("has bytes after its end");
    const header = await readFrameHeader(reader, Buffer.from(magic));
    const { contentBytes } = header;
    try {
      if (contentBytes !== undefined && contentBytes <= limits.zstdWholeFrameBytesMax) {
        // A stream for each of ten thousand small frames takes ten times as long.
        const packed: Buffer[] = [];
        for await (const piece of frameBytes(reader, header)) packed.push(piece);
        yield zstdDecompressSync(Buffer.concat(packed), { ...options, maxOutputLength: Math.max(1, contentBytes) });
      } else {
        const source = Readable.from(frameBytes(reader, header));
        const unpacker = createZstdDecompress({ ...options, chunkSize: limits.unpackChunkBytes });
        source.on("error", (error) => unpacker.destroy(error));
        for await (const piece of source.pipe(unpacker) as AsyncIterable<Uint8Array>) yield piece;
      }
    } catch (cause) {
      throw damaged(cause);
    }
  }
}
