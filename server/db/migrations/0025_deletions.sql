-- compatible
-- What was deleted, kept for a while and brought back whole (docs/decisions/0058-undelete.md). Tables of resources and their
-- indexes know nothing of it.

create table deletions (
  uid text collate "C" primary key,
  parent_uid text collate "C" not null default '',
  resource_type text collate "C" not null,
  resource_uid text collate "C" not null,
  resource_name text collate "C" not null default '',
  deleter_uid text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  expire_time timestamptz(3) not null,
  kinds jsonb,
  row_count bigint not null,
  -- The tables of its rows, in the order in which they come back.
  tables jsonb not null
);
create index deletions_by_parent on deletions (left(uid, -17), uid);
create index deletions_in_root on deletions (uid) where length(uid) = 40;
create index deletions_by_resource_type on deletions (left(uid, 40), resource_type, uid);
create index deletions_by_resource_uid on deletions (left(uid, 40), resource_uid, uid);
create index deletions_by_create_time on deletions (left(uid, 40), create_time, uid);
create index deletions_by_update_time on deletions (left(uid, 40), update_time, uid);
-- For maintenance alone: a list that could be ordered by it would take it, and read every organization's rows.
create index deletions_expired on deletions (expire_time, uid);

-- Rows as they were, by the names of their columns: a column that is made later has its default in what comes back.
create table deleted_rows (
  deletion_uid text collate "C" not null,
  table_name text collate "C" not null,
  number bigint generated always as identity,
  content jsonb not null,
  primary key (deletion_uid, table_name, number)
);
-- A content stays while a deleted repo could come back that has it (collection), and counts as its organization's meanwhile.
create index deleted_rows_by_blob on deleted_rows ((content ->> 'sha256'), (left(deletion_uid, 40))) where table_name = 'repo_blobs';

-- As in 0016_registry.sql, and what is kept of deleted repos counts as what repos have: else whoever deletes and pushes again
-- has as many bytes as they like. What is given back to a repo was counted all the time.
create or replace function blobs_given() returns trigger language plpgsql as $$
declare
  root text;
  given_bytes bigint;
begin
  for root in select distinct left(repo_uid, 40) from made order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into given_bytes from blobs
    where sha256 in (select sha256 from made where left(repo_uid, 40) = root) and not exists (
      select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root
        and not exists (select from made where made.repo_uid = other.repo_uid and made.sha256 = other.sha256))
      and not exists (
        select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = blobs.sha256 and left(deletion_uid, 40) = root);
    if given_bytes > 0 then
      perform count_made(root, 'blob_bytes', given_bytes);
    end if;
  end loop;
  return null;
end $$;

create or replace function blobs_taken() returns trigger language plpgsql as $$
declare
  root text;
  taken_bytes bigint;
begin
  for root in select distinct left(repo_uid, 40) from gone order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into taken_bytes from blobs
    where sha256 in (select sha256 from gone where left(repo_uid, 40) = root)
      and not exists (select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root)
      and not exists (
        select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = blobs.sha256 and left(deletion_uid, 40) = root);
    insert into resource_counts as held (organization, resource, slot, row_count) values (root, 'blob_bytes', pg_backend_pid() % 64, - taken_bytes)
    on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  end loop;
  return null;
end $$;

-- What is kept no longer is counted no longer, where no repo has it and no other deletion keeps it.
create function deleted_blobs_gone() returns trigger language plpgsql as $$
declare
  root text;
  gone_bytes bigint;
begin
  for root in select distinct left(deletion_uid, 40) from gone where table_name = 'repo_blobs' order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into gone_bytes from blobs
    where sha256 in (select content ->> 'sha256' from gone where table_name = 'repo_blobs' and left(deletion_uid, 40) = root)
      and not exists (select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root)
      and not exists (
        select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = blobs.sha256 and left(deletion_uid, 40) = root);
    if gone_bytes > 0 then
      insert into resource_counts as held (organization, resource, slot, row_count) values (root, 'blob_bytes', pg_backend_pid() % 64, - gone_bytes)
      on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
    end if;
  end loop;
  return null;
end $$;
create trigger deleted_blobs_gone after delete on deleted_rows referencing old table as gone
  for each statement execute function deleted_blobs_gone();

-- Nothing lies below an organization that is deleted, but what its deletions keep.
create or replace function organizations_gone() returns trigger language plpgsql as $$
begin
  delete from resource_counts where organization in (select uid from gone where length(uid) = 40)
    and not (resource = 'blob_bytes' and exists (
      select from deleted_rows where table_name = 'repo_blobs' and deletion_uid >= organization || '/' and deletion_uid < organization || '0'));
  return null;
end $$;
