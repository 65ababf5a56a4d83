// Entry point of blob storage. The S3 client, the project's largest dependency, is loaded only if configured.

import { openFilePlace } from "./file-place.ts";
import type { BlobPlace } from "./place.ts";
import type { BlobsSetting } from "#base/blobs-setting.ts";

export { syncFolder } from "./file-place.ts";
export {
  type BlobPlace,
  type ByteRange,
  makeBlobKey,
  placeUnreachable,
  type SigningOptions,
  type StoredContent,
  type UploadPoint,
  uploadStart,
} from "./place.ts";

export interface BlobPlaceOptions {
  /** Pulls may be redirected to the storage, if it supports signed URLs. */
  readonly redirects: boolean;
  /** Returns a signal that aborts when the storage has failed. */
  readonly failure?: (() => AbortSignal) | undefined;
}

/** Opens the storage of GANTRY_BLOBS. */
export const openBlobPlace = async (setting: BlobsSetting, options: BlobPlaceOptions): Promise<BlobPlace> => {
  if (setting.kind === "file") return openFilePlace(setting);
  const { openS3Place } = await import("./s3-place.ts");
  return openS3Place({ ...setting, ...options });
};
