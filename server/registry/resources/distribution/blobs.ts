// Reads blobs, and deletes them from a repo.

import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Outcome, ReadContext, WriteContext } from "#kernel";
import { deleteRepoBlob, extendLease, findRepoBlob, isBlobNeeded, lockRepoBlob, type RepoBlob, usePendingRepo } from "#registry/store";
import { readDigest } from "./digest.ts";
import { blobNeeded, blobUnknown, unsatisfiable } from "./faults.ts";
import { notePull } from "./pulls.ts";
import { holdTarget } from "./repo.ts";

const signedSeconds = 20 * 60;
const blobType = "application/octet-stream";

interface ByteRange {
  readonly startBytes: number;
  /** Exclusive. */
  readonly endBytes: number;
}

/** Parses a Range header (oci: 2); undefined: the whole blob, also for several ranges or another unit. Throws 416 if unsatisfiable. */
export const readRange = (header: string, sizeBytes: number): ByteRange | undefined => {
  const [, first = "", last = ""] = /^bytes=([0-9]{0,15})-([0-9]{0,15})$/.exec(header.replaceAll(" ", "")) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    if (Number(last) === 0 || sizeBytes === 0) throw unsatisfiable(sizeBytes);
    return { startBytes: Math.max(sizeBytes - Number(last), 0), endBytes: sizeBytes };
  }
  if (last !== "" && Number(last) < Number(first)) return undefined;
  if (Number(first) >= sizeBytes) throw unsatisfiable(sizeBytes);
  return { startBytes: Number(first), endBytes: last === "" ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) };
};

/**
 * Extends the blob's lease: a client that sees the blob does not upload it, so it must exist until the manifest arrives. Throws if
 * it was deleted meanwhile.
 */
const keepAsserted = async ({ services, nowMs }: ReadContext, repo: string, { sha256, leaseMs }: RepoBlob): Promise<void> => {
  const untilMs = nowMs + limits.blobLeaseMs;
  if (untilMs - leaseMs < limits.blobLeaseMs / 4) return;
  const isThere = await services.store.write(async (rows) => {
    await usePendingRepo(rows, repo, nowMs, nowMs - limits.pendingUseMs);
    return extendLease(rows, repo, sha256, untilMs);
  });
  if (!isThere) throw blobUnknown();
};

export const getBlob = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, services } = context;
  const { blobs } = services;
  const repo = text(request, "repo");
  const digest = readDigest(text(request, "digest"));
  const found = await findRepoBlob(rows, repo, digest.text);
  if (!found) throw blobUnknown();
  const isHead = request.head === true;
  if (isHead) await keepAsserted(context, repo, found);
  const { sizeBytes, key } = found;
  const range = readRange(text(request, "range"), sizeBytes);
  const elsewhere = isHead ? undefined : await blobs.signedUrl?.(key, { seconds: signedSeconds, contentType: blobType });
  notePull(context, { repo, tag: "", digest: digest.text, type: "blob" });
  return {
    reply: { digest: digest.text },
    content: {
      type: blobType,
      sizeBytes,
      ...(range ? { range } : {}),
      ...(elsewhere === undefined ? {} : { elsewhere }),
      open: async () => {
        const content = await blobs.read(key, range);
        if (content) return content;
        services.log("blobs.missing", { digest: found.sha256, key });
        throw blobUnknown();
      },
    },
  };
};

export const deleteBlob = async (context: WriteContext): Promise<Outcome> => {
  const { rows, request } = context;
  const digest = readDigest(text(request, "digest"));
  const repo = await holdTarget(context);
  // A manifest being stored locks its blobs, so their use is known once its transaction has ended.
  const found = await lockRepoBlob(rows, repo.uid, digest.text);
  if (!found) throw blobUnknown();
  if (await isBlobNeeded(rows, repo.uid, found.sha256)) throw blobNeeded();
  await deleteRepoBlob(rows, repo.uid, found.sha256);
  return { reply: {}, ...(repo.isPending ? { unchanged: true } : {}) };
};
