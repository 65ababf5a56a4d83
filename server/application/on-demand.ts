// Loads the contract and the database driver on first use: commands that need neither (--version, help, login, health) start without
// them.

import type { RecordsVerdicts, Restore } from "#audit/log";
import type { BackupSummary, VerifiedBackup } from "#backup";
import type { FeedImport, FeedSummary, RegistryImport, RegistrySummary, ReportImport, ReportImportSummary, UndoImport, UndoSummary } from "#advisories/feeds";
import type { Kernel, Services } from "#kernel";
import type { CollectionParts, CollectionSummary, LayoutSummary, Verification, VerificationSummary } from "#registry/collection";
import type { IndexOptions } from "./index-images.ts";
import type { InspectedImage, InspectOptions } from "./inspect-image.ts";
import type { LayoutOptions } from "./layouts.ts";
import type { Application, ApplicationOptions } from "./application.ts";
import type { AuditExport } from "./audit-export.ts";
import type { AuditVerification, AuditVerdictOfAll } from "./audit-verification.ts";
import type { BackupWork, RestoreSummary } from "./backups.ts";
import type { MigrateDatabaseOptions } from "./database.ts";
import type { DoctorOptions, Finding } from "./doctor.ts";
import type { QuotaChange, QuotaOptions, QuotaState } from "./quotas.ts";
import type { Person } from "./person.ts";
import type { Server, ServerOptions } from "./server.ts";
import type { Settings } from "./settings.ts";
import type { ReservedName } from "#iam/store";
import type { WorkerOptions } from "./worker.ts";
import type { WorkersOptions } from "./workers.ts";
import type { TagPolicy, TagPolicyDraft } from "./tag-ends.ts";
import type { OperatorTokenOptions } from "./token.ts";

export const openApplication = async (options: ApplicationOptions): Promise<Application> => (await import("./application.ts")).openApplication(options);

export const startServer = async (settings: Settings, options: ServerOptions): Promise<Server> => (await import("./server.ts")).startServer(settings, options);

export const startWorkers = async (settings: Settings, options: WorkersOptions): Promise<Pick<Server, "firstOrganization" | "reload" | "close">> =>
  (await import("./workers.ts")).startWorkers(settings, options);

export const runWorker = async (options: WorkerOptions): Promise<void> => (await import("./worker.ts")).runWorker(options);

export async function* examineInstallation(options: DoctorOptions): AsyncGenerator<Finding> {
  yield* (await import("./doctor.ts")).examineInstallation(options);
}

export const migrateDatabase = async (options: MigrateDatabaseOptions): Promise<void> => (await import("./database.ts")).migrateDatabase(options);

export const listQuotas = async (options: QuotaOptions, organization?: string): Promise<QuotaState[]> =>
  (await import("./quotas.ts")).listQuotas(options, organization);

export const changeQuota = async (options: QuotaOptions, change: QuotaChange): Promise<void> => (await import("./quotas.ts")).changeQuota(options, change);

export const readQuotaValue = async (name: string, value: string): Promise<number> => (await import("./quotas.ts")).readQuotaValue(name, value);

export const registerPerson = async (kernel: Kernel, person: Person): Promise<string> => (await import("./person.ts")).registerPerson(kernel, person);

export const mintToken = async (services: Services, identity: string | undefined, audience: string | undefined): Promise<string> =>
  (await import("./token.ts")).mintToken(services, identity, audience);

export const mintOperatorToken = async (options: OperatorTokenOptions, audience: string | undefined): Promise<string> =>
  (await import("./token.ts")).mintOperatorToken(options, audience);

export const setSuspended = async (application: Application, uidOrName: string, suspended: boolean): Promise<{ readonly uid: string; readonly name: string }> =>
  (await import("./organization.ts")).setSuspended(application, uidOrName, suspended);

export const verifyAudit = async (application: Application, verification: AuditVerification): Promise<AuditVerdictOfAll> =>
  (await import("./audit-verification.ts")).verifyAudit(application, verification);

export const exportAudit = async (application: Application, options: AuditExport): Promise<number> =>
  (await import("./audit-export.ts")).exportAudit(application, options);

export const verifyRecords = async (
  lines: AsyncIterable<string>,
  known: ReadonlyMap<string, { readonly sequence: number; readonly hash: string }>,
): Promise<RecordsVerdicts> => (await import("#audit/log")).verifyRecords(lines, known);

export const verifyRegistry = async (parts: CollectionParts, verification: Verification): Promise<VerificationSummary> =>
  (await import("#registry/collection")).verifyRegistry(parts, verification);

/** Collects unreferenced blobs, or returns what would be collected. */
export const collectRegistry = async (parts: CollectionParts, { dryRun }: { readonly dryRun: boolean }): Promise<CollectionSummary> => {
  const { collectNow, surveyCollection } = await import("#registry/collection");
  return dryRun ? surveyCollection(parts) : collectNow(parts);
};

export const importOciLayout = async (application: Application, options: LayoutOptions): Promise<LayoutSummary> =>
  (await import("./layouts.ts")).importOciLayout(application, options);

export const exportOciLayout = async (application: Application, options: LayoutOptions, references: readonly string[]): Promise<LayoutSummary> =>
  (await import("./layouts.ts")).exportOciLayout(application, options, references);

/** Returns the packages in the layers of a stored image. */
export async function* inspectImage(application: Application, options: InspectOptions): AsyncGenerator<InspectedImage> {
  yield* (await import("./inspect-image.ts")).inspectImage(application, options);
}

/** Queues images to be read again, or returns how many would be queued. */
export const indexImages = async (services: Services, options: IndexOptions): Promise<number> =>
  (await import("./index-images.ts")).indexImages(services, options);

export const importRegistry = async (kernel: Kernel, options: RegistryImport): Promise<RegistrySummary> =>
  (await import("#advisories/feeds")).importRegistry(kernel, options);

export const importReports = async (services: Services, options: ReportImport): Promise<ReportImportSummary> =>
  (await import("#advisories/feeds")).importReports(services, options);

/** For commands only: a server's imports run next to requests (watchMemory). */
export const importFeed = async (services: Services, options: FeedImport): Promise<FeedSummary> => {
  const [feeds, { boundMemory }] = [await import("#advisories/feeds"), await import("./memory.ts")];
  const bound = boundMemory();
  try {
    return await feeds.importFeed(services, options);
  } finally {
    bound.stop();
  }
};

export const findReservedNames = async (kernel: Kernel): Promise<ReservedName[]> => (await import("./reserved-names.ts")).findReservedNames(kernel);

export const releaseName = async (kernel: Kernel, name: string): Promise<void> => (await import("./reserved-names.ts")).releaseName(kernel, name);
/** Reverts the last import of a source that changed records. */
export const undoImport = async (services: Services, options: UndoImport): Promise<UndoSummary> =>
  (await import("#advisories/feeds")).undoImport(services, options);

export const listTagPolicies = async (kernel: Kernel): Promise<TagPolicy[]> => (await import("./tag-ends.ts")).listTagPolicies(kernel);

export const setTagPolicy = async (kernel: Kernel, policy: TagPolicyDraft): Promise<void> => (await import("./tag-ends.ts")).setTagPolicy(kernel, policy);

export const unsetTagPolicy = async (kernel: Kernel, policy: Omit<TagPolicyDraft, "endDate">): Promise<void> =>
  (await import("./tag-ends.ts")).unsetTagPolicy(kernel, policy);

export const backupDatabase = async (work: BackupWork, signal: AbortSignal, resumes: boolean): Promise<BackupSummary> =>
  (await import("./backups.ts")).backupDatabase(work, signal, resumes);

export const verifyBackupFile = async (work: BackupWork): Promise<VerifiedBackup> => (await import("./backups.ts")).verifyBackupFile(work);

export const restoreDatabase = async (work: BackupWork): Promise<RestoreSummary> => (await import("./backups.ts")).restoreDatabase(work);

export const recordOwnRestore = async (work: Pick<BackupWork, "settings" | "log" | "report">): Promise<Restore> =>
  (await import("./backups.ts")).recordOwnRestore(work);

export const requirePassphrase = async (passphrase: string): Promise<string> => (await import("#backup")).requirePassphrase(passphrase);
