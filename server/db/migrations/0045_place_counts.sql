-- compatible
-- Totals of lists without counting rows (docs/decisions/0085-totals-and-skips-at-a-million-rows.md): how many rows of each counted
-- table lie directly in a place and how many below it, in slots, by the triggers that keep resource_counts. All rows of an organization
-- are in resource_counts already: here an organization has only the rows directly in it.
--
-- A server of the version before writes these numbers by the same triggers, and does not read them.

-- The slot of an organization in resource_counts is always locked first, so that these locks add no wait and no deadlock.
create table place_counts (
  -- The uid of an organization, a group or whatever else the rows lie in.
  place text collate "C" not null,
  -- The table's name.
  resource text collate "C" not null,
  slot smallint not null,
  -- Below 0 where more was deleted than made through this slot.
  children bigint not null,
  -- With the children. Of an organization 0.
  below bigint not null,
  primary key (place, resource, slot)
) with (fillfactor = 50);

create or replace function resources_made() returns trigger language plpgsql as $$
declare
  first_uid text;
  root text;
  last_root text;
  made_rows bigint;
begin
  select min(uid), left(max(uid), 40), count(*) into first_uid, last_root, made_rows from made where length(uid) > 40;
  root := left(first_uid, 40);
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
  -- Most often one row is made, in an organization or in a group directly below it: that has one place.
  if made_rows = 1 and length(first_uid) <= 74 then
    update place_counts set children = children + 1, below = below + (length(first_uid) > 57)::int
    where place = left(first_uid, -17) and resource = tg_table_name and slot = pg_backend_pid() % 64;
    if found then return null; end if;
  end if;
  insert into place_counts as held (place, resource, slot, children, below)
  select left(uid, size), tg_table_name, pg_backend_pid() % 64, count(*) filter (where size = length(uid) - 17), count(*) filter (where size > 40)
  from made, generate_series(case length(uid) when 57 then 40 else 57 end, length(uid) - 17, 17) as size group by 1
  on conflict (place, resource, slot) do update set children = held.children + excluded.children, below = held.below + excluded.below;
  return null;
end $$;

create or replace function resources_gone() returns trigger language plpgsql as $$
declare
  first_uid text;
  root text;
  last_root text;
  gone_rows bigint;
begin
  select min(uid), left(max(uid), 40), count(*) into first_uid, last_root, gone_rows from gone where length(uid) > 40;
  root := left(first_uid, 40);
  if gone_rows = 0 then return null; end if;
  update resource_counts set row_count = row_count - gone_rows
  where root = last_root and organization = root and resource = tg_table_name and slot = pg_backend_pid() % 64;
  -- Cheaper than an insert that finds its row there.
  if not found then
    insert into resource_counts as held (organization, resource, slot, row_count)
    select left(uid, 40), tg_table_name, pg_backend_pid() % 64, - count(*)
    from gone where length(uid) > 40 group by left(uid, 40) order by left(uid, 40)
    on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  end if;
  if gone_rows = 1 and length(first_uid) <= 74 then
    update place_counts set children = children - 1, below = below - (length(first_uid) > 57)::int
    where place = left(first_uid, -17) and resource = tg_table_name and slot = pg_backend_pid() % 64;
    if found then return null; end if;
  end if;
  insert into place_counts as held (place, resource, slot, children, below)
  select left(uid, size), tg_table_name, pg_backend_pid() % 64, - count(*) filter (where size = length(uid) - 17), - count(*) filter (where size > 40)
  from gone, generate_series(case length(uid) when 57 then 40 else 57 end, length(uid) - 17, 17) as size group by 1
  on conflict (place, resource, slot) do update set children = held.children + excluded.children, below = held.below + excluded.below;
  return null;
end $$;

-- A group that is deleted has nothing below it, but perhaps what the same transaction deletes next: only what adds up to nothing goes.
create function places_gone() returns trigger language plpgsql as $$
begin
  delete from place_counts where place in (select uid from gone) and (place, resource) in (
    select place, resource from place_counts where place in (select uid from gone)
    group by place, resource having sum(children) = 0 and sum(below) = 0);
  return null;
end $$;
create trigger groups_places_gone after delete on groups referencing old table as gone for each statement execute function places_gone();

-- What is there already. To make a trigger locks its table against writers until this transaction ends; the others are locked here.
lock table identities, overlay_bindings, overlays, repos, request_groups, role_bindings, scim_groups, scim_users, subscriptions in share row exclusive mode;
insert into place_counts (place, resource, slot, children, below)
select left(uid, size), resource, 0, count(*) filter (where size = length(uid) - 17), count(*) filter (where size > 40)
from (
  select 'groups' as resource, uid from groups
  union all select 'identities', uid from identities
  union all select 'overlay_bindings', uid from overlay_bindings
  union all select 'overlays', uid from overlays
  union all select 'repos', uid from repos
  union all select 'request_groups', uid from request_groups
  union all select 'role_bindings', uid from role_bindings
  union all select 'scim_groups', uid from scim_groups
  union all select 'scim_users', uid from scim_users
  union all select 'subscriptions', uid from subscriptions
) as counted, generate_series(case length(uid) when 57 then 40 else 57 end, length(uid) - 17, 17) as size
group by 1, 2;
