-- compatible
-- The registry: blobs, the repos that have them, what is being uploaded, and manifests. The bytes of blobs lie in the blob
-- place under keys of their own; who has what is here alone.

alter table repos add column anonymous_pull boolean not null default false;

-- Organizations by name: the first word of a repository's name.
create index groups_organizations_by_name on groups (name, uid) where length(uid) = 40;

-- One row for each content, however many repos have it. A content whose removal has begun is hidden; one that is uploaded
-- again meanwhile gets another key.
create table blobs (
  sha256 text collate "C" primary key,
  sha512 text collate "C" unique,
  size_bytes bigint not null,
  key text collate "C" not null unique,
  create_time timestamptz(3) not null,
  remove_time timestamptz(3)
);

-- Which repo has which blob. One that no manifest needs stays until its lease is over: a manifest may be on its way.
create table repo_blobs (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null references blobs,
  create_time timestamptz(3) not null,
  lease_time timestamptz(3) not null,
  primary key (repo_uid, sha256)
);
create index repo_blobs_by_blob on repo_blobs (sha256, repo_uid);

-- Uploads under way. `state` is the blob place's own note of how far its content is; whoever appends holds the row for a while.
create table uploads (
  id text collate "C" primary key,
  repo_uid text collate "C" not null,
  key text collate "C" not null unique,
  size_bytes bigint not null,
  state jsonb not null,
  algorithm text not null,
  holder text not null default '',
  hold_time timestamptz(3) not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index uploads_by_repo on uploads (repo_uid, id);
create index uploads_by_update_time on uploads (update_time);

-- Contents of the blob place that no row names any more.
create table blob_removals (
  key text collate "C" primary key,
  state jsonb,
  create_time timestamptz(3) not null
);

-- Manifests, with their bytes: JSON, so a text. `algorithm`: of the digest by which it was pushed last, and is told of by tag.
create table repo_manifests (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  sha512 text collate "C" not null,
  algorithm text not null,
  media_type text collate "C" not null,
  content text not null,
  size_bytes integer not null,
  artifact_type text collate "C" not null,
  subject text collate "C" not null,
  annotations jsonb,
  create_time timestamptz(3) not null,
  primary key (repo_uid, sha256)
);
create unique index repo_manifests_by_sha512 on repo_manifests (repo_uid, sha512);
create index repo_manifests_by_subject on repo_manifests (repo_uid, subject, sha256) where subject <> '';

-- The blobs that a manifest needs, which its repo keeps for it.
create table manifest_blobs (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  blob text collate "C" not null,
  primary key (repo_uid, sha256, blob),
  foreign key (repo_uid, sha256) references repo_manifests on delete cascade deferrable,
  foreign key (repo_uid, blob) references repo_blobs deferrable
);
create index manifest_blobs_by_blob on manifest_blobs (repo_uid, blob);

-- The manifests that an index lists, by the digests that it gives; they need not be here.
create table manifest_children (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  child text collate "C" not null,
  primary key (repo_uid, sha256, child),
  foreign key (repo_uid, sha256) references repo_manifests on delete cascade deferrable
);
create index manifest_children_by_child on manifest_children (repo_uid, child);

-- How many bytes of blobs each organization has, as resource_counts has the rest (0003_quotas.sql): a content counts once for all
-- repos of an organization. One transaction at a time gives an organization a blob, or takes one from it: two that give it the
-- same one would else both count it. What others have committed, the statement behind the lock sees.
create function blobs_given() returns trigger language plpgsql as $$
declare
  root text;
  given_bytes bigint;
begin
  for root in select distinct left(repo_uid, 40) from made order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into given_bytes from blobs
    where sha256 in (select sha256 from made where left(repo_uid, 40) = root) and not exists (
      select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root
        and not exists (select from made where made.repo_uid = other.repo_uid and made.sha256 = other.sha256));
    if given_bytes > 0 then
      perform count_made(root, 'blob_bytes', given_bytes);
    end if;
  end loop;
  return null;
end $$;

create function blobs_taken() returns trigger language plpgsql as $$
declare
  root text;
  taken_bytes bigint;
begin
  for root in select distinct left(repo_uid, 40) from gone order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into taken_bytes from blobs
    where sha256 in (select sha256 from gone where left(repo_uid, 40) = root)
      and not exists (select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root);
    insert into resource_counts as held (organization, resource, slot, row_count) values (root, 'blob_bytes', pg_backend_pid() % 64, - taken_bytes)
    on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  end loop;
  return null;
end $$;

create trigger repo_blobs_given after insert on repo_blobs referencing new table as made for each statement execute function blobs_given();
create trigger repo_blobs_taken after delete on repo_blobs referencing old table as gone for each statement execute function blobs_taken();
