-- compatible
-- What the contract has under v2beta1 alone: overlays and their bindings.

create table overlays (
  uid text collate "C" primary key,
  name text collate "C" not null,
  config jsonb not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index overlays_by_parent on overlays (left(uid, -17), name collate "POSIX", uid);
create index overlays_by_name on overlays (left(uid, 40), name, uid);
create index overlays_by_create_time on overlays (left(uid, 40), create_time, uid);
create index overlays_by_update_time on overlays (left(uid, 40), update_time, uid);
create index overlays_in_root on overlays (uid) where length(uid) = 40;
create trigger overlays_counted_made after insert on overlays referencing new table as made for each statement execute function resources_made();
create trigger overlays_counted_gone after delete on overlays referencing old table as gone for each statement execute function resources_gone();

create table overlay_bindings (
  uid text collate "C" primary key,
  repo text collate "C" not null,
  overlay_uid text collate "C" not null,
  tags jsonb not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index overlay_bindings_by_parent on overlay_bindings (left(uid, -17), uid);
create index overlay_bindings_by_create_time on overlay_bindings (left(uid, 40), create_time, uid);
create index overlay_bindings_by_update_time on overlay_bindings (left(uid, 40), update_time, uid);
create index overlay_bindings_in_root on overlay_bindings (uid) where length(uid) = 40;
create index overlay_bindings_by_overlay_uid on overlay_bindings (overlay_uid, uid);
create trigger overlay_bindings_counted_made after insert on overlay_bindings referencing new table as made
  for each statement execute function resources_made();
create trigger overlay_bindings_counted_gone after delete on overlay_bindings referencing old table as gone
  for each statement execute function resources_gone();

-- Request groups: lists of libraries that somebody asks for, and their items. An item lies below its group, and goes with it.
create table request_groups (
  uid text collate "C" primary key,
  parent_id text collate "C" not null,
  name text collate "C" not null default '',
  status text not null,
  ecosystem text not null,
  source text not null,
  for_cve_remediation boolean not null,
  submit_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  items_update_time timestamptz(3) not null,
  created_by text collate "C" not null,
  submitted_by text collate "C" not null default '',
  input jsonb not null,
  availability_summary jsonb not null,
  cve_remediation_summary jsonb,
  org_upstream_enabled boolean not null
);
create index request_groups_by_parent on request_groups (left(uid, -17), name collate "POSIX", uid);
create index request_groups_by_name on request_groups (left(uid, 40), name, uid);
create index request_groups_by_create_time on request_groups (left(uid, 40), create_time, uid);
create index request_groups_by_update_time on request_groups (left(uid, 40), update_time, uid);
create index request_groups_in_root on request_groups (uid) where length(uid) = 40;
create trigger request_groups_counted_made after insert on request_groups referencing new table as made
  for each statement execute function resources_made();
create trigger request_groups_counted_gone after delete on request_groups referencing old table as gone
  for each statement execute function resources_gone();

create table request_group_items (
  uid text collate "C" primary key,
  requirement text collate "C" not null,
  package_name text collate "C" not null,
  version text collate "C" not null,
  ecosystem text not null,
  -- Sorts by its bytes as the ecosystem sorts versions (base/versions).
  sort_key text collate "C" not null,
  availability text not null,
  availability_reason text not null,
  closest_version text collate "C" not null,
  latest_version text collate "C" not null,
  removed boolean not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);

-- Libraries of Python by their names as PEP 503 compares them.
create index library_artifacts_by_python_name on library_artifacts (regexp_replace(search, '[-_.]+', '-', 'g'))
  where delete_time is null and ecosystem = 'ECOSYSTEM_PYTHON';
