-- compatible
-- Findings with CVSS vectors of version 4.0, which the previous version does not score: the server updates them after its start.
insert into changed_vulnerabilities (id) select distinct named.id from vulnerabilities
cross join lateral (select vulnerabilities.id union select jsonb_array_elements_text(aliases)) as named where severities @> '[{"type": "TYPE_CVSS_V4"}]';

-- The contents of images name the documents that were pushed for them.
create index vex_documents_by_image on vex_documents (repo_uid, digest);
