// Feeds' records have no events of their own in the contract: an import of one source is told as one event for each
// organization whose records it changed, with its counts, in the transaction that ends it (finishImport in
// import-feed.ts). Kept inside: no subscription hears it, and the audit log lists it in the group, or as the operator's
// where the records are everybody's.
//
// An import that is killed has told nothing; what it wrote stands in the source's row, and the import that goes on tells
// of it along with its own. One that fails or is stopped tells what it has written until then.

import { operatorUid } from "#authz";
import { timestamp } from "#base/time.ts";
import type { Services } from "#kernel";
import { record } from "#outbox";
import { changeCount, type OwnedChanges } from "#advisories/store";
import type { Write } from "#db";
import type { FeedKind } from "./formats/format.ts";

export const importedType = "dev.gantry.feeds.imported.v1";

export interface ImportReport {
  readonly kind: FeedKind | "reports";
  /** The group that the import is for. */
  readonly group: string;
  /** The source's name, without what may be secret in an address. */
  readonly source: string;
  /** The command, or what else imports. */
  readonly operation: string;
  readonly requestId: string;
  readonly changes: OwnedChanges;
  /** Of all records that this import looked at, whoever's they are. */
  readonly unchanged: number;
  readonly refused: number;
}

/** Writes the events of an import; none where it changed nothing. */
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
