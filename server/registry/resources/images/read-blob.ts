// The bytes of a small blob of a repo, whole.

import type { ReadContext } from "#kernel";
import type { RepoBlob } from "#registry/store";

/** Returns the blob's bytes as a stream; undefined, with a line of the log, if the blob place has lost them. */
export const openBlob = async ({ services }: Pick<ReadContext, "services">, blob: RepoBlob): Promise<AsyncIterable<Uint8Array> | undefined> => {
  const content = await services.blobs.read(blob.key);
  if (!content) services.log("blobs.missing", { digest: blob.sha256, key: blob.key });
  return content;
};

/** Returns the blob's bytes; undefined as `openBlob`. The caller has looked at its size. */
export const readBlob = async (context: Pick<ReadContext, "services">, blob: RepoBlob): Promise<Buffer | undefined> => {
  const content = await openBlob(context, blob);
  if (!content) return undefined;
  const chunks: Uint8Array[] = [];
  // A piece is good until the next one is asked for.
  for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
  return Buffer.concat(chunks);
};
