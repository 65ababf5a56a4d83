// Table images_in_use: images that clients have reported as in use, until the reports expire.

import type { PageRequest } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { columns, deleteRows, expression, number, type Read, type Retention, type RowOf, text, time, type Write } from "#db";

export interface ReportedImage {
  readonly repo: string;
  /** Digest or tag can be "", not both. */
  readonly digest: string;
  readonly tag: string;
}

/** A shorter report of the same source replaces a longer one. */
export const writeImagesInUse = async (rows: Write, images: readonly ReportedImage[], source: string, nowMs: number, untilMs: number): Promise<void> => {
  await rows.query(
    `insert into images_in_use (repo_uid, digest, tag, source, report_time, expire_time)
     select distinct repo, digest, tag, $4, $5::timestamptz, $6::timestamptz from unnest($1::text[], $2::text[], $3::text[]) as given(repo, digest, tag)
     order by 1, 2, 3
     on conflict (repo_uid, digest, tag, source) do update set report_time = excluded.report_time, expire_time = excluded.expire_time`,
    [images.map(({ repo }) => repo), images.map(({ digest }) => digest), images.map(({ tag }) => tag), source, timestamp(nowMs), timestamp(untilMs)],
  );
};

const total = columns({ count: expression("count(*)", number) });

const within = "(repo_uid = $1 or (repo_uid > $1 || '/' and repo_uid < $1 || '0'))";

/** Counts expired ones too. */
export const countImagesInUse = async (rows: Read, place: string): Promise<number> =>
  (await total.findOne(rows, `select ${total.list} from images_in_use where ${within}`, [place]))?.count ?? 0;

export type ImageInUse = RowOf<typeof imageInUse>;

const imageInUse = columns({ repoUid: text, digest: text, tag: text, source: text, reportTime: time("report_time"), expireTime: time("expire_time") });

export const findImagesInUse = async (
  rows: Read,
  place: string,
  nowMs: number,
  { order, after, skip, limit, total: known }: PageRequest,
): Promise<{ readonly images: readonly ImageInUse[]; readonly total: number }> => {
  const direction = order.descending ? "desc" : "asc";
  const [repo = "", digest = "", tag = "", source = ""] = after ?? [];
  const [images, counted] = await Promise.all([
    imageInUse.find(
      rows,
      `select ${imageInUse.list} from images_in_use where ${within} and images_in_use.expire_time > $2
         and ($3 or (repo_uid, digest, tag, source) ${order.descending ? "<" : ">"} ($4, $5, $6, $7))
       order by repo_uid ${direction}, digest ${direction}, tag ${direction}, source ${direction} limit $8 offset $9`,
      [place, timestamp(nowMs), after === undefined, repo, digest, tag, source, limit, skip],
      { rows: limit, wide: false },
    ),
    known ??
      total
        .findOne(rows, `select ${total.list} from images_in_use where ${within} and images_in_use.expire_time > $2`, [place, timestamp(nowMs)])
        .then((found) => found?.count ?? 0),
  ]);
  return { images, total: counted };
};

export const imagesInUseRetention: Retention = {
  table: "images_in_use",
  deleteExpired: (store, nowMs) => deleteRows(store, { table: "images_in_use", where: "expire_time <= $1", order: "expire_time" }, [timestamp(nowMs)]),
};
