-- compatible
-- Advisories that organizations write themselves (docs/decisions/0089). The version before ignores the new tables and columns; it
-- shows suppressed images as affected again with its next matching.

create table authored_advisories (
  uid text collate "C" primary key,
  advisory_id text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  author text not null default '',
  artifact_name text collate "C" not null default '',
  artifact_type text not null default '',
  artifact_architecture text not null default '',
  component_name text not null default '',
  component_location text not null default '',
  component_type text not null default '',
  aliases jsonb,
  legacy_advisory_id text not null default '',
  distribution text not null default '',
  -- The upstream token behind the author's: issuer and subject.
  author_act text not null default ''
);
create index authored_advisories_by_advisory_id on authored_advisories (left(uid, 40), advisory_id, uid);
create index authored_advisories_by_artifact_name on authored_advisories (left(uid, 40), artifact_name, uid);
create index authored_advisories_by_create_time on authored_advisories (left(uid, 40), create_time, uid);
create index authored_advisories_by_update_time on authored_advisories (left(uid, 40), update_time, uid);
create index authored_advisories_by_parent on authored_advisories (left(uid, -17), uid);
create index authored_advisories_in_root on authored_advisories (uid) where length(uid) = 40;

create table authored_advisory_events (
  uid text collate "C" primary key,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  findings text not null default '',
  author text not null default '',
  reviewer text not null default '',
  review_state text,
  issue text not null default '',
  detection jsonb,
  fixed jsonb,
  false_positive_determination jsonb,
  analysis_not_planned jsonb,
  fix_not_planned jsonb,
  pending_upstream_fix jsonb,
  true_positive_determination jsonb,
  patched jsonb,
  review_time timestamptz(3),
  author_act text not null default '',
  -- Of an approved one: fingerprints of the advisories that its reviewer saw, by uid.
  basis jsonb
);
create index authored_advisory_events_by_create_time on authored_advisory_events (left(uid, 40), create_time, uid);
create index authored_advisory_events_by_update_time on authored_advisory_events (left(uid, 40), update_time, uid);
create index authored_advisory_events_by_parent on authored_advisory_events (left(uid, -17), uid);
create index authored_advisory_events_in_root on authored_advisory_events (uid) where length(uid) = 40;

-- What the approved false positive says that is the last decision of an advisory.
create table advisory_suppressions (
  uid text collate "C" primary key,
  suppression jsonb not null
);

-- Kept for good, also of deleted organizations: no number is ever given twice.
create table advisory_numbers (
  root text collate "C" primary key,
  prefix text collate "C" not null unique,
  last bigint not null default 0
);

alter table affected_images add column suppression jsonb;
alter table groups add column author_approval boolean not null default false;
