// Blob storage of this database. Its row in blob_places and the storage's marker must agree, so that two machines with separate
// disks cannot share one database. The first content decides, not the first start, so servers without images can use any directory.

import { type BlobPlace, openBlobPlace, placeUnreachable } from "#registry/blobs";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Clock } from "#base/time.ts";
import { type Dependency, type Health, startProbe } from "#health";
import { ensureBlobPlace, findBlobPlace, writeBlobPlace } from "#registry/store";
import type { Store } from "#db";
import type { Settings } from "./settings.ts";

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Pick<Settings, "blobs" | "blobsRedirect">;
  readonly health: Health;
  /** For commands: check the storage only when it is needed. */
  readonly join: boolean;
}

/** The database's record of its storage. */
type KnownPlace = Awaited<ReturnType<typeof findBlobPlace>>;

/** Throws if the storage is unreachable, or is not the one of this database. Writes nothing. */
export const checkBlobPlace = async (place: Pick<BlobPlace, "claim" | "isEmpty">, known: KnownPlace, signal: AbortSignal): Promise<void> => {
  if (known === undefined || known.placeId === "") await place.isEmpty(signal);
  else await place.claim(known.storeId, known.placeId, signal);
};

/**
 * Refuses every operation while the storage has failed, and delays it until the storage is claimed; a failed claim is retried by the next
 * operation. Signed URLs are still given: they need no request, and clients may reach the storage.
 */
const claimedFirst = (place: BlobPlace, dependency: Dependency, claim: () => Promise<void>): BlobPlace => {
  let claimed: Promise<void> | undefined;
  const claimOnce = (): Promise<void> =>
    (claimed ??= claim().catch((thrown: unknown) => {
      claimed = undefined;
      throw thrown;
    }));
  const ready = async (): Promise<void> => {
    if (dependency.isFailed) throw placeUnreachable(new Error("the storage has failed"));
    await claimOnce();
  };
  const { signedUrl, completeAside, forgetUpload } = place;
  return {
    append: async (...given) => {
      await ready();
      return place.append(...given);
    },
    complete: async (...given) => {
      await ready();
      return place.complete(...given);
    },
    ...(completeAside
      ? {
          completeAside: async (...given) => {
            await ready();
            return completeAside(...given);
          },
        }
      : {}),
    ...(forgetUpload ? { forgetUpload } : {}),
    read: async (...given) => {
      await ready();
      return place.read(...given);
    },
    sizeOf: async (key) => {
      await ready();
      return place.sizeOf(key);
    },
    remove: async (...given) => {
      await ready();
      return place.remove(...given);
    },
    ...(signedUrl
      ? {
          signedUrl: async (key, options) => {
            await claimOnce();
            return signedUrl(key, options);
          },
        }
      : {}),
    async *list() {
      await ready();
      yield* place.list();
    },
    isEmpty: (...given) => place.isEmpty(...given),
    claim: (...given) => place.claim(...given),
    close: () => place.close(),
  };
};

/**
 * Opens the storage and watches it. Throws a one-line Fault if the database's blobs are known to be elsewhere: such a server must not
 * start. It starts if the storage is unreachable, because everything else works.
 */
export const openOwnBlobPlace = async ({ store, clock, settings, health, join }: Parts): Promise<BlobPlace> => {
  const dependency = health.watch("blobs");
  const place = await openBlobPlace(settings.blobs, { redirects: settings.blobsRedirect, failure: () => dependency.failure });
  const claim = async (): Promise<void> => {
    const { storeId, placeId } = (await findBlobPlace(store.read)) ?? (await store.write((rows) => ensureBlobPlace(rows, clock())));
    const found = await place.claim(storeId, placeId === "" ? undefined : placeId, dependency.failure);
    if (placeId !== "") return;
    const counts = await store.write((rows) => writeBlobPlace(rows, found));
    // Another server claimed different storage first; this throws.
    if (counts !== found) await place.claim(storeId, counts, dependency.failure);
  };
  const own = claimedFirst(place, dependency, claim);
  if (join) return own;
  let refusal: Fault | undefined;
  let known = await findBlobPlace(store.read);
  let probes = 0;
  const probe = startProbe(dependency, async (signal) => {
    // Another server may have claimed it meanwhile.
    if ((known === undefined || known.placeId === "") && probes++ % limits.calmProbeBeats === 0) known = await findBlobPlace(store.read).catch(() => known);
    try {
      await checkBlobPlace(place, known, signal);
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.code === "FAILED_PRECONDITION") refusal ??= thrown;
      throw thrown;
    }
  });
  await probe.first;
  const close = async (): Promise<void> => {
    probe.stop();
    await place.close();
  };
  if (refusal === undefined) return { ...own, close };
  await close();
  throw refusal;
};
