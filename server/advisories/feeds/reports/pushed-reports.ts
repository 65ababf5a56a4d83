// The queue of pushed scanner reports (store/pushed-reports.ts).

import { claimPushedReport, deletePushedReport, insertVulnReports, isPushedReportDue, postponePushedReport, type WaitingReport } from "#advisories/store";
import type { Write } from "#db";
import type { Services } from "#kernel";
import { type DocumentQueue, type OpenDocument, openDocumentQueue } from "../sbom/document-queue.ts";
import { openDocumentReader } from "../sbom/open-reader.ts";
import { reportDraft, type ReportReading } from "./read-report.ts";

const completeReport = async (rows: Write, waiting: WaitingReport, reading: ReportReading, nowMs: number): Promise<void> => {
  // The row is the claim: deleting the manifest or repository removes it first.
  if (!(await deletePushedReport(rows, waiting)) || !("report" in reading)) return;
  await insertVulnReports(rows, [reportDraft(reading.report, waiting, waiting.manifestDigest, waiting.createTimeMs)], nowMs);
};

export const openReportQueue = (services: Services, openDocument: OpenDocument): DocumentQueue =>
  openDocumentQueue<WaitingReport, ReportReading>(services, openDocument, {
    name: "report",
    isDue: isPushedReportDue,
    claim: claimPushedReport,
    postpone: postponePushedReport,
    complete: completeReport,
    read: openDocumentReader<ReportReading>({ script: new URL("./worker.ts", import.meta.url) }),
  });
