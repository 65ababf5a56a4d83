-- compatible
-- Indexes of advisories that cost each import more than they bring. The previous version runs on these: it has the same plans.

-- Only our own advisories are read in the order of their changes (server/store/advisories.ts): of every other public one the entry was
-- written for nothing.
create index advisories_own_by_update_time on advisories (update_time, advisory_id) where public and form = 'wolfi';
drop index advisories_published_by_update_time;

-- The documents in the order of their packages are the primary key's. Few are not listed.
drop index advisory_documents_listed;
