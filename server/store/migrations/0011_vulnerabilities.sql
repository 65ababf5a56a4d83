-- What imports know: advisories, vulnerability records, the packages of images, libraries. No client writes here.

create extension if not exists pg_trgm;

-- What an advisory says of itself in few words, and how many advisories say the same: artifact's and component's
-- type, architecture, and who said what in its events. A filter on any of these finds the few facets that fit; each
-- is a range of one index of advisories, in the order of their uids (docs/decisions).
create table advisory_facets (
  id integer generated always as identity primary key,
  digest text collate "C" not null unique,
  artifact_type text not null,
  artifact_architecture text not null,
  component_type text not null,
  latest_event_type text not null,
  event_types text[] not null,
  event_review_states text[] not null,
  event_authors text[] not null,
  event_reviewers text[] not null
);

create table advisories (
  uid text collate "C" primary key,
  advisory_id text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- Withdrawn: kept, and shown to whoever asks for it by its number.
  delete_time timestamptz(3),
  author text not null,
  artifact_name text collate "C" not null,
  artifact_type text not null,
  artifact_architecture text not null,
  component_name text collate "C" not null,
  component_location text collate "C" not null,
  component_type text not null,
  aliases jsonb not null,
  events jsonb not null,
  legacy_advisory_id text collate "C" not null,
  origin text collate "C" not null,
  namespace text not null,
  facet text collate "C" not null,
  -- What `query` looks into, in small letters.
  search text collate "C" not null,
  -- Shown by the open operations too.
  public boolean not null,
  feed text collate "C" not null,
  digest text collate "C" not null
);
create index advisories_shown on advisories (uid) where delete_time is null;
create index advisories_in_root on advisories (uid) where length(uid) = 40;
create index advisories_by_parent on advisories (left(uid, -17), uid);
create index advisories_by_advisory_id on advisories (left(uid, 40), advisory_id, uid);
create index advisories_by_legacy_advisory_id on advisories (left(uid, 40), legacy_advisory_id, uid);
create index advisories_by_artifact_name on advisories (left(uid, 40), artifact_name, uid) where delete_time is null;
create index advisories_by_component_name on advisories (left(uid, 40), component_name, uid) where delete_time is null;
create index advisories_by_component_location on advisories (left(uid, 40), component_location, uid) where delete_time is null;
create index advisories_by_facet on advisories (left(uid, 40), facet, uid) where delete_time is null;
create index advisories_by_create_time on advisories (left(uid, 40), create_time, uid) where delete_time is null;
-- Whoever follows what changed hears of withdrawals too.
create index advisories_by_update_time on advisories (left(uid, 40), update_time, uid);
create index advisories_by_aliases on advisories using gin (aliases) where delete_time is null;
create index advisories_by_search on advisories using gin (search gin_trgm_ops) where delete_time is null;
create index advisories_published on advisories (origin, uid) where public and delete_time is null;
create index advisories_published_by_id on advisories (advisory_id, uid) where public;
create index advisories_published_by_update_time on advisories (update_time, advisory_id) where public;
create index advisories_by_feed on advisories (feed, uid);

-- Records of vulnerabilities: CVE, OSV, RustSec. `owner` is the group that an import was for, "" for public ones.
create table vulnerabilities (
  owner text collate "C" not null,
  id text collate "C" not null,
  state text not null,
  summary text not null,
  details text not null,
  links jsonb not null,
  severities jsonb not null,
  aliases jsonb not null,
  publish_time timestamptz(3),
  modify_time timestamptz(3),
  withdraw_time timestamptz(3),
  -- Left out of lists: rejected, withdrawn by its source, or gone from it.
  hidden boolean not null,
  feed text collate "C" not null,
  digest text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  primary key (id, owner)
);
create index vulnerabilities_by_owner on vulnerabilities (owner, hidden, id);
create index vulnerabilities_by_feed on vulnerabilities (feed, owner, id);

-- Which packages are built from which origin package.
create table package_origins (
  name text collate "C" primary key,
  origin text collate "C" not null,
  feed text collate "C" not null
);
create index package_origins_by_origin on package_origins (origin, name);

-- What the images behind a repo's tags are made of, as imports told. `owner` as with vulnerabilities.
create table image_packages (
  owner text collate "C" not null,
  repo text collate "C" not null,
  tag text collate "C" not null,
  architecture text collate "C" not null,
  -- "apko" of "public/apko": an image is known by its last name too.
  short_repo text collate "C" not null generated always as (regexp_replace(repo, '^.*/', '')) stored,
  -- {"name": "version"}
  packages jsonb not null,
  feed text collate "C" not null,
  digest text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  primary key (owner, repo, tag, architecture)
);
create index image_packages_by_repo on image_packages (repo, tag);
create index image_packages_by_short_repo on image_packages (short_repo, tag);
create index image_packages_by_feed on image_packages (feed, owner, repo, tag, architecture);

create table library_artifacts (
  uid text collate "C" primary key,
  ecosystem text not null,
  name text collate "C" not null,
  description text not null,
  latest_version text not null,
  version_count integer not null,
  remediated boolean not null,
  cuda_versions jsonb not null,
  search text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  -- What each feed said last, as a digest.
  digests jsonb not null
);
create index library_artifacts_by_name on library_artifacts (name, uid) where delete_time is null;
create index library_artifacts_by_version_count on library_artifacts (version_count, uid) where delete_time is null;
create index library_artifacts_by_create_time on library_artifacts (create_time, uid) where delete_time is null;
create index library_artifacts_by_update_time on library_artifacts (update_time, uid) where delete_time is null;
create index library_artifacts_by_ecosystem on library_artifacts (ecosystem) where delete_time is null;
create index library_artifacts_by_search on library_artifacts using gin (search gin_trgm_ops) where delete_time is null;
create index library_artifacts_by_feed on library_artifacts using gin (digests);

create table library_versions (
  artifact_uid text collate "C" not null,
  version text collate "C" not null,
  uid text collate "C" not null,
  -- Sorts by its bytes as the ecosystem sorts versions (base/versions).
  sort_key text collate "C" not null,
  description text not null,
  size_bytes bigint not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  feed text collate "C" not null,
  primary key (artifact_uid, version)
);
create index library_versions_by_version on library_versions (artifact_uid, sort_key, create_time, version) where delete_time is null;
create index library_versions_by_create_time on library_versions (artifact_uid, create_time, version) where delete_time is null;
create index library_versions_by_update_time on library_versions (artifact_uid, update_time, version) where delete_time is null;
