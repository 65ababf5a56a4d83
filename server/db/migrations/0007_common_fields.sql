-- compatible

-- What every resource has by the specification: times, also of what is no row of its own.

-- The open feed's documents, one for each origin package that something was ever published about. Kept by the triggers
-- below, so that no writer of advisories can forget it, and so that a page in the order of any time is a range of an
-- index. Other than the advisories themselves a document is one row however many it has.
create table advisory_documents (
  origin text collate "C" primary key,
  -- How many advisories it has that are published and not withdrawn; 0: it is not listed.
  listed integer not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index advisory_documents_listed on advisory_documents (origin) where listed > 0;
create index advisory_documents_by_create_time on advisory_documents (create_time, origin) where listed > 0;
create index advisory_documents_by_update_time on advisory_documents (update_time, origin) where listed > 0;

-- Adds up differences, in the order of the names: what two writers change of one document at a time is right after both,
-- and neither waits for the other in a circle.
create function documents_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into advisory_documents as held (origin, listed, create_time, update_time)
    select origin, count(*) filter (where delete_time is null), min(create_time), max(update_time)
    from written where public group by origin order by origin
    on conflict (origin) do update set listed = held.listed + excluded.listed,
      create_time = least(held.create_time, excluded.create_time), update_time = greatest(held.update_time, excluded.update_time);
  elsif tg_op = 'DELETE' then
    insert into advisory_documents as held (origin, listed, create_time, update_time)
    select origin, - count(*) filter (where delete_time is null), min(create_time), greatest(max(update_time) + interval '1 ms', now())
    from replaced where public group by origin order by origin
    on conflict (origin) do update set listed = held.listed + excluded.listed, update_time = greatest(held.update_time, excluded.update_time);
  else
    insert into advisory_documents as held (origin, listed, create_time, update_time)
    select origin, sum(listed), min(create_time), max(update_time) from (
      select origin, (delete_time is null)::integer as listed, create_time, update_time from written where public
      union all
      -- What it leaves changes too, at the time of the change.
      select replaced.origin, - (replaced.delete_time is null)::integer, replaced.create_time, written.update_time
      from replaced join written using (uid) where replaced.public
    ) as difference group by origin order by origin
    on conflict (origin) do update set listed = held.listed + excluded.listed,
      create_time = least(held.create_time, excluded.create_time), update_time = greatest(held.update_time, excluded.update_time);
  end if;
  return null;
end $$;

create trigger advisories_documents_made after insert on advisories referencing new table as written
for each statement execute function documents_changed();
create trigger advisories_documents_changed after update on advisories referencing old table as replaced new table as written
for each statement execute function documents_changed();
create trigger advisories_documents_gone after delete on advisories referencing old table as replaced
for each statement execute function documents_changed();

-- What is there already. To make a trigger locks its table against writers until this transaction ends, so nothing is missed.
insert into advisory_documents (origin, listed, create_time, update_time)
select origin, count(*) filter (where delete_time is null), min(create_time), max(update_time) from advisories where public group by origin;

-- The open list of vulnerabilities in the order of its times; vulnerabilities_by_owner has that of its numbers.
create index vulnerabilities_by_create_time on vulnerabilities (create_time, id) where owner = '' and not hidden;
create index vulnerabilities_by_update_time on vulnerabilities (update_time, id) where owner = '' and not hidden;

-- When a repo's readme was last changed; null: never.
alter table repos add column readme_update_time timestamptz(3);

-- When a person last changed what they say about themselves.
alter table identity_metadata add column update_time timestamptz(3) not null default now();
