// A feed's file read forward: line by line, or its beginning and then all of the rest. It is never held longer than its
// limit, however it is packed.

import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { limits } from "#base/limits.ts";
import { DocumentError } from "./invalid.ts";
import type { FeedFile } from "./source.ts";

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

async function* gunzipped(first: Uint8Array, more: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const packed = (async function* () {
    try {
      yield first;
      for (let next = await more.next(); !next.done; next = await more.next()) yield next.value;
    } finally {
      await more.return?.();
    }
  })();
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  pipeline(Readable.from(packed, { objectMode: false }), gunzip, () => {});
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (thrown) {
    throw thrown instanceof DocumentError ? thrown : new DocumentError(1, `is not whole: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

/** A file's bytes, read forward; what is packed with gzip is unpacked on the way. */
export class FeedFileReader {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private buffered: Buffer = Buffer.alloc(0);
  private ended = false;
  private readBytes = 0;
  /** Of the line that comes next, from 1. */
  lineNumber = 1;

  private constructor(chunks: AsyncIterator<Uint8Array>) {
    this.chunks = chunks;
  }

  static async open(file: FeedFile): Promise<FeedFileReader> {
    const chunks = file.bytes()[Symbol.asyncIterator]();
    const first = await chunks.next();
    const start = first.done ? new Uint8Array() : first.value;
    const reader = new FeedFileReader(isGzip(start) ? gunzipped(start, chunks) : chunks);
    if (!isGzip(start)) reader.append(start);
    return reader;
  }

  private append(chunk: Uint8Array): void {
    this.readBytes += chunk.byteLength;
    if (this.readBytes > limits.feedSourceBytesMax) throw new DocumentError(this.lineNumber, `is longer than ${limits.feedSourceBytesMax} bytes`);
    this.buffered = this.buffered.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.concat([this.buffered, chunk]);
  }

  private async readMore(): Promise<boolean> {
    if (this.ended) return false;
    const { done, value } = await this.chunks.next();
    if (done) this.ended = true;
    else this.append(value);
    return !done;
  }

  /** The next line without its end; undefined after the last one. */
  async line(): Promise<Buffer | undefined> {
    let end = this.buffered.indexOf(10);
    for (let from = this.buffered.length; end < 0 && (await this.readMore()); from = this.buffered.length) {
      if (this.buffered.length > limits.feedLineBytesMax)
        throw new DocumentError(this.lineNumber, `holds a line of more than ${limits.feedLineBytesMax} bytes`);
      end = this.buffered.indexOf(10, from);
    }
    if (end < 0 && this.buffered.length === 0) return undefined;
    const line = end < 0 ? this.buffered : this.buffered.subarray(0, end);
    this.buffered = end < 0 ? Buffer.alloc(0) : this.buffered.subarray(end + 1);
    this.lineNumber++;
    return line;
  }

  /** The first bytes, as many as are needed to see whether lines are records of their own. */
  async head(isEnough: (start: Buffer) => boolean): Promise<Buffer> {
    while (!isEnough(this.buffered) && this.buffered.length <= limits.feedLineBytesMax && (await this.readMore()));
    return this.buffered;
  }

  /** Everything that is left. */
  async rest(): Promise<Buffer> {
    const parts = [this.buffered];
    let length = this.buffered.length;
    this.buffered = Buffer.alloc(0);
    for (; length <= limits.feedDocumentBytesMax && (await this.readMore()); this.buffered = Buffer.alloc(0)) {
      parts.push(this.buffered);
      length += this.buffered.length;
    }
    if (length > limits.feedDocumentBytesMax) throw new DocumentError(1, `is longer than ${limits.feedDocumentBytesMax} bytes`);
    return parts.length === 1 ? (parts[0] ?? this.buffered) : Buffer.concat(parts, length);
  }

  async close(): Promise<void> {
    await this.chunks.return?.();
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The text of UTF-8; a byte order mark is no part of it. Throws DocumentError. */
export const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    const text = new TextDecoder("utf-8").decode(bytes);
    throw new DocumentError(text.slice(0, text.indexOf("\ufffd")).split("\n").length, "is not valid UTF-8");
  }
};
