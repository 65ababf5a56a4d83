-- Accounts at cloud providers, at most one row for a group and under its uid; and accepted terms.

create table account_associations (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  amazon jsonb,
  google jsonb,
  chainguard jsonb,
  azure jsonb,
  github jsonb,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index account_associations_by_name on account_associations (left(uid, 40), name, uid);
create index account_associations_by_create_time on account_associations (left(uid, 40), create_time, uid);
create index account_associations_by_update_time on account_associations (left(uid, 40), update_time, uid);
create index account_associations_by_parent on account_associations (left(uid, -17), name, uid);
create index account_associations_in_root on account_associations (uid) where length(uid) = 40;

create table terms_acceptances (
  uid text collate "C" primary key,
  doc_id text collate "C" not null,
  accepted_by text collate "C" not null,
  org_uid text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index terms_acceptances_unique on terms_acceptances (org_uid, doc_id);
create index terms_acceptances_by_parent on terms_acceptances (left(uid, -17), uid);
create index terms_acceptances_by_doc_id on terms_acceptances (left(uid, 40), doc_id, uid);
create index terms_acceptances_by_create_time on terms_acceptances (left(uid, 40), create_time, uid);
create index terms_acceptances_by_update_time on terms_acceptances (left(uid, 40), update_time, uid);
create index terms_acceptances_in_root on terms_acceptances (uid) where length(uid) = 40;
