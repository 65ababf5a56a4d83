-- compatible
-- Groups of identity providers with the users in them (docs/decisions/0053). A mapping of the provider that names a group gives its
-- role to the users in it, in the sessions of their sign-ins; what changes here counts with their next request.

create table scim_groups (
  uid text collate "C" primary key,
  identity_provider_uid text collate "C" not null,
  external_id text collate "C",
  -- By what mappings name it: the external id, or the name as it was sent where it has none.
  mapped_as text collate "C" not null,
  -- In lower case, by which it is compared.
  display_name text collate "C" not null,
  -- The group in RFC 7643's words, as it was sent, without members and what the server says itself.
  document text not null,
  version bigint not null default 1,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index scim_groups_by_external_id on scim_groups (identity_provider_uid, external_id);
create index scim_groups_by_display_name on scim_groups (identity_provider_uid, display_name, uid);
create index scim_groups_by_update_time on scim_groups (identity_provider_uid, update_time, uid);
create index scim_groups_by_create_time on scim_groups (identity_provider_uid, create_time, uid);
create index scim_groups_by_uid on scim_groups (identity_provider_uid, uid);

create table scim_members (
  group_uid text collate "C" not null,
  user_uid text collate "C" not null,
  primary key (group_uid, user_uid)
);
create index scim_members_by_user on scim_members (user_uid, group_uid);

create function scim_members_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(
    select distinct left(session.identity_uid, 40) from changed
    join scim_users as announced on announced.uid = changed.user_uid
    join sessions as session
      on session.identity_uid = announced.identity_uid and session.identity_provider_uid = announced.identity_provider_uid
  ));
  return null;
end $$;
create trigger scim_members_made after insert on scim_members referencing new table as changed
  for each statement execute function scim_members_changed();
create trigger scim_members_gone after delete on scim_members referencing old table as changed
  for each statement execute function scim_members_changed();

create function scim_groups_renamed() returns trigger language plpgsql as $$
begin
  if new.mapped_as <> old.mapped_as then
    perform grow_access_versions(array(select left(identity_uid, 40) from sessions where identity_provider_uid = new.identity_provider_uid));
  end if;
  return null;
end $$;
create trigger scim_groups_renamed after update of mapped_as on scim_groups for each row execute function scim_groups_renamed();

-- Groups count while SCIM is on.
create function scim_switched() returns trigger language plpgsql as $$
begin
  if new.scim_enabled <> old.scim_enabled then
    perform grow_access_versions(array(select left(identity_uid, 40) from sessions where identity_provider_uid = new.uid));
  end if;
  return null;
end $$;
create trigger scim_switched after update of scim_enabled on identity_providers for each row execute function scim_switched();
