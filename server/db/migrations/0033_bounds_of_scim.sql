-- compatible
-- What a directory writes by SCIM has a bound in each table (docs/decisions/0053), counted as 0003_quotas.sql counts. Whom a provider has
-- removed counts as a user, scim-users: else whoever announces and removes people, each by another external id, has as many rows as they
-- like. Members of groups have a quota of their own, scim-members.
--
-- A server of the version before is counted like any other, and no deletion of it is refused. Of members it tells no quota, so that only
-- one that the operator sets holds for it. What it does not know to be refusable, members then, and another external id where users have
-- used their quota up, it words as an internal error; nothing is changed. Who comes back is one more to it.

-- A user who is removed becomes a removal, one who comes back a user, and an external id another, also where the quota is lower than
-- what is there: what goes leaves a grant of one row to its transaction. Grants of less than 25 count in no other (resources_made), so
-- that no more is made out of it later; and rows and grants are together no more than before.
create function scim_removals_counted_made() returns trigger language plpgsql as $$
declare
  root text;
  made_rows bigint;
begin
  for root, made_rows in select left(identity_provider_uid, 40), count(*) from made group by 1 order by 1 loop
    update resource_counts set row_count = row_count + made_rows, granted = granted - made_rows
    where organization = root and resource = 'scim_users' and slot = pg_backend_pid() % 64
      and granted >= made_rows and (granted >= 25 or xmin = pg_current_xact_id()::xid);
    if not found then
      perform count_made(root, 'scim_users', made_rows);
    end if;
  end loop;
  return null;
end $$;

create function scim_removals_counted_gone() returns trigger language plpgsql as $$
begin
  insert into resource_counts as held (organization, resource, slot, row_count, granted)
  select left(identity_provider_uid, 40), 'scim_users', pg_backend_pid() % 64, - count(*), 1 from gone group by 1 order by 1
  on conflict (organization, resource, slot) do update
  set row_count = held.row_count + excluded.row_count, granted = greatest(held.granted, excluded.granted);
  return null;
end $$;

-- Beside resources_gone, which has counted them: by their names, the triggers of an event run one after the other.
create function scim_users_granted() returns trigger language plpgsql as $$
begin
  update resource_counts set granted = greatest(granted, 1)
  where organization in (select left(uid, 40) from gone) and resource = 'scim_users' and slot = pg_backend_pid() % 64;
  return null;
end $$;

-- Of members many go and come in one transaction. As many as it has taken out it puts in again, whatever the quota; this setting has
-- the organization and their number, and ends with the transaction. By groups first: half of the time for a hundred thousand.
create function scim_members_counted_gone() returns trigger language plpgsql as $$
declare
  root text;
  gone_rows bigint;
  released text;
begin
  for root, gone_rows in
    select left(group_uid, 40), sum(members) from (select group_uid, count(*) as members from gone group by 1) as groups group by 1 order by 1
  loop
    insert into resource_counts as held (organization, resource, slot, row_count) values (root, 'scim_members', pg_backend_pid() % 64, - gone_rows)
    on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
    released := current_setting('gantry.released_scim_members', true);
    if starts_with(released, root) then
      gone_rows := gone_rows + substr(released, 42)::bigint;
    end if;
    perform set_config('gantry.released_scim_members', root || ' ' || gone_rows, true);
  end loop;
  return null;
end $$;

create function scim_members_counted_made() returns trigger language plpgsql as $$
declare
  root text;
  made_rows bigint;
  released text;
  again bigint;
begin
  for root, made_rows in
    select left(group_uid, 40), sum(members) from (select group_uid, count(*) as members from made group by 1) as groups group by 1 order by 1
  loop
    released := current_setting('gantry.released_scim_members', true);
    if starts_with(released, root) then
      again := least(substr(released, 42)::bigint, made_rows);
      -- Its slot is there: they have left it in this transaction.
      update resource_counts set row_count = row_count + again
      where organization = root and resource = 'scim_members' and slot = pg_backend_pid() % 64;
      perform set_config('gantry.released_scim_members', root || ' ' || substr(released, 42)::bigint - again, true);
      made_rows := made_rows - again;
    end if;
    continue when made_rows = 0;
    -- One request adds some 10,000 at most: a transaction that holds its slot shall wait for nobody's lock in count_made.
    update resource_counts set row_count = row_count + made_rows, granted = granted - made_rows
    where organization = root and resource = 'scim_members' and slot = pg_backend_pid() % 64
      and granted >= made_rows and (granted >= 10000 or xmin = pg_current_xact_id()::xid);
    if not found then
      perform count_made(root, 'scim_members', made_rows);
    end if;
  end loop;
  return null;
end $$;

create trigger scim_removals_counted_made after insert on scim_removals referencing new table as made
  for each statement execute function scim_removals_counted_made();
create trigger scim_removals_counted_gone after delete on scim_removals referencing old table as gone
  for each statement execute function scim_removals_counted_gone();
create trigger scim_users_granted after delete on scim_users referencing old table as gone
  for each statement execute function scim_users_granted();
create trigger scim_members_counted_made after insert on scim_members referencing new table as made
  for each statement execute function scim_members_counted_made();
create trigger scim_members_counted_gone after delete on scim_members referencing old table as gone
  for each statement execute function scim_members_counted_gone();

-- What is there already. To make a trigger locks its table against writers until this transaction ends, so nothing is missed.
insert into resource_counts as held (organization, resource, slot, row_count)
select left(identity_provider_uid, 40), 'scim_users', 0, count(*) from scim_removals group by 1
union all
select left(group_uid, 40), 'scim_members', 0, count(*) from scim_members group by 1
on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
