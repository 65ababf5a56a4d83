-- compatible
-- A role binding of a user who has not accepted membership in the organization is pending (docs/decisions/0067).
-- `pending_memberships` has one row for each such user and organization: it is what the user is asked about, and what the quota
-- pending-memberships counts. `membership_declines` keeps the answer no, also while no binding is left.
--
-- A server of the previous version runs on this schema. It still lets pending bindings grant their permissions.

create table pending_memberships (
  organization_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  -- When the first of the bindings was created that the organization has now.
  create_time timestamptz(3) not null,
  primary key (identity_uid, organization_uid)
);
-- The newest first, for the page behind a sign-in.
create index pending_memberships_by_create_time on pending_memberships (identity_uid, create_time, organization_uid);

create table membership_declines (
  organization_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (identity_uid, organization_uid)
);
create index membership_declines_by_organization on membership_declines (organization_uid);

-- Existing bindings. A user that SCIM has announced is not asked: the sign-in through that provider is the answer.
insert into pending_memberships (organization_uid, identity_uid, create_time)
select left(binding.uid, 40), binding.identity_uid, min(binding.create_time) from role_bindings as binding
where length(binding.identity_uid) = 40
  and not exists (select from memberships where identity_uid = binding.identity_uid and organization_uid = left(binding.uid, 40))
  and not exists (
    select from scim_users as announced
    where announced.identity_uid = binding.identity_uid and left(announced.identity_provider_uid, 40) = left(binding.uid, 40))
group by 1, 2;

insert into resource_counts (organization, resource, slot, row_count)
select organization_uid, 'pending_memberships', 0, count(*) from pending_memberships group by organization_uid;

-- Shown as progress of the migration (server/store/migrate.ts).
do $$
declare
  bindings bigint;
  users bigint;
  organizations bigint;
begin
  select count(*), count(distinct binding.identity_uid), count(distinct left(binding.uid, 40)) into bindings, users, organizations
  from role_bindings as binding
  where length(binding.identity_uid) = 40
    and not exists (select from memberships where identity_uid = binding.identity_uid and organization_uid = left(binding.uid, 40));
  if bindings > 0 then
    raise warning '% role bindings of % users in % organizations are pending now: they grant nothing until the user accepts '
      'or signs in through the organization''s identity provider',
      bindings, users, organizations using errcode = 'GQ002';
  end if;
end $$;

-- Counted as 0003_quotas.sql counts resources.
create function pending_memberships_counted_made() returns trigger language plpgsql as $$
declare
  root text;
  made_rows bigint;
begin
  for root, made_rows in select organization_uid, count(*) from made group by 1 order by 1 loop
    update resource_counts set row_count = row_count + made_rows, granted = granted - made_rows
    where organization = root and resource = 'pending_memberships' and slot = pg_backend_pid() % 64
      and granted >= made_rows and (granted >= 25 or xmin = pg_current_xact_id()::xid);
    if not found then
      perform count_made(root, 'pending_memberships', made_rows);
    end if;
  end loop;
  return null;
end $$;

create function pending_memberships_counted_gone() returns trigger language plpgsql as $$
begin
  insert into resource_counts as held (organization, resource, slot, row_count)
  select organization_uid, 'pending_memberships', pg_backend_pid() % 64, - count(*) from gone group by 1 order by 1
  on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  return null;
end $$;

create trigger pending_memberships_counted_made after insert on pending_memberships referencing new table as made
  for each statement execute function pending_memberships_counted_made();
create trigger pending_memberships_counted_gone after delete on pending_memberships referencing old table as gone
  for each statement execute function pending_memberships_counted_gone();

-- Kept by triggers, so that every writer of bindings and memberships keeps them: requests, sign-ins, SCIM, undelete.
create function role_bindings_pending_made() returns trigger language plpgsql as $$
begin
  -- The row is locked where it is there, so that a concurrent deletion of the last other binding waits, or is waited for.
  insert into pending_memberships as held (organization_uid, identity_uid, create_time)
  select left(made.uid, 40), made.identity_uid, min(made.create_time) from made
  where length(made.identity_uid) = 40
    and not exists (select from memberships where identity_uid = made.identity_uid and organization_uid = left(made.uid, 40))
    and not exists (select from membership_declines where identity_uid = made.identity_uid and organization_uid = left(made.uid, 40))
    and not exists (
      select from scim_users as announced
      where announced.identity_uid = made.identity_uid and left(announced.identity_provider_uid, 40) = left(made.uid, 40))
  group by 1, 2 order by 2, 1
  on conflict (identity_uid, organization_uid) do update set create_time = held.create_time;
  return null;
end $$;

create function role_bindings_pending_gone() returns trigger language plpgsql as $$
begin
  perform from pending_memberships as held
  where (held.identity_uid, held.organization_uid) in (select identity_uid, left(uid, 40) from gone where length(identity_uid) = 40)
  order by held.identity_uid, held.organization_uid for update;
  if found then
    -- A statement of its own: its snapshot has the bindings of whoever was waited for.
    delete from pending_memberships as held
    where (held.identity_uid, held.organization_uid) in (select identity_uid, left(uid, 40) from gone where length(identity_uid) = 40)
      and not exists (
        select from role_bindings as other
        where other.identity_uid = held.identity_uid and other.uid > held.organization_uid || '/' and other.uid < held.organization_uid || '0');
  end if;
  return null;
end $$;

create trigger role_bindings_pending_made after insert on role_bindings referencing new table as made
  for each statement execute function role_bindings_pending_made();
create trigger role_bindings_pending_gone after delete on role_bindings referencing old table as gone
  for each statement execute function role_bindings_pending_gone();

-- Another user in the same binding. A trigger with tables of what has changed takes no list of columns.
create function role_bindings_pending_changed() returns trigger language plpgsql as $$
begin
  if old.identity_uid <> new.identity_uid then
    if length(new.identity_uid) = 40
      and not exists (select from memberships where identity_uid = new.identity_uid and organization_uid = left(new.uid, 40))
      and not exists (select from membership_declines where identity_uid = new.identity_uid and organization_uid = left(new.uid, 40)) then
      insert into pending_memberships as held (organization_uid, identity_uid, create_time)
      values (left(new.uid, 40), new.identity_uid, new.update_time)
      on conflict (identity_uid, organization_uid) do update set create_time = held.create_time;
    end if;
    delete from pending_memberships as held
    where held.identity_uid = old.identity_uid and held.organization_uid = left(old.uid, 40)
      and not exists (
        select from role_bindings as other
        where other.identity_uid = held.identity_uid and other.uid > held.organization_uid || '/' and other.uid < held.organization_uid || '0');
  end if;
  return null;
end $$;
create trigger role_bindings_pending_changed after update of identity_uid on role_bindings for each row
  execute function role_bindings_pending_changed();

create function memberships_answered() returns trigger language plpgsql as $$
begin
  delete from pending_memberships as held using made
  where held.identity_uid = made.identity_uid and held.organization_uid = made.organization_uid;
  delete from membership_declines as held using made
  where held.identity_uid = made.identity_uid and held.organization_uid = made.organization_uid;
  return null;
end $$;
create trigger memberships_answered after insert on memberships referencing new table as made
  for each statement execute function memberships_answered();

create function membership_declines_answered() returns trigger language plpgsql as $$
begin
  delete from pending_memberships as held using made
  where held.identity_uid = made.identity_uid and held.organization_uid = made.organization_uid;
  return null;
end $$;
create trigger membership_declines_answered after insert on membership_declines referencing new table as made
  for each statement execute function membership_declines_answered();
