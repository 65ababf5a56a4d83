-- Verified organizations and their state, who asked to be let in, what people say about themselves, AWS requests that
-- were used.

-- A verified organization's name is a domain, and there is one organization for it (resources: Groups).
create unique index groups_verified on groups (name) where verified and length(uid) = 40;

-- What an organization is holds below it too, and every group shows it: the rows below follow it.
create function groups_inherited() returns trigger language plpgsql as $$
begin
  if length(new.uid) = 40 and (new.kind is distinct from old.kind or new.status is distinct from old.status) then
    update groups set kind = new.kind, status = new.status where uid > new.uid || '/' and uid < new.uid || '0';
  end if;
  -- Nobody's right in a suspended organization counts, so whoever has one there is affected (decisions: Access).
  if length(new.uid) = 40 and new.status is distinct from old.status then
    perform grow_access_versions(array(
      select new.uid
      union
      select left(identity_uid, 40) from role_bindings where uid > new.uid || '/' and uid < new.uid || '0'
      union
      select left(session.identity_uid, 40) from external_group_role_mappings as mapping
      join sessions as session on session.identity_provider_uid = mapping.identity_provider_uid
      where mapping.uid > new.uid || '/' and mapping.uid < new.uid || '0'
    ));
  end if;
  return null;
end $$;
create trigger groups_inherited after update of kind, status on groups for each row execute function groups_inherited();

-- When somebody last asked the owners of an organization to be let in.
create table group_access_requests (
  group_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  request_time timestamptz(3) not null,
  primary key (group_uid, identity_uid)
);
create index group_access_requests_by_identity on group_access_requests (identity_uid);

-- One row for each person who has said anything: the fields of IdentityMetadata that a person sets.
create table identity_metadata (
  uid text collate "C" primary key,
  said jsonb not null
);

-- SHA-256 of the signature of each AWS request that was taken: none is taken twice, on no replica.
create table aws_requests (
  digest text primary key,
  -- From then on the request is too old by itself.
  expire_time timestamptz(3) not null
);
create index aws_requests_by_expire_time on aws_requests (expire_time);
