// Unfinished files of interrupted backups to the same path. A later backup takes their blobs, after a check of the digests. Blobs are in
// the order of their digests, so that a tar file is read once and nothing is kept in memory.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, lstat, open, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { memberKindOf } from "./format.ts";

/** A blob with the expected size and digest. */
export interface DraftBlob {
  /** File that contains this blob only; undefined in a tar file. */
  readonly path: string | undefined;
  content(): AsyncIterable<Uint8Array>;
}

export interface Drafts {
  /** Returns undefined if there is no such blob. Call it in the order of names. */
  find(name: string, sizeBytes: number, hex: string): Promise<DraftBlob | undefined>;
  close(): Promise<void>;
  /** Deletes the drafts; call it when the backup is complete. */
  remove(): Promise<void>;
}

type FindBlob = (name: string, sizeBytes: number) => Promise<DraftBlob | undefined>;

interface Draft {
  readonly find: FindBlob;
  close(): Promise<void>;
}

const readBytes = 1024 * 1024;

export const draftSuffix = ".unfinished";

export const draftPrefix = (path: string): string => `.${basename(path)}.`;

/** Names the path for its lock: the same name in the same directory, by any way to it. */
export const lockNameOf = async (path: string): Promise<string> => `${(await stat(dirname(path)).catch(() => undefined))?.ino} ${basename(path)}`;

const openFolderDraft = (folder: string): Draft => ({
  async find(name, sizeBytes) {
    const path = join(folder, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isFile() !== true || found.size !== sizeBytes) return undefined;
    return { path, content: () => createReadStream(path, { highWaterMark: readBytes }) };
  },
  async close() {},
});

const tarBlock = 512;

interface TarBlob {
  readonly name: string;
  readonly sizeBytes: number;
  readonly start: number;
}

/** Yields the complete blobs of a tar file that may end anywhere. */
async function* tarBlobs(file: FileHandle): AsyncGenerator<TarBlob> {
  const { size } = await file.stat();
  const header = Buffer.alloc(tarBlock);
  for (let at = 0; at + tarBlock <= size; ) {
    await file.read(header, 0, tarBlock, at);
    const text = (from: number, to: number): string => header.toString("latin1", from, to).replace(/\0.*$/s, "");
    const digits = text(124, 136).trim();
    // A plain file of less than 8 GiB; the archive has larger ones in another form, which are read from the storage again.
    if (!/^[0-7]+$/.test(digits) || text(156, 157) !== "0" || text(345, 500) !== "") return;
    const [sizeBytes, start] = [Number.parseInt(digits, 8), at + tarBlock];
    if (start + sizeBytes > size) return;
    const name = text(0, 100);
    if (memberKindOf(name)?.is === "blob") yield { name, sizeBytes, start };
    at = start + Math.ceil(sizeBytes / tarBlock) * tarBlock;
  }
}

const openTarDraft = async (path: string): Promise<Draft> => {
  const file = await open(path, "r");
  const blobs = tarBlobs(file);
  let next = await blobs.next();
  return {
    async find(name, sizeBytes) {
      while (next.done !== true && next.value.name < name) next = await blobs.next();
      if (next.done === true || next.value.name !== name || next.value.sizeBytes !== sizeBytes) return undefined;
      const { start } = next.value;
      const end = start + sizeBytes - 1;
      async function* nothing(): AsyncGenerator<Uint8Array> {}
      return { path: undefined, content: () => (sizeBytes === 0 ? nothing() : createReadStream(path, { start, end, highWaterMark: readBytes })) };
    },
    close: () => file.close(),
  };
};

const openDraft = async (path: string): Promise<Draft> => ((await lstat(path)).isDirectory() ? openFolderDraft(path) : openTarDraft(path));

const hasDigest = async ({ content }: DraftBlob, hex: string): Promise<boolean> => {
  const hash = createHash("sha256");
  for await (const piece of content()) hash.update(piece);
  return hash.digest("hex") === hex;
};

/** Opens the unfinished files of interrupted backups to this path. */
export const openDrafts = async (path: string): Promise<Drafts> => {
  const names = (await readdir(dirname(path)).catch(() => [])).filter((name) => name.startsWith(draftPrefix(path)) && name.endsWith(draftSuffix));
  const paths: string[] = [];
  for (const name of names) {
    const each = join(dirname(path), name);
    // In a shared directory, another user could change a blob after its check.
    if ((await lstat(each)).uid === process.getuid?.()) paths.push(each);
  }
  const drafts = await Promise.all(paths.map(openDraft));
  return {
    async find(name, sizeBytes, hex) {
      for (const draft of drafts) {
        const found = await draft.find(name, sizeBytes);
        if (found !== undefined && (await hasDigest(found, hex))) return found;
      }
      return undefined;
    },
    async close() {
      for (const draft of drafts) await draft.close();
    },
    async remove() {
      for (const each of paths) await rm(each, { recursive: true, force: true });
    },
  };
};
