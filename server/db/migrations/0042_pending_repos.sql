-- compatible
-- Paths that are pushed to and have no repository yet (docs/decisions/0080). Blobs and uploads of a path belong to it by its uid, as to a
-- repository; it lies below a group, so their bytes count in its organization. A server of the version before creates the
-- repository with the first upload, and the trigger gives it what is pending.

create table pending_repos (
  uid text collate "C" primary key,
  group_uid text collate "C" not null,
  path text collate "C" not null,
  -- The repository that it has become: requests under way go on there.
  repo_uid text collate "C",
  create_time timestamptz(3) not null,
  -- When something was last pushed to it, or its client last heard that a blob is there.
  update_time timestamptz(3) not null
);
create unique index pending_repos_by_path on pending_repos (path, group_uid) where repo_uid is null;
create index pending_repos_by_group on pending_repos (group_uid);
create index pending_repos_by_update_time on pending_repos (update_time);

-- What is pending goes with its path. Bytes of blobs are counted by the triggers of repo_blobs.
create function pending_repos_gone() returns trigger language plpgsql as $$
begin
  with ended as (delete from uploads using gone where uploads.repo_uid = gone.uid returning uploads.key, uploads.state)
  insert into blob_removals (key, state, create_time) select key, state, now() from ended on conflict do nothing;
  delete from repo_blobs using gone where repo_blobs.repo_uid = gone.uid;
  return null;
end $$;
create trigger pending_repos_gone after delete on pending_repos referencing old table as gone
  for each statement execute function pending_repos_gone();

-- A new repository gets what is pending for its path, below the group that it was begun in; whoever creates it, and however. The
-- organization's bytes stay the same, so nothing is counted; what the repository has twice goes.
create function pending_repos_adopted() returns trigger language plpgsql as $$
declare
  found record;
begin
  for found in
    select pending.uid, made.uid as repo from pending_repos as pending
    join made on starts_with(made.uid, pending.group_uid || '/')
    where pending.repo_uid is null
      and pending.path = (
        select string_agg(groups.name, '/' order by length(groups.uid))
        from generate_series(40, length(made.uid) - 17, 17) as prefix(long) join groups on groups.uid = left(made.uid, prefix.long)
      ) || '/' || made.name
    order by pending.uid for update of pending
  loop
    update pending_repos set repo_uid = found.repo where uid = found.uid;
    update uploads set repo_uid = found.repo where repo_uid = found.uid;
    update repo_blobs as held set repo_uid = found.repo
    where repo_uid = found.uid and not exists (select from repo_blobs as other where other.repo_uid = found.repo and other.sha256 = held.sha256);
    delete from repo_blobs where repo_uid = found.uid;
  end loop;
  return null;
end $$;
create trigger pending_repos_adopted after insert on repos referencing new table as made
  for each statement execute function pending_repos_adopted();

-- Keys of the blob place that a long request is writing to and no other row names: what a server that died has left under any other key
-- goes within an hour.
create table blob_writes (
  key text collate "C" primary key,
  lease_time timestamptz(3) not null
);

-- When one of the servers last looked for what others have left, and since when that was never long ago. A database that is an older copy
-- shows by it that it does not know what was completed meanwhile.
alter table blob_places add column leftover_time timestamptz(3) not null default '-infinity', add column leftover_since timestamptz(3);
