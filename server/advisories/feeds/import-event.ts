// An import emits no events of single records, but one internal event with counts for each changed organization, in its last
// transaction (finishImport in import-feed.ts). No subscription receives it. The audit log lists it for the group, or for the
// operator if the records are public.
//
// Changes of a killed import stay in the source's row, and the next import reports them. A failed or stopped import reports what
// it wrote.

import { operatorUid } from "#base/operator.ts";
import { timestamp } from "#base/time.ts";
import type { Services } from "#kernel";
import { record } from "#outbox";
import { changeCount, type OwnedChanges } from "#advisories/store";
import type { Write } from "#db";
import type { FeedKind } from "./formats/format.ts";

export const importedType = "dev.gantry.feeds.imported.v1";

export interface ImportReport {
  readonly kind: FeedKind | "reports";
  readonly group: string;
  /** Without secrets in its URL. */
  readonly source: string;
  /** The command, or another trigger of the import. */
  readonly operation: string;
  readonly requestId: string;
  readonly changes: OwnedChanges;
  /** Over all records, public or not. */
  readonly unchanged: number;
  readonly refused: number;
}

/** Writes no event if nothing changed. */
export const recordImport = async (rows: Write, { publicUrl, clock }: Pick<Services, "publicUrl" | "clock">, report: ImportReport): Promise<void> => {
  const { kind, source, operation, requestId, unchanged, refused } = report;
  for (const owner of ["group", "everybody"] as const) {
    const changes = report.changes[owner];
    const count = changeCount(changes);
    if (count === 0) continue;
    await record(rows, {
      type: importedType,
      source: publicUrl,
      subject: owner === "group" ? report.group : operatorUid,
      group: owner === "group" ? report.group : "",
      audience: "internal",
      extensions: {},
      actor: { subject: operatorUid },
      bodyType: "",
      body: { kind, source, counts: { ...changes, unchanged, refused } },
      requestId,
      time: timestamp(clock()),
      auditContext: { operation, bindings: [], origin: { address: "", userAgent: "gantry import" }, count },
    });
  }
};
