// Headers of rpm, and its own database, for tests.

interface RpmDraft {
  readonly name: string;
  readonly version: string;
  readonly release: string;
  readonly architecture: string;
  readonly source: string;
}

export const rpmHeaderOf = ({ name, version, release, architecture, source }: RpmDraft): Buffer => {
  const texts: readonly (readonly [number, string])[] = [
    [1000, name],
    [1001, version],
    [1002, release],
    [1022, architecture],
    [1044, source],
  ];
  const entries: Buffer[] = [];
  let data = Buffer.alloc(0);
  for (const [tag, text] of texts) {
    const entry = Buffer.alloc(16);
    for (const [index, value] of [tag, 6, data.length, 1].entries()) entry.writeUInt32BE(value, index * 4);
    entries.push(entry);
    data = Buffer.concat([data, Buffer.from(`${text}\0`)]);
  }
  const head = Buffer.alloc(8);
  head.writeUInt32BE(entries.length, 0);
  head.writeUInt32BE(data.length, 4);
  return Buffer.concat([head, ...entries, data]);
};

export const rpmNdbOf = (headers: readonly Buffer[]): Buffer => {
  const page = Buffer.alloc(4096);
  page.write("RpmP", 0, "latin1");
  page.writeUInt32LE(1, 12);
  for (let at = 32; at < page.length; at += 16) page.write("Slot", at, "latin1");
  const blobs: Buffer[] = [];
  let block = page.length / 16;
  for (const [index, header] of headers.entries()) {
    const blocks = Math.ceil((header.length + 32) / 16);
    const blob = Buffer.alloc(blocks * 16);
    blob.write("BlbS", 0, "latin1");
    blob.writeUInt32LE(index + 1, 4);
    blob.writeUInt32LE(header.length, 12);
    header.copy(blob, 16);
    for (const [field, value] of [index + 1, block, blocks].entries()) page.writeUInt32LE(value, 32 + index * 16 + 4 + field * 4);
    blobs.push(blob);
    block += blocks;
  }
  return Buffer.concat([page, ...blobs]);
};
