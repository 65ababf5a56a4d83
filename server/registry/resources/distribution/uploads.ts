// Blob uploads (oci: 2): start, append, finish, cancel, on any server. The upload's row has its progress; its bytes are durable before
// the row records them. A request that appends holds a lease, and bytes of a failed request do not count.
//
// A request that this server can handle from memory (known-uploads.ts) needs no lease: its bytes have a new key until one
// transaction proves everything that was assumed and references them. Otherwise the request is handled once more, with a lease.

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
  requireFirstBytes,
  requireRepoBlob,
  requireUploadDeletion,
  requireUploadUpdate,
  type UploadRow,
  updateUpload,
} from "#registry/store";
import { StaleAccess, type Write, writeAtOnce } from "#db";
import { type Digest, type DigestAlgorithm, isDigest, readAlgorithm, readDigest } from "./digest.ts";
import { noteWriting } from "#registry/collection";
import { digestInvalid, outOfOrder, rangeInvalid, sizeInvalid, uploadHeld, uploadUnknown } from "./faults.ts";
import { beginWriting, endWriting, findDigests, findKnownRepo, findKnownUpload, hasFitted, isWritten, keepRepo, keepUpload } from "./known-uploads.ts";
import { pushFacts } from "./push.ts";
import { removeSoon } from "./removals.ts";
import { assumedTarget, holdTarget, pathOf, type PushTarget, targetForBlobs } from "./repo.ts";
import { namingStorageQuota, requireStorage, requireStorageAtOnce, storageFaultOf } from "./storage-quota.ts";
import { type ContentDigests, digestContent, digesting, digestsOf, newDigests, type RunningDigests } from "./upload-digests.ts";

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
  if (isWritten(uploadIdOf(request))) throw uploadHeld();
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
  readonly key: string;
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
    return { key, point: at, digests };
  }
  const passing = digesting(digests, content.bytes, onChunk);
  const point = await services.blobs.append(key, at, passing.bytes);
  if (range !== undefined && passing.received() !== range) throw sizeInvalid(range, passing.received());
  return { key, point, digests: passing.after() };
};

/** Content that the first attempt of a request has stored under a new key. */
const storedAlone = new WeakMap<CallContent, Appended>();

const keepAlone = (services: Services, content: CallContent, appended: Appended): void => {
  storedAlone.set(content, appended);
  content.abandon = () => void removeContent(services, appended);
};

/** Returns what the first attempt has stored; the caller references or removes it. */
const claimAlone = (content: CallContent | undefined): Appended | undefined => {
  const appended = content && storedAlone.get(content);
  if (!appended) return undefined;
  storedAlone.delete(content);
  content.abandon = undefined;
  return appended;
};

const removeContent = async ({ blobs, log }: Services, { key, point }: Pick<Appended, "key" | "point">): Promise<void> => {
  await blobs.remove(key, point.state).catch((cause: unknown) => log("blobs.removal.failed", { cause }));
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
  const alone = claimAlone(content);
  if (alone) {
    if (row.sizeBytes === 0) return alone;
    await removeContent(context.services, alone);
    throw uploadHeld();
  }
  const range = checkContentRange(text(context.request, "contentRange"), row.sizeBytes, content);
  const known = row.sizeBytes === 0 ? newDigests(new Set([readAlgorithm(row.algorithm)])) : findDigests(row.id, row.key, row.sizeBytes);
  return append(context, { key: row.key, at: pointOf(row), digests: known, range }, content, holdingOn(context.services, held));
};

/** Stores content under a new key, complete if `digest` is given. */
const storeAlone = async (
  context: Pick<ReadContext, "services">,
  content: CallContent,
  { algorithms, range, digest }: { readonly algorithms: ReadonlySet<DigestAlgorithm>; readonly range: number | undefined; readonly digest?: Digest },
): Promise<{ readonly appended: Appended; readonly found: ContentDigests; readonly end: (rows: Write) => Promise<void> }> => {
  const { services } = context;
  const key = makeBlobKey();
  const { onChunk, forget, end } = naming(services, key);
  let appended: Appended | undefined;
  try {
    appended = await append(context, { key, at: uploadStart, digests: newDigests(algorithms), range }, content, onChunk);
    const found = digest ? await complete(services, appended, digest) : {};
    return { appended, found, end };
  } catch (thrown) {
    await removeContent(services, appended ?? { key, point: uploadStart });
    throw thrown;
  } finally {
    forget();
  }
};

/** For the transaction of an assumed request: it is handled once more. */
const outdated = (): StaleAccess => new StaleAccess();

/** A range that is not the first one needs the upload's current size. */
const isFirstRange = (header: string): boolean => header === "" || header.startsWith("0-");

/** The first bytes of an upload that this server knows. */
const appendFirst = async (context: ReadContext): Promise<Writes> => {
  const { services, request } = context;
  const { content } = context.call;
  const [repo, id, header] = [text(request, "repo"), uploadIdOf(request), text(request, "contentRange")];
  const known = findKnownUpload(id);
  if (!content || known?.repo !== repo || known.sizeBytes !== 0 || !isFirstRange(header)) throw outdated();
  const range = checkContentRange(header, 0, content);
  if (!beginWriting(id)) throw uploadHeld();
  try {
    const { appended, end } = await storeAlone(context, content, { algorithms: new Set([readAlgorithm(known.algorithm)]), range });
    keepAlone(services, content, appended);
    const { key, point, digests } = appended;
    return {
      writes: async ({ rows, nowMs }) => {
        requireFirstBytes(rows, { id, repo, emptyKey: known.key, key, ...point }, nowMs, {
          lost: outdated,
          answered: () => keepUpload(id, { ...known, key, sizeBytes: point.sizeBytes, digests }),
        });
        await end(rows);
        return { reply: { upload: id, sizeBytes: String(point.sizeBytes) }, unchanged: true };
      },
    };
  } finally {
    endWriting(id);
  }
};

export const appendUpload = async (context: ReadContext): Promise<Writes> => {
  if (context.isAssumed) return appendFirst(context);
  const held = await hold(context);
  const { row, holder } = held;
  const { key, point, digests } = await whileHeld(context.services, held, () => appendHeld(context, held));
  return {
    writes: async ({ rows, nowMs }) => {
      requireUploadUpdate(rows, { id: row.id, holder, key, ...point }, nowMs, uploadUnknown);
      keepUpload(row.id, { repo: text(context.request, "repo"), key, sizeBytes: point.sizeBytes, algorithm: row.algorithm, digests });
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
const complete = async (services: Services, { key, point, digests }: Appended, digest: Digest): Promise<KnownDigests> => {
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
const keepAfterWrongDigest = async (services: Services, { row, holder }: HeldUpload, { key, point }: Appended): Promise<void> => {
  const { store, clock, blobs } = services;
  const isComplete = point.sizeBytes > row.sizeBytes && (await blobs.sizeOf(key)) !== undefined;
  await store.write(async (rows) => {
    if (isComplete) updateUpload(rows, { id: row.id, holder, key, ...point }, clock());
    else await releaseUpload(rows, row.id, holder);
  });
  if (!isComplete && key !== row.key) await removeContent(services, { key, point });
};

interface AssumedBlob {
  readonly repo: PushTarget;
  readonly digest: Digest;
  readonly found: KnownDigests;
  readonly appended: Appended;
  readonly upload: { readonly id: string; readonly key: string; readonly sizeBytes: number } | undefined;
  /** Runs after the transaction. */
  readonly giveUp: () => Promise<void>;
  readonly end: (rows: Write) => Promise<void>;
}

/** Gives the repo its blob in one message. */
const storeAssumed = async (write: WriteContext, services: Services, { repo, digest, found, appended, upload, giveUp, end }: AssumedBlob): Promise<Outcome> => {
  const { key, point } = appended;
  const path = pathOf(write);
  requireRepoBlob(write.rows, repo.uid, { sha256: found.sha256, sha512: found.sha512, sizeBytes: point.sizeBytes, key }, upload, {
    nowMs: write.nowMs,
    leaseMs: leaseEnd(write.nowMs),
    faultOf: storageFaultOf(repo.uid, () => {
      keepRepo(path, repo.uid, 0);
      behind(services, giveUp);
    }),
    lost: outdated,
    answered: (isDuplicate) => {
      keepRepo(path, repo.uid, write.nowMs);
      if (isDuplicate) removeSoon(services);
      if (upload?.key === key) behind(services, async () => services.blobs.forgetUpload?.(key));
    },
  });
  await end(write.rows);
  return blobPushed(repo, digest.text, write);
};

/** Nothing was written yet that a later transaction must know. */
const noEnd = async (): Promise<void> => {};

/** Finishes an upload that this server knows: with its only bytes, or after all of them were received here. */
const finishKnown = async (context: ReadContext, digest: Digest): Promise<Writes> => {
  const { services, request } = context;
  const { content } = context.call;
  const [repo, id, header] = [text(request, "repo"), uploadIdOf(request), text(request, "contentRange")];
  const known = findKnownUpload(id);
  if (known?.repo !== repo) throw outdated();
  const { key, sizeBytes, digests, algorithm } = known;
  if (!content) {
    const found = digests && digests.sizeBytes === sizeBytes ? digestsOf(digests) : {};
    const { completeAside } = services.blobs;
    if (sizeBytes === 0 || header !== "" || !completeAside || found[digest.algorithm] !== digest.text) throw outdated();
    const checked = requireDigest(found, digest);
    const appended: Appended = { key, point: { sizeBytes, state: {} }, digests };
    if (isWritten(id)) throw uploadHeld();
    await completeAside(key, appended.point).catch((thrown: unknown) => {
      // The row knows whether it is lost.
      throw thrown instanceof Fault && thrown.code === "DATA_LOSS" ? outdated() : thrown;
    });
    const giveUpUpload = (): Promise<void> => giveUp(services, id, "", appended.point);
    const blob = { repo: assumedTarget(context), digest, found: checked, appended, upload: { id, key, sizeBytes }, giveUp: giveUpUpload, end: noEnd };
    return {
      writes: async (write) => {
        const outcome = await storeAssumed(write, services, blob);
        keepUpload(id, undefined);
        return outcome;
      },
    };
  }
  if (sizeBytes !== 0 || !isFirstRange(header)) throw outdated();
  const range = checkContentRange(header, 0, content);
  if (!beginWriting(id)) throw uploadHeld();
  try {
    const algorithms = new Set([readAlgorithm(algorithm), digest.algorithm]);
    const { appended, found, end } = await storeAlone(context, content, { algorithms, range, digest });
    keepAlone(services, content, appended);
    const giveUpBoth = async (): Promise<void> => {
      await removeContent(services, appended);
      await giveUp(services, id, "", uploadStart);
    };
    const blob = {
      repo: assumedTarget(context),
      digest,
      found: requireDigest(found, digest),
      appended,
      upload: { id, key, sizeBytes },
      giveUp: giveUpBoth,
      end,
    };
    return {
      writes: async (write) => {
        const outcome = await storeAssumed(write, services, blob);
        keepUpload(id, undefined);
        return outcome;
      },
    };
  } finally {
    endWriting(id);
  }
};

export const finishUpload = async (context: ReadContext): Promise<Writes> => {
  const { services, request } = context;
  const digest = readDigest(text(request, "digest"));
  if (context.isAssumed) return finishKnown(context, digest);
  const held = await hold(context);
  const { row, holder } = held;
  const appended = await whileHeld(services, held, () => appendHeld(context, held));
  let found: KnownDigests;
  try {
    found = await complete(services, appended, digest);
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
      const blob = { sha256: found.sha256, sha512: found.sha512, sizeBytes: appended.point.sizeBytes, key: appended.key };
      const isDuplicate = await insertRepoBlob(write.rows, repo.uid, blob, {
        nowMs: write.nowMs,
        leaseMs: leaseEnd(write.nowMs),
        faultOf: storageFaultOf(repo.uid, () =>
          behind(services, async () => {
            if (appended.key !== row.key) await removeContent(services, appended);
            await giveUp(services, row.id, holder, appended.point);
          }),
        ),
      });
      keepUpload(row.id, undefined);
      if (isDuplicate) removeSoon(services);
      return blobPushed(repo, digest.text, write);
    },
  };
};

/** Runs after the transaction, which is rolled back. */
const behind = ({ log }: Services, work: () => Promise<void>): void =>
  void setImmediate(() => work().catch((cause: unknown) => log("blobs.removal.failed", { cause })));

const giveUp = async (services: Services, id: string, holder: string, point: UploadPoint): Promise<void> => {
  keepUpload(id, undefined);
  const nowMs = services.clock();
  await services.store.write(async (rows) => {
    const gone = await deleteHeldUpload(rows, id, holder);
    if (gone) await insertBlobRemoval(rows, gone.key, point.state, nowMs);
  });
  removeSoon(services);
};

export const cancelUpload = async ({ services, request, rows, nowMs }: WriteContext): Promise<Outcome> => {
  const [repo, id] = [text(request, "repo"), uploadIdOf(request)];
  if (isWritten(id)) throw uploadHeld();
  const gone = await deleteUpload(rows, repo, id, nowMs);
  if (!gone) throw (await findUpload(rows, repo, id)) ? uploadHeld() : uploadUnknown();
  await insertBlobRemoval(rows, gone.key, gone.state, nowMs);
  keepUpload(id, undefined);
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
  const repo = context.isAssumed ? assumedTarget(context) : await targetForBlobs(context);
  const upload: UploadRow = { id: randomBytes(16).toString("hex"), key: makeBlobKey(), ...uploadStart, algorithm: algorithm === "sha512" ? algorithm : "" };
  insertUpload(context.rows, repo.uid, upload, context.nowMs);
  keepUpload(upload.id, { repo: repo.uid, key: upload.key, sizeBytes: 0, algorithm: upload.algorithm, digests: undefined });
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

/** A blob in a single request. */
const wholeUpload = async (context: ReadContext, digest: Digest, content: CallContent): Promise<Writes> => {
  const { services } = context;
  const range = checkContentRange(text(context.request, "contentRange"), 0, content);
  const alone = claimAlone(content);
  const given = { algorithms: new Set([digest.algorithm]), range, digest };
  const { appended, found, end } = alone
    ? { appended: alone, found: alone.digests ? digestsOf(alone.digests) : {}, end: noEnd }
    : await storeAlone(context, content, given);
  const checked = requireDigest(found, digest);
  const { key, point } = appended;
  const remove = (): Promise<void> => removeContent(services, appended);
  if (context.isAssumed) {
    keepAlone(services, content, appended);
    const blob = { repo: assumedTarget(context), digest, found: checked, appended, upload: undefined, giveUp: remove, end };
    return { writes: (write) => storeAssumed(write, services, blob) };
  }
  return {
    writes: async (write) => {
      const repo = await targetForBlobs(write);
      const blob = { sha256: checked.sha256, sha512: checked.sha512, sizeBytes: point.sizeBytes, key };
      const isDuplicate = await insertRepoBlob(write.rows, repo.uid, blob, {
        nowMs: write.nowMs,
        leaseMs: leaseEnd(write.nowMs),
        faultOf: storageFaultOf(repo.uid, () => behind(services, remove)),
      });
      await end(write.rows);
      if (findKnownRepo(pathOf(write)) === repo.uid) keepRepo(pathOf(write), repo.uid, write.nowMs);
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
      if (!context.isAssumed) await requireStorage(context.rows, place);
      else if (!hasFitted(pathOf(context), context.nowMs)) throw outdated();
      return wholeUpload(context, digest, call.content);
    }
  }
  // An unavailable source is no error: the client uploads the bytes (oci: 7).
  const from = isDigest(mount) ? await findSource(context, mount) : undefined;
  return {
    writes: async (write) => {
      if (context.isAssumed) {
        requireStorageAtOnce(write.rows, place, outdated);
        return begun(write, algorithm);
      }
      // Sent with the look at the repo.
      const storage = requireStorage(write.rows, place);
      storage.catch(() => {});
      const outcome = (from === undefined ? undefined : await mounted(write, from, mount)) ?? (await begun(write, algorithm));
      await storage;
      return outcome;
    },
  };
};
