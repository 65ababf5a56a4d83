// Where a feed's files come from: a file, a folder or zip archive with all below it, or an https address. Never more than
// one file is held in memory, and of JSON Lines only one line.

import { createReadStream } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { DocumentError } from "./invalid.ts";
import { isZip, readZip, type ZipEntry } from "./parse/zip.ts";

/** The complete answer of an address. Whoever starts an import hands in the guarded client. */
export type Fetch = (address: string) => Promise<{ readonly status: number; readonly body: Uint8Array }>;

export interface FeedFile {
  /** Within its source; "" where the source is one file. */
  readonly name: string;
  /** Its name for people. */
  readonly label: string;
  /** One of many: some of a folder's files are no feed at all, such as a licence. */
  readonly isOfMany: boolean;
  bytes(): AsyncIterable<Uint8Array>;
}

export interface Source {
  /** The same for every import: an absolute path, or the address. */
  readonly key: string;
  /** Its name for people. */
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
    throw new DocumentError(1, `cannot be read: ${reasonOf(thrown)}`);
  }
}

const fileOf = (path: string, name: string, sizeBytes: number): FeedFile => ({
  name,
  label: name === "" ? basename(path) : name,
  isOfMany: name !== "",
  bytes: () => bytesOf(path, sizeBytes),
});

/** One file, or those of a zip archive. */
async function* filesIn(label: string, bytes: Uint8Array): AsyncGenerator<FeedFile> {
  const file = { name: "", label, isOfMany: false };
  if (!isZip(bytes)) {
    yield {
      ...file,
      async *bytes() {
        yield bytes;
      },
    };
    return;
  }
  let entries: ZipEntry[];
  try {
    entries = await readZip(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (thrown) {
    yield {
      ...file,
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

/** An address without what may be secret in it: neither user and password nor a query. */
const addressLabel = (url: URL): string => `${url.host}${url.pathname}`;

const addressForm = /^[a-z][a-z0-9+.-]*:\/\//i;

/** The name of a source for people, logs and events. */
export const sourceLabel = (source: string): string => {
  const url = addressForm.test(source) ? URL.parse(source) : null;
  return url ? addressLabel(url) : source;
};

const addressSource = (url: URL, fetch: Fetch): Source => ({
  key: url.href,
  label: addressLabel(url),
  count: async () => 1,
  async *files() {
    const { status, body } = await fetch(url.href);
    if (status !== 200) {
      const hint = status >= 300 && status < 400 ? "; redirects are not followed: name the address that they lead to" : "";
      throw new Fault("UNAVAILABLE", `${addressLabel(url)} answers with status ${status}${hint}`);
    }
    yield* filesIn(addressLabel(url), body);
  },
});

/** Finds a source. Throws a Fault where there is none. */
export const openSource = async (source: string, fetch: Fetch): Promise<Source> => {
  if (addressForm.test(source)) {
    const url = URL.parse(source);
    if (!url || !["https:", "http:"].includes(url.protocol)) throw new Fault("INVALID_ARGUMENT", `${JSON.stringify(source)} is no https address`);
    return addressSource(url, fetch);
  }
  const path = resolve(source);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new Fault("INVALID_ARGUMENT", `there is no file or folder ${source}`);
  if (found.isDirectory()) return { key: path, label: source, count: () => countBelow(path), files: () => filesBelow(path, "") };
  if (!found.isFile()) throw new Fault("INVALID_ARGUMENT", `${source} is neither a file nor a folder`);
  return {
    key: path,
    label: source,
    count: async () => 1,
    async *files() {
      if (found.size <= limits.feedFileBytesMax && (await startsAsZip(path))) yield* filesIn(basename(path), await readFile(path));
      else yield fileOf(path, "", found.size);
    },
  };
};
