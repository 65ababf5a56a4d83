// Sources of files: a file, a directory or zip archive, or an https URL with linked files. At most one file is in memory; of an
// archive one entry, of JSON Lines one line.

import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { hash } from "node:crypto";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { addressLabel, type Fetching, fetchFile } from "./fetching.ts";
import { DocumentError } from "./invalid.ts";
import type { FeedFile } from "./feed-file.ts";
import { findProvider, isBareHost } from "./find-provider.ts";
import { linkedFiles } from "./linked-files.ts";
import { isZip, openZip, type ZipArchive, type ZipEntry } from "./parse/zip.ts";
import { changedRecords, recordPages } from "./record-pages.ts";
import { openStoredFile, type StoredFile } from "./stored-file.ts";

export interface Source {
  /** Stable: an absolute path or URL. */
  readonly key: string;
  readonly label: string;
  count(): Promise<number>;
  /** In a fixed order. */
  files(fetching: Fetching): AsyncIterable<FeedFile>;
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
  label: name,
  isOfMany: true,
  bytes: () => bytesOf(path, sizeBytes),
});

const isHidden = (name: string): boolean => name.split("/").some((step) => step.startsWith("."));

async function* entryFiles(archive: ZipArchive): AsyncGenerator<FeedFile> {
  for await (const { name, read } of archive.entries()) {
    if (isHidden(name)) continue;
    yield {
      name,
      label: name,
      isOfMany: true,
      async *bytes() {
        yield (await read()).bytes;
      },
    };
  }
}

const bundleFile = (entries: readonly ZipEntry[]): FeedFile => ({
  name: entries[0]?.name ?? "",
  label: `${entries[0]?.name ?? ""} and the next ${entries.length - 1}`,
  isOfMany: true,
  bundle: {
    digest: hash("sha256", JSON.stringify(entries.map(({ name, fingerprint }) => [name, fingerprint])), "base64url"),
    documents: entries.map(({ name, read }) => ({ label: name, read })),
  },
  async *bytes() {},
});

/** By hash, not position: an added or removed entry changes only one bundle. */
const endsBundle = (name: string): boolean => Number.parseInt(hash("sha256", name, "hex").slice(0, 8), 16) % limits.feedBundleEntries === 0;

/** Yields bundles of about a hundred entries. */
async function* bundledFiles(archive: ZipArchive): AsyncGenerator<FeedFile> {
  let entries: ZipEntry[] = [];
  for await (const entry of archive.entries()) {
    if (isHidden(entry.name)) continue;
    entries.push(entry);
    if (entries.length < limits.feedBundleEntriesMax && !endsBundle(entry.name)) continue;
    yield bundleFile(entries);
    entries = [];
  }
  if (entries.length > 0) yield bundleFile(entries);
}

async function* filesIn(label: string, file: StoredFile): AsyncGenerator<FeedFile> {
  const whole = { name: "", label, isOfMany: false };
  if (!isZip(await file.read(0, 4))) {
    yield { ...whole, bytes: () => file.bytes() };
    return;
  }
  let archive: ZipArchive;
  try {
    archive = await openZip(file);
  } catch (thrown) {
    yield {
      ...whole,
      // biome-ignore lint/correctness/useYield: it only ever fails
      async *bytes() {
        throw thrown;
      },
    };
    return;
  }
  yield* archive.entryCount > limits.feedArchiveFilesMax ? bundledFiles(archive) : entryFiles(archive);
}

/** Yields files in byte order, without hidden ones. Symbolic links are not followed, because they may be circular. */
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

/** A domain, for its CSAF provider: "example.com". */
const domainForm = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!(?:json|ya?ml|zip|gz|csv|jsonl|xml|md|txt)$)[a-z]{2,63}$/i;

const addressForm = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Returns the name for display, logs and events. */
export const sourceLabel = (source: string): string => {
  const url = addressForm.test(source) ? URL.parse(source) : null;
  return url ? addressLabel(url) : source;
};

async function* filesOfAddress(address: URL, fetching: Fetching): AsyncGenerator<FeedFile> {
  const provider = isBareHost(address) ? await findProvider(fetching, address) : undefined;
  const url = provider?.url ?? address;
  const label = addressLabel(url);
  const changed = changedRecords(fetching, url);
  if (changed) {
    yield* changed;
    return;
  }
  const fetched = provider?.fetched ?? (await fetchFile(fetching, url));
  if (fetched.isUnchanged) {
    yield { name: "", label, isOfMany: false, unchanged: "source", async *bytes() {} };
    return;
  }
  const { file } = fetched;
  const refused = (): void => fetching.validators.forget(url.href);
  const linked = (await recordPages(fetching, url, fetched)) ?? (await linkedFiles(fetching, url, file));
  for await (const each of linked ?? filesIn(label, file)) yield { refused, ...each };
}

const addressSource = (url: URL): Source => ({
  key: url.href,
  label: addressLabel(url),
  count: async () => 1,
  files: (fetching) => filesOfAddress(url, fetching),
});

async function* filesOfPath(path: string, { opened }: Fetching): AsyncGenerator<FeedFile> {
  const file = await openStoredFile(path);
  opened.add(file);
  yield* filesIn(basename(path), file);
}

/** Returns the key of a source, even if the file no longer exists. */
export const sourceKeyOf = async (source: string): Promise<string> => {
  const url = addressForm.test(source) ? URL.parse(source) : null;
  if (url) return url.href;
  const path = resolve(source);
  const isThere = (await stat(path).catch(() => undefined)) !== undefined;
  return !isThere && domainForm.test(source) ? new URL(`https://${source}/`).href : path;
};

/** Throws a Fault if the source does not exist. */
export const openSource = async (source: string): Promise<Source> => {
  if (addressForm.test(source)) {
    const url = URL.parse(source);
    if (!url || !["https:", "http:"].includes(url.protocol)) throw new Fault("INVALID_ARGUMENT", `${JSON.stringify(source)} is not an https address`);
    return addressSource(url);
  }
  const path = resolve(source);
  const found = await stat(path).catch(() => undefined);
  if (!found && domainForm.test(source)) return addressSource(new URL(`https://${source}/`));
  if (!found) throw new Fault("INVALID_ARGUMENT", `file or directory not found: ${source}`);
  if (found.isDirectory()) return { key: path, label: source, count: () => countBelow(path), files: () => filesBelow(path, "") };
  if (!found.isFile()) throw new Fault("INVALID_ARGUMENT", `${source} is not a file or a directory`);
  return { key: path, label: source, count: async () => 1, files: (fetching) => filesOfPath(path, fetching) };
};
