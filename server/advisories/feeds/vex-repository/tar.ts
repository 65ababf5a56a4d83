// Streams a tar archive (POSIX ustar) in gzip. Names are short (location.ts), files small.

import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";

export interface TarFile {
  /** At most 100 bytes. */
  readonly name: string;
  readonly modifiedMs: number;
  readonly content: Buffer;
}

const blockBytes = 512;

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;

const header = ({ name, modifiedMs, content }: TarFile): Buffer => {
  const bytes = Buffer.alloc(blockBytes);
  if (Buffer.byteLength(name) > 100) throw new Error(`a name of an archive has more than 100 bytes: ${name}`);
  bytes.write(name, 0);
  bytes.write(octal(0o644, 7), 100);
  bytes.write(octal(0, 7), 108);
  bytes.write(octal(0, 7), 116);
  bytes.write(octal(content.length, 11), 124);
  bytes.write(octal(Math.max(0, Math.floor(modifiedMs / 1000)), 11), 136);
  // Calculated with blanks in its field.
  bytes.write(" ".repeat(8), 148);
  bytes.write("0", 156);
  bytes.write("ustar\x0000", 257);
  const sum = bytes.reduce((all, byte) => all + byte, 0);
  bytes.write(`${octal(sum, 6)} `, 148);
  return bytes;
};

async function* tarPieces(pages: AsyncIterable<readonly TarFile[]>): AsyncGenerator<Uint8Array> {
  for await (const page of pages) {
    const pieces = page.flatMap((file) => [header(file), file.content, Buffer.alloc((blockBytes - (file.content.length % blockBytes)) % blockBytes)]);
    if (pieces.length > 0) yield Buffer.concat(pieces);
  }
  yield Buffer.alloc(blockBytes * 2);
}

/** Streams the archive; an error in `pages` fails it. */
export async function* tarGzPieces(pages: AsyncIterable<readonly TarFile[]>): AsyncGenerator<Uint8Array> {
  // Errors surface where the stream is read.
  const packed = pipeline(Readable.from(tarPieces(pages)), createGzip(), () => {});
  for await (const piece of packed) if (piece instanceof Uint8Array) yield piece;
}
