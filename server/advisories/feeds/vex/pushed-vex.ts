// The queues of pushed OpenVEX documents (store/vex-statements.ts), and of documents that were read before a source was trusted
// (store/vex-sources.ts).

import {
  claimScannedVex,
  claimVexDocument,
  completeVexDocument,
  completeVexScan,
  findTrustedKeys,
  isVexDocumentDue,
  isVexScanDue,
  postponeVexDocument,
  postponeVexScan,
  type ScannedVex,
  verifyVexDocument,
  type VexResult,
  type WaitingVex,
} from "#advisories/store";
import type { Write } from "#db";
import type { Services } from "#kernel";
import { type DocumentQueue, type OpenDocument, openDocumentQueue } from "../sbom/document-queue.ts";
import { openDocumentReader } from "../sbom/open-reader.ts";

const script = new URL("./worker.ts", import.meta.url);

export const openVexQueue = (services: Services, openDocument: OpenDocument): DocumentQueue =>
  openDocumentQueue<WaitingVex, VexResult>(services, openDocument, {
    name: "vex",
    isDue: isVexDocumentDue,
    claim: claimVexDocument,
    postpone: postponeVexDocument,
    findKeys: (rows, { repoUid }) => findTrustedKeys(rows, repoUid),
    complete: completeVexDocument,
    read: openDocumentReader<VexResult>({ script }),
  });

const completeScan = async (rows: Write, scanned: ScannedVex, result: VexResult): Promise<void> => {
  if ((await completeVexScan(rows, scanned)) && "statements" in result) await verifyVexDocument(rows, scanned, result);
};

export const openVexScanQueue = (services: Services, openDocument: OpenDocument): DocumentQueue =>
  openDocumentQueue<ScannedVex, VexResult>(services, openDocument, {
    name: "vex",
    isDue: isVexScanDue,
    claim: claimScannedVex,
    postpone: postponeVexScan,
    findKeys: (_rows, { sourceUid, publicKey }) => Promise.resolve([{ uid: sourceUid, publicKey }]),
    complete: completeScan,
    read: openDocumentReader<VexResult>({ script }),
  });
