// Tables vex_sources and vex_source_scans: trusted sources of VEX. The kernel writes sources, and a trigger queues each new or restored
// one: its key is compared with the documents that were read before, one after the other.

import { ancestry } from "#base/uid.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, flag, number, type Read, type RowOf, text, timeMs, type Write } from "#db";

const lockKey = 730_141_297;

/** Serializes the creations of an organization until the transaction ends. */
export const lockVexSources = async (rows: Write, root: string): Promise<void> => {
  await rows.query(`select pg_advisory_xact_lock(${lockKey}, hashtext($1))`, [root]);
};

/** Prevents creations in an organization until the transaction ends. */
export const shareVexSources = async (rows: Write, root: string): Promise<void> => {
  await rows.query(`select pg_advisory_xact_lock_shared(${lockKey}, hashtext($1))`, [root]);
};

const counted = columns({ count: expression("count(*)", number) });

export const countVexSources = async (rows: Read, root: string): Promise<number> =>
  (await counted.findOne(rows, `select ${counted.list} from vex_sources where left(uid, 40) = $1`, [root]))?.count ?? 0;

/** A source with its key in PEM. */
export type TrustedKey = RowOf<typeof trustedKey>;

const trustedKey = columns({ uid: text, publicKey: text });

/** Returns the sources that the groups of a repo trust for it. */
export const findTrustedKeys = (rows: Read, repoUid: string): Promise<TrustedKey[]> =>
  trustedKey.find(
    rows,
    `select ${trustedKey.list} from vex_sources where left(uid, 40) = left($1, 40) and left(uid, -17) = any($2) and repo_uid in ('', $1) order by uid`,
    [repoUid, ancestry(repoUid)],
  );

// ---- documents that were read before ------------------------------------------------------------------------------------

/** A document to compare with the source's key. The number of tries identifies the claim. */
export type ScannedVex = RowOf<typeof scannedVex>;

const scannedVex = columns({
  sourceUid: expression("claimed.source_uid", text),
  publicKey: expression("claimed.public_key", text),
  repoUid: expression("document.repo_uid", text),
  manifestDigest: expression("document.manifest_digest", text),
  digest: expression("document.digest", text),
  documentDigest: expression("document.document_digest", text),
  createTimeMs: timeMs("document.create_time"),
  tries: expression("claimed.tries", number),
});

const claimedScan = columns({ sourceUid: text });

const documentKey = "repo_uid, manifest_digest, digest, document_digest";

/**
 * Claims the next document of a due source until `untilMs`. `served` has organizations by last service; the least recently served is next.
 * A source without further documents is done.
 */
export const claimScannedVex = async (rows: Write, served: readonly string[], nowMs: number, untilMs: number): Promise<ScannedVex | undefined> => {
  for (;;) {
    const scan = await claimedScan.findOne(
      rows,
      `update vex_source_scans set try_time = $3, tries = tries + 1 where source_uid = (
         select source_uid from vex_source_scans where try_time <= $2
         order by coalesce(array_position($1::text[], left(source_uid, 40)), 0), try_time, source_uid limit 1 for update skip locked)
       returning ${claimedScan.list}`,
      [served, timestamp(nowMs), timestamp(untilMs)],
    );
    if (scan === undefined) return undefined;
    const found = await scannedVex.findOne(
      rows,
      `select ${scannedVex.list}
       from (select scan.*, source.public_key, coalesce(nullif(source.repo_uid, ''), left(source.uid, -17) || '/') as low,
           coalesce(nullif(source.repo_uid, ''), left(source.uid, -17) || '0') as high
         from vex_source_scans as scan join vex_sources as source on source.uid = scan.source_uid where scan.source_uid = $1) as claimed
       cross join lateral (
         select * from vex_documents as each where each.state = 'READ' and each.is_signed and each.repo_uid >= claimed.low and each.repo_uid <= claimed.high
           and (each.repo_uid, each.manifest_digest, each.digest, each.document_digest)
             > (claimed.repo_uid, claimed.manifest_digest, claimed.digest, claimed.document_digest)
         order by each.repo_uid, each.manifest_digest, each.digest, each.document_digest limit 1) as document`,
      [scan.sourceUid],
    );
    if (found) return found;
    await rows.query("delete from vex_source_scans where source_uid = $1", [scan.sourceUid]);
  }
};

const due = columns({ isDue: expression("exists (select from vex_source_scans where try_time <= $1)", flag) });

export const isVexScanDue = async (rows: Read, nowMs: number): Promise<boolean> =>
  (await due.findOne(rows, `select ${due.list}`, [timestamp(nowMs)]))?.isDue ?? false;

export const postponeVexScan = async (rows: Write, { sourceUid, tries }: ScannedVex, untilMs: number): Promise<void> => {
  await rows.query("update vex_source_scans set try_time = $3 where source_uid = $1 and tries = $2", [sourceUid, tries, timestamp(untilMs)]);
};

/** Continues after the document. Returns false if another server has claimed it since, or the source is deleted. */
export const completeVexScan = async (rows: Write, scanned: ScannedVex): Promise<boolean> => {
  const { sourceUid, tries, repoUid, manifestDigest, digest, documentDigest } = scanned;
  const found = await rows.query(
    `update vex_source_scans set (${documentKey}) = ($3, $4, $5, $6), try_time = '-infinity', tries = 0 where source_uid = $1 and tries = $2 returning 1`,
    [sourceUid, tries, repoUid, manifestDigest, digest, documentDigest],
  );
  return found.length > 0;
};
