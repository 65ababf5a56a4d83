-- compatible
-- Pulls, images in use, and retention rules of tags.

-- Such as ["runtime"].
alter table identities add column labels jsonb;

-- The last pull of a manifest by a tag, or by digest ('').
create table last_pulls (
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  tag text collate "C" not null,
  pull_count bigint not null,
  pull_time timestamptz(3) not null,
  -- By an identity with the label `runtime`.
  runtime_time timestamptz(3),
  primary key (repo_uid, digest, tag)
);
create index last_pulls_by_tag on last_pulls (repo_uid, tag) where tag <> '';
create index last_pulls_by_time on last_pulls (pull_time);

create table pull_days (
  repo_uid text collate "C" not null,
  day date not null,
  digest text collate "C" not null,
  tag text collate "C" not null,
  pull_count bigint not null,
  primary key (repo_uid, day, digest, tag)
);
create index pull_days_by_day on pull_days (day);

-- Reported by clients. Digest or tag can be ''.
create table images_in_use (
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  tag text collate "C" not null,
  source text collate "C" not null,
  report_time timestamptz(3) not null,
  expire_time timestamptz(3) not null,
  primary key (repo_uid, digest, tag, source)
);
create index images_in_use_by_expire_time on images_in_use (expire_time);

create table retention_rules (
  uid text collate "C" primary key,
  name text collate "C" not null,
  repo_uid text collate "C" not null default '',
  tag_pattern text not null default '',
  version_range text not null default '',
  keep_all boolean not null default false,
  keep_last integer not null default 0,
  keep_versions integer not null default 0,
  keep_days integer not null default 0,
  keep_pulled_days integer not null default 0,
  in_use_days integer not null default 0,
  preview_only boolean not null default false,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index retention_rules_by_name on retention_rules (left(uid, 40), name, uid);
create index retention_rules_by_create_time on retention_rules (left(uid, 40), create_time, uid);
create index retention_rules_by_update_time on retention_rules (left(uid, 40), update_time, uid);
create unique index retention_rules_unique on retention_rules (left(uid, -17), name collate "POSIX") include (uid);
create index retention_rules_in_root on retention_rules (uid) where length(uid) = 40;
create index retention_rules_by_repo on retention_rules (repo_uid, uid);

-- The run of an organization's rules. A server locks the row for each piece of a run.
create table retention_runs (
  organization text collate "C" primary key,
  -- When the next run is due; in the past during a run.
  due_time timestamptz(3) not null,
  -- When the last piece ended: the organization that waited longest is next.
  piece_time timestamptz(3) not null,
  -- Last finished repo of the run.
  seen_repo_uid text collate "C" not null default '',
  deleted_tags bigint not null default 0
);
create index retention_runs_by_piece on retention_runs (piece_time);

-- Manifests of deleted tags are kept as long as the tags can be restored.
create index deleted_rows_by_tag on deleted_rows (left(content ->> 'uid', -17), (content ->> 'digest')) where table_name = 'tags';
