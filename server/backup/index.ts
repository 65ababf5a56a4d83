// Entry point: backs up a database and its blobs to a file or directory, and restores them.

export { brokenBackup } from "./format.ts";
export { openKey, requirePassphrase } from "./key-envelope.ts";
export { type BackupSummary, makeBackup, type Progress } from "./make-backup.ts";
export { requireEmptyBlobs, requireRestorable, restoreBackup } from "./restore-backup.ts";
export { fitsBackup, type VerifiedBackup, verifyBackup } from "./verify-backup.ts";
