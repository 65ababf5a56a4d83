-- compatible

-- What is known of images by what was pushed about them.

-- SBOMs that were pushed for images, and what was read of them: the packages of a digest
-- (docs/decisions/0034-facts-that-are-pushed.md). A row is made by the push and read afterwards, so that none is lost.

create table image_sboms (
  -- Below its repo: always the same for the same image and document.
  uid text collate "C" primary key,
  repo_uid text collate "C" not null,
  -- The image's manifest, by sha256.
  digest text collate "C" not null,
  -- The manifest that carries the document, and the blob that is the document.
  manifest_digest text collate "C" not null,
  document_digest text collate "C" not null,
  state text collate "C" not null,
  format text not null default '',
  problem text not null default '',
  package_count integer not null default 0,
  unnamed_count integer not null default 0,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- {"name": "version"}, {"name": ["version", "version"]}
  packages jsonb not null default '{}',
  -- While it waits: when it is tried (again), and how often it was.
  try_time timestamptz(3) not null,
  tries integer not null default 0,
  -- Whether the images of the organization were matched since.
  matched boolean not null default false,
  -- The manifest that carried it was deleted: the row goes when the images were matched without it.
  gone boolean not null default false
);
create index image_sboms_by_create_time on image_sboms (left(uid, 40), create_time, uid);
create index image_sboms_by_update_time on image_sboms (left(uid, 40), update_time, uid);
create index image_sboms_by_digest on image_sboms (left(uid, 40), digest, uid);
create index image_sboms_in_root on image_sboms (uid) where length(uid) = 40;
create index image_sboms_by_parent on image_sboms (left(uid, -17), uid);
create index image_sboms_by_repo on image_sboms (repo_uid, manifest_digest);
create index image_sboms_waiting on image_sboms (try_time) where state = 'IMAGE_SBOM_STATE_WAITING';
create index image_sboms_unmatched on image_sboms (left(uid, 40)) where not matched and state <> 'IMAGE_SBOM_STATE_WAITING';

-- The operator's policies: tags whose repo and name fit the pattern are deprecated from that day on.
create table tag_policies (
  -- The organization, or '' for all.
  organization text collate "C" not null,
  pattern text collate "C" not null,
  -- "2026-04-30"
  end_date text collate "C" not null,
  -- Tags up to this one were looked at, since the day came; all of them, where it is applied. Later tags are as they are made.
  seen_uid text collate "C" not null default '',
  applied boolean not null default false,
  primary key (organization, pattern)
);

-- Tags that are deprecated by a policy or by what was pushed about their digest, and not because somebody said so.
create table ended_tags (
  tag_uid text collate "C" primary key,
  -- Whether the reason may have gone.
  recheck boolean not null default false
);
create index ended_tags_to_check on ended_tags (tag_uid) where recheck;

-- When images end by their referrers.
create index repo_manifests_lifecycle on repo_manifests (repo_uid, subject)
  where artifact_type = 'application/vnd.microsoft.artifact.lifecycle';
