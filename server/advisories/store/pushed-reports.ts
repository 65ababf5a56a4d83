// Table pushed_reports: documents that were pushed about images and may be reports of scanners, waiting to be read. A row goes when its
// document was read or given up, with the manifest that carries it, and with its repo.

import { timestamp } from "#base/time.ts";
import { columns, expression, number, type Read, text, timeMs, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";
import type { PushedSbom } from "./image-sboms.ts";

/** Notes what is to be read of one repo. Part of the push's transaction. */
export const insertPushedReports = async (rows: Write, repoUid: string, pushed: readonly PushedSbom[], nowMs: number): Promise<void> => {
  await rows.query(
    `insert into pushed_reports (repo_uid, manifest_digest, digest, document_digest, create_time, try_time)
     select $1, manifest_digest, digest, document_digest, $5::timestamptz, $5::timestamptz
     from unnest($2::text[], $3::text[], $4::text[]) as pushed(manifest_digest, digest, document_digest)
     on conflict do nothing`,
    [
      repoUid,
      columnOf(pushed, ({ manifestDigest }) => manifestDigest),
      columnOf(pushed, ({ digest }) => digest),
      columnOf(pushed, ({ documentDigest }) => documentDigest),
      timestamp(nowMs),
    ],
  );
};

/** One that is to be read; how often it was tried tells its holder from a later one. */
export interface WaitingReport {
  readonly repoUid: string;
  readonly manifestDigest: string;
  readonly digest: string;
  readonly documentDigest: string;
  /** When it was pushed. */
  readonly createTimeMs: number;
  readonly tries: number;
}

const waitingReport = columns<WaitingReport>({
  repoUid: expression("held.repo_uid", text),
  manifestDigest: expression("held.manifest_digest", text),
  digest: expression("held.digest", text),
  documentDigest: expression("held.document_digest", text),
  createTimeMs: timeMs("held.create_time"),
  tries: expression("held.tries", number),
});

/**
 * Takes one that is due until `untilMs`. Of several organizations that wait, the one that was last served the longest time ago
 * comes first: `served` are organizations in that order.
 */
export const claimPushedReport = (rows: Write, served: readonly string[], nowMs: number, untilMs: number): Promise<WaitingReport | undefined> =>
  waitingReport.findOne(
    rows,
    `update pushed_reports as held set try_time = $3, tries = held.tries + 1
     where (held.repo_uid, held.manifest_digest, held.digest, held.document_digest) = (
       select repo_uid, manifest_digest, digest, document_digest from pushed_reports where try_time <= $2
       order by coalesce(array_position($1::text[], left(repo_uid, 40)), 0), try_time, repo_uid limit 1 for update skip locked)
     returning ${waitingReport.list}`,
    [served, timestamp(nowMs), timestamp(untilMs)],
  );

/** Whether any is due. */
export const isPushedReportDue = async (rows: Read, nowMs: number): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from pushed_reports where try_time <= $1)", [timestamp(nowMs)]);
  return row?.[0] === "t";
};

const keyOf = ({ repoUid, manifestDigest, digest, documentDigest, tries }: WaitingReport): (string | number)[] => [
  repoUid,
  manifestDigest,
  digest,
  documentDigest,
  tries,
];

/** Ends the waiting; false where somebody else has taken it over meanwhile, or nobody carries the document any longer. */
export const deletePushedReport = async (rows: Write, waiting: WaitingReport): Promise<boolean> => {
  const gone = await rows.query(
    `delete from pushed_reports where repo_uid = $1 and manifest_digest = $2 and digest = $3 and document_digest = $4 and tries = $5 returning 1`,
    keyOf(waiting),
  );
  return gone.length > 0;
};

/** To be tried again then. */
export const postponePushedReport = async (rows: Write, waiting: WaitingReport, untilMs: number): Promise<void> => {
  await rows.query(
    `update pushed_reports set try_time = $6 where repo_uid = $1 and manifest_digest = $2 and digest = $3 and document_digest = $4 and tries = $5`,
    [...keyOf(waiting), timestamp(untilMs)],
  );
};

/** What a manifest carried that is gone is not read any more. */
export const deletePushedReportsOf = async (rows: Write, repoUid: string, manifestDigest: string): Promise<void> => {
  await rows.query("delete from pushed_reports where repo_uid = $1 and manifest_digest = $2", [repoUid, manifestDigest]);
};
