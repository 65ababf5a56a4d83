// Verifies stored images: reads and hashes all content that the database refers to.

import { createHash } from "node:crypto";
import { limits } from "#base/limits.ts";
import { countBlobs, findBlobs, findManifestPage, findReposOfBlob, findStoredBlob, type PageManifest, setBlobHidden, type StoredBlob } from "#registry/store";
import type { CollectionParts } from "./collect.ts";

/** A problem of one content. */
export interface BlobVerdict {
  /** "sha256:…". */
  readonly digest: string;
  readonly kind: "blob" | "manifest";
  /** In a few words: "is not there". */
  readonly problem: string;
  /** Some repos that have it. */
  readonly repos: readonly string[];
}

export interface VerificationSummary {
  readonly blobs: number;
  readonly manifests: number;
  readonly sizeBytes: number;
  readonly broken: number;
  /** Previously broken content that is intact again and no longer hidden. */
  readonly healed: number;
}

export interface Verification {
  /** The next push uploads hidden blobs again; intact ones are shown again. */
  readonly hidesBroken: boolean;
  readonly report: (verdict: BlobVerdict) => void;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

const reposShown = 10;

const problemOf = async (
  { blobs }: CollectionParts,
  { sha256, sha512, sizeBytes, key }: StoredBlob,
  onBytes: (count: number) => void,
): Promise<string | undefined> => {
  const found = await blobs.sizeOf(key);
  if (found === undefined) return "is not there";
  if (found !== sizeBytes) return `has ${found} bytes, not ${sizeBytes}`;
  const content = await blobs.read(key);
  if (content === undefined) return "is not there";
  const hashes = [{ expected: sha256, hash: createHash("sha256") }, ...(sha512 === undefined ? [] : [{ expected: sha512, hash: createHash("sha512") }])];
  try {
    for await (const piece of content) {
      for (const { hash } of hashes) hash.update(piece);
      onBytes(piece.byteLength);
    }
  } catch (thrown) {
    // A disk error or a truncated file; unreachable storage already fails in the first calls.
    return `cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
  return hashes.every(({ expected, hash }) => expected.endsWith(`:${hash.digest("hex")}`)) ? undefined : "does not match its digest";
};

const problemOfManifest = ({ sha256, sha512, content }: PageManifest): string | undefined => {
  const isWhole = [sha256, sha512].every((digest) => {
    const [algorithm = "", hex] = digest.split(":");
    return createHash(algorithm).update(content).digest("hex") === hex;
  });
  return isWhole ? undefined : "does not match its digest";
};

/** Verifies everything. Throws if the database or the storage is unreachable. */
export const verifyRegistry = async (parts: CollectionParts, { hidesBroken, report, progress }: Verification): Promise<VerificationSummary> => {
  const { store, clock } = parts;
  const { sizeBytes: total } = await countBlobs(store.read);
  let [blobs, manifests, sizeBytes, broken, healed] = [0, 0, 0, 0, 0];
  const onBytes = (count: number): void => {
    sizeBytes += count;
    progress({ done: Math.min(sizeBytes, total), total, what: "bytes" });
  };
  const verifyBlob = async (blob: StoredBlob): Promise<void> => {
    const problem = await problemOf(parts, blob, onBytes);
    if (problem === undefined) {
      if (!blob.isHidden || !hidesBroken) return;
      healed++;
      await store.write((rows) => setBlobHidden(rows, blob, undefined));
      return;
    }
    // Collected or replaced meanwhile.
    if ((await findStoredBlob(store.read, blob.sha256))?.key !== blob.key) return;
    broken++;
    report({ digest: blob.sha256, kind: "blob", problem, repos: await findReposOfBlob(store.read, blob.sha256, reposShown) });
    if (hidesBroken) await store.write((rows) => setBlobHidden(rows, blob, clock()));
  };
  for (let last = ""; ; ) {
    const page = await findBlobs(store.read, last, limits.collectionPageRows);
    for (const blob of page) {
      await verifyBlob(blob);
      blobs++;
    }
    const end = page.at(-1);
    if (end === undefined || page.length < limits.collectionPageRows) break;
    last = end.sha256;
  }
  for (let last: readonly [string, string] = ["", ""]; ; ) {
    const page = await findManifestPage(store.read, last, limits.verifiedManifestsMax);
    for (const manifest of page) {
      const problem = problemOfManifest(manifest);
      manifests++;
      if (problem === undefined) continue;
      broken++;
      report({ digest: manifest.sha256, kind: "manifest", problem, repos: [manifest.repo] });
    }
    const end = page.at(-1);
    if (end === undefined || page.length < limits.verifiedManifestsMax) break;
    last = [end.repo, end.sha256];
  }
  return { blobs, manifests, sizeBytes, broken, healed };
};
