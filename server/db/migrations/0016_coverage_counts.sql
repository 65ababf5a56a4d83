-- compatible
-- Images of each repo by their ecosystems, so that the coverage of a list need not read each image. Triggers write them, also for images
-- that the previous version matches. An image has a row of image_coverage for each tag and architecture, and counts once.

create table coverage_counts (
  owner text collate "C" not null,
  repo text collate "C" not null,
  -- A hash of the two, which can be longer than an index allows.
  key text collate "C" not null,
  -- Of all rows of the image, as in image_coverage.
  ecosystems jsonb not null,
  -- A row of the image has no packages, or was partly read.
  incomplete boolean not null,
  image_count integer not null,
  primary key (owner, repo, key)
);

create function count_coverage(owners text[], repos text[]) returns void language sql as $$
  delete from coverage_counts as held using unnest(owners, repos) as given(owner, repo) where held.owner = given.owner and held.repo = given.repo;
  insert into coverage_counts (owner, repo, key, ecosystems, incomplete, image_count)
  select owner, repo, encode(sha256(convert_to(incomplete || ' ' || ecosystems::text, 'UTF8')), 'hex'), ecosystems, incomplete, count(*) from (
    select tag.owner, tag.repo, coalesce(jsonb_agg(distinct name) filter (where name is not null), '[]') as ecosystems,
      bool_or(tag.ecosystems = '[]' or tag.partly_read) as incomplete
    from unnest(owners, repos) as given(owner, repo)
    cross join lateral (select * from image_coverage where owner = given.owner and repo = given.repo offset 0) as tag
    left join lateral jsonb_array_elements_text(tag.ecosystems) as name on true
    group by tag.owner, tag.repo, tag.identity) as image
  group by owner, repo, ecosystems, incomplete order by 1, 2, 3
  on conflict (owner, repo, key) do update set image_count = excluded.image_count;
$$;

create function coverage_changed() returns trigger language plpgsql as $$
begin
  perform count_coverage(array_agg(owner), array_agg(repo)) from (select distinct owner, repo from changed) as given having count(*) > 0;
  return null;
end $$;
create trigger image_coverage_counted_made after insert on image_coverage referencing new table as changed
for each statement execute function coverage_changed();
create trigger image_coverage_counted after update on image_coverage referencing new table as changed
for each statement execute function coverage_changed();
create trigger image_coverage_counted_gone after delete on image_coverage referencing old table as changed
for each statement execute function coverage_changed();

select count_coverage(array_agg(owner), array_agg(repo)) from (select distinct owner, repo from image_coverage) as given;
