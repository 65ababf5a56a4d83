-- compatible

-- What tags pointed at, and until when (docs/decisions/0038-tags-over-time.md). A row is one digest that a name had; the one without
-- an end is what the tag points at now.

create table tag_history (
  id bigint generated always as identity primary key,
  repo_uid text collate "C" not null,
  name text collate "C" not null,
  digest text collate "C" not null,
  start_time timestamptz(3) not null,
  -- When it was moved or deleted.
  end_time timestamptz(3)
);
create index tag_history_by_name on tag_history (repo_uid, name, id);
create index tag_history_by_digest on tag_history (repo_uid, digest);
create index tag_history_by_end_time on tag_history (end_time) where end_time is not null;

-- What tags point at today is where their history begins.
insert into tag_history (repo_uid, name, digest, start_time) select left(uid, -17), name, digest, update_time from tags order by uid;

-- Images are matched with advisories by their tags: one that is made, moved or deleted says so itself, as imports do
-- (0014_changes_to_match.sql). Those are matched when the import ends, these soon, by a server that looks for them.

alter table changes_to_match add column of_tag boolean not null default false;
create index changes_to_match_of_tags on changes_to_match (id) where of_tag;

-- By the repos under which packages are known of the tags' images: imported for the tag, or read of SBOMs that the repo has.
create function note_tags_to_match(tag_uids text[], tag_names text[]) returns void language sql as $$
  insert into changes_to_match (root, owner, repo, of_tag)
  select left(image.owner, 40), image.owner, image.repo, true from (
    select left(repo.uid, -17) as owner, repo.name as repo
    from (select distinct left(uid, -17) as uid from unnest(tag_uids) as given(uid)) as changed join repos as repo on repo.uid = changed.uid
    where exists (select from image_sboms where image_sboms.repo_uid = repo.uid)
    union
    select imported.owner, imported.repo
    from unnest(tag_uids, tag_names) as changed(uid, name) join repos as repo on repo.uid = left(changed.uid, -17)
    join image_packages as imported on imported.short_repo = repo.name and imported.tag = changed.name and imported.owner = left(repo.uid, -17)
  ) as image
$$;

create function tags_to_match() returns trigger language plpgsql as $$
declare
  uids text[];
  names text[];
begin
  if tg_op = 'UPDATE' then
    select array_agg(moved.uid), array_agg(moved.name) into uids, names from moved join replaced using (uid) where moved.digest <> replaced.digest;
  else
    select array_agg(uid), array_agg(name) into uids, names from moved;
  end if;
  if uids is not null then
    perform note_tags_to_match(uids, names);
  end if;
  return null;
end $$;

create trigger tags_to_match_made after insert on tags referencing new table as moved for each statement execute function tags_to_match();
create trigger tags_to_match_changed after update on tags referencing old table as replaced new table as moved
for each statement execute function tags_to_match();
create trigger tags_to_match_gone after delete on tags referencing old table as moved for each statement execute function tags_to_match();

-- When a manifest was last pushed, pulled or named by another, as exactly as limits.manifestUseMs: one that nobody uses and no tag names
-- may be collected where the operator wants that. Of those that are here it is not known, so they count as used today.
alter table repo_manifests add column use_time timestamptz(3) not null default now();
