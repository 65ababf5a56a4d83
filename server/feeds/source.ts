// Where a feed's files come from: a file, a folder with all below it, or an https address. Never more than one file is
// held in memory, and of JSON Lines only one line.

import { createReadStream } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { isZip, readZip, type ZipEntry } from "./parse/zip.ts";
import { Broken } from "./refused.ts";

/** One whole answer of an address. The operator's room hands in the guarded client. */
export type Fetch = (address: string) => Promise<{ readonly status: number; readonly body: Uint8Array }>;

export interface FeedFile {
  /** Within its source; "" where the source is one file. */
  readonly name: string;
  /** What a person is told. */
  readonly label: string;
  /** One of many: some of a folder's files are no feed at all, such as a licence. */
  readonly isOfMany: boolean;
  bytes(): AsyncIterable<Uint8Array>;
}

export interface Source {
  /** The same for every run: an absolute path, or the address. */
  readonly key: string;
  /** What a person is told. */
  readonly label: string;
  /** How many files there are. */
  count(): Promise<number>;
  /** Files in a fixed order. */
  files(): AsyncIterable<FeedFile>;
}

const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

async function* bytesOf(path: string, sizeBytes: number): AsyncGenerator<Uint8Array> {
  try {
    // A stream costs more than a small file.
    if (sizeBytes <= limits.feedLineBytesMax) yield await readFile(path);
    else yield* createReadStream(path, { highWaterMark: 256 * 1024 });
  } catch (thrown) {
    throw new Broken(1, `cannot be read: ${reasonOf(thrown)}`);
  }
}

const fileOf = (path: string, name: string, sizeBytes: number): FeedFile => ({
  name,
  label: name === "" ? basename(path) : name,
  isOfMany: name !== "",
  bytes: () => bytesOf(path, sizeBytes),
});

/** One file, or those of a zip archive. */
function* filesIn(label: string, bytes: Uint8Array): Generator<FeedFile> {
  const only = { name: "", label, isOfMany: false };
  if (!isZip(bytes)) {
    yield {
      ...only,
      async *bytes() {
        yield bytes;
      },
    };
    return;
  }
  let entries: ZipEntry[];
  try {
    entries = readZip(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (thrown) {
    yield {
      ...only,
      // biome-ignore lint/correctness/useYield: it only ever fails
      async *bytes() {
        throw thrown;
      },
    };
    return;
  }
  for (const { name, read } of entries) {
    if (name.split("/").some((step) => step.startsWith("."))) continue;
    yield {
      name,
      label: name,
      isOfMany: true,
      async *bytes() {
        yield await read();
      },
    };
  }
}

/** Whether a file begins as a zip archive does. */
const startsAsZip = async (path: string): Promise<boolean> => {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return isZip(buffer);
  } finally {
    await file.close();
  }
};

/** Files below a folder by their bytes' order. Hidden ones are left out, and links are not followed: they may lead in a circle. */
async function* filesBelow(folder: string, within: string): AsyncGenerator<FeedFile> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    const name = within === "" ? entry.name : `${within}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(path, name);
    else if (entry.isFile()) yield fileOf(path, name, (await stat(path)).size);
  }
}

const countBelow = async (folder: string): Promise<number> => {
  let count = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    if (entry.isDirectory()) count += await countBelow(join(folder, entry.name));
    else if (entry.isFile()) count++;
  }
  return count;
};

/** An address without what may be secret in it. */
const addressLabel = (url: URL): string => `${url.host}${url.pathname}`;

const addressSource = (url: URL, fetch: Fetch): Source => ({
  key: url.href,
  label: addressLabel(url),
  count: async () => 1,
  async *files() {
    const { status, body } = await fetch(url.href);
    if (status !== 200)
      throw new Fault(
        "UNAVAILABLE",
        `${addressLabel(url)} answers with status ${status}${status >= 300 && status < 400 ? "; redirects are not followed: name the address that they lead to" : ""}`,
      );
    yield* filesIn(addressLabel(url), body);
  },
});

/** Finds a source. Throws a Fault where there is none. */
export const openSource = async (given: string, fetch: Fetch): Promise<Source> => {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) {
    const url = URL.parse(given);
    if (!url || !["https:", "http:"].includes(url.protocol)) throw new Fault("INVALID_ARGUMENT", `${JSON.stringify(given)} is no https address`);
    return addressSource(url, fetch);
  }
  const path = resolve(given);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new Fault("INVALID_ARGUMENT", `there is no file or folder ${given}`);
  if (found.isDirectory()) return { key: path, label: given, count: () => countBelow(path), files: () => filesBelow(path, "") };
  if (!found.isFile()) throw new Fault("INVALID_ARGUMENT", `${given} is neither a file nor a folder`);
  return {
    key: path,
    label: given,
    count: async () => 1,
    async *files() {
      if (found.size <= limits.feedFileBytesMax && (await startsAsZip(path))) yield* filesIn(basename(path), await readFile(path));
      else yield fileOf(path, "", found.size);
    },
  };
};

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

async function* unzipped(first: Uint8Array, more: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const zipped = (async function* () {
    try {
      yield first;
      for (let next = await more.next(); !next.done; next = await more.next()) yield next.value;
    } finally {
      await more.return?.();
    }
  })();
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  pipeline(Readable.from(zipped, { objectMode: false }), gunzip, () => {});
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (thrown) {
    throw thrown instanceof Broken ? thrown : new Broken(1, `is not whole: ${reasonOf(thrown)}`);
  }
}

/** A file's bytes, read forward; gzip is seen through. */
export class Reader {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private held: Buffer = Buffer.alloc(0);
  private ended = false;
  private readBytes = 0;
  /** Of the line that comes next, from 1. */
  lineNumber = 1;

  private constructor(chunks: AsyncIterator<Uint8Array>) {
    this.chunks = chunks;
  }

  static async open(file: FeedFile): Promise<Reader> {
    const chunks = file.bytes()[Symbol.asyncIterator]();
    const first = await chunks.next();
    const start = first.done ? new Uint8Array() : first.value;
    const reader = new Reader(isGzip(start) ? unzipped(start, chunks) : chunks);
    if (!isGzip(start)) reader.take(start);
    return reader;
  }

  private take(chunk: Uint8Array): void {
    this.readBytes += chunk.byteLength;
    if (this.readBytes > limits.feedSourceBytesMax) throw new Broken(this.lineNumber, `is longer than ${limits.feedSourceBytesMax} bytes`);
    this.held = this.held.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.concat([this.held, chunk]);
  }

  private async more(): Promise<boolean> {
    if (this.ended) return false;
    const { done, value } = await this.chunks.next();
    if (done) this.ended = true;
    else this.take(value);
    return !done;
  }

  /** The next line without its end; undefined after the last one. */
  async line(): Promise<Buffer | undefined> {
    let end = this.held.indexOf(10);
    for (let from = this.held.length; end < 0 && (await this.more()); from = this.held.length) {
      if (this.held.length > limits.feedLineBytesMax) throw new Broken(this.lineNumber, `holds a line of more than ${limits.feedLineBytesMax} bytes`);
      end = this.held.indexOf(10, from);
    }
    if (end < 0 && this.held.length === 0) return undefined;
    const line = end < 0 ? this.held : this.held.subarray(0, end);
    this.held = end < 0 ? Buffer.alloc(0) : this.held.subarray(end + 1);
    this.lineNumber++;
    return line;
  }

  /** The first bytes, as many as are needed to see whether lines are records of their own. */
  async head(enough: (held: Buffer) => boolean): Promise<Buffer> {
    while (!enough(this.held) && this.held.length <= limits.feedLineBytesMax && (await this.more()));
    return this.held;
  }

  /** Everything that is left. */
  async rest(): Promise<Buffer> {
    const parts = [this.held];
    let length = this.held.length;
    this.held = Buffer.alloc(0);
    for (; length <= limits.feedDocumentBytesMax && (await this.more()); this.held = Buffer.alloc(0)) {
      parts.push(this.held);
      length += this.held.length;
    }
    if (length > limits.feedDocumentBytesMax) throw new Broken(1, `is longer than ${limits.feedDocumentBytesMax} bytes`);
    return parts.length === 1 ? (parts[0] ?? this.held) : Buffer.concat(parts, length);
  }

  async close(): Promise<void> {
    await this.chunks.return?.();
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The text of UTF-8; a byte order mark is no part of it. Throws Broken. */
export const decode = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    const text = new TextDecoder("utf-8").decode(bytes);
    throw new Broken(text.slice(0, text.indexOf("\ufffd")).split("\n").length, "is not valid UTF-8");
  }
};
