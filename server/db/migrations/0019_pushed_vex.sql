-- compatible
-- Statements of pushed OpenVEX documents about vulnerabilities in an image. They are shown next to findings and change none. The
-- previous version records no documents, and keeps those that exist.

create table vex_documents (
  repo_uid text collate "C" not null,
  -- Manifest with the document, the image, and the document blob.
  manifest_digest text collate "C" not null,
  digest text collate "C" not null,
  document_digest text collate "C" not null,
  -- WAITING, READ or UNREADABLE, with the problem.
  state text collate "C" not null,
  problem text not null default '',
  -- As the document claims.
  author text not null default '',
  create_time timestamptz(3) not null,
  -- While waiting: next attempt, and number of attempts.
  try_time timestamptz(3) not null,
  tries integer not null default 0,
  primary key (repo_uid, manifest_digest, digest, document_digest),
  foreign key (repo_uid, manifest_digest) references repo_manifests on delete cascade deferrable
);
create index vex_documents_waiting on vex_documents (try_time) where state = 'WAITING';
create index vex_documents_read on vex_documents (repo_uid) where state = 'READ';

-- One row for each ID of the vulnerability.
create table vex_statements (
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  vulnerability text collate "C" not null,
  manifest_digest text collate "C" not null,
  document_digest text collate "C" not null,
  -- Position in the document, and of the product in the statement.
  number integer not null,
  product integer not null,
  status text collate "C" not null,
  justification text collate "C" not null,
  note text not null,
  statement_time timestamptz(3) not null,
  -- Digest of the image that the product names; '' for the image of the document.
  product_digest text collate "C" not null,
  -- Package URLs without qualifiers; empty for all packages of the image.
  packages jsonb not null,
  primary key (repo_uid, digest, vulnerability, manifest_digest, document_digest, number, product),
  foreign key (repo_uid, manifest_digest, digest, document_digest) references vex_documents on delete cascade deferrable
);
create index vex_statements_by_document on vex_statements (repo_uid, manifest_digest, digest, document_digest);
