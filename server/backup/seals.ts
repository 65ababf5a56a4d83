// Data of a backup sealed with the secret key.

import { createHash } from "node:crypto";

/** In backup.json: identifies the key. */
export const keyPurpose = "backup key";

/** Of manifest.json: only the key's owner can write one. */
export const manifestPurpose = "backup manifest";

export const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");
