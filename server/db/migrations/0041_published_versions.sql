-- compatible

-- Archives of published records are prepared as files (docs/decisions/0075). published_version changes in each transaction that
-- changes something that such an archive holds, so that a request finds out from the few rows of feeds whether a file is
-- current. Random numbers: a counter of a restored database would repeat. Null: nothing of the source was ever published.
alter table feeds add column published_version uuid;
update feeds set published_version = gen_random_uuid();

-- The sources' rows are held by the imports that write their documents, so that this makes none wait.
create function documents_published() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    update feeds set published_version = gen_random_uuid() where id in (select feed_id from written where public);
  end if;
  if tg_op <> 'INSERT' then
    update feeds set published_version = gen_random_uuid() where id in (select feed_id from replaced where public);
  end if;
  return null;
end $$;

create trigger source_documents_published_made after insert on source_documents referencing new table as written
for each statement execute function documents_published();
create trigger source_documents_published_changed after update on source_documents referencing old table as replaced new table as written
for each statement execute function documents_published();
create trigger source_documents_published_gone after delete on source_documents referencing old table as replaced
for each statement execute function documents_published();

-- Our own advisories are records that are made from their rows.
create function own_advisories_published() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'advisories' and (source, group_uid) in (select feed, left(uid, -17) from written where public and form = 'wolfi');
  end if;
  if tg_op <> 'INSERT' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'advisories' and (source, group_uid) in (select feed, left(uid, -17) from replaced where public and form = 'wolfi');
  end if;
  return null;
end $$;

create trigger advisories_published_made after insert on advisories referencing new table as written
for each statement execute function own_advisories_published();
create trigger advisories_published_changed after update on advisories referencing old table as replaced new table as written
for each statement execute function own_advisories_published();
create trigger advisories_published_gone after delete on advisories referencing old table as replaced
for each statement execute function own_advisories_published();

-- They name the severities of their vulnerabilities.
create function severities_published() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'vulnerabilities' and source in (select feed from written);
  end if;
  if tg_op <> 'INSERT' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'vulnerabilities' and source in (select feed from replaced);
  end if;
  return null;
end $$;

create trigger vulnerabilities_published_made after insert on vulnerabilities referencing new table as written
for each statement execute function severities_published();
create trigger vulnerabilities_published_changed after update on vulnerabilities referencing old table as replaced new table as written
for each statement execute function severities_published();
create trigger vulnerabilities_published_gone after delete on vulnerabilities referencing old table as replaced
for each statement execute function severities_published();
