-- compatible
-- One state of a record everywhere (docs/decisions/0073): when a document was withdrawn, and which record replaces another.
--
-- A server of the version before withdraws documents without a time. Readers then take the time of the last change.

-- When the document was withdrawn: its source no longer has it, or its origin says so. NULL while it holds.
alter table source_documents add column withdraw_time timestamptz(3);
update source_documents set withdraw_time = change_time where not told;
-- What its origin withdrew: as the record says that was written from it.
update source_documents as document set withdraw_time = record.delete_time
from (
  select document_id, min(delete_time) as delete_time from advisories
  where delete_time is not null and digest <> '' and document_id is not null group by document_id) as record
where document.id = record.document_id and document.told and document.form in ('osv', 'rustsec', 'github');
update source_documents as document set withdraw_time = record.withdraw_time
from vulnerabilities as record
where record.withdraw_time is not null and record.digest <> '' and document.id = record.document_id and document.told
  and document.form in ('osv', 'rustsec', 'github');
create index source_documents_withdrawn on source_documents (coalesce(withdraw_time, change_time), id) where public and not told;

-- Scanners that ask for a package are not told of what is withdrawn.
delete from affected_packages using source_documents as document where document.id = document_id and not document.told;

-- What a document says now that has dropped some of its records: the stored one counts until it is decided whether they are withdrawn.
create table pending_documents (
  document_id bigint primary key references source_documents on delete cascade,
  -- JSON, deflated, as source_documents has it.
  body bytea not null
);
alter table pending_documents alter column body set storage external;

-- That a source has a record under a new ID: the row goes when the source has the old ID again, or with the source.
create table record_successors (
  feed_id integer not null references feeds on delete cascade,
  old_id text collate "C" not null,
  new_id text collate "C" not null,
  primary key (feed_id, old_id)
);
create index record_successors_by_old_id on record_successors (old_id);
