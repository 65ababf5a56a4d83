// Digests of content, computed while bytes arrive.

import { createHash, type Hash } from "node:crypto";
import type { DigestAlgorithm } from "./digest.ts";

export interface RunningDigests {
  readonly sizeBytes: number;
  readonly hashes: Readonly<Partial<Record<DigestAlgorithm, Hash>>>;
}

/** Digests as text: "sha256:…". */
export type ContentDigests = Readonly<Partial<Record<DigestAlgorithm, string>>>;

export const newDigests = (algorithms: ReadonlySet<DigestAlgorithm>): RunningDigests => ({
  sizeBytes: 0,
  hashes: { sha256: createHash("sha256"), ...(algorithms.has("sha512") ? { sha512: createHash("sha512") } : {}) },
});

const copyOf = ({ sha256, sha512 }: RunningDigests["hashes"]): RunningDigests["hashes"] => ({
  ...(sha256 ? { sha256: sha256.copy() } : {}),
  ...(sha512 ? { sha512: sha512.copy() } : {}),
});

/** Passes content on while extending the digests; does not modify `before`. */
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

export const digestContent = async (content: AsyncIterable<Uint8Array>, algorithms: ReadonlySet<DigestAlgorithm>): Promise<ContentDigests> => {
  const { bytes, after } = digesting(newDigests(algorithms), content, () => {});
  for await (const _ of bytes);
  const done = after();
  return done ? digestsOf(done) : {};
};
