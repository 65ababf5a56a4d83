// The digests of what is being uploaded, computed while its bytes pass. They are kept in the memory of the server that has seen all
// of them; of an upload that another server began, or that was interrupted, the digest is computed at its end from what lies there.

import { createHash, type Hash } from "node:crypto";
import { limits } from "#base/limits.ts";
import type { DigestAlgorithm } from "./digest.ts";

/** The digests of a content's beginning. */
export interface RunningDigests {
  readonly sizeBytes: number;
  readonly hashes: Readonly<Partial<Record<DigestAlgorithm, Hash>>>;
}

/** Digests as texts: "sha256:…". */
export type ContentDigests = Readonly<Partial<Record<DigestAlgorithm, string>>>;

export const newDigests = (algorithms: ReadonlySet<DigestAlgorithm>): RunningDigests => ({
  sizeBytes: 0,
  hashes: { sha256: createHash("sha256"), ...(algorithms.has("sha512") ? { sha512: createHash("sha512") } : {}) },
});

const copyOf = ({ sha256, sha512 }: RunningDigests["hashes"]): RunningDigests["hashes"] => ({
  ...(sha256 ? { sha256: sha256.copy() } : {}),
  ...(sha512 ? { sha512: sha512.copy() } : {}),
});

/** Passes content on, and computes how the digests go on with it. What was there before stays as it was. */
export const digesting = (
  before: RunningDigests | undefined,
  content: AsyncIterable<Uint8Array>,
  onChunk: (sizeBytes: number) => void,
): { readonly bytes: AsyncIterable<Uint8Array>; readonly after: () => RunningDigests | undefined; readonly received: () => number } => {
  const hashes = before && copyOf(before.hashes);
  let received = 0;
  const pass = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      hashes?.sha256?.update(chunk);
      hashes?.sha512?.update(chunk);
      received += chunk.length;
      onChunk(received);
      yield chunk;
    }
  };
  return { bytes: pass(), after: () => before && hashes && { sizeBytes: before.sizeBytes + received, hashes }, received: () => received };
};

export const digestsOf = ({ hashes }: RunningDigests): ContentDigests => {
  const { sha256, sha512 } = copyOf(hashes);
  return { ...(sha256 ? { sha256: `sha256:${sha256.digest("hex")}` } : {}), ...(sha512 ? { sha512: `sha512:${sha512.digest("hex")}` } : {}) };
};

/** The digests of content that lies somewhere. */
export const digestContent = async (content: AsyncIterable<Uint8Array>, algorithms: ReadonlySet<DigestAlgorithm>): Promise<ContentDigests> => {
  const { bytes, after } = digesting(newDigests(algorithms), content, () => {});
  for await (const _ of bytes);
  const done = after();
  return done ? digestsOf(done) : {};
};

// By upload, the oldest first.
const running = new Map<string, RunningDigests>();

/** The digests of so many first bytes of an upload; undefined where this server has not seen all of them. */
export const findDigests = (upload: string, sizeBytes: number): RunningDigests | undefined => {
  const held = running.get(upload);
  return held?.sizeBytes === sizeBytes ? held : undefined;
};

export const keepDigests = (upload: string, digests: RunningDigests | undefined): void => {
  running.delete(upload);
  if (digests) running.set(upload, digests);
  const [oldest] = running.keys();
  if (running.size > limits.uploadDigestsMax && oldest !== undefined) running.delete(oldest);
};
