-- Repos, their tags, and what is known of the manifests behind a digest.

create table repos (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  catalog_tier text not null default 'CATALOG_TIER_UNSPECIFIED',
  bundles jsonb not null default '[]',
  aliases jsonb not null default '[]',
  active_tags jsonb not null default '[]',
  sync_config jsonb,
  custom_overlay jsonb,
  readme text not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index repos_unique on repos (left(uid, -17), name);
create index repos_by_name on repos (left(uid, 40), name, uid);
create index repos_by_create_time on repos (left(uid, 40), create_time, uid);
create index repos_by_update_time on repos (left(uid, 40), update_time, uid);

create table tags (
  uid text collate "C" primary key,
  name text collate "C" not null,
  digest text collate "C" not null,
  deprecated boolean not null default false,
  bundles jsonb not null default '[]',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- The families that a list leaves out unless it is asked for them (resources: Tags).
  is_referrer boolean not null generated always as (name like 'sha256-%') stored,
  is_date boolean not null generated always as (name ~ '-20[0-9]{6}$') stored,
  is_epoch boolean not null generated always as (name ~ '-r[0-9]+$') stored
);
create unique index tags_unique on tags (left(uid, -17), name);
create index tags_by_name on tags (left(uid, 40), name, uid);
create index tags_by_digest on tags (left(uid, 40), digest, uid);
create index tags_by_create_time on tags (left(uid, 40), create_time, uid);
create index tags_by_update_time on tags (left(uid, 40), update_time, uid);

-- What an import tells of the platform manifests behind a tag's digest.
create table manifests (
  repo_uid text collate "C" not null,
  index_digest text collate "C" not null,
  digest text collate "C" not null,
  os text collate "C" not null,
  architecture text collate "C" not null,
  variant text collate "C" not null default '',
  size_bytes bigint not null,
  create_time timestamptz(3),
  primary key (repo_uid, index_digest, architecture, variant, os, digest)
);
