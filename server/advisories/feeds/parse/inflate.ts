// Inflates the entries of an archive with one decompressor: creating one for each entry takes longer than inflating it. Node offers
// this only for streams, so this uses undocumented parts of node:zlib, and its documented function where they are missing.

import { constants, createInflateRaw, inflateRawSync } from "node:zlib";

export interface Inflated {
  readonly bytes: Buffer;
  /** How many compressed bytes were consumed. */
  readonly packedBytes: number;
}

/** Inflates bytes to at most this length. Throws if they are damaged or longer. */
export type Inflate = (packed: Buffer, length: number) => Inflated;

interface Engine {
  onerror: (message: string) => void;
  reset(): void;
  writeSync(flush: number, input: Uint8Array, inputAt: number, inputBytes: number, output: Uint8Array, outputAt: number, outputBytes: number): void;
}

const isEngine = (value: unknown): value is Engine =>
  typeof value === "object" && value !== null && "onerror" in value && "reset" in value && "writeSync" in value && typeof value.writeSync === "function";

interface InflatedWithInfo {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

const hasInfo = (value: unknown): value is InflatedWithInfo => typeof value === "object" && value !== null && "buffer" in value && "engine" in value;

const tooMany = (): Error => new Error("too many bytes for the size in the directory");

/** By the documented function. */
export const inflateOnce: Inflate = (packed, length) => {
  try {
    // With Node's default chunks each entry would hold 16 KiB more. The types of node:zlib lack `info`.
    const inflated: unknown = inflateRawSync(packed, { maxOutputLength: Math.max(1, length), chunkSize: Math.max(64, length + 1), info: true });
    if (!hasInfo(inflated)) throw new Error("cannot be inflated");
    return { bytes: inflated.buffer, packedBytes: inflated.engine.bytesWritten };
  } catch (thrown) {
    if (thrown instanceof RangeError && "code" in thrown && thrown.code === "ERR_BUFFER_TOO_LARGE") throw tooMany();
    throw thrown;
  }
};

/** Creates the decompressor of an archive. */
export const openInflate = (): Inflate => {
  const stream = createInflateRaw();
  const [engine, left]: unknown[] = [Reflect.get(stream, "_handle"), Reflect.get(stream, "_writeState")];
  if (!isEngine(engine) || !(left instanceof Uint32Array)) return inflateOnce;
  let failure: string | undefined;
  engine.onerror = (message) => {
    failure = message;
  };
  return (packed, length) => {
    failure = undefined;
    engine.reset();
    // One byte more shows that there are too many.
    const bytes = Buffer.allocUnsafe(length + 1);
    engine.writeSync(constants.Z_FINISH, packed, 0, packed.length, bytes, 0, bytes.length);
    const [free = 0, unread = 0] = left;
    if (free === 0) throw tooMany();
    if (failure !== undefined) throw new Error(failure);
    return { bytes: bytes.subarray(0, bytes.length - free), packedBytes: packed.length - unread };
  };
};
