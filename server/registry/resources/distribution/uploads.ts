// Blob uploads (oci: 2): start, append, finish, cancel, on any server. The upload's row has its progress; its bytes are durable before
// the row records them. A request that appends holds a lease, and bytes of a failed request do not count.

import { randomBytes } from "node:crypto";
import { makeBlobKey, type UploadPoint, uploadStart } from "#registry/blobs";
import { visiblePaths } from "#authz";
import { Fault } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import type { CallContent, Outcome, ReadContext, Services, WriteContext, Writes } from "#kernel";
import {
  deleteHeldUpload,
  deleteUpload,
  endBlobWrite,
  extendBlobWrite,
  extendUploadLease,
  findAdoptingRepo,
  findRepoBlob,
  findRepoByName,
  findRepoWithBlob,
  findUpload,
  holdUpload,
  insertBlobRemoval,
  insertRepoBlob,
  insertUpload,
  mountRepoBlob,
  releaseUpload,
  requireUploadDeletion,
  requireUploadUpdate,
  type UploadRow,
  updateUpload,
} from "#registry/store";
import { type Write, writeAtOnce } from "#db";
import { type Digest, type DigestAlgorithm, isDigest, readAlgorithm, readDigest } from "./digest.ts";
import { noteWriting } from "#registry/collection";
import { digestInvalid, outOfOrder, rangeInvalid, sizeInvalid, uploadHeld, uploadUnknown } from "./faults.ts";
import { pushFacts } from "./push.ts";
import { removeSoon } from "./removals.ts";
import { holdTarget, type PushTarget, targetForBlobs } from "./repo.ts";
import { namingStorageQuota, requireStorage, storageFaultOf } from "./storage-quota.ts";
import { type ContentDigests, digestContent, digesting, digestsOf, findDigests, keepDigests, newDigests, type RunningDigests } from "./upload-digests.ts";

const uploadForm = /^[0-9a-f]{32}$/;

/** Throws BLOB_UPLOAD_UNKNOWN for an invalid ID. */
const uploadIdOf = (request: JsonObject): string => {
  const id = text(request, "upload");
  if (!uploadForm.test(id)) throw uploadUnknown();
  return id;
};

const pointOf = ({ sizeBytes, state }: UploadRow): UploadPoint => ({ sizeBytes, state: state ?? {} });

const leaseEnd = (nowMs: number): number => nowMs + limits.blobLeaseMs;

/** Events are about repositories: the first one of a pending path is its manifest's. */
const blobPushed = (repo: PushTarget, digest: string, { nowMs, call }: Pick<WriteContext, "nowMs" | "call">): Outcome => ({
  reply: { ...pushFacts(repo, nowMs, call), digest, type: "blob" },
  ...(repo.isPending ? { unchanged: true } : {}),
});

interface HeldUpload {
  readonly row: UploadRow;
  readonly holder: string;
}

const hold = async ({ services, request }: ReadContext): Promise<HeldUpload> => {
  const [repo, id, holder] = [text(request, "repo"), uploadIdOf(request), randomBytes(16).toString("hex")];
  const nowMs = services.clock();
  const holdIn = (place: string) => writeAtOnce(services.store, (rows) => holdUpload(rows, place, id, holder, nowMs, nowMs + limits.uploadHoldMs));
  const held = await holdIn(repo);
  // Its first manifest arrived after the path was resolved.
  const adopted = held ? undefined : await findAdoptingRepo(services.store.read, repo);
  const row = held ?? (adopted === undefined ? undefined : await holdIn(adopted));
  if (row) return { row, holder };
  throw (await findUpload(services.store.read, repo, id)) ? uploadHeld() : uploadUnknown();
};

/** Releases the lease if `work` fails, at the previous progress. If stored bytes are lost, ends the upload: the client starts again. */
const whileHeld = async <T>(services: Services, { row, holder }: HeldUpload, work: () => Promise<T>): Promise<T> => {
  const { store, log } = services;
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "DATA_LOSS") {
      log("blobs.upload.lost", { upload: row.id, sizeBytes: row.sizeBytes, cause: thrown });
      await giveUp(services, row.id, holder, pointOf(row));
      throw uploadUnknown();
    }
    // If this fails too, the lease expires.
    await store.write((rows) => releaseUpload(rows, row.id, holder)).catch(() => {});
    throw thrown;
  }
};

const rangeForm = /^([0-9]{1,15})-([0-9]{1,15})$/;

/** Checks the offset before reading. Returns the length of the range; undefined if there is none. */
const checkContentRange = (header: string, sizeBytes: number, content: CallContent | undefined): number | undefined => {
  if (header === "") return undefined;
  const [, first, last] = rangeForm.exec(header) ?? [];
  if (first === undefined || last === undefined || Number(last) < Number(first))
    throw rangeInvalid("must be FIRST-LAST, the numbers of the first and the last byte");
  if (Number(first) !== sizeBytes) throw outOfOrder(sizeBytes);
  const length = Number(last) - Number(first) + 1;
  if (content?.lengthBytes !== undefined && content.lengthBytes !== length) throw sizeInvalid(length, content.lengthBytes);
  return length;
};

interface Appended {
  readonly point: UploadPoint;
  readonly digests: RunningDigests | undefined;
}

/** Appends the call's content: durable when it resolves; without effect if it throws. */
const append = async (
  { services }: Pick<ReadContext, "services">,
  {
    key,
    at,
    digests,
    range,
  }: { readonly key: string; readonly at: UploadPoint; readonly digests: RunningDigests | undefined; readonly range: number | undefined },
  content: CallContent | undefined,
  onChunk: () => void,
): Promise<Appended> => {
  if (!content) {
    if (range !== undefined) throw sizeInvalid(range, 0);
    return { point: at, digests };
  }
  const passing = digesting(digests, content.bytes, onChunk);
  const point = await services.blobs.append(key, at, passing.bytes);
  if (range !== undefined && passing.received() !== range) throw sizeInvalid(range, passing.received());
  return { point, digests: passing.after() };
};

/** Extends the lease while bytes arrive. */
const holdingOn = ({ store, clock }: Services, { row, holder }: HeldUpload): (() => void) => {
  let untilMs = clock() + limits.uploadHoldMs;
  return () => {
    const nowMs = clock();
    if (untilMs - nowMs > limits.uploadHoldMs / 2) return;
    untilMs = nowMs + limits.uploadHoldMs;
    store.write((rows) => extendUploadLease(rows, row.id, holder, untilMs)).catch(() => {});
  };
};

const appendHeld = async (context: ReadContext, held: HeldUpload): Promise<Appended> => {
  const { row } = held;
  const { content } = context.call;
  const range = checkContentRange(text(context.request, "contentRange"), row.sizeBytes, content);
  const known = row.sizeBytes === 0 ? newDigests(new Set([readAlgorithm(row.algorithm)])) : findDigests(row.id, row.sizeBytes);
  return append(context, { key: row.key, at: pointOf(row), digests: known, range }, content, holdingOn(context.services, held));
};

export const appendUpload = async (context: ReadContext): Promise<Writes> => {
  const held = await hold(context);
  const { row, holder } = held;
  const { point, digests } = await whileHeld(context.services, held, () => appendHeld(context, held));
  return {
    writes: async ({ rows, nowMs }) => {
      requireUploadUpdate(rows, { id: row.id, holder, ...point }, nowMs, uploadUnknown);
      keepDigests(row.id, digests);
      return { reply: { upload: row.id, sizeBytes: String(point.sizeBytes) }, unchanged: true };
    },
  };
};

const digestsOfContent = async ({ blobs }: Services, key: string, algorithm: DigestAlgorithm): Promise<ContentDigests> => {
  const content = await blobs.read(key);
  return content ? digestContent(content, new Set<DigestAlgorithm>(["sha256", algorithm])) : {};
};

interface KnownDigests extends ContentDigests {
  readonly sha256: string;
}

/** Returns the digests if they match the claimed one; throws DIGEST_INVALID. */
const requireDigest = (found: ContentDigests, { algorithm, text: claimed }: Digest): KnownDigests => {
  const { sha256 } = found;
  if (sha256 === undefined || found[algorithm] !== claimed) throw digestInvalid("does not match the uploaded content");
  return { ...found, sha256 };
};

/** Makes the content readable, after checking its digest if already known. Throws DIGEST_INVALID. */
const complete = async (services: Services, key: string, appended: Appended, digest: Digest): Promise<KnownDigests> => {
  const { point, digests } = appended;
  const known = digests && digests.sizeBytes === point.sizeBytes ? digestsOf(digests) : {};
  const isKnown = known.sha256 !== undefined && known[digest.algorithm] !== undefined;
  if (isKnown) requireDigest(known, digest);
  await services.blobs.complete(key, point);
  return requireDigest(isKnown ? known : await digestsOfContent(services, key, digest.algorithm), digest);
};

/**
 * After a wrong digest the upload keeps its previous progress, so the client can resend. If the digest had to be computed from
 * stored content, that is complete: the upload keeps its last bytes, and only the right digest finishes it.
 */
const keepAfterWrongDigest = async ({ store, clock, blobs }: Services, { row, holder }: HeldUpload, { point }: Appended): Promise<void> => {
  const isComplete = point.sizeBytes > row.sizeBytes && (await blobs.sizeOf(row.key)) !== undefined;
  await store.write(async (rows) => {
    if (isComplete) updateUpload(rows, { id: row.id, holder, ...point }, clock());
    else await releaseUpload(rows, row.id, holder);
  });
};

export const finishUpload = async (context: ReadContext): Promise<Writes> => {
  const { services, request } = context;
  const digest = readDigest(text(request, "digest"));
  const held = await hold(context);
  const { row, holder } = held;
  const appended = await whileHeld(services, held, () => appendHeld(context, held));
  let found: KnownDigests;
  try {
    found = await complete(services, row.key, appended, digest);
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT") {
      await keepAfterWrongDigest(services, held, appended);
      throw thrown;
    }
    // An unavailable storage may be retried.
    return whileHeld(services, held, () => Promise.reject(thrown));
  }
  return {
    writes: async (write) => {
      const repo = await holdTarget(write);
      requireUploadDeletion(write.rows, repo.uid, { id: row.id, holder }, write.nowMs, uploadUnknown);
      const blob = { sha256: found.sha256, sha512: found.sha512, sizeBytes: appended.point.sizeBytes, key: row.key };
      const isDuplicate = await insertRepoBlob(write.rows, repo.uid, blob, {
        nowMs: write.nowMs,
        leaseMs: leaseEnd(write.nowMs),
        faultOf: storageFaultOf(repo.uid, () => behind(services, () => giveUp(services, row.id, holder, appended.point))),
      });
      keepDigests(row.id, undefined);
      if (isDuplicate) removeSoon(services);
      return blobPushed(repo, digest.text, write);
    },
  };
};

/** Runs after the transaction, which is rolled back. */
const behind = ({ log }: Services, work: () => Promise<void>): void =>
  void setImmediate(() => work().catch((cause: unknown) => log("blobs.removal.failed", { cause })));

const giveUp = async (services: Services, id: string, holder: string, point: UploadPoint): Promise<void> => {
  keepDigests(id, undefined);
  const nowMs = services.clock();
  await services.store.write(async (rows) => {
    const gone = await deleteHeldUpload(rows, id, holder);
    if (gone) await insertBlobRemoval(rows, gone.key, point.state, nowMs);
  });
  removeSoon(services);
};

export const cancelUpload = async ({ services, request, rows, nowMs }: WriteContext): Promise<Outcome> => {
  const [repo, id] = [text(request, "repo"), uploadIdOf(request)];
  const gone = await deleteUpload(rows, repo, id, nowMs);
  if (!gone) throw (await findUpload(rows, repo, id)) ? uploadHeld() : uploadUnknown();
  await insertBlobRemoval(rows, gone.key, gone.state, nowMs);
  keepDigests(id, undefined);
  removeSoon(services);
  return { reply: {}, unchanged: true };
};

export const getUpload = async ({ request, rows }: ReadContext): Promise<Outcome> => {
  const found = await findUpload(rows, text(request, "repo"), uploadIdOf(request));
  if (!found) throw uploadUnknown();
  return { reply: { upload: found.id, sizeBytes: String(found.sizeBytes) } };
};

/** Returns the repo to mount a blob from: the named one, or any; undefined if the caller can read none that has it. */
const findSource = async ({ request, rows, rights }: ReadContext, digest: string): Promise<string | undefined> => {
  const paths = visiblePaths(rights, ["repo.blobs.get"]);
  const from = text(request, "from");
  if (paths.length === 0) return undefined;
  if (from === "") return findRepoWithBlob(rows, digest, paths);
  const found = isUid(from) ? { uid: from } : await findRepoByName(rows, from);
  if (!found) return undefined;
  const isReadable = paths.some((path) => path === "" || found.uid === path || found.uid.startsWith(`${path}/`));
  return isReadable && (await findRepoBlob(rows, found.uid, digest)) ? found.uid : undefined;
};

const mounted = async (context: WriteContext, from: string, digest: string): Promise<Outcome | undefined> => {
  const repo = await targetForBlobs(context);
  const given = mountRepoBlob(context.rows, repo.uid, from, digest, context.nowMs, leaseEnd(context.nowMs));
  const blob = await namingStorageQuota(repo.uid, given);
  return blob && blobPushed(repo, digest, context);
};

const begun = async (context: WriteContext, algorithm: DigestAlgorithm): Promise<Outcome> => {
  const repo = await targetForBlobs(context);
  const upload: UploadRow = { id: randomBytes(16).toString("hex"), key: makeBlobKey(), ...uploadStart, algorithm: algorithm === "sha512" ? algorithm : "" };
  insertUpload(context.rows, repo.uid, upload, context.nowMs);
  return { reply: { upload: upload.id }, unchanged: true };
};

/**
 * Records the key of a long upload in a single request while bytes arrive: no other row references it before the end, and
 * unreferenced content is collected as garbage of a crash. `end` runs in the transaction that references it permanently.
 */
const naming = (
  { store, clock }: Services,
  key: string,
): { readonly onChunk: () => void; readonly forget: () => void; readonly end: (rows: Write) => Promise<void> } => {
  let nextMs = clock() + limits.blobWriteNamedMs;
  let isNamed = false;
  const forget = noteWriting(key);
  return {
    forget,
    onChunk: () => {
      const nowMs = clock();
      if (nowMs < nextMs) return;
      nextMs = nowMs + limits.blobWriteNamedMs;
      isNamed = true;
      store.write((rows) => extendBlobWrite(rows, key, nowMs + limits.unnamedKeptMs)).catch(() => {});
    },
    end: async (rows) => {
      if (isNamed) await endBlobWrite(rows, key);
    },
  };
};

const wholeUpload = async (context: ReadContext, digest: Digest, content: CallContent): Promise<Writes> => {
  const { services } = context;
  const key = makeBlobKey();
  const range = checkContentRange(text(context.request, "contentRange"), 0, content);
  const { onChunk, forget, end } = naming(services, key);
  let found: KnownDigests;
  let appended: Appended | undefined;
  try {
    appended = await append(context, { key, at: uploadStart, digests: newDigests(new Set([digest.algorithm])), range }, content, onChunk);
    found = await complete(services, key, appended, digest);
  } catch (thrown) {
    await services.blobs.remove(key, appended?.point.state ?? uploadStart.state).catch((cause: unknown) => services.log("blobs.removal.failed", { cause }));
    throw thrown;
  } finally {
    forget();
  }
  const { point } = appended;
  return {
    writes: async (write) => {
      const repo = await targetForBlobs(write);
      const blob = { sha256: found.sha256, sha512: found.sha512, sizeBytes: point.sizeBytes, key };
      const isDuplicate = await insertRepoBlob(write.rows, repo.uid, blob, {
        nowMs: write.nowMs,
        leaseMs: leaseEnd(write.nowMs),
        faultOf: storageFaultOf(repo.uid, () => behind(services, () => services.blobs.remove(key, point.state))),
      });
      await end(write.rows);
      if (isDuplicate) removeSoon(services);
      return blobPushed(repo, digest.text, write);
    },
  };
};

export const startUpload = async (context: ReadContext): Promise<Writes> => {
  const { request, call } = context;
  const algorithm = readAlgorithm(text(request, "digestAlgorithm"));
  const repo = text(request, "repo");
  const place = isUid(repo) ? repo : (context.permitted[0]?.path ?? "");
  const mount = text(request, "mount");
  const given = text(request, "digest");
  if (mount === "" && given !== "") {
    const digest = readDigest(given);
    // Without content, the client sends it later (oci: 2).
    if (call.content) {
      await requireStorage(context.rows, place);
      return wholeUpload(context, digest, call.content);
    }
  }
  // An unavailable source is no error: the client uploads the bytes (oci: 7).
  const from = isDigest(mount) ? await findSource(context, mount) : undefined;
  return {
    writes: async (write) => {
      // Sent with the look at the repo.
      const storage = requireStorage(write.rows, place);
      storage.catch(() => {});
      const outcome = (from === undefined ? undefined : await mounted(write, from, mount)) ?? (await begun(write, algorithm));
      await storage;
      return outcome;
    },
  };
};
