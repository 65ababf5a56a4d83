-- compatible

-- Which images an advisory says to be affected, or said so: image_packages against advisories
-- (docs/decisions/0026-which-images-are-affected.md). Made anew by the step behind imports.

create table affected_images (
  uid text collate "C" primary key,
  repo text collate "C" not null default '',
  repo_uid text collate "C" not null default '',
  tags jsonb,
  digest text collate "C" not null default '',
  architectures jsonb,
  package_name text collate "C" not null default '',
  installed_version text not null default '',
  fixed_version text not null default '',
  advisory_id text collate "C" not null default '',
  aliases jsonb,
  advisory_uid text collate "C" not null default '',
  state text collate "C" not null,
  start_time timestamptz(3),
  end_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- All numbers of the advisory, for the filter.
  advisory_ids jsonb not null default '[]',
  -- {"tag": "time"}: since when a tag has the image no longer, or the image is no longer affected.
  left_tags jsonb not null default '{}'
);
create index affected_images_by_repo on affected_images (left(uid, 40), repo, uid);
create index affected_images_by_digest on affected_images (left(uid, 40), digest, uid);
create index affected_images_by_package_name on affected_images (left(uid, 40), package_name, uid);
create index affected_images_by_advisory_id on affected_images (left(uid, 40), advisory_id, uid);
create index affected_images_by_state on affected_images (left(uid, 40), state, uid);
create index affected_images_by_create_time on affected_images (left(uid, 40), create_time, uid);
create index affected_images_by_update_time on affected_images (left(uid, 40), update_time, uid);
create index affected_images_by_parent on affected_images (left(uid, -17), uid);
create index affected_images_in_root on affected_images (uid) where length(uid) = 40;
create index affected_images_by_advisory_ids on affected_images using gin (advisory_ids);
create index affected_images_by_end_time on affected_images (end_time) where end_time is not null;
