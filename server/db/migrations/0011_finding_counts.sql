-- compatible
-- Open findings by group, severity, fix and exploitation, so that totals cost the same for any number of findings. Triggers maintain
-- them, also for rows that the previous version writes.

create table finding_counts (
  owner text collate "C" not null,
  severity_rank integer not null,
  fixable boolean not null,
  exploited boolean not null,
  row_count bigint not null,
  primary key (owner, severity_rank, fixable, exploited)
);

-- Groups are locked in order. Rows without findings are deleted, so that none outlives its group.
create function finding_counts_add(owners text[], ranks integer[], fixes boolean[], exploits boolean[], numbers bigint[]) returns void
language sql as $$
  insert into finding_counts as held (owner, severity_rank, fixable, exploited, row_count)
  select owner, severity_rank, fixable, exploited, sum(number)
  from unnest(owners, ranks, fixes, exploits, numbers) as given(owner, severity_rank, fixable, exploited, number)
  group by 1, 2, 3, 4 having sum(number) <> 0 order by 1, 2, 3, 4
  on conflict (owner, severity_rank, fixable, exploited) do update set row_count = held.row_count + excluded.row_count;
  delete from finding_counts where owner = any(owners) and row_count = 0;
$$;

create function findings_counted() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform finding_counts_add(array_agg(owner), array_agg(severity_rank), array_agg(fixable), array_agg(exploited), array_agg(number)) from (
      select left(uid, -17) as owner, severity_rank, fixed_version <> '' as fixable, exploited, count(*) as number
      from written where not closed group by 1, 2, 3, 4) as changed having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform finding_counts_add(array_agg(owner), array_agg(severity_rank), array_agg(fixable), array_agg(exploited), array_agg(number)) from (
      select left(uid, -17) as owner, severity_rank, fixed_version <> '' as fixable, exploited, - count(*) as number
      from replaced where not closed group by 1, 2, 3, 4) as changed having count(*) > 0;
  else
    perform finding_counts_add(array_agg(owner), array_agg(severity_rank), array_agg(fixable), array_agg(exploited), array_agg(number)) from (
      select left(uid, -17) as owner, severity_rank, fixed_version <> '' as fixable, exploited, sum(number) as number from (
        select uid, severity_rank, fixed_version, exploited, 1 as number from written where not closed
        union all select uid, severity_rank, fixed_version, exploited, -1 from replaced where not closed) as either
      group by 1, 2, 3, 4 having sum(number) <> 0) as changed having count(*) > 0;
  end if;
  return null;
end $$;
create trigger affected_images_counted_made after insert on affected_images referencing new table as written
for each statement execute function findings_counted();
create trigger affected_images_counted after update on affected_images referencing old table as replaced new table as written
for each statement execute function findings_counted();
create trigger affected_images_counted_gone after delete on affected_images referencing old table as replaced
for each statement execute function findings_counted();

insert into finding_counts (owner, severity_rank, fixable, exploited, row_count)
select left(uid, -17), severity_rank, fixed_version <> '', exploited, count(*) from affected_images where not closed group by 1, 2, 3, 4;
