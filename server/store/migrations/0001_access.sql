-- The group tree and who may do what in it.
--
-- A uid is its own path, so "below this place" is one range of the primary key and "in this organization" is
-- left(uid, 40). Text is collated "C": strings sort by their bytes (decisions: Lists).
-- Every list has an index for each order inside one organization: (left(uid, 40), <field>, uid).
-- left(uid, -17) is the parent. An index on it holds the uid too, so that children are counted without their rows.
-- Rows at the root are few among many, if any: a list of them has a small index of its own.

-- One row for each root (organization, human): its version grows with every change of rights below it, and is
-- what a cached right is checked against by the request's own statement (decisions: Access).
create table access_versions (
  root text collate "C" primary key,
  version bigint not null default 1
);

create table groups (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  resource_limits jsonb,
  verified boolean not null default false,
  kind text,
  status text,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index groups_by_name on groups (left(uid, 40), name, uid);
create index groups_by_create_time on groups (left(uid, 40), create_time, uid);
create index groups_by_update_time on groups (left(uid, 40), update_time, uid);
create index groups_by_parent on groups (left(uid, -17), name, uid);
create index groups_in_root on groups (uid) where length(uid) = 40;

create table identities (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  email text collate "C" not null default '',
  email_unverified text collate "C" not null default '',
  company text collate "C" not null default '',
  relationship_type text not null default 'RELATIONSHIP_TYPE_UNSPECIFIED',
  claim_match jsonb,
  static_keys jsonb,
  aws_identity jsonb,
  service_principal text,
  -- What a token must say literally; empty where a pattern decides. A human's are its upstream's.
  issuer text collate "C" not null default '',
  subject text collate "C" not null default '',
  last_seen_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index identities_by_name on identities (left(uid, 40), name, uid);
create index identities_by_create_time on identities (left(uid, 40), create_time, uid);
create index identities_by_update_time on identities (left(uid, 40), update_time, uid);
create index identities_by_parent on identities (left(uid, -17), name, uid);
create index identities_by_relationship_type on identities (left(uid, 40), relationship_type, uid);
create index identities_in_root on identities (uid) where length(uid) = 40;
create index identities_by_issuer on identities (issuer, subject);

create table roles (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  -- Enum symbols in the order of their numbers.
  capabilities jsonb not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index roles_by_name on roles (left(uid, 40), name, uid);
create index roles_by_create_time on roles (left(uid, 40), create_time, uid);
create index roles_by_update_time on roles (left(uid, 40), update_time, uid);
create index roles_by_parent on roles (left(uid, -17), name, uid);
create index roles_in_root on roles (uid) where length(uid) = 40;

create table role_bindings (
  uid text collate "C" primary key,
  identity_uid text collate "C" not null,
  role_uid text collate "C" not null,
  -- From then on it gives no rights; null: it never ends.
  expire_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index role_bindings_unique on role_bindings (left(uid, -17), identity_uid, role_uid) include (uid);
-- Who holds something at a place: the identities of one role in one group, in order (holders.ts).
create index role_bindings_by_place_and_role on role_bindings (left(uid, -17), role_uid, identity_uid) include (uid, expire_time);
create index role_bindings_by_identity on role_bindings (identity_uid, uid);
create index role_bindings_by_role on role_bindings (role_uid, uid);
create index role_bindings_by_identity_uid on role_bindings (left(uid, 40), identity_uid, uid);
create index role_bindings_by_role_uid on role_bindings (left(uid, 40), role_uid, uid);
-- People are found by where they are bound (humans.ts).
create index role_bindings_of_humans on role_bindings (uid, identity_uid) where length(identity_uid) = 40;
create index role_bindings_in_root on role_bindings (uid) where length(uid) = 40;
create index role_bindings_by_create_time on role_bindings (left(uid, 40), create_time, uid);
create index role_bindings_by_update_time on role_bindings (left(uid, 40), update_time, uid);

-- The versions are kept by the tables themselves, so that no writer can forget them. Roots are taken in order:
-- two writers never wait for each other in a circle.
create function grow_access_versions(roots text[]) returns void language sql as $$
  insert into access_versions as held (root)
  select distinct root from unnest(roots) as root where root <> '' order by root
  on conflict (root) do update set version = held.version + 1
$$;

create function groups_changed() returns trigger language plpgsql as $$
begin
  if length(new.uid) = 40 then
    insert into access_versions (root) values (new.uid) on conflict do nothing;
  end if;
  return null;
end $$;
create trigger groups_changed after insert on groups for each row execute function groups_changed();

-- Whatever says how an identity is assumed says these three too; a person's are its upstream's and stay as given.
create function identities_derived() returns trigger language plpgsql as $$
begin
  if new.claim_match is not null then
    new.relationship_type := 'RELATIONSHIP_TYPE_CLAIM_MATCH';
    new.issuer := coalesce(new.claim_match ->> 'issuer', '');
    new.subject := coalesce(new.claim_match ->> 'subject', '');
  elsif new.static_keys is not null then
    new.relationship_type := 'RELATIONSHIP_TYPE_STATIC';
    new.issuer := coalesce(new.static_keys ->> 'issuer', '');
    new.subject := coalesce(new.static_keys ->> 'subject', '');
  elsif new.aws_identity is not null then
    new.relationship_type := 'RELATIONSHIP_TYPE_AWS_IDENTITY';
    new.issuer := '';
    new.subject := '';
  elsif new.service_principal is not null then
    new.relationship_type := 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL';
    new.issuer := '';
    new.subject := '';
  end if;
  return new;
end $$;
create trigger identities_derived before insert or update on identities for each row execute function identities_derived();

create function identities_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into access_versions (root) values (left(new.uid, 40)) on conflict do nothing;
  else
    perform grow_access_versions(array[left(old.uid, 40)]);
  end if;
  return null;
end $$;
create trigger identities_changed after insert or delete on identities for each row execute function identities_changed();

create function role_bindings_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform grow_access_versions(array[left(new.identity_uid, 40)]);
  elsif tg_op = 'DELETE' then
    perform grow_access_versions(array[left(old.identity_uid, 40)]);
  else
    perform grow_access_versions(array[left(old.identity_uid, 40), left(new.identity_uid, 40)]);
  end if;
  return null;
end $$;
create trigger role_bindings_changed after insert or update or delete on role_bindings
  for each row execute function role_bindings_changed();

create function roles_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(
    select left(identity_uid, 40) from role_bindings where role_uid = old.uid
  ));
  return null;
end $$;
create trigger roles_changed after update of capabilities or delete on roles for each row execute function roles_changed();
