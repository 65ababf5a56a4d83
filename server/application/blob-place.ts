// Blob storage of this database. Its row in blob_places and the storage's marker must agree, so that two machines with separate
// disks cannot share one database. The first content decides, not the first start, so servers without images can use any directory.

import { type BlobPlace, openBlobPlace } from "#registry/blobs";
import type { Clock } from "#base/time.ts";
import { ensureBlobPlace, findBlobPlace, writeBlobPlace } from "#registry/store";
import type { Store } from "#db";
import type { Settings } from "./settings.ts";

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Pick<Settings, "blobs" | "blobsRedirect">;
  /** For commands: check the storage only when it is needed. */
  readonly join: boolean;
}

/** Delays every operation until the storage is claimed; a failed claim is retried by the next operation. */
const claimedFirst = (place: BlobPlace, claim: () => Promise<void>): BlobPlace => {
  let claimed: Promise<void> | undefined;
  const ready = (): Promise<void> =>
    (claimed ??= claim().catch((thrown: unknown) => {
      claimed = undefined;
      throw thrown;
    }));
  const { signedUrl } = place;
  return {
    append: async (...given) => {
      await ready();
      return place.append(...given);
    },
    complete: async (...given) => {
      await ready();
      return place.complete(...given);
    },
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
            await ready();
            return signedUrl(key, options);
          },
        }
      : {}),
    async *list() {
      await ready();
      yield* place.list();
    },
    isEmpty: () => place.isEmpty(),
    claim: (...given) => place.claim(...given),
    close: () => place.close(),
  };
};

/** Opens the storage. Throws a one-line Fault if the database's blobs are known to be elsewhere: such a server must not start. */
export const openOwnBlobPlace = async ({ store, clock, settings, join }: Parts): Promise<BlobPlace> => {
  const place = await openBlobPlace(settings.blobs, { redirects: settings.blobsRedirect });
  const claim = async (): Promise<void> => {
    const { storeId, placeId } = (await findBlobPlace(store.read)) ?? (await store.write((rows) => ensureBlobPlace(rows, clock())));
    const found = await place.claim(storeId, placeId === "" ? undefined : placeId);
    if (placeId !== "") return;
    const counts = await store.write((rows) => writeBlobPlace(rows, found));
    // Another server claimed different storage first; this throws.
    if (counts !== found) await place.claim(storeId, counts);
  };
  const own = claimedFirst(place, claim);
  try {
    const known = join ? undefined : await findBlobPlace(store.read);
    if (known !== undefined && known.placeId !== "") await place.claim(known.storeId, known.placeId);
    return own;
  } catch (thrown) {
    await place.close();
    throw thrown;
  }
};
