// The public entry: the composition root, its settings, and what commands do in it. Light by itself (on-demand.ts).

export type { FeedKind } from "#feeds";
export type { Application } from "./application.ts";
export type { AuditVerdict } from "./audit-verification.ts";
export type { QuotaState } from "./quotas.ts";
export { findImportGroup } from "./import-group.ts";
export {
  changeQuota,
  exportOciLayout,
  importFeed,
  importOciLayout,
  importRegistry,
  importReports,
  listQuotas,
  listTagPolicies,
  migrateDatabase,
  mintToken,
  openApplication,
  readQuotaValue,
  registerPerson,
  setSuspended,
  setTagPolicy,
  startServer,
  unsetTagPolicy,
  verifyAudit,
  verifyRegistry,
} from "./on-demand.ts";
export type { Server } from "./server.ts";
export { readDatabaseSettings, readPublicUrl, readSettings, type Settings } from "./settings.ts";
export { version } from "./version.ts";
