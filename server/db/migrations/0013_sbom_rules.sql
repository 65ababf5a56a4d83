-- compatible
-- Rules of a repo or group that attach an SBOM to each image. The previous version attaches none, and leaves those that exist.

create table sbom_rules (
  -- Below its repo or group.
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index sbom_rules_unique on sbom_rules (left(uid, -17), name collate "POSIX") include (uid);
create index sbom_rules_by_name on sbom_rules (left(uid, 40), name, uid);
create index sbom_rules_by_create_time on sbom_rules (left(uid, 40), create_time, uid);
create index sbom_rules_by_update_time on sbom_rules (left(uid, 40), update_time, uid);
create index sbom_rules_in_root on sbom_rules (uid) where length(uid) = 40;

-- New rules whose stored images are still to be queued.
create table sbom_rule_progress (
  uid text collate "C" primary key references sbom_rules on delete cascade,
  -- The last image that was queued.
  queued_to text collate "C" not null default ''
);
create function sbom_rules_made() returns trigger language plpgsql as $$
begin
  insert into sbom_rule_progress (uid) select uid from made;
  return null;
end $$;
create trigger sbom_rules_made after insert on sbom_rules referencing new table as made for each statement execute function sbom_rules_made();

alter table image_contents
  add column sbom_state text collate "C" not null default 'ATTACHED_SBOM_STATE_NONE',
  -- Of the manifest that the server attached; '' if none.
  add column sbom_digest text collate "C" not null default '';

-- The group, ID, version and name of the operating system, by which releases are found that have reached their end of life.
alter table image_contents add column system text collate "C" generated always as (
  case when operating_system is not null then
    left(repo_uid, -17) || chr(31) || coalesce(operating_system ->> 'id', '') || chr(31) || coalesce(operating_system ->> 'version', '')
      || chr(31) || coalesce(operating_system ->> 'name', '') end) stored;
create index image_contents_by_system on image_contents (system, uid) where system is not null;

create index image_contents_by_sbom on image_contents (repo_uid, sbom_digest) where sbom_digest <> '';
create index image_contents_without_sbom on image_contents (update_time)
  where sbom_state = 'ATTACHED_SBOM_STATE_QUOTA_EXCEEDED' and due_time is null;

create or replace function manifests_gone() returns trigger language plpgsql as $$
begin
  delete from image_contents using gone where image_contents.repo_uid = gone.repo_uid and image_contents.digest = gone.sha256;
  -- A deleted SBOM.
  update image_contents set sbom_digest = '', sbom_state = 'ATTACHED_SBOM_STATE_NONE' from gone
  where gone.subject <> '' and image_contents.repo_uid = gone.repo_uid and image_contents.sbom_digest <> '' and image_contents.sbom_digest = gone.sha256;
  return null;
end $$;
