// Reads a feed's file forward: by line, by JSON value, or its head and then the rest. Memory is bounded, even for compressed
// files.

import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { limits } from "#base/limits.ts";
import { DocumentError } from "./invalid.ts";
import type { FeedFile } from "./feed-file.ts";

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

const isBlank = (code: number | undefined): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Finds the end of one JSON value across chunks. */
class ValueScan {
  private depth = 0;
  private inText = false;
  /** A scalar so far: the next delimiter ends it. */
  isPlain = true;
  isEnded = false;

  /** Resumes at the last result. */
  endIn(bytes: Buffer, from: number): number {
    let at = from;
    for (; at < bytes.length && !this.isEnded; at++) {
      const code = bytes[at];
      if (this.inText) {
        if (code === 0x5c) {
          // The escaped character may be in the next chunk.
          if (at + 1 >= bytes.length) return at;
          at++;
        } else if (code === 0x22) {
          this.inText = false;
          this.isEnded = this.depth === 0;
        }
      } else if (code === 0x22) {
        this.inText = true;
        this.isPlain = false;
      } else if (code === 0x7b || code === 0x5b) {
        this.depth++;
        this.isPlain = false;
      } else if (code === 0x7d || code === 0x5d) {
        if (this.depth === 0) return this.endBefore(at);
        this.depth--;
        this.isEnded = this.depth === 0;
      } else if (this.depth === 0 && (code === 0x2c || code === 0x3a || isBlank(code))) return this.endBefore(at);
    }
    return at;
  }

  private endBefore(at: number): number {
    this.isEnded = true;
    return at;
  }
}

export class FeedFileReader {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private buffered: Buffer = Buffer.alloc(0);
  private ended = false;
  private readBytes = 0;
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

  /** Undefined after the last line. */
  async line(): Promise<Buffer | undefined> {
    let end = this.buffered.indexOf(10);
    for (let from = this.buffered.length; end < 0 && (await this.readMore()); from = this.buffered.length) {
      if (this.buffered.length > limits.feedLineBytesMax)
        throw new DocumentError(this.lineNumber, `contains a line of more than ${limits.feedLineBytesMax} bytes`);
      end = this.buffered.indexOf(10, from);
    }
    if (end < 0 && this.buffered.length === 0) return undefined;
    const line = end < 0 ? this.buffered : this.buffered.subarray(0, end);
    this.buffered = end < 0 ? Buffer.alloc(0) : this.buffered.subarray(end + 1);
    this.lineNumber++;
    return line;
  }

  /** Skips buffered bytes. */
  skip(length: number): void {
    this.consume(length);
  }

  private consume(length: number): Buffer {
    const taken = this.buffered.subarray(0, length);
    this.buffered = this.buffered.subarray(length);
    for (let at = taken.indexOf(10); at >= 0; at = taken.indexOf(10, at + 1)) this.lineNumber++;
    return taken;
  }

  /** Returns the next JSON character after blanks without consuming it. */
  async peek(): Promise<number | undefined> {
    for (;;) {
      let at = 0;
      while (at < this.buffered.length && isBlank(this.buffered[at])) at++;
      if (at > 0) this.consume(at);
      if (this.buffered.length > 0) return this.buffered[0];
      if (!(await this.readMore())) return undefined;
    }
  }

  async take(): Promise<number | undefined> {
    const found = await this.peek();
    if (found !== undefined) this.consume(1);
    return found;
  }

  /** Delimited by brackets and quotes only. A parser checks its content. */
  async value(): Promise<{ readonly text: Buffer; readonly line: number }> {
    await this.peek();
    const line = this.lineNumber;
    const scan = new ValueScan();
    for (let at = 0; ; ) {
      at = scan.endIn(this.buffered, at);
      if (scan.isEnded) return { text: Buffer.from(this.consume(at)), line };
      if (this.buffered.length > limits.feedDocumentBytesMax)
        throw new DocumentError(line, `contains a value of more than ${limits.feedDocumentBytesMax} bytes`);
      if (await this.readMore()) continue;
      if (at > 0 && scan.isPlain) return { text: Buffer.from(this.consume(at)), line };
      throw new DocumentError(line, "not valid JSON: it ends too early");
    }
  }

  /** Enough to see whether each line is a record. */
  async head(isEnough: (start: Buffer) => boolean): Promise<Buffer> {
    while (!isEnough(this.buffered) && this.buffered.length <= limits.feedLineBytesMax && (await this.readMore()));
    return this.buffered;
  }

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

/** Drops a byte order mark. Throws DocumentError. */
export const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    const text = new TextDecoder("utf-8").decode(bytes);
    throw new DocumentError(text.slice(0, text.indexOf("\ufffd")).split("\n").length, "is not valid UTF-8");
  }
};
