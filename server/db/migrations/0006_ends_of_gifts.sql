-- compatible

-- What is handed on ends with its giver's right (docs/decisions/0019-nothing-outlives-its-giver.md): an identity, and the role
-- binding that an invite promises, may have an end.

alter table identities add column expire_time timestamptz(3);
alter table group_invites add column expire_time timestamptz(3);
-- The mappings that gave the maker what it promises, by a sign-in; '[]' where role bindings did.
alter table group_invites add column by_mappings jsonb not null default '[]';

-- Rights are kept in memory until the identity ends: when that moves they are read anew.
create function identities_expire_time_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array[left(new.uid, 40)]);
  return null;
end $$;
create trigger identities_expire_time_changed after update of expire_time on identities
  for each row when (new.expire_time is distinct from old.expire_time) execute function identities_expire_time_changed();
