-- compatible
-- Unique names of organizations and of sibling groups (docs/decisions/0068). A group of the version before claims its name by the same
-- triggers. Groups that share a name already keep it: one of them has the claim, and a path leads to none of them (repo-names.ts).

-- The UTS #39 skeleton, case-folded, of a name in the alphabet of Group.name ("a" to "z", digits, space, ".", "_", "-"), whose only
-- confusables are these. Spaces at the ends and runs of spaces are not seen either. Another alphabet needs another function:
-- server/resources/iam/group-names.test.ts compares them.
create function group_name_skeleton(name text) returns text language sql immutable strict parallel safe as $$
  select replace(translate(regexp_replace(btrim(name, ' '), ' +', ' ', 'g'), '01', 'ol'), 'm', 'rn')
$$;

-- The unique index is what decides between two servers.
create table group_names (
  -- '' for organizations.
  parent text collate "C" not null,
  skeleton text collate "C" not null,
  name text collate "C" not null,
  -- The group that has the name or, if not held, the organization that it is reserved for.
  group_uid text collate "C" not null,
  held boolean not null,
  -- An organization has had a repository under this name: only the operator releases it.
  used boolean not null default false,
  reserve_time timestamptz(3),
  primary key (parent, skeleton)
);
create index group_names_of_organizations on group_names (group_uid) where parent = '';
create index group_names_reserved on group_names (name) where not held;
create index groups_organizations_by_skeleton on groups (group_name_skeleton(name), uid) where length(uid) = 40;
create index groups_by_skeleton on groups (left(uid, -17), group_name_skeleton(name), uid) where length(uid) > 40;

insert into group_names (parent, skeleton, name, group_uid, held, used)
select distinct on (1, 2) case when length(uid) = 40 then '' else left(uid, -17) end, group_name_skeleton(name), name, uid, true,
  length(uid) = 40 and exists (select from repos where repos.uid > groups.uid || '/' and repos.uid < groups.uid || '0')
from groups order by 1, 2, verified desc, create_time, uid;

-- Fails as a unique index does if another group has the name, or it is reserved for another organization.
create function claim_group_name(claimed groups) returns void language plpgsql as $$
declare
  is_root boolean := length(claimed.uid) = 40;
begin
  insert into group_names as claim (parent, skeleton, name, group_uid, held, used)
  values (
    case when is_root then '' else left(claimed.uid, -17) end, group_name_skeleton(claimed.name), claimed.name, claimed.uid, true,
    is_root and exists (select from repos where repos.uid > claimed.uid || '/' and repos.uid < claimed.uid || '0')
  )
  on conflict (parent, skeleton) do update
  set name = excluded.name, group_uid = excluded.group_uid, held = true, used = claim.used or excluded.used, reserve_time = null
  where claim.group_uid = excluded.group_uid
    or not claim.held and (
      -- The operator says whose the domain is.
      claimed.verified
      -- Never used for images, and no undelete brings its organization back.
      or not claim.used and not exists (
        select from deletions where left(uid, 40) = left(claim.group_uid, 40) and resource_uid = claim.group_uid
      )
    );
  if not found then
    raise unique_violation using message = 'the name of a group is taken', constraint = 'group_names_pkey', table = 'group_names';
  end if;
end $$;

create function release_group_name(released groups, is_deleted boolean) returns void language plpgsql as $$
declare
  is_root boolean := length(released.uid) = 40;
  place text := case when is_root then '' else left(released.uid, -17) end;
  form text := group_name_skeleton(released.name);
  was_used boolean;
  heir groups;
begin
  select used into was_used from group_names where parent = place and skeleton = form and group_uid = released.uid and held for update;
  if not found then
    return;
  end if;
  -- Another one has had the same name since before names were unique. What an organization that is gone has used stays reserved all the
  -- same: clients still know images by it.
  if is_root then
    select * into heir from groups
    where length(uid) = 40 and group_name_skeleton(name) = form and uid <> released.uid order by verified desc, create_time, uid limit 1;
  else
    select * into heir from groups
    where length(uid) > 40 and left(uid, -17) = place and group_name_skeleton(name) = form and uid <> released.uid order by create_time, uid limit 1;
  end if;
  if heir.uid is not null and not (is_deleted and was_used) then
    update group_names set group_uid = heir.uid, name = heir.name where parent = place and skeleton = form;
  elsif is_root and (was_used or is_deleted) then
    update group_names set held = false, reserve_time = now() where parent = place and skeleton = form;
  else
    delete from group_names where parent = place and skeleton = form;
  end if;
end $$;

create function groups_named() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform release_group_name(old, tg_op = 'DELETE');
  end if;
  if tg_op <> 'DELETE' then
    perform claim_group_name(new);
  end if;
  return null;
end $$;
create trigger groups_named after insert or delete on groups for each row execute function groups_named();
create trigger groups_renamed after update of name on groups for each row when (old.name is distinct from new.name) execute function groups_named();

create function repos_use_names() returns trigger language plpgsql as $$
begin
  update group_names set used = true
  where parent = '' and group_uid in (select left(uid, 40) from made) and held and not used;
  return null;
end $$;
create trigger repos_use_names after insert on repos referencing new table as made for each statement execute function repos_use_names();
