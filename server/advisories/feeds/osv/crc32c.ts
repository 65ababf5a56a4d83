// CRC-32C (RFC 3720, appendix B.4) for X-Goog-Hash; zlib has only the other polynomial. Pure.

/** For four bytes per step. */
const tables = ((): readonly Uint32Array[] => {
  const first = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
    return value >>> 0;
  });
  const made = [first];
  for (let index = 1; index < 4; index++) made.push((made[index - 1] ?? first).map((value) => ((value >>> 8) ^ (first[value & 0xff] ?? 0)) >>> 0));
  return made;
})();

const [one = new Uint32Array(), two = new Uint32Array(), three = new Uint32Array(), four = new Uint32Array()] = tables;

export const crc32c = (bytes: Uint8Array, before = 0): number => {
  let sum = ~before;
  let at = 0;
  for (const end = bytes.length - 3; at < end; at += 4) {
    sum ^= (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
    sum = (four[sum & 0xff] ?? 0) ^ (three[(sum >>> 8) & 0xff] ?? 0) ^ (two[(sum >>> 16) & 0xff] ?? 0) ^ (one[sum >>> 24] ?? 0);
  }
  for (; at < bytes.length; at++) sum = (one[(sum ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (sum >>> 8);
  return ~sum >>> 0;
};

/** "crc32c=" and four bytes, big-endian, in base64. */
export const googHashOf = (sum: number): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum);
  return `crc32c=${bytes.toString("base64")}`;
};
