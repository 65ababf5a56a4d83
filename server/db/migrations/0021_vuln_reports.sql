-- compatible
-- Reports of vulnerability scanners on images, and of this server's own matching (docs/decisions/0041-reports-of-scanners.md).

create table vuln_reports (
  id bigint generated always as identity primary key,
  -- The repo in which it counts, and the image: its manifest, by sha256.
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  -- GRYPE, TRIVY, UNKNOWN; what the tool calls itself, and its version.
  scanner text collate "C" not null,
  tool text collate "C" not null,
  version text collate "C" not null,
  database_time timestamptz(3),
  -- When the scanner made it, or where that is not said, when it came; and when it came last.
  create_time timestamptz(3) not null,
  seen_time timestamptz(3) not null,
  -- Of its bytes, by sha256: the same report is one row.
  document_digest text collate "C" not null,
  finding_count integer not null,
  -- {"CVE-2024-1234": "HIGH"}
  severities jsonb not null,
  -- JSON, deflated (RFC 1951).
  findings bytea not null,
  -- As its scanner wrote it, deflated; and how many bytes that are.
  raw bytea not null,
  raw_bytes integer not null,
  -- The manifest that carried it; '' for what did not come with a push.
  manifest_digest text collate "C" not null,
  -- When a later one of the same tool came.
  replace_time timestamptz(3),
  unique (repo_uid, digest, document_digest)
);
-- They are compressed already.
alter table vuln_reports alter column findings set storage external, alter column raw set storage external;
create index vuln_reports_by_image on vuln_reports (digest, repo_uid, create_time, id);
create index vuln_reports_by_manifest on vuln_reports (repo_uid, manifest_digest) where manifest_digest <> '';
create index vuln_reports_by_replace_time on vuln_reports (replace_time) where replace_time is not null;
create index vuln_reports_by_repo on vuln_reports (repo_uid, create_time, id);

-- Documents that were pushed about images and may be reports: they are read behind the push, and then their rows go.
create table pushed_reports (
  repo_uid text collate "C" not null,
  -- The manifest that carries the document, the image, and the blob that is the document.
  manifest_digest text collate "C" not null,
  digest text collate "C" not null,
  document_digest text collate "C" not null,
  create_time timestamptz(3) not null,
  -- When it is tried (again), and how often it was.
  try_time timestamptz(3) not null,
  tries integer not null default 0,
  primary key (repo_uid, manifest_digest, digest, document_digest)
);
create index pushed_reports_by_try_time on pushed_reports (try_time);
