// Messages of a gRPC stream: a byte with the compressed flag, four with the length, the message (gRPC over HTTP/2:
// Length-Prefixed-Message). Chunks may split them anywhere.

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

export const framePrefix = (length: number): Buffer => {
  const out = Buffer.alloc(prefixBytes);
  out.writeUInt32BE(length, 1);
  return out;
};

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
  /** Bytes of an incomplete message. */
  readonly pending: () => number;
}

/** Splits chunks into messages. Throws on an invalid flag or excessive length as soon as it is announced. */
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
        // At most one copy per message; none if it is in one chunk.
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
 * Decompresses a message. `encoding` is the call's grpc-encoding. Throws a Fault once the result exceeds `maxBytes`; `reserve` gets
 * the bytes as they are produced, and throws if there is no memory for them.
 */
export const decompress = async (
  frame: Frame,
  encoding: string | undefined,
  maxBytes: number,
  reserve: (bytes: number) => void = () => {},
): Promise<Buffer> => {
  if (!frame.compressed) return frame.bytes;
  // gRPC Compression demands INTERNAL for a compressed message in a call without an encoding. The error is the caller's, so it is
  // INVALID_ARGUMENT here.
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

/** Decodes a message; throws INVALID_ARGUMENT. */
export const decodeMessage = <Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> => {
  const message = decodeWithin(schema, bytes, { valuesMax: limits.messageValuesMax, depthMax: limits.jsonDepthMax });
  // gRPC status codes say INTERNAL; but it is the caller's mistake, and must not alert the operator.
  if (typeof message === "string") throw new Fault("INVALID_ARGUMENT", `the message ${message}`);
  return message;
};
