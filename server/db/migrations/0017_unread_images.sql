-- compatible
-- Tagged images without known packages, so that a list need not look for them. Servers write them in the background for repos with changes;
-- until then, a list reads the repo's tags. Triggers note the changes, also those by the previous version.

create table unread_images (
  repo_uid text collate "C" not null,
  -- Of the tags.
  digest text collate "C" not null,
  owner text collate "C" not null,
  repo text collate "C" not null,
  tags jsonb not null,
  -- Of an index; null if the digest is no index.
  architectures jsonb,
  primary key (repo_uid, digest)
);
create index unread_images_by_repo on unread_images (owner, repo, digest);

create table unread_images_changes (
  id bigint generated always as identity,
  repo_uid text collate "C" not null,
  primary key (repo_uid, id)
);

create function note_unread_tags() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    insert into unread_images_changes (repo_uid) select distinct left(changed.uid, -17) from changed join replaced using (uid)
    where changed.digest <> replaced.digest or changed.name <> replaced.name;
  else
    insert into unread_images_changes (repo_uid) select distinct left(uid, -17) from changed;
  end if;
  return null;
end $$;
create trigger tags_unread_made after insert on tags referencing new table as changed for each statement execute function note_unread_tags();
create trigger tags_unread_changed after update on tags referencing old table as replaced new table as changed
for each statement execute function note_unread_tags();
create trigger tags_unread_gone after delete on tags referencing old table as changed for each statement execute function note_unread_tags();

create function note_unread_platforms() returns trigger language plpgsql as $$
begin
  insert into unread_images_changes (repo_uid) select distinct repo_uid from changed;
  return null;
end $$;
create trigger manifests_unread_made after insert on manifests referencing new table as changed for each statement execute function note_unread_platforms();
create trigger manifests_unread_gone after delete on manifests referencing old table as changed for each statement execute function note_unread_platforms();

create function note_unread_repo() returns trigger language plpgsql as $$
begin
  insert into unread_images_changes (repo_uid) values (new.uid);
  return null;
end $$;
create trigger repos_unread_changed after update of name on repos for each row when (old.name <> new.name) execute function note_unread_repo();

create or replace function coverage_changed() returns trigger language plpgsql as $$
begin
  perform count_coverage(array_agg(owner), array_agg(repo)) from (select distinct owner, repo from changed) as given having count(*) > 0;
  insert into unread_images_changes (repo_uid) select repo.uid from (select distinct owner, short_repo from changed) as given
  cross join lateral (
    select uid from repos where left(uid, -17) = given.owner and name collate "POSIX" = given.short_repo and length(uid) = length(given.owner) + 17
    offset 0) as repo;
  return null;
end $$;

insert into unread_images_changes (repo_uid) select distinct left(uid, -17) from tags;
