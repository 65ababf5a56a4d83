// Summary of a repo's tags, for version 1 of the registry API.

import { columns, expression, number, type Read, type RowOf, text, time } from "#db";

export type TagsSummary = RowOf<typeof summary>;

export interface LeftOutTags {
  readonly referrers: boolean;
  readonly dates: boolean;
  readonly epochs: boolean;
}

const summary = columns({
  count: expression("(select count(*)::integer from shown)", number),
  lastUpdated: time("(select max(update_time) from shown)"),
  /** "latest", or the last changed tag. */
  latest: expression("(select uid from latest)", text),
  /** The longest other name of its digest. */
  latestVersion: expression(
    `(select shown.name from shown join latest using (digest)
      where digest <> '' and shown.uid <> latest.uid and shown.name not in ('latest', 'latest-dev') order by length(shown.name) desc, shown.name limit 1)`,
    text,
  ),
});

export const findTagsSummary = async (rows: Read, repo: string, { referrers, dates, epochs }: LeftOutTags): Promise<TagsSummary> => {
  const found = await summary.findOne(
    rows,
    `with shown as materialized (
       select uid, name, digest, update_time from tags
       where left(uid, -17) = $1 and not ($2 and is_referrer) and not ($3 and is_date) and not ($4 and is_epoch)
     ), latest as (select uid, digest from shown order by (name = 'latest') desc, update_time desc, uid limit 1)
     select ${summary.list}`,
    [repo, referrers, dates, epochs],
  );
  return found ?? { count: 0, lastUpdated: "", latest: "", latestVersion: "" };
};

const repoCount = columns({ count: expression("count(*)::integer", number) });

/** Counts the repos that are synchronized from the source. */
export const countReposOfSource = async (rows: Read, source: string, places: readonly string[]): Promise<number> => {
  const found = await repoCount.findOne(
    rows,
    `select ${repoCount.list} from repos
     where sync_config is not null and sync_config ->> 'source' = $1
       and exists (select from unnest($2::text[], $3::text[]) as place(low, high) where repos.uid >= place.low and repos.uid < place.high)`,
    [source, places, places.map((path) => (path === "" ? "~" : `${path}0`))],
  );
  return found?.count ?? 0;
};
