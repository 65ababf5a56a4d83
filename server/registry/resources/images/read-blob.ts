// Reads blobs of a repo.

import type { ReadContext } from "#kernel";
import type { RepoBlob } from "#registry/store";

/** Returns the blob's bytes as a stream; undefined, with a log line, if the storage has lost them. */
export const openBlob = async ({ services }: Pick<ReadContext, "services">, blob: RepoBlob): Promise<AsyncIterable<Uint8Array> | undefined> => {
  const content = await services.blobs.read(blob.key);
  if (!content) services.log("blobs.missing", { digest: blob.sha256, key: blob.key });
  return content;
};

/** Returns the blob's bytes; undefined like `openBlob`. The caller must check the size. */
export const readBlob = async (context: Pick<ReadContext, "services">, blob: RepoBlob): Promise<Buffer | undefined> => {
  const content = await openBlob(context, blob);
  if (!content) return undefined;
  const chunks: Uint8Array[] = [];
  // A chunk is valid until the next one is requested.
  for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
  return Buffer.concat(chunks);
};
