// What the secret key seals in a backup.

import { createHash } from "node:crypto";

/** Of backup.json: by it the key is recognized. */
export const keyPurpose = "backup key";

/** Of manifest.json: who has not the key cannot write one. */
export const manifestPurpose = "backup manifest";

export const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");
