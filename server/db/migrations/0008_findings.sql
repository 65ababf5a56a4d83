-- compatible
-- Severity and exploitation of the vulnerabilities in images. The previous version leaves the facts of new rows empty.

alter table affected_images
  add column severity text not null default 'FINDING_SEVERITY_UNKNOWN',
  -- 0 for unknown to 5 for critical.
  add column severity_rank integer not null default 0,
  add column severity_origin text,
  add column cvss_vector text not null default '',
  add column cvss_score double precision not null default 0,
  add column epss_score double precision not null default 0,
  add column exploit_added_date text not null default '',
  -- '' if no catalog of known exploits lists it; 'none' if the catalog has no such day.
  add column exploit_due_date text collate "C" not null default '',
  -- The advisory says that no fix is planned.
  add column wont_fix boolean not null default false,
  add column exploited boolean not null generated always as (exploit_due_date <> '') stored,
  add column fix_state text not null generated always as (
    case when fixed_version <> '' then 'FINDING_FIX_STATE_FIXABLE' when wont_fix then 'FINDING_FIX_STATE_WONT_FIX'
      else 'FINDING_FIX_STATE_NOT_FIXED' end) stored,
  add column closed boolean not null generated always as (
    state in ('AFFECTED_IMAGE_STATE_RESOLVED', 'AFFECTED_IMAGE_STATE_SUPPRESSED')) stored,
  add column image text collate "C" not null generated always as (repo_uid || '@' || digest) stored;

create index affected_images_by_severity_rank on affected_images (left(uid, 40), severity_rank, uid) include (closed, fix_state);
create index affected_images_by_epss_score on affected_images (left(uid, 40), epss_score, uid);
create index affected_images_by_exploit_due_date on affected_images (left(uid, 40), exploit_due_date, uid) include (closed, severity_rank);
create index affected_images_by_image on affected_images (left(uid, 40), image, uid);
-- Counts of a list without filters.
create index affected_images_open on affected_images (uid) include (severity_rank, fix_state) where not closed;

-- IDs of vulnerabilities whose severity or exploitation changed, until the findings are updated.
create table changed_vulnerabilities (
  position bigint generated always as identity primary key,
  id text collate "C" not null
);

create function exploits_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into changed_vulnerabilities (id) select id from replaced where shown;
  elsif tg_op = 'INSERT' then
    insert into changed_vulnerabilities (id) select id from written where shown;
  else
    insert into changed_vulnerabilities (id) select distinct written.id from written join replaced using (feed_id, id)
    where (written.shown or replaced.shown)
      and (written.shown, written.owner, written.date_added, written.due_date, written.ransomware)
        is distinct from (replaced.shown, replaced.owner, replaced.date_added, replaced.due_date, replaced.ransomware);
  end if;
  return null;
end $$;
create trigger known_exploits_changed_made after insert on known_exploits referencing new table as written
for each statement execute function exploits_changed();
create trigger known_exploits_changed after update on known_exploits referencing old table as replaced new table as written
for each statement execute function exploits_changed();
create trigger known_exploits_changed_gone after delete on known_exploits referencing old table as replaced
for each statement execute function exploits_changed();

-- A percentile changes with every import, and is read where it is shown.
create function predictions_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into changed_vulnerabilities (id) select id from replaced where shown;
  elsif tg_op = 'INSERT' then
    insert into changed_vulnerabilities (id) select id from written where shown;
  else
    insert into changed_vulnerabilities (id) select distinct written.id from written join replaced using (feed_id, id)
    where (written.shown or replaced.shown)
      and (written.shown, written.owner, written.score) is distinct from (replaced.shown, replaced.owner, replaced.score);
  end if;
  return null;
end $$;
create trigger exploit_predictions_changed_made after insert on exploit_predictions referencing new table as written
for each statement execute function predictions_changed();
create trigger exploit_predictions_changed after update on exploit_predictions referencing old table as replaced new table as written
for each statement execute function predictions_changed();
create trigger exploit_predictions_changed_gone after delete on exploit_predictions referencing old table as replaced
for each statement execute function predictions_changed();

create function severities_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into changed_vulnerabilities (id) select distinct named.id from replaced
    cross join lateral (select replaced.id union select jsonb_array_elements_text(aliases)) as named where severities <> '[]' or aliases <> '[]';
  elsif tg_op = 'INSERT' then
    insert into changed_vulnerabilities (id) select distinct named.id from written
    cross join lateral (select written.id union select jsonb_array_elements_text(aliases)) as named where severities <> '[]' or aliases <> '[]';
  else
    insert into changed_vulnerabilities (id) select distinct named.id from written join replaced using (id, owner)
    cross join lateral (
      select written.id union select jsonb_array_elements_text(written.aliases) union select jsonb_array_elements_text(replaced.aliases)) as named
    where (written.severities, written.aliases, written.hidden) is distinct from (replaced.severities, replaced.aliases, replaced.hidden);
  end if;
  return null;
end $$;
create trigger vulnerabilities_changed_made after insert on vulnerabilities referencing new table as written
for each statement execute function severities_changed();
create trigger vulnerabilities_changed after update on vulnerabilities referencing old table as replaced new table as written
for each statement execute function severities_changed();
create trigger vulnerabilities_changed_gone after delete on vulnerabilities referencing old table as replaced
for each statement execute function severities_changed();

-- Findings of the previous version.
insert into changed_vulnerabilities (id) select distinct jsonb_array_elements_text(advisory_ids) from affected_images where end_time is null;
