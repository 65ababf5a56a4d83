// Public entry of the module: connections, transactions, migrations, the list engine, and the tables that every domain shares.

export {
  type AccessVersion,
  checkAccessVersion,
  growAccessVersion,
  insertAccessVersion,
  raiseAccessVersions,
  requireAccessVersion,
  StaleAccess,
  withAccessVersionCheck,
} from "./access-version.ts";
export { findDeliveryBacklog, findFeedStates, findOutboxBacklog, findRegistryBacklog, findSchemaVersion } from "./backlog.ts";
export { type Catalogue, type CatalogueColumn, type CatalogueIndex, type CatalogueTable, readCatalogue } from "./catalogue.ts";
export {
  type Column,
  columns,
  type Columns,
  expression,
  flag,
  json,
  nullableNumber,
  nullableObject,
  nullableText,
  nullableTextList,
  nullableTimeMs,
  number,
  type RowOf,
  text,
  textList,
  textMap,
  time,
  timeMs,
} from "./columns.ts";
export {
  type CopiedSequence,
  type CopiedTable,
  holdBlobs,
  holdRestore,
  type Loading,
  openLoading,
  openSnapshot,
  type RestoreHold,
  type Snapshot,
} from "./copying.ts";
export { readDatabaseTime } from "./database-time.ts";
export {
  type DeletedRange,
  deletionsRetention,
  findDeletedRows,
  findKeptTables,
  insertDeletion,
  isKeptWhole,
  keepDeleted,
  keepHeldRow,
  type KeptTable,
  lockDeletion,
  removeDeletion,
  returnResources,
  returnRows,
  takeDeleted,
} from "./deletions.ts";
export { brokenConnection, sqlState } from "./faults.ts";
export { type Param, type Read, type Row, type Rows, type StatementCost, type Store, wideCount, type Write } from "./handle.ts";
export { readHosts } from "./hosts.ts";
export { deleteExpiredKey, findFirstAnswer, type IdempotencyKey, idempotencyKeysRetention, insertKey, updateFirstAnswer } from "./idempotency-keys.ts";
export { addParameter, orderValue, pageClause, type PageTerms } from "./library-pages.ts";
export {
  type Branch,
  type Condition,
  countRows,
  countRowsBy,
  countRowsByDay,
  type DayCount,
  isLarge,
  listRows,
  needsSize,
  type Page,
  pageStatement,
  selectedRows,
  type Selection,
  wholeTable,
} from "./list.ts";
export { isBackupRunning, limitPiece, lockExclusive, lockOrder, tryLockOrder } from "./lock.ts";
export { openLooks, openTurnLoop } from "./looks.ts";
export {
  type AppliedMigration,
  type BegunRestore,
  beginRestore,
  endRestore,
  findBegunRestore,
  markLoaded,
  migrate,
  type MigrationState,
  readBackedUpSchema,
  readMigrationState,
  requireMigrations,
} from "./migrate.ts";
export { findByDigest, findByName, findByPartOfName, findChildrenByName } from "./names.ts";
export { openPreparedStore, openStore, prepareDatabase, type StoreOptions } from "./open.ts";
export {
  type AuditedEvent,
  eventOrder,
  findEventsAfter,
  findLastEventTime,
  findLastGroupEvent,
  findLastPosition,
  findUnnumberedEvents,
  hasUnnumberedEvents,
  insertEvent,
  insertRefusals,
  type NewEvent,
  type NewRefusal,
  type NumberedEvent,
  numberEvents,
  outboxRetention,
  sendEvent,
  uidSegmentOf,
} from "./outbox.ts";
export { readHostStates } from "./primary.ts";
export { deleteQuota, findQuotas, findQuotasOf, writeQuota } from "./quotas.ts";
export { type CurrentCopy, findCurrentCopy } from "./replica.ts";
export { exceededQuota, findResourceCounts, findSpentStorage, quotaNameOf, requireUnspentStorage, takeGrantsBack } from "./resource-counts.ts";
export { deleteRows, periodRetention, type Retention, type Swept, sweptNothing } from "./retention.ts";
export {
  areEmpty,
  countBelow,
  countReferences,
  deleteBelow,
  deleteRow,
  findNamed,
  findRow,
  findRows,
  holdsBelow,
  insertRow,
  insertRowUnlessTaken,
  isReferenced,
  lockNamed,
  lockRow,
  requireChange,
  requireChanges,
  requireHeldRow,
  requireRow,
  type RowRange,
  type Table,
  takeBelow,
  takeReferences,
  updateRow,
  type Values,
  versionColumn,
  writeAtOnce,
} from "./rows.ts";
export { containingPattern, hasTrigram } from "./search-text.ts";
export { addColumnStatement, addPrimaryKeyStatement, countTriggers, createCountTriggerStatement, createIndexStatement } from "./table-statements.ts";
export { findAcceptancesOf, findAcceptedTerms } from "./terms-acceptances.ts";
export { timeText } from "./time-text.ts";
export { type Binding, openVault, readSecretKey, type Vault, vaultOf, writeSecretKey } from "./vault.ts";
