// Executables with some sections, for tests: nothing in them runs.

const aligned = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc((16 - (bytes.length % 16)) % 16)]);

type Sections = Readonly<Record<string, Buffer>>;

const placed = (sections: Sections, start: number): { readonly name: string; readonly bytes: Buffer; readonly offset: number }[] => {
  let at = start;
  return Object.entries(sections).map(([name, bytes]) => {
    const offset = at;
    at += aligned(bytes).length;
    return { name, bytes, offset };
  });
};

/** 64 bits, little-endian, with one writable segment of all sections. */
export const elfOf = (sections: Sections, { withoutSections = false } = {}): Buffer => {
  const start = 64 + 56 + 8;
  const names = Buffer.from(`\0.shstrtab\0${Object.keys(sections).join("\0")}\0`);
  const all = placed({ ...sections, ".shstrtab": names }, start);
  const body = Buffer.concat(all.map(({ bytes }) => aligned(bytes)));
  const head = Buffer.alloc(start);
  head.write("\x7fELF\x02\x01\x01", 0, "latin1");
  head.writeBigUInt64LE(64n, 32);
  head.writeBigUInt64LE(BigInt(withoutSections ? 0 : start + body.length), 40);
  for (const [index, value] of [64, 56, 1, 64, withoutSections ? 0 : all.length + 1, withoutSections ? 0 : all.length].entries())
    head.writeUInt16LE(value, 52 + index * 2);
  head.writeUInt32LE(1, 64);
  head.writeUInt32LE(6, 68);
  head.writeBigUInt64LE(BigInt(start), 72);
  head.writeBigUInt64LE(BigInt(0x400000), 80);
  head.writeBigUInt64LE(BigInt(body.length), 96);
  const table = [Buffer.alloc(64)];
  for (const { name, bytes, offset } of all) {
    const section = Buffer.alloc(64);
    section.writeUInt32LE(names.indexOf(`\0${name}\0`) + 1, 0);
    section.writeUInt32LE(1, 4);
    section.writeBigUInt64LE(BigInt(offset), 24);
    section.writeBigUInt64LE(BigInt(bytes.length), 32);
    table.push(section);
  }
  return Buffer.concat([head, body, ...(withoutSections ? [] : table)]);
};

/** 64 bits, little-endian, with one segment. */
export const machOOf = (sections: Sections): Buffer => {
  const count = Object.keys(sections).length;
  const commandBytes = 72 + count * 80;
  const all = placed(sections, Math.ceil((32 + commandBytes) / 16) * 16);
  const head = Buffer.alloc(all[0]?.offset ?? 32);
  const body = Buffer.concat(all.map(({ bytes }) => aligned(bytes)));
  head.writeUInt32LE(0xfeedfacf, 0);
  head.writeUInt32LE(1, 16);
  head.writeUInt32LE(commandBytes, 20);
  head.writeUInt32LE(0x19, 32);
  head.writeUInt32LE(commandBytes, 36);
  head.writeBigUInt64LE(BigInt(head.length), 32 + 40);
  head.writeBigUInt64LE(BigInt(body.length), 32 + 48);
  head.writeUInt32LE(3, 32 + 60);
  head.writeUInt32LE(count, 32 + 64);
  for (const [index, { name, bytes, offset }] of all.entries()) {
    const at = 32 + 72 + index * 80;
    head.write(name, at, 16, "latin1");
    head.writeBigUInt64LE(BigInt(bytes.length), at + 40);
    head.writeUInt32LE(offset, at + 48);
  }
  return Buffer.concat([head, body]);
};

export const peOf = (sections: Sections): Buffer => {
  const count = Object.keys(sections).length;
  const optionalBytes = 112;
  const tableAt = 64 + 24 + optionalBytes;
  const all = placed(sections, Math.ceil((tableAt + count * 40) / 16) * 16);
  const head = Buffer.alloc(all[0]?.offset ?? 64);
  head.write("MZ", 0, "latin1");
  head.writeUInt32LE(64, 60);
  head.write("PE", 64, "latin1");
  head.writeUInt16LE(count, 64 + 6);
  head.writeUInt16LE(optionalBytes, 64 + 20);
  head.writeUInt16LE(0x20b, 64 + 24);
  for (const [index, { name, bytes, offset }] of all.entries()) {
    const at = tableAt + index * 40;
    head.write(name, at, 8, "latin1");
    head.writeUInt32LE(bytes.length, at + 16);
    head.writeUInt32LE(offset, at + 20);
    head.writeUInt32LE(0xc0000040, at + 36);
  }
  return Buffer.concat([head, ...all.map(({ bytes }) => aligned(bytes))]);
};

const uvarint = (value: number): Buffer => {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
};

/** Build information in the form since Go 1.18. */
export const goInfoOf = (version: string, lines: readonly (readonly string[])[]): Buffer => {
  const head = Buffer.alloc(32);
  head.write("\xff Go buildinf:", 0, "latin1");
  head[14] = 8;
  head[15] = 2;
  const mark = Buffer.alloc(16, 0xf0);
  const modules = Buffer.concat([mark, Buffer.from(lines.map((line) => `${line.join("\t")}\n`).join("")), mark]);
  return Buffer.concat([head, uvarint(version.length), Buffer.from(version), uvarint(modules.length), modules]);
};
