-- compatible

-- A version of rights is never given twice, in no history of the database. A standby that is promoted may lack the last changes
-- of the old primary, and a restored database lacks more: counting alone would give their numbers again, to other rights, and a
-- server that remembers rights under such a number would take them for proven. The upper half counts, and the lower one is random.

alter table access_versions alter column version set default (1::bigint << 32) | floor(random() * 4294967296)::bigint;

create or replace function grow_access_versions(roots text[]) returns void language sql as $$
  insert into access_versions as held (root)
  select distinct root from unnest(roots) as root where root <> '' order by root
  on conflict (root) do update set version = (((held.version >> 32) + 1) << 32) | floor(random() * 4294967296)::bigint
$$;
