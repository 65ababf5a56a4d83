-- compatible

-- Which packages the published records of OSV's form are about, for scanners that ask by package
-- (docs/decisions/0025-scanners-read-osv.md).

-- OSV's ecosystems of a document, without a release: what its archives are named after. NULL: written by the version before.
alter table source_documents add column ecosystems text[];
create index source_documents_modified on source_documents (modify_time, id) where public and left_out = '';
-- So that the next import of each source reads every file once more.
update feed_files set digest = '' where feed_id in (select id from feeds where kind in ('advisories', 'vulnerabilities'));
-- Our own advisories by their package.
create index advisories_published_artifact on advisories (artifact_name) where public and delete_time is null and form = 'wolfi';

create table affected_packages (
  ecosystem text collate "C" not null,
  name text collate "C" not null,
  origin_id text collate "C" not null,
  document_id bigint not null references source_documents on delete cascade,
  -- As its document is.
  public boolean not null,
  -- As its origin wrote it.
  modified text not null,
  -- The document's entries about the package, as JSON: their ranges and versions.
  entries text not null,
  primary key (document_id, ecosystem, name)
);
create index affected_packages_published on affected_packages (name, ecosystem, origin_id, document_id) where public;
