// Tar archives for tests, block by block, so that headers may lie.

export interface DraftEntry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** "0" for a file. */
  readonly flag?: string;
  readonly linkName?: string;
  readonly mode?: number;
  /** If it differs from the content's. */
  readonly size?: string;
  readonly checksum?: string;
  /** Records of an extended header before it. */
  readonly records?: Readonly<Record<string, string>>;
}

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);

const headerOf = ({ name, content = "", flag = "0", linkName = "", mode = 0o644, size, checksum }: DraftEntry): Buffer => {
  const block = Buffer.alloc(512);
  block.write(name, 0, 100);
  block.write(mode.toString(8).padStart(7, "0"), 100);
  block.write(size ?? Buffer.from(content).length.toString(8).padStart(11, "0"), 124, "latin1");
  block.write("        ", 148);
  block.write(flag, 156, "latin1");
  block.write(linkName, 157, 100);
  block.write("ustar\u000000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(checksum ?? `${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
};

const recordsOf = (records: Readonly<Record<string, string>>): string =>
  Object.entries(records)
    .map(([key, value]) => {
      const rest = Buffer.byteLength(` ${key}=${value}\n`);
      let length = rest + 1;
      while (String(length).length + rest !== length) length++;
      return `${length} ${key}=${value}\n`;
    })
    .join("");

export const tarEntry = (entry: DraftEntry): Buffer => {
  const own = Buffer.concat([headerOf(entry), padded(Buffer.from(entry.content ?? ""))]);
  return entry.records ? Buffer.concat([tarEntry({ name: "x", flag: "x", content: recordsOf(entry.records) }), own]) : own;
};

export const tarOf = (entries: readonly DraftEntry[]): Buffer => Buffer.concat([...entries.map(tarEntry), Buffer.alloc(1024)]);

/** In pieces of this many bytes. */
export async function* inPieces(bytes: Uint8Array, length = 7001): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}
