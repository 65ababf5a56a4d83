// The blob place of this database: the one that its row in blob_places and the place's own mark agree on. With two machines,
// two disks and one database, one of them is refused.
//
// The first content decides, not the first start: servers that have no image work with whatever folder they have.

import { type BlobPlace, openBlobPlace } from "#registry/blobs";
import type { Clock } from "#base/time.ts";
import { ensureBlobPlace, findBlobPlace, writeBlobPlace } from "#registry/store";
import type { Store } from "#db";
import type { Settings } from "./settings.ts";

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Pick<Settings, "blobs" | "blobsRedirect">;
  /** A command, which may have nothing to do with blobs: the place is looked at when it is needed. */
  readonly join: boolean;
}

/** Every use waits for the place to be this database's; what failed is tried again with the next. */
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

/**
 * Opens the place. Throws a Fault of one line where the database's blobs are known to be elsewhere: then this server must not
 * start.
 */
export const openOwnBlobPlace = async ({ store, clock, settings, join }: Parts): Promise<BlobPlace> => {
  const place = await openBlobPlace(settings.blobs, { redirects: settings.blobsRedirect });
  const claim = async (): Promise<void> => {
    const { storeId, placeId } = (await findBlobPlace(store.read)) ?? (await store.write((rows) => ensureBlobPlace(rows, clock())));
    const found = await place.claim(storeId, placeId === "" ? undefined : placeId);
    if (placeId !== "") return;
    const counts = await store.write((rows) => writeBlobPlace(rows, found));
    // Another server was quicker, with another place: this one says so.
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
