// Entry point: composition root, settings, and the work of commands. Cheap to import (on-demand.ts).

export type { FeedKind } from "#advisories/feeds";
export type { Application } from "./application.ts";
export type { Finding } from "./doctor.ts";
export type { Restore as AuditRestore } from "#audit/log";
export type { AuditVerdict } from "./audit-verification.ts";
export type { QuotaState } from "./quotas.ts";
export { findImportGroup, findNamedGroup } from "./named-group.ts";
export {
  backupDatabase,
  changeQuota,
  collectRegistry,
  examineInstallation,
  exportAudit,
  exportOciLayout,
  findReservedNames,
  importFeed,
  importOciLayout,
  importRegistry,
  importReports,
  indexImages,
  inspectImage,
  listQuotas,
  listTagPolicies,
  migrateDatabase,
  mintOperatorToken,
  mintToken,
  openApplication,
  readQuotaValue,
  recordOwnRestore,
  registerPerson,
  releaseName,
  requirePassphrase,
  restoreDatabase,
  runWorker,
  setSuspended,
  setTagPolicy,
  startServer,
  startWorkers,
  undoImport,
  unsetTagPolicy,
  verifyAudit,
  verifyRecords,
  verifyBackupFile,
  verifyRegistry,
} from "./on-demand.ts";
export { settingsInForce } from "./settings-in-force.ts";
export type { Server } from "./server.ts";
export { refuseUnknownNames, settingNames, type SettingText, settingTexts } from "./setting-names.ts";
export { readDatabaseSettings, readPublicUrl, readSettings, type Settings } from "./settings.ts";
export { trustAuthorities } from "./trusted-authorities.ts";
export { version } from "./version.ts";
