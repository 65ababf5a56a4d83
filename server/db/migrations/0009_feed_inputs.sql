-- compatible
-- What feeds' addresses said of themselves, and what is known of a vulnerability beside its records: that it is exploited
-- (CISA KEV), and how likely it will be (EPSS).

create table feed_validators (
  feed_id integer not null references feeds on delete cascade,
  address text collate "C" not null,
  -- How the feed was read: read in another manner, everything is fetched.
  manner text not null,
  etag text not null,
  last_modified text not null,
  listed text not null,
  primary key (feed_id, address)
);

-- What each source tells, a row for each number; `owner` as with vulnerabilities. Of the rows of one number and owner the
-- one that counts is shown. A row may stand before any record of that number does.
create table known_exploits (
  feed_id integer not null references feeds on delete cascade,
  id text collate "C" not null,
  owner text collate "C" not null,
  shown boolean not null,
  date_added text collate "C" not null,
  due_date text not null,
  ransomware boolean not null,
  required_action text not null,
  digest text not null,
  primary key (feed_id, id)
);
create index known_exploits_by_id on known_exploits (id, owner);
create unique index known_exploits_shown on known_exploits (id, owner) where shown;
create index known_exploits_by_date on known_exploits (owner, date_added, id) where shown;

create table exploit_predictions (
  feed_id integer not null references feeds on delete cascade,
  id text collate "C" not null,
  owner text collate "C" not null,
  shown boolean not null,
  score double precision not null,
  percentile double precision not null,
  score_date text collate "C" not null,
  digest text not null,
  primary key (feed_id, id)
);
create index exploit_predictions_by_id on exploit_predictions (id, owner);
create unique index exploit_predictions_shown on exploit_predictions (id, owner) where shown;
create index exploit_predictions_by_score on exploit_predictions (owner, score, id) where shown;

create or replace function refresh_import_statistics(imported text) returns void language plpgsql strict security definer as $$
begin
  if imported not in ('advisories', 'advisory_facets', 'exploit_predictions', 'image_packages', 'known_exploits', 'library_artifacts', 'library_versions',
    'vulnerabilities') then
    raise exception 'not a table of imports: %', imported using errcode = 'invalid_parameter_value';
  end if;
  perform gin_clean_pending_list(indexrelid) from pg_index
  join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
  where indrelid = to_regclass(imported) and amname = 'gin';
  execute format('analyze %I', imported);
end $$;

-- What replaces a function takes its search path away (0001_baseline.sql).
do $$
begin
  execute format('alter function refresh_import_statistics(text) set search_path = %I, pg_temp', current_schema());
end $$;
