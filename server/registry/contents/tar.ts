// Reads a tar archive piece by piece, with the rules of container runtimes (Go's archive/tar): what it finds is what they unpack.
// Its own, because modern-tar reads no sparse files and skips damaged headers, and because bounds come before memory. Pure.

import { limits } from "#base/limits.ts";

export type EntryType = "file" | "sparse" | "directory" | "symlink" | "link" | "device";

export interface TarEntry {
  /** As written, with "..", ".", and leading slashes. */
  readonly name: string;
  readonly type: EntryType;
  /** Of the stored bytes; 0 for entries without content. */
  readonly sizeBytes: number;
  readonly linkName: string;
  readonly isExecutable: boolean;
}

export type TarEvent =
  | { readonly kind: "entry"; readonly entry: TarEntry }
  /** Valid until the next push. */
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "end" };

export interface TarReader {
  push(piece: Buffer): void;
  /** Returns undefined if more bytes are needed or the archive has ended. Throws TarError. */
  next(): TarEvent | undefined;
  /** Throws TarError if an entry is incomplete. */
  finish(): void;
}

/** The archive is damaged, or exceeds a bound. */
export class TarError extends Error {}

const blockBytes = 512;

const types: ReadonlyMap<string, EntryType> = new Map([
  ["0", "file"],
  ["\0", "file"],
  ["7", "file"],
  ["S", "sparse"],
  ["1", "link"],
  ["2", "symlink"],
  ["3", "device"],
  ["4", "device"],
  ["5", "directory"],
  ["6", "device"],
]);

const hasContent = (type: EntryType): boolean => type === "file" || type === "sparse";

const textIn = (block: Buffer, start: number, length: number): string => {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return (end < 0 ? field : field.subarray(0, end)).toString("utf8");
};

/** Returns undefined for other characters than octal digits between blanks and NULs; 0 for none. */
const octalIn = (block: Buffer, start: number, length: number): number | undefined => {
  const digits = block
    .toString("latin1", start, start + length)
    .replaceAll("\0", " ")
    .trim();
  if (digits === "") return 0;
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
};

/** Octal digits, or a binary number (GNU). */
const numberIn = (block: Buffer, start: number, length: number): number => {
  const first = block[start] ?? 0;
  let value = 0;
  if (first & 0x80) {
    // The next bit is the sign.
    if (first & 0x40) throw new TarError("has a negative size");
    value = first & 0x3f;
    for (let at = start + 1; at < start + length; at++) value = value * 256 + (block[at] ?? 0);
  } else {
    const octal = octalIn(block, start, length);
    if (octal === undefined) throw new TarError("has a header with a malformed number");
    value = octal;
  }
  if (!Number.isSafeInteger(value)) throw new TarError("has an entry of an impossible size");
  return value;
};

const checksumAt = 148;

const checkSum = (block: Buffer): void => {
  let [unsigned, signed] = [0, 0];
  for (let at = 0; at < blockBytes; at++) {
    const byte = at >= checksumAt && at < checksumAt + 8 ? 0x20 : (block[at] ?? 0);
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  const stated = octalIn(block, checksumAt, 8);
  if (stated !== unsigned && stated !== signed) throw new TarError("has a header with a wrong checksum");
};

/** Records such as "30 mtime=1350244992.023960108\n". */
const readRecords = (bytes: Buffer): Map<string, string> => {
  const found = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const digits = space < 0 || space - at > 10 ? "" : bytes.toString("latin1", at, space);
    const length = /^\d+$/.test(digits) ? Number(digits) : 0;
    const end = at + length;
    const equals = bytes.indexOf(0x3d, space);
    if (length < 5 || end > bytes.length || bytes[end - 1] !== 0x0a || equals < 0 || equals >= end) throw new TarError("has a malformed extended header");
    const key = bytes.toString("utf8", space + 1, equals);
    const value = bytes.toString("utf8", equals + 1, end - 1);
    // Runtimes refuse these too: a text that another reader would cut off.
    if (/^(?:path|linkpath)$/.test(key) && value.includes("\0")) throw new TarError("has an extended header with a NUL in a path");
    if (value === "") found.delete(key);
    else found.set(key, value);
    at = end;
  }
  return found;
};

interface Overrides {
  records: Map<string, string>;
  longName: string | undefined;
  longLink: string | undefined;
}

const noOverrides = (): Overrides => ({ records: new Map(), longName: undefined, longLink: undefined });

const sizeOf = (records: ReadonlyMap<string, string>, block: Buffer): number => {
  const stated = records.get("size");
  if (stated === undefined) return numberIn(block, 124, 12);
  if (!/^\d{1,15}$/.test(stated)) throw new TarError("has an extended header with a malformed size");
  return Number(stated);
};

const nameOf = (block: Buffer): string => {
  const name = textIn(block, 0, 100);
  // GNU's older form uses the prefix for times.
  const isUstar = block.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isUstar ? textIn(block, 345, 155) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
};

const entryOf = (block: Buffer, { records, longName, longLink }: Overrides): TarEntry => {
  const flag = String.fromCharCode(block[156] ?? 0);
  const isSparse = records.has("GNU.sparse.major") || records.has("GNU.sparse.map") || records.has("GNU.sparse.size");
  const name = records.get("GNU.sparse.name") ?? records.get("path") ?? longName ?? nameOf(block);
  // A type that is not known has content, and runtimes skip it.
  const named = types.get(flag) ?? "device";
  const type = named === "file" && name.endsWith("/") ? "directory" : named === "file" && isSparse ? "sparse" : named;
  const sizeBytes = hasContent(named) || !types.has(flag) ? sizeOf(records, block) : 0;
  const linkName = records.get("linkpath") ?? longLink ?? textIn(block, 157, 100);
  for (const each of [name, linkName])
    if (each.length > limits.layerPathLengthMax) throw new TarError(`has a path of more than ${limits.layerPathLengthMax} characters`);
  return { name, type, sizeBytes, linkName, isExecutable: (numberIn(block, 100, 8) & 0o111) !== 0 };
};

const isZero = (block: Buffer): boolean => block.every((byte) => byte === 0);

/** Old GNU sparse files: whether more blocks of their map follow. */
const continuesAt = { first: 482, next: 504 } as const;

type Step =
  | { readonly at: "header" }
  | { readonly at: "zero" }
  | { readonly at: "map"; readonly entry: TarEntry }
  | { readonly at: "extension"; readonly flag: string; readonly sizeBytes: number }
  | { readonly at: "content"; remaining: number; readonly paddingBytes: number }
  | { readonly at: "padding"; remaining: number }
  | { readonly at: "over" };

const paddingOf = (sizeBytes: number): number => (blockBytes - (sizeBytes % blockBytes)) % blockBytes;

export const openTar = (): TarReader => {
  let queue: Buffer[] = [];
  let queued = 0;
  let step: Step = { at: "header" };
  let overrides = noOverrides();
  let extensionsInRow = 0;

  /** Returns exactly `length` bytes. */
  const take = (length: number): Buffer | undefined => {
    if (queued < length) return undefined;
    const [first = Buffer.alloc(0)] = queue;
    if (first.length < length) queue = [Buffer.concat(queue)];
    const [whole = Buffer.alloc(0), ...rest] = queue;
    queued -= length;
    queue = whole.length === length ? rest : [whole.subarray(length), ...rest];
    return whole.subarray(0, length);
  };
  /** Returns up to `length` bytes. */
  const takeSome = (length: number): Buffer | undefined => {
    const [first, ...rest] = queue;
    if (!first) return undefined;
    const bytes = first.subarray(0, length);
    queued -= bytes.length;
    queue = bytes.length === first.length ? rest : [first.subarray(bytes.length), ...rest];
    return bytes;
  };

  const startContent = (entry: TarEntry): TarEvent => {
    step = { at: "content", remaining: entry.sizeBytes, paddingBytes: paddingOf(entry.sizeBytes) };
    return { kind: "entry", entry };
  };

  const readHeader = (block: Buffer): TarEvent | undefined => {
    if (isZero(block)) {
      step = { at: "zero" };
      return undefined;
    }
    checkSum(block);
    const flag = String.fromCharCode(block[156] ?? 0);
    if ("xgLK".includes(flag)) {
      const sizeBytes = numberIn(block, 124, 12);
      if (sizeBytes > limits.layerExtensionBytesMax) throw new TarError(`has an extended header of more than ${limits.layerExtensionBytesMax} bytes`);
      if (++extensionsInRow > limits.layerExtensionsMax) throw new TarError("has too many extended headers in a row");
      step = { at: "extension", flag, sizeBytes };
      return undefined;
    }
    const entry = entryOf(block, overrides);
    overrides = noOverrides();
    extensionsInRow = 0;
    if (flag === "S" && block[continuesAt.first]) {
      step = { at: "map", entry };
      return undefined;
    }
    return startContent(entry);
  };

  const readExtension = (flag: string, bytes: Buffer): void => {
    // Runtimes ignore global headers.
    if (flag === "x") overrides.records = readRecords(bytes);
    if (flag === "L") overrides.longName = textIn(bytes, 0, bytes.length);
    if (flag === "K") overrides.longLink = textIn(bytes, 0, bytes.length);
  };

  /** Returns false if more bytes are needed. */
  const advance = (): TarEvent | boolean => {
    switch (step.at) {
      case "header": {
        const block = take(blockBytes);
        return block === undefined ? false : (readHeader(block) ?? true);
      }
      case "zero": {
        const block = take(blockBytes);
        if (block === undefined) return false;
        if (!isZero(block)) throw new TarError("has an empty header between entries");
        step = { at: "over" };
        return true;
      }
      case "map": {
        const block = take(blockBytes);
        if (block === undefined) return false;
        return block[continuesAt.next] ? true : startContent(step.entry);
      }
      case "extension": {
        const { flag, sizeBytes } = step;
        const bytes = take(sizeBytes + paddingOf(sizeBytes));
        if (bytes === undefined) return false;
        readExtension(flag, bytes.subarray(0, sizeBytes));
        step = { at: "header" };
        return true;
      }
      case "content": {
        if (step.remaining === 0) {
          step = { at: "padding", remaining: step.paddingBytes };
          return { kind: "end" };
        }
        const bytes = takeSome(step.remaining);
        if (bytes === undefined) return false;
        step.remaining -= bytes.length;
        return { kind: "bytes", bytes };
      }
      case "padding": {
        const bytes = step.remaining === 0 ? undefined : takeSome(step.remaining);
        if (step.remaining > 0 && bytes === undefined) return false;
        step.remaining -= bytes?.length ?? 0;
        if (step.remaining === 0) step = { at: "header" };
        return true;
      }
      case "over":
        queue = [];
        queued = 0;
        return false;
    }
  };

  return {
    push(piece) {
      if (step.at === "over" || piece.length === 0) return;
      queue.push(piece);
      queued += piece.length;
    },
    next() {
      for (;;) {
        const event = advance();
        if (event === false) return undefined;
        if (event !== true) return event;
      }
    },
    finish() {
      // An archive may end without its two empty blocks, and with one.
      const isWhole = step.at === "over" || step.at === "zero" || (step.at === "header" && queued === 0 && extensionsInRow === 0);
      if (!isWhole && !(step.at === "padding")) throw new TarError("ends too early");
    },
  };
};
