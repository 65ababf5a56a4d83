// Table pushed_reports: pushed documents that may be scanner reports, waiting to be read.

import { timestamp } from "#base/time.ts";
import { columns, expression, number, type Read, type RowOf, text, timeMs, type Write } from "#db";
import { columnOf } from "./feed-rows.ts";
import type { PushedSbom } from "./image-sboms.ts";

/** Queues documents in the push's transaction. */
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

/** The number of tries identifies the claim. */
export type WaitingReport = RowOf<typeof waitingReport>;

const waitingReport = columns({
  repoUid: expression("held.repo_uid", text),
  manifestDigest: expression("held.manifest_digest", text),
  digest: expression("held.digest", text),
  documentDigest: expression("held.document_digest", text),
  createTimeMs: timeMs("held.create_time"),
  tries: expression("held.tries", number),
});

/** Claims a due report until `untilMs`. `served` has organizations by last service; the least recently served is next. */
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

/** Returns false if another server has claimed it since, or its manifest was deleted. */
export const deletePushedReport = async (rows: Write, waiting: WaitingReport): Promise<boolean> => {
  const gone = await rows.query(
    `delete from pushed_reports where repo_uid = $1 and manifest_digest = $2 and digest = $3 and document_digest = $4 and tries = $5 returning 1`,
    keyOf(waiting),
  );
  return gone.length > 0;
};

export const postponePushedReport = async (rows: Write, waiting: WaitingReport, untilMs: number): Promise<void> => {
  await rows.query(
    `update pushed_reports set try_time = $6 where repo_uid = $1 and manifest_digest = $2 and digest = $3 and document_digest = $4 and tries = $5`,
    [...keyOf(waiting), timestamp(untilMs)],
  );
};

export const deletePushedReportsOf = async (rows: Write, repoUid: string, manifestDigest: string): Promise<void> => {
  await rows.query("delete from pushed_reports where repo_uid = $1 and manifest_digest = $2", [repoUid, manifestDigest]);
};
