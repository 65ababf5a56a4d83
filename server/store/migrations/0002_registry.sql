-- Repos, their tags, and what is known of the manifests behind a digest.
-- An empty list and an unspecified enum are null: a null costs neither side of the wire anything.

create table repos (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  catalog_tier text,
  bundles jsonb,
  aliases jsonb,
  active_tags jsonb,
  sync_config jsonb,
  custom_overlay jsonb,
  readme text not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index repos_unique on repos (left(uid, -17), name) include (uid);
create index repos_in_root on repos (uid) where length(uid) = 40;
create index repos_by_name on repos (left(uid, 40), name, uid);
create index repos_by_create_time on repos (left(uid, 40), create_time, uid);
create index repos_by_update_time on repos (left(uid, 40), update_time, uid);

create table tags (
  uid text collate "C" primary key,
  name text collate "C" not null,
  digest text collate "C" not null,
  deprecated boolean not null default false,
  bundles jsonb,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- The families that a list leaves out unless it is asked for them (resources: Tags).
  is_referrer boolean not null generated always as (name like 'sha256-%') stored,
  is_date boolean not null generated always as (name ~ '-20[0-9]{6}$') stored,
  is_epoch boolean not null generated always as (name ~ '-r[0-9]+$') stored
);
create unique index tags_unique on tags (left(uid, -17), name) include (uid);
create index tags_in_root on tags (uid) where length(uid) = 40;
-- What a list shows unless it is asked for more: often the smaller part, and by name all referrers stand together.
create index tags_plain on tags (uid) where not is_referrer and not is_date and not is_epoch;
create index tags_plain_by_parent on tags (left(uid, -17), name, uid) where not is_referrer and not is_date and not is_epoch;
create index tags_plain_by_name on tags (left(uid, 40), name, uid) where not is_referrer and not is_date and not is_epoch;
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
