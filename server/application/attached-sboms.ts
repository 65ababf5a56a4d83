// Attaches an SBOM to each image that was read, if an SBOM rule of its repo or of a group above it asks for it. The SBOM is an SPDX
// document of the packages in the layers, and a referrer of the image. It is pushed in the transaction that completes the image, like a
// request of the operator, with its event. The same reading has the same document, so that it is pushed once.

import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { sbomWriters } from "#advisories/feeds";
import {
  type AttachedSbom,
  completeContents,
  type ContentsResult,
  type DescribedImage,
  type DueContents,
  findDescribedImage,
  isSbomOverQuota,
  queueImagesWithoutSbom,
  requeueSbomsOverQuota,
} from "#advisories/store";
import { type Kernel, runImport } from "#kernel";
import { makeBlobKey, type UploadPoint, uploadStart } from "#registry/blobs";
import { noteWriting, removeLeftContents } from "#registry/collection";
import { type AttachedSbomManifest, attachedSbomManifest, type ImageContents, type ImagePackage, readerVersion } from "#registry/contents";
import {
  extendLease,
  findRepoBlob,
  hasSbomRule,
  insertRepoBlob,
  isSbomRuleToQueue,
  lockSbomRuleToQueue,
  noteSbomRuleQueued,
  type RequestedManifest,
} from "#registry/store";
import { exceededQuota, findSpentStorage, type Write } from "#db";

/** What was read of an image. */
export interface IndexedImage {
  readonly manifest: RequestedManifest;
  readonly contents: ImageContents;
}

export interface AttachedSboms {
  /** Stores the result, and attaches or deletes the SBOM of the image. */
  complete(due: DueContents, result: ContentsResult, image: IndexedImage | undefined): Promise<void>;
  /** Queues images of new rules, and those whose SBOM did not fit in the quota a day ago. */
  queue(goOn: () => boolean): Promise<void>;
}

/** Another server has claimed the image, or it was deleted. */
class Lost extends Error {}

class OverQuota extends Error {}

const none: AttachedSbom = { state: "NONE", digest: "" };

const keyOf = ({ type, name, version, path, layer, purl }: ImagePackage): string => JSON.stringify([type, name, version, path, layer, purl]);

const byKey = (one: readonly [string, unknown], other: readonly [string, unknown]): number => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0);

const sortPackages = (packages: readonly ImagePackage[]): ImagePackage[] =>
  packages
    .map((each) => [keyOf(each), each] as const)
    .sort(byKey)
    .map(([, each]) => each);

interface WrittenBlob {
  readonly digest: string;
  readonly sizeBytes: number;
  readonly key: string;
  readonly point: UploadPoint;
}

export const openAttachedSboms = (kernel: Kernel): AttachedSboms => {
  const { services } = kernel;
  const { store, clock, blobs, log } = services;

  const documentOf = (due: DueContents, described: DescribedImage, contents: ImageContents, result: ContentsResult): string =>
    JSON.stringify(
      sbomWriters.SPDX_2_3({
        name: described.repoName,
        digest: due.digest,
        platform: described.platform,
        operatingSystem: contents.os,
        createTime: described.createTime,
        isComplete: result.state === "INDEXED",
        // Another version of Gantry with the same reader makes the same document.
        toolVersion: `reader-${readerVersion}`,
        publicUrl: services.publicUrl,
        packages: sortPackages(contents.packages).map((each) => ({ ...each, origins: ["layers"] })),
      }),
    );

  const writeBlob = async (digest: string, content: Uint8Array): Promise<WrittenBlob> => {
    const key = makeBlobKey();
    const forget = noteWriting(key);
    try {
      const bytes = (async function* () {
        yield content;
      })();
      const point = await blobs.append(key, uploadStart, bytes);
      await blobs.complete(key, point);
      return { digest, sizeBytes: content.length, key, point };
    } finally {
      forget();
    }
  };

  const removeBlobs = async (written: readonly WrittenBlob[]): Promise<void> => {
    for (const { key, point } of written) await blobs.remove(key, point.state).catch((cause: unknown) => log("blobs.removal.failed", { cause }));
  };

  /** Throws OverQuota. */
  const push = async (due: DueContents, result: ContentsResult, previous: string, sbom: AttachedSbomManifest): Promise<void> => {
    const [repo, nowMs] = [due.repoUid, clock()];
    const leaseMs = nowMs + limits.blobLeaseMs;
    const written: WrittenBlob[] = [];
    const held: string[] = [];
    let isDuplicate = false;
    try {
      for (const { digest, content } of sbom.blobs) {
        if (await findRepoBlob(store.read, repo, digest)) held.push(digest);
        else written.push(await writeBlob(digest, content));
      }
      await runImport(kernel, `sbom ${crypto.randomUUID()}`, async (call, rows) => {
        for (const digest of held) if (!(await extendLease(rows, repo, digest, leaseMs))) throw new Lost();
        for (const { digest, sizeBytes, key } of written) {
          const blob = { sha256: digest, sha512: undefined, sizeBytes, key };
          const faultOf = (fault: unknown) => (exceededQuota(fault) ? new OverQuota() : fault);
          if (await insertRepoBlob(rows, repo, blob, { nowMs, leaseMs, faultOf })) isDuplicate = true;
        }
        const pushed = { repo, reference: sbom.digest, contentType: sbom.mediaType };
        await call("gantry.registry.v1.DistributionService/PutManifest", pushed, nowMs, sbom.content);
        await deletePrevious(call, repo, previous, nowMs);
        if (!(await completeContents(rows, due, result, { state: "ATTACHED", digest: sbom.digest }, nowMs))) throw new Lost();
      });
    } catch (cause) {
      await removeBlobs(written);
      throw cause;
    }
    if (isDuplicate) await removeLeftContents(services).catch((cause: unknown) => log("blobs.removal.failed", { cause }));
  };

  const deletePrevious = async (call: Parameters<Parameters<typeof runImport>[2]>[0], repo: string, previous: string, nowMs: number): Promise<void> => {
    if (previous !== "") await call("gantry.registry.v1.DistributionService/DeleteManifest", { repo, digest: previous }, nowMs);
  };

  const completeWith = async (due: DueContents, result: ContentsResult, sbom: AttachedSbom): Promise<void> => {
    await store.write((rows) => completeContents(rows, due, result, sbom, clock()));
  };

  /** No rule asks for the SBOM any more, or it cannot be made. */
  const completeWithout = async (due: DueContents, result: ContentsResult, previous: string, state: AttachedSbom["state"]): Promise<void> => {
    if (previous === "") return completeWith(due, result, { state, digest: "" });
    const nowMs = clock();
    await runImport(kernel, `sbom ${crypto.randomUUID()}`, async (call, rows) => {
      await deletePrevious(call, due.repoUid, previous, nowMs);
      if (!(await completeContents(rows, due, result, { state, digest: "" }, nowMs))) throw new Lost();
    });
  };

  const complete = async (due: DueContents, result: ContentsResult, image: IndexedImage | undefined): Promise<void> => {
    const described = await findDescribedImage(store.read, due);
    if (!described) return completeWith(due, result, none);
    const { sbomDigest: previous } = described;
    const isRead = result.state === "INDEXED" || result.state === "PARTIAL";
    if (!image || !isRead || !(await hasSbomRule(store.read, due.repoUid))) return completeWithout(due, result, previous, "NONE");
    const { manifest, contents } = image;
    if (contents.packages.length > limits.exportedPackagesMax) return completeWithout(due, result, previous, "TOO_LARGE");
    const sbom = attachedSbomManifest({
      document: documentOf(due, described, contents, result),
      image: { digest: due.digest, mediaType: manifest.mediaType, sizeBytes: manifest.sizeBytes },
      createTime: described.createTime,
      readerVersion,
    });
    if (sbom.digest === previous) return completeWith(due, result, { state: "ATTACHED", digest: previous });
    try {
      if ((await findSpentStorage(store.read, rootOf(due.repoUid))) !== undefined) throw new OverQuota();
      await push(due, result, previous, sbom);
    } catch (cause) {
      if (!(cause instanceof OverQuota)) throw cause;
      await completeWith(due, result, { state: "QUOTA_EXCEEDED", digest: previous });
    }
  };

  const queueForRule = async (rows: Write): Promise<void> => {
    const rule = await lockSbomRuleToQueue(rows);
    if (!rule) return;
    const last = await queueImagesWithoutSbom(rows, rule.place, rule.queuedTo, clock(), limits.contentsRequeuedMax);
    await noteSbomRuleQueued(rows, rule.uid, last);
  };

  return {
    complete: async (...image) => {
      try {
        await complete(...image);
      } catch (cause) {
        // It is due again, unless another server completes it.
        if (!(cause instanceof Lost)) throw cause;
      }
    },
    async queue(goOn) {
      // The next turn continues: meanwhile images are read.
      for (let left = limits.sbomRuleSteps; left > 0 && goOn() && (await isSbomRuleToQueue(store.read)); left--) await store.write(queueForRule);
      const beforeMs = clock() - limits.attachedSbomRetryMs;
      while (goOn() && (await isSbomOverQuota(store.read, beforeMs)))
        await store.write((rows) => requeueSbomsOverQuota(rows, beforeMs, clock(), limits.contentsRequeuedMax));
    },
  };
};
