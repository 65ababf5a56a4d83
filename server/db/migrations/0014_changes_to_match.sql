-- compatible

-- What imports have changed and no organization's images were matched with yet (docs/decisions/0026-which-images-are-affected.md).
-- Kept by the triggers below, so that no writer can forget it; a row goes when every organization was matched with it.

create table changes_to_match (
  id bigint generated always as identity primary key,
  -- '' for all organizations: what everybody may see.
  root text collate "C" not null default '',
  -- The package of advisories that changed; '' for none.
  name text collate "C" not null default '',
  -- The group and the repo whose images changed; '' for none. Neither a package nor a repo: everything.
  owner text collate "C" not null default '',
  repo text collate "C" not null default ''
);

create function advisories_to_match() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into changes_to_match (root, name) select distinct case when public then '' else left(uid, 40) end, artifact_name from replaced;
  end if;
  if tg_op <> 'DELETE' then
    insert into changes_to_match (root, name) select distinct case when public then '' else left(uid, 40) end, artifact_name from written;
  end if;
  return null;
end $$;

create trigger advisories_to_match_made after insert on advisories referencing new table as written
for each statement execute function advisories_to_match();
create trigger advisories_to_match_changed after update on advisories referencing old table as replaced new table as written
for each statement execute function advisories_to_match();
create trigger advisories_to_match_gone after delete on advisories referencing old table as replaced
for each statement execute function advisories_to_match();

create function images_to_match() returns trigger language plpgsql as $$
begin
  insert into changes_to_match (root, owner, repo) select distinct left(owner, 40), owner, repo from written where owner <> '';
  return null;
end $$;

create trigger images_to_match_made after insert on image_packages referencing new table as written
for each statement execute function images_to_match();
create trigger images_to_match_changed after update on image_packages referencing new table as written
for each statement execute function images_to_match();

create function origins_to_match() returns trigger language plpgsql as $$
begin
  insert into changes_to_match (name) select distinct name from written;
  return null;
end $$;

create trigger origins_to_match_made after insert on package_origins referencing new table as written
for each statement execute function origins_to_match();
create trigger origins_to_match_changed after update on package_origins referencing new table as written
for each statement execute function origins_to_match();

-- The version before may have been cut off between an import and its matching.
insert into changes_to_match default values;

-- A list of advisories in the order of their uids took these: PostgreSQL 18 skips over the feeds in front of the uids, expects
-- few rows behind, and sorts a million. The first served nothing else; in the second uids have another collation of the same
-- order, which no list matches (0001_baseline.sql).
drop index advisories_by_feed;
drop index advisories_without_document;
create index advisories_without_document on advisories (feed, uid collate "POSIX") where document_id is null;
