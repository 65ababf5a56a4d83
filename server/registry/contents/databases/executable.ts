// Sections and segments of executables: ELF, Mach-O (also of several architectures) and PE. Offsets and sizes come from the file and
// are checked against it.

import { limits } from "#base/limits.ts";
import type { ByteSource } from "../byte-source.ts";
import { DatabaseError } from "../problem.ts";

export interface Section {
  readonly name: string;
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface Segment extends Omit<Section, "name"> {
  readonly address: number;
  readonly isWritable: boolean;
}

export interface Executable {
  readonly sections: readonly Section[];
  readonly segments: readonly Segment[];
  readonly isLittleEndian: boolean;
  readonly pointerBytes: 4 | 8;
}

const elfMagic = 0x7f454c46;
const machMagics: ReadonlyMap<number, { readonly isLittleEndian: boolean; readonly is64: boolean }> = new Map([
  [0xfeedface, { isLittleEndian: false, is64: false }],
  [0xfeedfacf, { isLittleEndian: false, is64: true }],
  [0xcefaedfe, { isLittleEndian: true, is64: false }],
  [0xcffaedfe, { isLittleEndian: true, is64: true }],
]);
const fatMagic = 0xcafebabe;

/** @param head at least four bytes. Java's classes share a magic number with Mach-O of several architectures. */
export const isExecutable = (head: Buffer): boolean => {
  const magic = head.readUInt32BE(0);
  if (magic === elfMagic || machMagics.has(magic)) return true;
  if (magic === fatMagic) return head.length >= 8 && head.readUInt32BE(4) <= 16;
  return head[0] === 0x4d && head[1] === 0x5a;
};

/** Fields of one byte order, from a bounded range. */
class Fields {
  readonly bytes: Buffer;
  readonly isLittleEndian: boolean;

  constructor(bytes: Buffer, isLittleEndian: boolean) {
    this.bytes = bytes;
    this.isLittleEndian = isLittleEndian;
  }

  #need(at: number, length: number): void {
    if (at < 0 || at + length > this.bytes.length) throw new DatabaseError("is a truncated executable");
  }

  u16(at: number): number {
    this.#need(at, 2);
    return this.isLittleEndian ? this.bytes.readUInt16LE(at) : this.bytes.readUInt16BE(at);
  }

  u32(at: number): number {
    this.#need(at, 4);
    return this.isLittleEndian ? this.bytes.readUInt32LE(at) : this.bytes.readUInt32BE(at);
  }

  u64(at: number): number {
    this.#need(at, 8);
    const value = this.isLittleEndian ? this.bytes.readBigUInt64LE(at) : this.bytes.readBigUInt64BE(at);
    return Number(value);
  }

  word(at: number, is64: boolean): number {
    return is64 ? this.u64(at) : this.u32(at);
  }

  /** Up to a NUL. */
  text(at: number, length: number): string {
    const field = this.bytes.subarray(at, at + length);
    const end = field.indexOf(0);
    return field.toString("latin1", 0, end < 0 ? field.length : end);
  }
}

const within = (source: ByteSource, { offset, sizeBytes }: { readonly offset: number; readonly sizeBytes: number }): boolean =>
  Number.isSafeInteger(offset) && Number.isSafeInteger(sizeBytes) && offset + sizeBytes <= source.sizeBytes;

const bounded = (count: number): number => {
  if (count > limits.executableSectionsMax) throw new DatabaseError(`is an executable with more than ${limits.executableSectionsMax} sections`);
  return count;
};

const readElf = (source: ByteSource): Executable => {
  const head = source.read(0, 64);
  const is64 = head[4] === 2;
  const isLittleEndian = head[5] !== 2;
  const fields = new Fields(head, isLittleEndian);
  const [programAt, sectionAt] = is64 ? [fields.u64(32), fields.u64(40)] : [fields.u32(28), fields.u32(32)];
  const counts = is64 ? 54 : 42;
  const programSize = fields.u16(counts);
  const programCount = bounded(fields.u16(counts + 2));
  const sectionSize = fields.u16(counts + 4);
  const sectionCount = bounded(fields.u16(counts + 6));
  const namesIndex = fields.u16(counts + 8);
  const programs = new Fields(source.read(programAt, programSize * programCount), isLittleEndian);
  const segments = Array.from({ length: programCount }, (_, index) => index * programSize).flatMap((at): Segment[] => {
    if (programs.u32(at) !== 1) return [];
    const flags = programs.u32(at + (is64 ? 4 : 24));
    const [offset, address, sizeBytes] = is64
      ? [programs.u64(at + 8), programs.u64(at + 16), programs.u64(at + 32)]
      : [programs.u32(at + 4), programs.u32(at + 8), programs.u32(at + 16)];
    const segment = { offset, address, sizeBytes, isWritable: (flags & 2) !== 0 };
    return within(source, segment) ? [segment] : [];
  });
  const table = new Fields(source.read(sectionAt, sectionSize * sectionCount), isLittleEndian);
  const sectionOf = (index: number): Omit<Section, "name"> & { readonly nameAt: number; readonly type: number } => {
    const at = index * sectionSize;
    return {
      nameAt: table.u32(at),
      type: table.u32(at + 4),
      offset: table.word(at + (is64 ? 24 : 16), is64),
      sizeBytes: table.word(at + (is64 ? 32 : 20), is64),
    };
  };
  if (sectionCount === 0 || namesIndex >= sectionCount) return { sections: [], segments, isLittleEndian, pointerBytes: is64 ? 8 : 4 };
  const namesSection = sectionOf(namesIndex);
  const names = new Fields(source.read(namesSection.offset, Math.min(namesSection.sizeBytes, limits.packageTextBytesMax)), isLittleEndian);
  const sections = Array.from({ length: sectionCount }, (_, index) => index).flatMap((index): Section[] => {
    const { nameAt, type, offset, sizeBytes } = sectionOf(index);
    // Without content in the file.
    if (type === 8 || !within(source, { offset, sizeBytes })) return [];
    return [{ name: names.text(nameAt, 64), offset, sizeBytes }];
  });
  return { sections, segments, isLittleEndian, pointerBytes: is64 ? 8 : 4 };
};

const part = (source: ByteSource, offset: number, sizeBytes: number): ByteSource => {
  if (!within(source, { offset, sizeBytes })) throw new DatabaseError("is a truncated executable");
  return { sizeBytes, read: (position, length) => source.read(offset + position, Math.max(0, Math.min(length, sizeBytes - position))) };
};

const readMachO = (source: ByteSource, { isLittleEndian, is64 }: { readonly isLittleEndian: boolean; readonly is64: boolean }): Executable => {
  const head = new Fields(source.read(0, 32), isLittleEndian);
  const commandCount = bounded(head.u32(16));
  const commandBytes = Math.min(head.u32(20), limits.packageTextBytesMax);
  const commands = new Fields(source.read(is64 ? 32 : 28, commandBytes), isLittleEndian);
  const sections: Section[] = [];
  const segments: Segment[] = [];
  for (let index = 0, at = 0; index < commandCount && at + 8 <= commands.bytes.length; index++) {
    const [command, size] = [commands.u32(at), commands.u32(at + 4)];
    if (size < 8) throw new DatabaseError("is a damaged executable");
    if (command === (is64 ? 0x19 : 1)) {
      const [address, offset, sizeBytes] = is64
        ? [commands.u64(at + 24), commands.u64(at + 40), commands.u64(at + 48)]
        : [commands.u32(at + 24), commands.u32(at + 32), commands.u32(at + 36)];
      const protection = commands.u32(at + (is64 ? 60 : 44));
      if (within(source, { offset, sizeBytes })) segments.push({ address, offset, sizeBytes, isWritable: (protection & 2) !== 0 });
      const sectionCount = bounded(commands.u32(at + (is64 ? 64 : 48)));
      for (let each = 0; each < sectionCount; each++) {
        const start = at + (is64 ? 72 : 56) + each * (is64 ? 80 : 68);
        const section = {
          name: commands.text(start, 16),
          offset: commands.u32(start + (is64 ? 48 : 40)),
          sizeBytes: commands.word(start + (is64 ? 40 : 36), is64),
        };
        if (within(source, section)) sections.push(section);
      }
    }
    at += size;
  }
  return { sections, segments, isLittleEndian, pointerBytes: is64 ? 8 : 4 };
};

const readPe = (source: ByteSource): Executable | undefined => {
  const dos = new Fields(source.read(0, 64), true);
  if (dos.bytes.length < 64) return undefined;
  const start = dos.u32(60);
  const head = new Fields(source.read(start, 24), true);
  // Programs of DOS start the same way.
  if (head.bytes.length < 24 || head.u32(0) !== 0x00004550) return undefined;
  const sectionCount = bounded(head.u16(6));
  const optionalBytes = head.u16(20);
  const optional = new Fields(source.read(start + 24, optionalBytes), true);
  const is64 = optional.bytes.length >= 2 && optional.u16(0) === 0x20b;
  const base = optional.bytes.length < 32 ? 0 : is64 ? optional.u64(24) : optional.u32(28);
  const table = new Fields(source.read(start + 24 + optionalBytes, sectionCount * 40), true);
  const sections: Section[] = [];
  const segments: Segment[] = [];
  for (let index = 0; index < sectionCount; index++) {
    const at = index * 40;
    const section = { name: table.text(at, 8), offset: table.u32(at + 20), sizeBytes: table.u32(at + 16) };
    if (!within(source, section)) continue;
    sections.push(section);
    const { offset, sizeBytes } = section;
    segments.push({ offset, sizeBytes, address: base + table.u32(at + 12), isWritable: (table.u32(at + 36) & 0x80000000) !== 0 });
  }
  return { sections, segments, isLittleEndian: true, pointerBytes: is64 ? 8 : 4 };
};

/** Returns the executable with its bytes, one for each architecture; none if it is something else. Throws DatabaseError. */
export const readExecutables = (source: ByteSource): { readonly executable: Executable; readonly bytes: ByteSource }[] => {
  const head = source.read(0, 8);
  if (head.length < 8) return [];
  const magic = head.readUInt32BE(0);
  if (magic === elfMagic) return [{ executable: readElf(source), bytes: source }];
  const mach = machMagics.get(magic);
  if (mach) return [{ executable: readMachO(source, mach), bytes: source }];
  if (magic === fatMagic) {
    const count = head.readUInt32BE(4);
    const table = new Fields(source.read(8, count * 20), false);
    return Array.from({ length: count }, (_, index) => index * 20).flatMap((at) => {
      const bytes = part(source, table.u32(at + 8), table.u32(at + 12));
      const own = bytes.sizeBytes < 32 ? undefined : machMagics.get(bytes.read(0, 4).readUInt32BE(0));
      return own ? [{ executable: readMachO(bytes, own), bytes }] : [];
    });
  }
  const pe = readPe(source);
  return pe ? [{ executable: pe, bytes: source }] : [];
};

/** Returns undefined if no segment has the address. */
export const offsetOf = ({ segments }: Executable, address: number): { readonly offset: number; readonly restBytes: number } | undefined => {
  const segment = segments.find((each) => address >= each.address && address < each.address + each.sizeBytes);
  if (!segment) return undefined;
  const inside = address - segment.address;
  return { offset: segment.offset + inside, restBytes: segment.sizeBytes - inside };
};
