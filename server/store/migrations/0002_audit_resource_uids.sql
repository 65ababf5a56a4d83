-- compatible
-- Of a batch: the rows that it made or removed.
alter table audit_entries add column resource_uids jsonb not null default '[]';
