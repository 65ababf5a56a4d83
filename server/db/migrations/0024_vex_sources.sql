-- compatible
-- Trusted sources of VEX. The previous version verifies no documents: a new source verifies those that it reads.

create table vex_sources (
  uid text collate "C" primary key,
  name text collate "C" not null,
  public_key text not null default '',
  -- '': all repos below the group.
  repo_uid text collate "C" not null default '',
  key_fingerprint text not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index vex_sources_unique on vex_sources (left(uid, -17), name collate "POSIX") include (uid);
create index vex_sources_by_name on vex_sources (left(uid, 40), name, uid);
create index vex_sources_by_create_time on vex_sources (left(uid, 40), create_time, uid);
create index vex_sources_by_update_time on vex_sources (left(uid, 40), update_time, uid);
create index vex_sources_in_root on vex_sources (uid) where length(uid) = 40;
create index vex_sources_by_repo on vex_sources (repo_uid, uid);

-- New and restored sources whose key is still to be compared with documents that were read before.
create table vex_source_scans (
  source_uid text collate "C" primary key references vex_sources on delete cascade,
  -- The last compared document.
  repo_uid text collate "C" not null default '',
  manifest_digest text collate "C" not null default '',
  digest text collate "C" not null default '',
  document_digest text collate "C" not null default '',
  -- Next attempt at the next document, and number of attempts.
  try_time timestamptz(3) not null default '-infinity',
  tries integer not null default 0
);
create function vex_sources_made() returns trigger language plpgsql as $$
begin
  insert into vex_source_scans (source_uid) select uid from made;
  return null;
end $$;
create trigger vex_sources_made after insert on vex_sources referencing new table as made for each statement execute function vex_sources_made();

-- False: the document has no signature.
alter table vex_documents add column is_signed boolean not null default true;
create index vex_documents_signed on vex_documents (repo_uid, manifest_digest, digest, document_digest) where state = 'READ' and is_signed;

-- Name of an image that a product has instead of a digest; or the package of a product with subcomponents.
alter table vex_statements add column product_name text not null default '';

-- Documents with a signature of a trusted source about their image.
create table vex_verifications (
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  manifest_digest text collate "C" not null,
  document_digest text collate "C" not null,
  source_uid text collate "C" not null references vex_sources on delete cascade,
  primary key (repo_uid, digest, manifest_digest, document_digest, source_uid),
  foreign key (repo_uid, manifest_digest, digest, document_digest) references vex_documents on delete cascade deferrable
);
create index vex_verifications_by_source on vex_verifications (source_uid);

-- The images of the repo are matched again.
create function vex_verifications_to_match() returns trigger language plpgsql as $$
begin
  insert into changes_to_match (root, owner, repo, of_tag) select left(uid, 40), left(uid, -17), name, true from repos
  where uid in (select repo_uid from changed);
  return null;
end $$;
create trigger vex_verifications_made after insert on vex_verifications referencing new table as changed
for each statement execute function vex_verifications_to_match();
create trigger vex_verifications_gone after delete on vex_verifications referencing old table as changed
for each statement execute function vex_verifications_to_match();

-- The documents of a restored repo are verified again: sources may have come and gone.
create function vex_document_restored() returns trigger language plpgsql as $$
begin
  new.state := 'WAITING';
  new.try_time := '-infinity';
  new.tries := 0;
  return new;
end $$;
create trigger vex_documents_restored before insert on vex_documents for each row when (new.state = 'READ' and new.is_signed)
execute function vex_document_restored();
