// Public entry of the module: where the bytes of blobs lie. What speaks S3 is loaded where S3 is configured: it is the
// largest package of the project, and a server without it does not hold it in memory.

import { openFilePlace } from "./file-place.ts";
import type { BlobPlace } from "./place.ts";
import type { BlobsSetting } from "#base/blobs-setting.ts";

export { syncFolder } from "./file-place.ts";
export { type BlobPlace, type ByteRange, makeBlobKey, type SigningOptions, type StoredContent, type UploadPoint, uploadStart } from "./place.ts";

/** Opens the place that GANTRY_BLOBS names. `redirects`: pulls may be sent to the storage, where it has addresses. */
export const openBlobPlace = async (setting: BlobsSetting, { redirects }: { readonly redirects: boolean }): Promise<BlobPlace> => {
  if (setting.kind === "file") return openFilePlace(setting);
  const { openS3Place } = await import("./s3-place.ts");
  return openS3Place({ ...setting, redirects });
};
