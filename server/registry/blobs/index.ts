// Entry point of blob storage. The S3 client, the project's largest dependency, is loaded only if configured.

import { openFilePlace } from "./file-place.ts";
import type { BlobPlace } from "./place.ts";
import type { BlobsSetting } from "#base/blobs-setting.ts";

export { syncFolder } from "./file-place.ts";
export { type BlobPlace, type ByteRange, makeBlobKey, type SigningOptions, type StoredContent, type UploadPoint, uploadStart } from "./place.ts";

/** Opens the storage of GANTRY_BLOBS. `redirects`: pulls may be redirected to the storage, if it supports signed URLs. */
export const openBlobPlace = async (setting: BlobsSetting, { redirects }: { readonly redirects: boolean }): Promise<BlobPlace> => {
  if (setting.kind === "file") return openFilePlace(setting);
  const { openS3Place } = await import("./s3-place.ts");
  return openS3Place({ ...setting, redirects });
};
