-- compatible

-- How many resources of each counted kind (contract: resource.counted) each organization has, and how many it may have
-- (docs/decisions/0015-quotas-counted-in-slots.md). What has no organization above it (people, organizations) is not counted.

-- The number is the sum of an organization's slots. A backend writes one slot of them, so that writers of one organization
-- wait for each other only where they share it. Half of each page is left free, for the next version of a row.
create table resource_counts (
  organization text collate "C" not null,
  -- The table's name.
  resource text collate "C" not null,
  slot smallint not null,
  -- Below 0 where more was deleted than made through this slot.
  row_count bigint not null,
  -- How many more may be made through this slot without a look at the others.
  granted bigint not null default 0 check (granted >= 0),
  primary key (organization, resource, slot)
) with (fillfactor = 50);

-- What the operator has set. Without an organization ('') for the whole server; what is not here has its default.
create table quotas (
  organization text collate "C" not null,
  name text collate "C" not null,
  value bigint not null check (value >= 0),
  primary key (organization, name)
);

-- Counts what was made where the slot has nothing granted, and grants it what it may make next. One at a time for each number:
-- whoever comes here holds its lock until the end of its transaction. Throws GQ001 where the quota leaves nothing.
--
-- Rows and grants of all slots together are never more than the quota: what is made out of a grant changes nothing of their sum,
-- a deletion makes it smaller, and only here it grows, by no more than the quota leaves. What others here have added is seen,
-- for they have committed; what is not seen (rows made out of grants, deletions) can only have made the sum smaller.
-- And what is granted keeps nobody out: before anybody is refused, grants are taken back.
create function count_made(made_in text, made_of text, made_rows bigint) returns void language plpgsql as $$
declare
  -- Without a setting of its own a connection is of a version that knows no quotas, or no server's at all.
  quota bigint := coalesce(
    (select value from quotas where organization = made_in and name = replace(made_of, '_', '-')),
    (select value from quotas where organization = '' and name = replace(made_of, '_', '-')),
    nullif(current_setting('gantry.quota_' || made_of, true), '')::bigint
  );
  spare bigint;
  grants bigint;
begin
  if quota is not null then
    perform pg_advisory_xact_lock(730141291, hashtext(made_of || made_in));
  end if;
  insert into resource_counts as held (organization, resource, slot, row_count) values (made_in, made_of, pg_backend_pid() % 64, made_rows)
  on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  if quota is null then return; end if;
  select quota - sum(row_count + granted), sum(granted) into spare, grants from resource_counts where organization = made_in and resource = made_of;
  if spare < 0 and grants > 0 then
    -- Waits for whoever is making something out of them.
    update resource_counts set granted = 0 where organization = made_in and resource = made_of and granted > 0;
    select quota - sum(row_count) into spare from resource_counts where organization = made_in and resource = made_of;
  end if;
  if spare < 0 then
    raise exception 'too many % in %', made_of, made_in using errcode = 'GQ001', detail = quota;
  end if;
  -- A share of what is spare, so that grants of idle slots are few; what is too little for one transaction is none.
  if spare / 32 >= 25 then
    update resource_counts set granted = granted + least(spare / 32, 1000)
    where organization = made_in and resource = made_of and slot = pg_backend_pid() % 64;
  end if;
end $$;

-- Kept by triggers, so that no writer can forget it. Organizations are taken in order, so that no two writers wait for each other
-- in a circle.
create function resources_made() returns trigger language plpgsql as $$
declare
  root text;
  last_root text;
  made_rows bigint;
begin
  select left(min(uid), 40), left(max(uid), 40), count(*) into root, last_root, made_rows from made where length(uid) > 40;
  if root = last_root then
    -- 25 rows of one transaction need no other look: a transaction that holds its slot shall wait for nobody's lock above.
    update resource_counts set row_count = row_count + made_rows, granted = granted - made_rows
    where organization = root and resource = tg_table_name and slot = pg_backend_pid() % 64
      and granted >= made_rows and (granted >= 25 or xmin = pg_current_xact_id()::xid);
    if not found then
      perform count_made(root, tg_table_name, made_rows);
    end if;
  else
    perform count_made(each.root, tg_table_name, each.made_rows) from (
      select left(uid, 40) as root, count(*) as made_rows from made where length(uid) > 40 group by left(uid, 40) order by left(uid, 40)
    ) as each;
  end if;
  return null;
end $$;

create function resources_gone() returns trigger language plpgsql as $$
declare
  root text;
  last_root text;
  gone_rows bigint;
begin
  select left(min(uid), 40), left(max(uid), 40), count(*) into root, last_root, gone_rows from gone where length(uid) > 40;
  if root = last_root then
    -- Cheaper than an insert that finds its row there.
    update resource_counts set row_count = row_count - gone_rows
    where organization = root and resource = tg_table_name and slot = pg_backend_pid() % 64;
    if found then return null; end if;
  end if;
  insert into resource_counts as held (organization, resource, slot, row_count)
  select left(uid, 40), tg_table_name, pg_backend_pid() % 64, - count(*)
  from gone where length(uid) > 40 group by left(uid, 40) order by left(uid, 40)
  on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  return null;
end $$;

-- Nothing lies below an organization that is deleted.
create function organizations_gone() returns trigger language plpgsql as $$
begin
  delete from resource_counts where organization in (select uid from gone where length(uid) = 40);
  return null;
end $$;

create trigger groups_counted_made after insert on groups referencing new table as made for each statement execute function resources_made();
create trigger groups_counted_gone after delete on groups referencing old table as gone for each statement execute function resources_gone();
create trigger groups_organizations_gone after delete on groups referencing old table as gone for each statement execute function organizations_gone();
create trigger identities_counted_made after insert on identities referencing new table as made for each statement execute function resources_made();
create trigger identities_counted_gone after delete on identities referencing old table as gone for each statement execute function resources_gone();
create trigger repos_counted_made after insert on repos referencing new table as made for each statement execute function resources_made();
create trigger repos_counted_gone after delete on repos referencing old table as gone for each statement execute function resources_gone();
create trigger role_bindings_counted_made after insert on role_bindings referencing new table as made for each statement execute function resources_made();
create trigger role_bindings_counted_gone after delete on role_bindings referencing old table as gone for each statement execute function resources_gone();
create trigger subscriptions_counted_made after insert on subscriptions referencing new table as made for each statement execute function resources_made();
create trigger subscriptions_counted_gone after delete on subscriptions referencing old table as gone for each statement execute function resources_gone();

-- What is there already. To make a trigger locks its table against writers until this transaction ends, so nothing is missed.
insert into resource_counts (organization, resource, slot, row_count)
select left(uid, 40), 'groups', 0, count(*) from groups where length(uid) > 40 group by left(uid, 40)
union all
select left(uid, 40), 'identities', 0, count(*) from identities where length(uid) > 40 group by left(uid, 40)
union all
select left(uid, 40), 'repos', 0, count(*) from repos where length(uid) > 40 group by left(uid, 40)
union all
select left(uid, 40), 'role_bindings', 0, count(*) from role_bindings where length(uid) > 40 group by left(uid, 40)
union all
select left(uid, 40), 'subscriptions', 0, count(*) from subscriptions where length(uid) > 40 group by left(uid, 40);
