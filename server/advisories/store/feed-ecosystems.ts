// Table feed_ecosystems: ecosystems that each source covers (docs/decisions/0074). Updated after a changing run or an undo.

import { columns, expression, flag, nullableTimeMs, number, type Read, type RowOf, text, type Write } from "#db";
import { takeCoverageDue } from "./feeds.ts";

// Only forms that cover whole ecosystems; OpenVEX and CSAF cover the products that they name. secdb: the origin ID
// starts with the release ("v3.18/main"), or is a repository's name. wolfi: one stream for both distributions and for
// packages that name none.
const coveredText = `
  select affected.ecosystem, document.public, false as absent
  from source_documents as document join affected_packages as affected on affected.document_id = document.id
  where document.feed_id = $1 and document.told
    -- A row of the base ecosystem whose entries name a release each says nothing about the others.
    and (affected.ecosystem like '%:%' or not starts_with(affected.entries, '[{"ecosystem":'))
  union all
  select covered.ecosystem, document.public, file.absent_time is not null
  from source_documents as document
  left join feed_files as file on file.feed_id = document.feed_id and file.name = document.file and file.part = document.part
  cross join lateral (
    select case
      when document.form = 'wolfi' then named
      when document.origin_id ~ '^(v[0-9.]+|edge)(/|$)' then case named when 'Wolfi' then 'Alpine:' || split_part(document.origin_id, '/', 1) end
      when document.origin_id ~ 'chainguard|cgr[.]dev' then case named when 'Chainguard' then named end
      when document.origin_id ~ '^os$|wolfi' then case named when 'Wolfi' then named end
      else case named when 'apk' then named end end as ecosystem
    from unnest(array['Wolfi', 'Chainguard', 'apk']) as given(named)) as covered
  where document.feed_id = $1 and document.told and document.form in ('wolfi', 'secdb') and covered.ecosystem is not null`;

/** `nowMs` becomes the end of releases with absent files. */
export const refreshFeedEcosystems = async (rows: Write, feed: string, nowMs: number): Promise<void> => {
  // A file that is back may be unchanged.
  const ended = await rows.query("select 1 from feed_ecosystems where feed_id = $1 and end_time is not null limit 1", [feed]);
  if (!(await takeCoverageDue(rows, feed)) && ended.length === 0) return;
  await rows.query(
    `with covered as (
       select ecosystem, bool_and(public) as public, bool_and(absent) as absent from (${coveredText}) as each group by ecosystem
     ), gone as (
       delete from feed_ecosystems where feed_id = $1 and ecosystem not in (select ecosystem from covered)
     )
     insert into feed_ecosystems as held (feed_id, ecosystem, public, end_time)
     select $1::integer, ecosystem, public, case when absent then $2::timestamptz end from covered
     on conflict (feed_id, ecosystem) do update set public = excluded.public,
       end_time = case when excluded.end_time is not null then coalesce(held.end_time, excluded.end_time) end
     where (held.public, held.end_time is null) is distinct from (excluded.public, excluded.end_time is null)`,
    [feed, new Date(nowMs).toISOString()],
  );
};

export type CoveringFeed = RowOf<typeof coveringFeed>;

const coveringFeed = columns({
  id: expression("feeds.id", text),
  group: expression("feeds.group_uid", text),
  sourceName: expression("feeds.source_name", text),
  /** Includes the release in the source's format ("Debian:12"). */
  ecosystem: expression("covered.ecosystem", text),
  /** Shared by all tenants. */
  public: expression("covered.public", flag),
  successMs: nullableTimeMs("feeds.success_time"),
  changeMs: nullableTimeMs("feeds.change_time"),
  /** Since when the release has no file. */
  endMs: nullableTimeMs("covered.end_time"),
  /** 0 selects the default. */
  staleAfterMs: expression("feeds.stale_after_ms", number),
});

/** Returns the coverage of these ecosystems by public sources and by the sources of these groups. */
export const findCoveringFeeds = (rows: Read, groups: readonly string[], ecosystems: readonly string[]): Promise<CoveringFeed[]> =>
  coveringFeed.find(
    rows,
    `select ${coveringFeed.list} from feed_ecosystems as covered join feeds on feeds.id = covered.feed_id
     where split_part(covered.ecosystem, ':', 1) = any($2) and (covered.public or feeds.group_uid = any($1))
       and exists (select from groups where uid = feeds.group_uid)
     order by feeds.id, covered.ecosystem`,
    [groups, ecosystems],
  );
