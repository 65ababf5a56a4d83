-- compatible
-- What an import may remove (docs/decisions/0071): how many records each source had, what a run held back, and what undo needs.
--
-- A server of the version before writes none of this. It withdraws at once, and ignores what is held back; the next run of this version
-- compares with the records that it finds.

alter table feeds
  -- As gantry.feeds.v1.Feed has it: the group, and a segment that is the row's own.
  add column uid text collate "C" not null generated always as (group_uid || '/' || lpad(to_hex(id), 16, '0')) stored,
  -- The source without what may be secret in an address.
  add column source_name text not null default '',
  -- The number of the run that is under way, or was the last; open until it ends. Concurrent imports of one source share it.
  add column run integer not null default 0,
  add column run_open boolean not null default false,
  -- The last run that changed records, and when it ended: what `gantry import undo` reverts.
  add column changed_run integer not null default 0,
  add column change_time timestamptz(3),
  add column success_time timestamptz(3),
  -- Records that the source tells.
  add column record_count integer not null default 0,
  -- NULL before the first run of this version.
  add column state text,
  add column detail text not null default '',
  -- Why a run held back, of how many records, since when, and a digest of which ones.
  add column hold_reason text,
  add column held_record_count integer not null default 0,
  add column hold_time timestamptz(3),
  add column hold_digest text not null default '',
  -- Release files that the source no longer has.
  add column absent_files jsonb;
create unique index feeds_by_uid on feeds (uid);
create index feeds_by_parent on feeds (left(uid, -17), uid);
create index feeds_in_root on feeds (uid) where length(uid) = 40;

-- The largest number of records of each day, and how many were withdrawn on it. Rows of 30 days.
create table feed_days (
  feed_id integer not null references feeds on delete cascade,
  day date not null,
  records integer not null,
  withdrawn integer not null,
  primary key (feed_id, day)
);

-- Set when the source no longer has this file and the file judged a release: the release is no longer judged.
alter table feed_files add column absent_time timestamptz(3);

-- Missing: the source was read and did not have it; it counts until the end of the run has decided.
alter table source_documents add column missing boolean not null default false;
alter table source_documents add column added_run integer not null default 0;
alter table document_records add column missing boolean not null default false;
create index source_documents_missing on source_documents (feed_id) where missing;
create index document_records_missing on document_records (document_id) where missing;

-- What the last run that changed records replaced: for each source the rows of one run.
create table feed_reversals (
  feed_id integer not null references feeds on delete cascade,
  run integer not null,
  -- "document", "part", "known exploit" or "exploit prediction".
  what text not null,
  key text collate "C" not null,
  -- The row before; null where there was none.
  previous jsonb,
  -- A document's, deflated.
  body bytea,
  primary key (feed_id, run, what, key)
);
alter table feed_reversals alter column body set storage external;
