// Test content that follows from its position.

const period = 65_521;
// A prime number of bytes, so that no block size hides a shift.
const pattern = Buffer.from(Array.from({ length: period }, (_, index) => (index * 31 + (index >> 5) * 17 + (index >> 11)) % 251));

/** Returns the content at this position. */
export const bytesAt = (startBytes: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const from = (startBytes + at) % period;
    at += pattern.copy(bytes, at, from, Math.min(period, from + length - at));
  }
  return bytes;
};

/** Returns the content in pieces, like a socket. */
export async function* contentOf(startBytes: number, length: number, pieceBytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let given = 0; given < length; given += pieceBytes) yield bytesAt(startBytes + given, Math.min(pieceBytes, length - given));
}

export const readAll = async (stream: AsyncIterable<Uint8Array> | undefined): Promise<Buffer | undefined> => {
  if (stream === undefined) return undefined;
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
};
