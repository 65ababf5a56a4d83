-- compatible
-- Coverage of sources (docs/decisions/0074): which ecosystems each source judges, which ecosystems each image has packages of, and
-- after how long a source without a success is stale.
--
-- A server of the version before writes none of this. The next import of each source fills what it covers, and the next match fills
-- what images are made of; until then nothing counts as judged.

alter table feeds
  -- How long after its last success the source is stale; 0: as the setting says.
  add column stale_after_ms bigint not null default 0,
  -- What the source covers may have changed since feed_ecosystems was written.
  add column coverage_due boolean not null default true;

-- The ecosystems whose packages the records of a source judge, with the release as the source writes it: "Debian:12".
create table feed_ecosystems (
  feed_id integer not null references feeds on delete cascade,
  ecosystem text collate "C" not null,
  -- Every record of it is public.
  public boolean not null,
  -- Since when the source has no file of this release; null while it has one.
  end_time timestamptz(3),
  primary key (feed_id, ecosystem)
);
create index feed_ecosystems_public on feed_ecosystems (ecosystem) where public;

-- The images that tags name and whose packages are known.
create table image_coverage (
  owner text collate "C" not null,
  repo text collate "C" not null,
  tag text collate "C" not null,
  architecture text collate "C" not null,
  -- The name of the repo in its group.
  short_repo text collate "C" not null,
  repo_uid text collate "C" not null,
  -- That of the tag; empty if the group has no such tag.
  digest text collate "C" not null,
  -- The digest, or that of what the image is made of.
  identity text collate "C" not null,
  -- A list of "ecosystem:release".
  ecosystems jsonb not null,
  primary key (owner, repo, tag, architecture)
);
create index image_coverage_by_short_repo on image_coverage (owner, short_repo, tag);
create index image_coverage_by_digest on image_coverage (repo_uid, digest);

-- The ecosystems and releases of each group's images.
create table advisory_coverage (
  uid text collate "C" primary key,
  ecosystem text collate "C" not null,
  release text collate "C" not null,
  image_count integer not null
);
create index advisory_coverage_by_ecosystem on advisory_coverage (left(uid, 40), ecosystem, uid);
create index advisory_coverage_by_parent on advisory_coverage (left(uid, -17), uid);
create index advisory_coverage_in_root on advisory_coverage (uid) where length(uid) = 40;

-- Everything is matched once, so that what images are made of is known.
insert into changes_to_match (root, of_tag) select '', true where exists (select from image_packages) or exists (select from image_sboms);
