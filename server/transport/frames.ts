// gRPC's messages on a stream: one byte that says whether it is compressed, four of length, the message. They come
// in chunks that know nothing of their bounds. (gRPC over HTTP/2: Length-Prefixed-Message.)

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Fault } from "#base/fault.ts";

export interface Frame {
  readonly compressed: boolean;
  readonly bytes: Buffer;
}

export const prefixBytes = 5;

/** One message with its prefix. */
export const frame = (message: Uint8Array): Buffer => {
  const out = Buffer.allocUnsafe(prefixBytes + message.length);
  out[0] = 0;
  out.writeUInt32BE(message.length, 1);
  out.set(message, prefixBytes);
  return out;
};

const tooLong = (length: number, max: number): Fault => new Fault("RESOURCE_EXHAUSTED", `the message has ${length} bytes, more than the ${max} that are read`);

/** Cuts chunks into messages. Throws as soon as a length is announced that will not be read. */
export const frameReader = (max: number): { push: (chunk: Buffer) => Frame[] /** Bytes of a message that has begun. */; readonly pending: () => number } => {
  let rest: Buffer[] = [];
  let held = 0;
  let wanted = prefixBytes;
  return {
    push: (chunk) => {
      rest.push(chunk);
      held += chunk.length;
      const frames: Frame[] = [];
      while (held >= wanted) {
        // One copy per message at most, and none for the usual one that comes in one piece.
        const all = rest.length === 1 && rest[0] ? rest[0] : Buffer.concat(rest, held);
        rest = [all];
        const length = all.readUInt32BE(1);
        if (length > max) throw tooLong(length, max);
        wanted = prefixBytes + length;
        if (held < wanted) break;
        frames.push({ compressed: all[0] === 1, bytes: all.subarray(prefixBytes, wanted) });
        const after = all.subarray(wanted);
        rest = after.length > 0 ? [after] : [];
        held = after.length;
        wanted = prefixBytes;
      }
      return frames;
    },
    pending: () => held,
  };
};

const unzip = promisify(gunzip);

/** The message itself. `encoding` is the call's grpc-encoding. */
export const unpacked = async (got: Frame, encoding: string | undefined, max: number): Promise<Buffer> => {
  if (!got.compressed) return got.bytes;
  // gRPC Compression: a compressed message in a call without an encoding is the caller's error, and INTERNAL.
  // It is nothing that we could explain or repair, so it is INVALID_ARGUMENT here.
  if (encoding !== "gzip") throw new Fault("INVALID_ARGUMENT", "the message is marked as compressed, but grpc-encoding names no compression");
  try {
    return await unzip(got.bytes, { maxOutputLength: max });
  } catch (error) {
    if (error instanceof RangeError) throw new Fault("RESOURCE_EXHAUSTED", `the message has more than the ${max} bytes that are read`);
    throw new Fault("INVALID_ARGUMENT", "the message is not valid gzip");
  }
};

/** The message of this type. */
export const decoded = <Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> => {
  try {
    return fromBinary(schema, bytes);
  } catch (error) {
    // gRPC status codes say INTERNAL; but it is the caller's mistake, and nobody should be woken for it.
    throw new Fault("INVALID_ARGUMENT", `the message is not a valid ${schema.typeName}: ${error instanceof Error ? error.message : "it cannot be read"}`);
  }
};
