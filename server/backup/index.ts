// Public entry of the module: a database and its blobs as a file or a folder, and back.

export { brokenBackup } from "./format.ts";
export { openKey, requirePassphrase } from "./key-envelope.ts";
export { type BackupSummary, makeBackup, type Progress } from "./make-backup.ts";
export { requireRestorable, restoreBackup } from "./restore-backup.ts";
export { fitsBackup, type VerifiedBackup, verifyBackup } from "./verify-backup.ts";
