// The queue of pushed OpenVEX documents (store/vex-statements.ts).

import { claimVexDocument, completeVexDocument, isVexDocumentDue, postponeVexDocument, type VexResult, type WaitingVex } from "#advisories/store";
import type { Services } from "#kernel";
import { type DocumentQueue, type OpenDocument, openDocumentQueue } from "../sbom/document-queue.ts";
import { openDocumentReader } from "../sbom/open-reader.ts";

export const openVexQueue = (services: Services, openDocument: OpenDocument): DocumentQueue =>
  openDocumentQueue<WaitingVex, VexResult>(services, openDocument, {
    name: "vex",
    isDue: isVexDocumentDue,
    claim: claimVexDocument,
    postpone: postponeVexDocument,
    complete: completeVexDocument,
    read: openDocumentReader<VexResult>({ script: new URL("./worker.ts", import.meta.url) }),
  });
