-- breaking
-- To which organizations people have agreed to belong. Until then an organization that has bound a person's uid sees that
-- uid and nothing else (decisions: "People belong to an organization by their consent").
-- Breaking: the version before shows what is not agreed to, notes no agreement, and would seal a sign-in, which is one
-- event for all its organizations from here on, in none of their logs.

create table memberships (
  organization_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  -- How it came about: invite, provider, founding, operator, acceptance.
  basis text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (identity_uid, organization_uid)
);
create index memberships_by_organization on memberships (organization_uid);

-- Which organization's provider a token was made for, with every sign-in.
create index identity_providers_by_client on identity_providers ((oidc ->> 'issuer'), (oidc ->> 'clientId'));

-- What is agreed to is loaded with the person's rights, so it is of their version (role_bindings_changed).
create function memberships_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(select distinct left(identity_uid, 40) from changed));
  return null;
end $$;
create trigger memberships_made after insert on memberships referencing new table as changed
  for each statement execute function memberships_changed();
create trigger memberships_gone after delete on memberships referencing old table as changed
  for each statement execute function memberships_changed();

-- Who has agreed before, as far as anything tells; nothing is guessed, and who is not found is asked. In the order of
-- `rank` where several things tell the same.
--
--   provider   came through an identity provider of the organization, in this life of the identity
--   invite     a registration in the organization that was told (so are those by a provider, which are found first)
--   founding   made the organization
--   operator   the operator made a binding that is still there
with told as materialized (
  select type, left(uid, 40) as root, subject, caller_uid as caller, resource_uids as resources, create_time from audit_entries
  where code = 'OK' and type in (
    'dev.chainguard.api.auth.registered.v1', 'dev.chainguard.api.iam.group.created.v1',
    'dev.chainguard.api.iam.rolebindings.created.v1', 'dev.chainguard.api.iam.rolebindings.created.batch.v1')
  union all
  -- What is not sealed yet.
  select type, left(group_uid, 40), subject, audit_context #>> '{actor,subject}', coalesce(audit_context -> 'resources', '[]'), create_time from outbox
  where type in (
    'dev.chainguard.api.auth.registered.v1', 'dev.chainguard.api.iam.group.created.v1',
    'dev.chainguard.api.iam.rolebindings.created.v1', 'dev.chainguard.api.iam.rolebindings.created.batch.v1')
), operator as (
  select encode(sha256('gantry identity operator'), 'hex') as digest
), agreed as (
  select left(provider_uid, 40) as organization_uid, identity_uid, 'provider' as basis, 1 as rank, create_time from provider_arrivals
  union all
  select root, subject, 'invite', 2, create_time from told where type = 'dev.chainguard.api.auth.registered.v1'
  union all
  select subject, caller, 'founding', 3, create_time from told
  where type = 'dev.chainguard.api.iam.group.created.v1' and length(subject) = 40 and caller <> (select left(digest, 40) from operator)
  union all
  select left(binding.uid, 40), binding.identity_uid, 'operator', 4, told.create_time
  from told cross join lateral (
    select told.subject as uid where told.type = 'dev.chainguard.api.iam.rolebindings.created.v1'
    union all
    select jsonb_array_elements_text(told.resources) where told.type = 'dev.chainguard.api.iam.rolebindings.created.batch.v1'
  ) as made
  join role_bindings as binding on binding.uid = made.uid
  where told.caller = (select left(digest, 40) from operator)
)
insert into memberships (organization_uid, identity_uid, basis, create_time)
select distinct on (agreed.identity_uid, agreed.organization_uid) agreed.organization_uid, agreed.identity_uid, agreed.basis, agreed.create_time
from agreed
join groups as organization on organization.uid = agreed.organization_uid
left join identities as identity on identity.uid = agreed.identity_uid
-- Who deleted themselves and came again agreed in another life. The operator may bind who has not come yet.
where length(agreed.identity_uid) = 40 and length(organization.uid) = 40
  and (agreed.create_time >= identity.create_time or agreed.basis = 'operator')
order by agreed.identity_uid, agreed.organization_uid, agreed.rank, agreed.create_time;
