// gRPC's messages on a stream: one byte for the compressed flag, four of length, the message. They come in chunks whose
// bounds are not theirs. (gRPC over HTTP/2: Length-Prefixed-Message.)

import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { createGunzip } from "node:zlib";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { decodeWithin } from "./decode.ts";

export interface Frame {
  readonly compressed: boolean;
  readonly bytes: Buffer;
}

export const prefixBytes = 5;

/** The prefix of a message of so many bytes. */
export const framePrefix = (length: number): Buffer => {
  const out = Buffer.alloc(prefixBytes);
  out.writeUInt32BE(length, 1);
  return out;
};

/** One message with its prefix. */
export const frameMessage = (message: Uint8Array): Buffer => {
  const out = Buffer.allocUnsafe(prefixBytes + message.length);
  out[0] = 0;
  out.writeUInt32BE(message.length, 1);
  out.set(message, prefixBytes);
  return out;
};

const messageTooLarge = (length: number, max: number): Fault => new Fault("RESOURCE_EXHAUSTED", `the message has ${length} bytes; the maximum is ${max}`);

export interface FrameReader {
  readonly push: (chunk: Buffer) => Frame[];
  /** Bytes of a message that has begun. */
  readonly pending: () => number;
}

/** Cuts chunks into messages. Throws as soon as a flag or a length is announced that will not be read. */
export const frameReader = (maxBytes: number): FrameReader => {
  let rest: Buffer[] = [];
  let pendingBytes = 0;
  let neededBytes = prefixBytes;
  return {
    push: (chunk) => {
      rest.push(chunk);
      pendingBytes += chunk.length;
      const frames: Frame[] = [];
      while (pendingBytes >= neededBytes) {
        // One copy per message at most, and none for the usual one that comes in one piece.
        const all = rest.length === 1 && rest[0] ? rest[0] : Buffer.concat(rest, pendingBytes);
        rest = [all];
        // gRPC over HTTP/2: Compressed-Flag is 0 or 1.
        const flag = all.readUInt8(0);
        if (flag > 1) throw new Fault("INVALID_ARGUMENT", `the message has the compressed flag ${flag}; must be 0 or 1`);
        const length = all.readUInt32BE(1);
        if (length > maxBytes) throw messageTooLarge(length, maxBytes);
        neededBytes = prefixBytes + length;
        if (pendingBytes < neededBytes) break;
        frames.push({ compressed: flag === 1, bytes: all.subarray(prefixBytes, neededBytes) });
        const after = all.subarray(neededBytes);
        rest = after.length > 0 ? [after] : [];
        pendingBytes = after.length;
        neededBytes = prefixBytes;
      }
      return frames;
    },
    pending: () => pendingBytes,
  };
};

/**
 * The message without its compression. `encoding` is the call's grpc-encoding. Throws a Fault, as soon as more than
 * `maxBytes` have come out; `reserve` is told of the bytes as they come, and throws where there is no room for them.
 */
export const decompress = async (
  frame: Frame,
  encoding: string | undefined,
  maxBytes: number,
  reserve: (bytes: number) => void = () => {},
): Promise<Buffer> => {
  if (!frame.compressed) return frame.bytes;
  // gRPC Compression: a compressed message in a call without an encoding is the caller's error, and INTERNAL.
  // It is nothing that we could explain or repair, so it is INVALID_ARGUMENT here.
  if (encoding !== "gzip") throw new Fault("INVALID_ARGUMENT", "the message is marked as compressed, but grpc-encoding names no compression");
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of createGunzip().end(frame.bytes) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw new Fault("RESOURCE_EXHAUSTED", `the message is larger than the maximum of ${maxBytes} bytes`);
      reserve(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Fault ? error : new Fault("INVALID_ARGUMENT", "the message is not valid gzip");
  }
  return Buffer.concat(chunks, length);
};

/** The message of this type. Throws INVALID_ARGUMENT. */
export const decodeMessage = <Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> => {
  const message = decodeWithin(schema, bytes, { valuesMax: limits.messageValuesMax, depthMax: limits.jsonDepthMax });
  // gRPC status codes say INTERNAL; but it is the caller's mistake, and nobody should be woken for it.
  if (typeof message === "string") throw new Fault("INVALID_ARGUMENT", `the message ${message}`);
  return message;
};
