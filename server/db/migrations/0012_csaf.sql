-- compatible

-- What readers of CSAF are given: keys that sign documents, documents by the names of their files, and what the lists of
-- others' documents say of each (docs/decisions/0028-csaf-as-its-readers-find-it.md).

create table document_signing_keys (
  -- OpenPGP's fingerprint, in hexadecimal.
  fingerprint text collate "C" primary key,
  -- Armored (RFC 9580, 6).
  public_key text not null,
  -- Sealed with the secret key; unsealed the private key never touches the disk.
  private_key_sealed text not null,
  create_time timestamptz(3) not null,
  -- From then on it signs nothing; it stays published for those who keep what it signed.
  retire_time timestamptz(3)
);
-- Of two servers that need the first one at once, one makes it.
create unique index document_signing_keys_current on document_signing_keys ((true)) where retire_time is null;

-- A file's name, as CSAF makes it of a number (2.0, 5.1).
create index advisory_documents_by_file_name on advisory_documents (regexp_replace(lower(origin), '[^-+a-z0-9]+', '_', 'g'));

create table csaf_documents (
  document_id bigint primary key references source_documents on delete cascade,
  -- Whose it is: the namespace of its publisher, and the folder that is made of it.
  issuer text collate "C" not null,
  folder text collate "C" not null,
  -- The publisher, as JSON.
  publisher text not null,
  file_name text collate "C" not null,
  title text not null,
  -- WHITE or UNLABELED; what may not be shown to everybody has a reason beside.
  label text not null,
  initial_release_time timestamptz(3),
  current_release_time timestamptz(3),
  -- Why no list may have it; "" where one may.
  left_out text not null
);
create index csaf_documents_by_file_name on csaf_documents (folder, file_name, document_id);
-- So that the next import of each source reads every file once more.
update feed_files set digest = '' where feed_id in (select feed_id from source_documents where form = 'csaf');
