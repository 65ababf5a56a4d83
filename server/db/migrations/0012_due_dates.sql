-- compatible
-- Due dates of findings, and their digest events. The previous version writes due dates too, through the triggers; it records no events.

create table due_date_policies (
  uid text collate "C" primary key,
  -- 0: no due date.
  critical_days integer not null default 0,
  high_days integer not null default 0,
  medium_days integer not null default 0,
  low_days integer not null default 0,
  exploited_days integer not null default 0,
  use_exploit_due_date boolean not null default false,
  fixable_only boolean not null default false,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index due_date_policies_by_create_time on due_date_policies (left(uid, 40), create_time, uid);
create index due_date_policies_by_update_time on due_date_policies (left(uid, 40), update_time, uid);
create index due_date_policies_by_parent on due_date_policies (left(uid, -17), uid);
create index due_date_policies_in_root on due_date_policies (uid) where length(uid) = 40;

alter table affected_images
  -- When the vulnerability was first found in the package in any image of the repo; null: create_time.
  add column seen_time timestamptz(3),
  -- When its fix became known; null without a fixed version, or for seen_time.
  add column fix_time timestamptz(3),
  -- The year 9999 without a due date, so that these findings sort last.
  add column due_time timestamptz(3) not null default '9999-12-31T00:00:00Z',
  -- False: resolved while an image of the repo waited to be read. An event follows if the finding is still resolved then.
  add column resolve_reported boolean not null default true,
  add column overdue_reported boolean not null default false;
create index affected_images_resolve_unreported on affected_images (left(uid, 40), uid) where not resolve_reported;
create index affected_images_overdue_unreported on affected_images (due_time, uid)
  where not closed and not overdue_reported and due_time < '9999-12-31T00:00:00Z';
create index affected_images_by_due_time on affected_images (left(uid, 40), due_time, uid) include (closed, severity_rank);
create index affected_images_due on affected_images (due_time, uid) include (severity_rank) where not closed and due_time < '9999-12-31T00:00:00Z';
-- By repo, package and advisory.
create index affected_images_by_subject on affected_images
  (hashtextextended((left(uid, -17) || ' ' || repo || ' ' || package_name || ' ' || advisory_uid) collate "C", 0));

-- The due date by the policies of the nearest group. A malformed day of a catalog is ignored.
create function finding_due_time(finding affected_images) returns timestamptz language plpgsql stable as $$
declare
  seen timestamptz := coalesce(finding.seen_time, finding.create_time);
  fixable timestamptz := case when finding.fixed_version <> '' then coalesce(finding.fix_time, seen) end;
  nearest integer := (
    select max(length(uid)) from due_date_policies where left(uid, 40) = left(finding.uid, 40) and starts_with(finding.uid, left(uid, -16)));
  found timestamptz;
begin
  if nearest is not null then
    select min(least(
      counted.since + nullif((array[low_days, medium_days, high_days, critical_days])[finding.severity_rank - 1], 0) * interval '24 hours',
      case when finding.exploit_due_date <> '' then counted.since + nullif(exploited_days, 0) * interval '24 hours' end,
      case when use_exploit_due_date and counted.since is not null and finding.exploit_due_date ~ '^[1-9]\d{3}-(0[1-9]|1[0-2])-\d{2}$' then
        (make_date(left(finding.exploit_due_date, 4)::integer, substr(finding.exploit_due_date, 6, 2)::integer, 1)
          + right(finding.exploit_due_date, 2)::integer)::timestamp at time zone 'UTC' end)) into found
    from due_date_policies
    cross join lateral (select case when fixable_only then fixable else seen end as since) as counted
    where left(uid, 40) = left(finding.uid, 40) and length(uid) = nearest and starts_with(finding.uid, left(uid, -16));
  end if;
  return coalesce(found, '9999-12-31T00:00:00Z');
end $$;

-- A new image does not postpone the due dates of its repo: a finding continues the earliest one of the same repo, package and
-- advisory that is open, or was resolved less than seven days before.
create function due_date_of_finding() returns trigger language plpgsql as $$
declare
  earlier affected_images;
begin
  if tg_op = 'INSERT' then
    select * into earlier from affected_images
    where hashtextextended((left(uid, -17) || ' ' || repo || ' ' || package_name || ' ' || advisory_uid) collate "C", 0)
        = hashtextextended((left(new.uid, -17) || ' ' || new.repo || ' ' || new.package_name || ' ' || new.advisory_uid) collate "C", 0)
      and left(uid, -17) = left(new.uid, -17) and repo = new.repo and package_name = new.package_name and advisory_uid = new.advisory_uid
      and (end_time is null or end_time > new.create_time - interval '7 days')
    order by coalesce(seen_time, create_time) limit 1;
    new.seen_time := coalesce(earlier.seen_time, earlier.create_time, new.create_time);
    new.overdue_reported := coalesce(earlier.overdue_reported, false);
    new.fix_time := case when new.fixed_version <> '' then
      case when earlier.fixed_version <> '' then coalesce(earlier.fix_time, new.seen_time) else new.create_time end end;
  else
    if old.end_time is not null and new.end_time is null and old.end_time <= new.start_time - interval '7 days' then
      new.seen_time := new.start_time;
      new.overdue_reported := false;
      new.fix_time := case when new.fixed_version <> '' then new.start_time end;
    elsif (old.fixed_version = '') <> (new.fixed_version = '') then
      new.fix_time := case when new.fixed_version <> '' then new.update_time end;
    end if;
  end if;
  new.due_time := finding_due_time(new);
  return new;
end $$;
create trigger affected_images_due_date_made before insert on affected_images for each row execute function due_date_of_finding();
create trigger affected_images_due_date before update of severity_rank, exploit_due_date, fixed_version, end_time on affected_images
for each row when (new.end_time is null) execute function due_date_of_finding();

-- Organizations with changed policies, until the due dates of their findings are updated.
create table due_dates_to_update (
  root text collate "C" primary key,
  -- Uid of the last updated finding.
  last_uid text collate "C" not null default ''
);

create function due_dates_changed() returns trigger language plpgsql as $$
begin
  insert into due_dates_to_update (root) values (left(case when tg_op = 'DELETE' then old.uid else new.uid end, 40))
  on conflict (root) do update set last_uid = '';
  return null;
end $$;
create trigger due_date_policies_changed after insert or update or delete on due_date_policies for each row execute function due_dates_changed();

-- Whether the events of an expiry are recorded. Decisions that have expired before have none.
alter table finding_decisions
  add column expiring_reported boolean not null default false,
  add column expired_reported boolean not null default false;
create index finding_decisions_expiring on finding_decisions (expire_time) where expire_time is not null and not expiring_reported;
create index finding_decisions_expired on finding_decisions (expire_time) where expire_time is not null and not expired_reported;
update finding_decisions set expiring_reported = true, expired_reported = true where expire_time <= now();
