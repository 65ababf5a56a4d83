-- compatible

-- Every document that an import of advisories or of vulnerability records has read, as its source wrote it, and which
-- records it tells (docs/decisions/0022-sources-keep-what-they-said.md).

-- "" is an unknown licence; the author is the operator's word (--author), "" the format's own.
alter table feeds add column license text not null default '';
alter table feeds add column author text not null default '';

create table source_documents (
  id bigint generated always as identity primary key,
  feed_id integer not null references feeds on delete cascade,
  -- Where in its source it stands (feed_files).
  file text collate "C" not null,
  part integer not null,
  -- The name of its format, and its number there: OSV's id, a CVE's number, a package.
  form text collate "C" not null,
  origin_id text collate "C" not null,
  -- From 0: of documents with the same number in the same place.
  ordinal integer not null,
  digest text not null,
  -- The document's own; "" where it has none, and its source's counts.
  license text not null,
  -- The operator wants it published.
  public boolean not null,
  -- Why OSV cannot say what it says; "" where it can.
  left_out text not null,
  -- False: no file of the source has it any longer.
  told boolean not null,
  -- As its origin says.
  modify_time timestamptz,
  -- When this content came, and when anything last changed of what is published of it.
  import_time timestamptz(3) not null,
  change_time timestamptz(3) not null,
  -- JSON, deflated (RFC 1951).
  body bytea not null,
  unique (feed_id, file, part, form, origin_id, ordinal)
);
-- It is compressed already.
alter table source_documents alter column body set storage external;
create index source_documents_by_origin_id on source_documents (origin_id, form);
create index source_documents_by_feed on source_documents (feed_id, id);
create index source_documents_gone on source_documents (feed_id) where not told;
create index source_documents_published on source_documents (origin_id, form) where public;
create index source_documents_changed on source_documents (change_time, origin_id) where public;

create table document_records (
  document_id bigint not null references source_documents on delete cascade,
  record_key text collate "C" not null,
  modify_time timestamptz,
  -- False: the document tells it no longer, and it has not been decided yet who tells it instead.
  told boolean not null,
  primary key (document_id, record_key)
);
create index document_records_by_key on document_records (record_key);
create index document_records_gone on document_records (document_id) where not told;

-- The document that a record's row was written from, and its form; NULL and "" for rows of the version before.
alter table advisories add column document_id bigint;
alter table advisories add column form text collate "C" not null default '';
alter table vulnerabilities add column document_id bigint;
create index advisories_without_document on advisories (feed, uid) where document_id is null;
create index vulnerabilities_without_document on vulnerabilities (feed, owner, id) where document_id is null;
create index advisories_published_own on advisories (origin, uid) where public and delete_time is null and form = 'wolfi';
