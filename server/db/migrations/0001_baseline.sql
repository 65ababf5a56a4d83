-- breaking
-- The baseline: every table as of the first release.
--
-- A uid is its own resource path, so "below this group" is one range of the primary key and "in this organization" is
-- left(uid, 40). Text is collated "C": strings sort by their bytes (decisions: Lists).
-- Every list has an index for each order inside one organization: (left(uid, 40), <field>, uid).
-- left(uid, -17) is the parent. An index on it holds the uid too, so that children are counted without their rows. What
-- stands behind it is in another collation of the same order, so that the index serves only statements that name that one:
-- PostgreSQL 18 otherwise takes it for a text of a whole organization too, and skips over the parents of all organizations
-- (a count of a thousand branches, 1,000 parents in the table: 6.3 million buffers instead of 5,000).
-- Rows at the root are few among many, if any: a list of them has a small index of its own.
-- An empty list and an unspecified enum are null: a null costs nothing on the way from the database.

-- ---- access ----------------------------------------------------------------------------------------------------------

-- The group tree and who may do what in it.

-- One row for each root (organization, person): its version grows with every change of rights below it, and
-- cached rights are checked against it by the request's own statement (decisions: Access).
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
create index groups_by_parent on groups (left(uid, -17), name collate "POSIX", uid);
create index groups_in_root on groups (uid) where length(uid) = 40;
-- A verified organization's name is a domain, and there is one organization for each (resources: Groups).
create unique index groups_verified on groups (name) where verified and length(uid) = 40;

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
  -- The claims that a token must have literally; empty where a pattern decides. A person's are those of their provider.
  issuer text collate "C" not null default '',
  subject text collate "C" not null default '',
  last_seen_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index identities_by_name on identities (left(uid, 40), name, uid);
create index identities_by_create_time on identities (left(uid, 40), create_time, uid);
create index identities_by_update_time on identities (left(uid, 40), update_time, uid);
create index identities_by_parent on identities (left(uid, -17), name collate "POSIX", uid);
create index identities_by_relationship_type on identities (left(uid, 40), relationship_type, uid);
create index identities_in_root on identities (uid) where length(uid) = 40;
create index identities_by_issuer on identities (issuer, subject);
-- For the look at a start at what patterns of issuers there are.
create index identities_by_issuer_pattern on identities (uid) where claim_match ->> 'issuerPattern' <> '';

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
create index roles_by_parent on roles (left(uid, -17), name collate "POSIX", uid);
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
create unique index role_bindings_unique on role_bindings (left(uid, -17), identity_uid collate "POSIX", role_uid) include (uid);
create index role_bindings_by_identity on role_bindings (identity_uid, uid);
create index role_bindings_by_role on role_bindings (role_uid, uid);
create index role_bindings_by_identity_uid on role_bindings (left(uid, 40), identity_uid, uid);
create index role_bindings_by_role_uid on role_bindings (left(uid, 40), role_uid, uid);
-- People are found by where they are bound (people.ts).
create index role_bindings_of_humans on role_bindings (uid, identity_uid) where length(identity_uid) = 40;
create index role_bindings_in_root on role_bindings (uid) where length(uid) = 40;
create index role_bindings_by_create_time on role_bindings (left(uid, 40), create_time, uid);
create index role_bindings_by_update_time on role_bindings (left(uid, 40), update_time, uid);
-- Who holds something in a group: the identities of one role, in order. For who-can alone (holders.ts): with role_uid in
-- its own collation PostgreSQL took this index for lists by role as well, skipping over the groups, and for each
-- organization it read the whole server's bindings of the role. In another collation of the same order it serves only
-- statements that name that one.
create index role_bindings_by_place_and_role on role_bindings (left(uid, -17), role_uid collate "POSIX", identity_uid) include (uid, expire_time);

-- The versions are kept by triggers, so that no writer can forget them. Roots are locked in order, so that no two writers
-- wait for each other in a circle. Once for each statement: once for each row, a deletion of 27,000 bindings wrote one version
-- 27,000 times, each write behind all the earlier ones (5.1 s; now 0.1 s).
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

-- Kind and status of an organization hold for every group below it: their rows follow it.
create function groups_inherited() returns trigger language plpgsql as $$
begin
  if length(new.uid) = 40 and (new.kind is distinct from old.kind or new.status is distinct from old.status) then
    update groups set kind = new.kind, status = new.status where uid > new.uid || '/' and uid < new.uid || '0';
  end if;
  -- No right in a suspended organization counts, so everybody who has one there is affected (decisions: Access).
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

-- How an identity is assumed decides these three columns; a person's are those of their provider and stay as written.
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
    insert into access_versions (root) select distinct left(uid, 40) as root from made order by root on conflict do nothing;
  else
    perform grow_access_versions(array(select distinct left(uid, 40) from gone));
  end if;
  return null;
end $$;
create trigger identities_made after insert on identities referencing new table as made
  for each statement execute function identities_changed();
create trigger identities_gone after delete on identities referencing old table as gone
  for each statement execute function identities_changed();

create function identities_ended() returns trigger language plpgsql as $$
begin
  delete from sessions where identity_uid = old.uid;
  delete from refresh_tokens where identity_uid = old.uid;
  return null;
end $$;
create trigger identities_ended after delete on identities for each row execute function identities_ended();

create function role_bindings_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform grow_access_versions(array(select distinct left(identity_uid, 40) from made));
  elsif tg_op = 'DELETE' then
    perform grow_access_versions(array(select distinct left(identity_uid, 40) from gone));
  else
    perform grow_access_versions(array(select left(identity_uid, 40) from gone union select left(identity_uid, 40) from made));
  end if;
  return null;
end $$;
-- A trigger with tables of what has changed is for one kind of statement.
create trigger role_bindings_made after insert on role_bindings referencing new table as made
  for each statement execute function role_bindings_changed();
create trigger role_bindings_changed after update on role_bindings referencing old table as gone new table as made
  for each statement execute function role_bindings_changed();
create trigger role_bindings_gone after delete on role_bindings referencing old table as gone
  for each statement execute function role_bindings_changed();

-- All roots of one change in one statement, so that they are locked in order.
create function roles_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(
    select left(identity_uid, 40) from role_bindings where role_uid = old.uid
    union
    select left(session.identity_uid, 40) from external_group_role_mappings as mapping
    join sessions as session on session.identity_provider_uid = mapping.identity_provider_uid
    where mapping.role_uid = old.uid
  ));
  return null;
end $$;
create trigger roles_changed after update of capabilities or delete on roles for each row execute function roles_changed();

-- ---- people ----------------------------------------------------------------------------------------------------------

-- Invites, and what is known of people besides their identities.

create table group_invites (
  uid text collate "C" primary key,
  role_uid text collate "C" not null,
  email text collate "C" not null default '',
  expiration_time timestamptz(3) not null,
  single_use boolean not null default false,
  key_id text collate "C" not null,
  -- SHA-256 of the code; the code itself is nowhere.
  code_hash text collate "C",
  -- Who created it: the invite gives nothing that they do not hold.
  invited_by text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index group_invites_by_code on group_invites (code_hash);
create index group_invites_by_key on group_invites (left(uid, 40), key_id, uid);
create index group_invites_by_create_time on group_invites (left(uid, 40), create_time, uid);
create index group_invites_by_update_time on group_invites (left(uid, 40), update_time, uid);
create index group_invites_by_parent on group_invites (left(uid, -17), uid);
create index group_invites_in_root on group_invites (uid) where length(uid) = 40;
create index group_invites_by_role on group_invites (role_uid);

-- What a person's issuer says of them: the claims of their last sign-in.
create table profiles (
  identity_uid text collate "C" primary key,
  name text not null default '',
  given_name text not null default '',
  family_name text not null default '',
  picture text not null default ''
);

-- The fields of IdentityMetadata that a person sets; no row where none is set.
create table identity_metadata (
  uid text collate "C" primary key,
  said jsonb not null
);

-- When a person last asked the owners of an organization for access.
create table group_access_requests (
  group_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  request_time timestamptz(3) not null,
  primary key (group_uid, identity_uid)
);
create index group_access_requests_by_identity on group_access_requests (identity_uid);

-- Accepted terms.
create table terms_acceptances (
  uid text collate "C" primary key,
  doc_id text collate "C" not null,
  accepted_by text collate "C" not null,
  org_uid text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index terms_acceptances_unique on terms_acceptances (org_uid, doc_id);
create index terms_acceptances_by_parent on terms_acceptances (left(uid, -17), uid);
create index terms_acceptances_by_doc_id on terms_acceptances (left(uid, 40), doc_id, uid);
create index terms_acceptances_by_create_time on terms_acceptances (left(uid, 40), create_time, uid);
create index terms_acceptances_by_update_time on terms_acceptances (left(uid, 40), update_time, uid);
create index terms_acceptances_in_root on terms_acceptances (uid) where length(uid) = 40;

-- ---- identity providers ----------------------------------------------------------------------------------------------

-- With the state of their SCIM tokens, and the roles that their groups give.

create table identity_providers (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  default_role text collate "C" not null,
  -- As answers have it: without the client secret.
  oidc jsonb not null,
  -- Sealed with the secret key, for the purpose "client secret".
  client_secret_sealed text,
  scim_enabled boolean not null default false,
  -- Grows with every change of what stands below.
  scim_version bigint not null default 1,
  -- When the SCIM token was made; null until there was a first one.
  scim_token_create_time timestamptz(3),
  -- SHA-256; null once revoked.
  scim_token_hash text,
  -- Null: it never ends.
  scim_token_expire_time timestamptz(3),
  -- The token before this one, while both work.
  scim_previous_token_hash text,
  scim_previous_token_expire_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index identity_providers_by_name on identity_providers (left(uid, 40), name, uid);
create index identity_providers_by_create_time on identity_providers (left(uid, 40), create_time, uid);
create index identity_providers_by_update_time on identity_providers (left(uid, 40), update_time, uid);
create index identity_providers_by_parent on identity_providers (left(uid, -17), name collate "POSIX", uid);
create index identity_providers_in_root on identity_providers (uid) where length(uid) = 40;
create index identity_providers_by_default_role on identity_providers (default_role, uid);
-- Which provider a token's issuer may belong to.
create index identity_providers_by_issuer on identity_providers ((oidc ->> 'issuer'), uid);

create table external_group_role_mappings (
  uid text collate "C" primary key,
  identity_provider_uid text collate "C" not null,
  external_group_id text collate "C" not null,
  role_uid text collate "C" not null,
  scope text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
-- The group's id by its hash: written in full it may be longer than an index entry. A text becomes its bytes with
-- every backslash doubled.
create unique index external_group_role_mappings_unique on external_group_role_mappings
  (identity_provider_uid, sha256(replace(external_group_id, '\', '\\')::bytea), role_uid, scope);
create index external_group_role_mappings_by_parent on external_group_role_mappings (left(uid, -17), uid);
create index external_group_role_mappings_by_identity_provider_uid on external_group_role_mappings (left(uid, 40), identity_provider_uid, uid);
create index external_group_role_mappings_in_root on external_group_role_mappings (uid) where length(uid) = 40;
create index external_group_role_mappings_by_role on external_group_role_mappings (role_uid, uid);
create index external_group_role_mappings_by_create_time on external_group_role_mappings (left(uid, 40), create_time, uid);
create index external_group_role_mappings_by_update_time on external_group_role_mappings (left(uid, 40), update_time, uid);

-- Who has signed in through which identity provider: its default role is given once. A row outlives the person's
-- identity, so that nobody gets back a role that was taken away by deleting themselves and signing in anew.
create table provider_arrivals (
  provider_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (provider_uid, identity_uid)
);

create function external_group_role_mappings_changed() returns trigger language plpgsql as $$
declare
  providers text[];
begin
  if tg_op = 'INSERT' then
    providers := array(select distinct identity_provider_uid from made);
  elsif tg_op = 'DELETE' then
    providers := array(select distinct identity_provider_uid from gone);
  else
    providers := array(select identity_provider_uid from gone union select identity_provider_uid from made);
  end if;
  perform grow_access_versions(array(select left(identity_uid, 40) from sessions where identity_provider_uid = any(providers)));
  return null;
end $$;
create trigger external_group_role_mappings_made after insert on external_group_role_mappings referencing new table as made
  for each statement execute function external_group_role_mappings_changed();
create trigger external_group_role_mappings_changed after update on external_group_role_mappings referencing old table as gone new table as made
  for each statement execute function external_group_role_mappings_changed();
create trigger external_group_role_mappings_gone after delete on external_group_role_mappings referencing old table as gone
  for each statement execute function external_group_role_mappings_changed();

-- A provider that is gone authenticates nobody any more, and a person's uid can be used again: sessions and refresh tokens
-- of either end with it.
create function identity_providers_ended() returns trigger language plpgsql as $$
begin
  delete from sign_ins where identity_provider_uid = old.uid;
  delete from sessions where identity_provider_uid = old.uid;
  delete from refresh_tokens where identity_provider_uid = old.uid;
  return null;
end $$;
create trigger identity_providers_ended after delete on identity_providers for each row execute function identity_providers_ended();

-- ---- sign-in ---------------------------------------------------------------------------------------------------------

-- Authorization requests under way, sessions with rights from a provider's groups, refresh tokens.

create table sign_ins (
  -- SHA-256 of the state that the provider sends back, and of the cookie of the browser that began.
  state_hash text primary key,
  browser_hash text not null,
  identity_provider_uid text collate "C" not null,
  -- Nonce, PKCE verifier, invite and what to do afterwards; sealed for the purpose "sign in".
  sealed text not null,
  expire_time timestamptz(3) not null
);
create index sign_ins_by_expire_time on sign_ins (expire_time);
create index sign_ins_by_identity_provider on sign_ins (identity_provider_uid);

create table sessions (
  id text primary key,
  identity_uid text collate "C" not null,
  identity_provider_uid text collate "C" not null,
  -- The groups of the token that a mapping referred to at sign-in.
  groups text[] not null,
  create_time timestamptz(3) not null,
  expire_time timestamptz(3) not null
);
create index sessions_by_identity on sessions (identity_uid);
create index sessions_by_identity_provider on sessions (identity_provider_uid);
create index sessions_by_expire_time on sessions (expire_time);

-- One row for each family: the tokens of one sign-in, of which the latest alone works.
create table refresh_tokens (
  id text primary key,
  -- SHA-256 of the latest token's secret.
  secret_hash text not null,
  identity_uid text collate "C" not null,
  identity_provider_uid text collate "C" not null,
  -- The claims and upper bounds of every access token of the family.
  audience jsonb not null,
  act jsonb not null,
  email text,
  capabilities jsonb,
  scopes jsonb,
  create_time timestamptz(3) not null,
  -- The latest token's.
  expire_time timestamptz(3) not null
);
create index refresh_tokens_by_identity on refresh_tokens (identity_uid);
create index refresh_tokens_by_identity_provider on refresh_tokens (identity_provider_uid);
create index refresh_tokens_by_expire_time on refresh_tokens (expire_time);

create function sessions_ended() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(select distinct left(identity_uid, 40) from gone));
  return null;
end $$;
create trigger sessions_ended after delete on sessions referencing old table as gone
  for each statement execute function sessions_ended();

-- Sign-ins that end on another device than the browser's: device codes (RFC 8628), and tokens encrypted for a client's
-- key (authentication.md: 7).
create table device_codes (
  -- SHA-256 of the device code (RFC 8628).
  device_hash text collate "C" primary key,
  -- What a person types: too short for a hash to hide, and useless without a sign-in and the device code.
  user_code text collate "C" not null,
  -- The client's name, and the authorization request (signin/device.ts).
  client text collate "C" not null,
  wanted jsonb not null,
  state text collate "C" not null default 'open',
  -- Who approved it; why it was denied.
  signed_in jsonb,
  reason text,
  -- How often the client may poll, and when it last did.
  interval_ms integer not null,
  poll_time timestamptz(3),
  create_time timestamptz(3) not null,
  expire_time timestamptz(3) not null
);
create unique index device_codes_by_user_code on device_codes (user_code);
create index device_codes_by_expire_time on device_codes (expire_time);

-- Wrong user codes that were typed, counted for all servers together.
create table user_code_guesses (
  window_time timestamptz(3) primary key,
  wrong integer not null
);

create table headless_sessions (
  -- SHA-256 of the client's public key.
  code_hash text collate "C" primary key,
  ecdh_public_key text collate "C" not null,
  -- Base64. Only the client can read it.
  encrypted_token text collate "C" not null,
  expire_time timestamptz(3) not null
);
create index headless_sessions_by_expire_time on headless_sessions (expire_time);

-- ---- tokens and requests ---------------------------------------------------------------------------------------------

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Sealed with the secret key; unsealed the private key never touches the disk.
  private_jwk_sealed text not null,
  create_time timestamptz(3) not null,
  -- From then on it signs nothing; it is published until its last token has expired.
  retire_time timestamptz(3)
);

-- SHA-256 of the signature of each AWS request that was accepted: none is accepted twice, on any replica.
create table aws_requests (
  digest text primary key,
  -- From then on the request is too old by itself.
  expire_time timestamptz(3) not null
);
create index aws_requests_by_expire_time on aws_requests (expire_time);

-- Answers kept for repeated writes.
create table idempotency_keys (
  caller text collate "C" not null,
  key text collate "C" not null,
  method text not null,
  request_digest text not null,
  reply jsonb,
  create_time timestamptz(3) not null,
  primary key (caller, key)
);
create index idempotency_keys_by_create_time on idempotency_keys (create_time);

-- ---- registry --------------------------------------------------------------------------------------------------------

-- Repos, their tags, and what is known of the manifests behind a digest.

create table repos (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  catalog_tier text,
  bundles jsonb,
  aliases jsonb,
  active_tags jsonb,
  sync_config jsonb,
  custom_overlay jsonb,
  readme text not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index repos_unique on repos (left(uid, -17), name collate "POSIX") include (uid);
create index repos_in_root on repos (uid) where length(uid) = 40;
create index repos_by_name on repos (left(uid, 40), name, uid);
create index repos_by_create_time on repos (left(uid, 40), create_time, uid);
create index repos_by_update_time on repos (left(uid, 40), update_time, uid);

create table tags (
  uid text collate "C" primary key,
  name text collate "C" not null,
  digest text collate "C" not null,
  deprecated boolean not null default false,
  bundles jsonb,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- The families that a list leaves out by default (resources: Tags).
  is_referrer boolean not null generated always as (name like 'sha256-%') stored,
  is_date boolean not null generated always as (name ~ '-20[0-9]{6}$') stored,
  is_epoch boolean not null generated always as (name ~ '-r[0-9]+$') stored
);
create unique index tags_unique on tags (left(uid, -17), name collate "POSIX") include (uid);
create index tags_in_root on tags (uid) where length(uid) = 40;
-- The rows of a list by default: often the smaller part, and by name all referrers stand together.
create index tags_plain on tags (uid) where not is_referrer and not is_date and not is_epoch;
create index tags_plain_by_parent on tags (left(uid, -17), name collate "POSIX", uid) where not is_referrer and not is_date and not is_epoch;
create index tags_plain_by_name on tags (left(uid, 40), name, uid) where not is_referrer and not is_date and not is_epoch;
create index tags_by_name on tags (left(uid, 40), name, uid);
create index tags_by_digest on tags (left(uid, 40), digest, uid);
create index tags_by_create_time on tags (left(uid, 40), create_time, uid);
create index tags_by_update_time on tags (left(uid, 40), update_time, uid);

-- The platform manifests behind a tag's digest, as imported.
create table manifests (
  repo_uid text collate "C" not null,
  index_digest text collate "C" not null,
  digest text collate "C" not null,
  os text collate "C" not null,
  architecture text collate "C" not null,
  variant text collate "C" not null default '',
  size_bytes bigint not null,
  create_time timestamptz(3),
  primary key (repo_uid, index_digest, architecture, variant, os, digest)
);

-- ---- account associations --------------------------------------------------------------------------------------------

-- Accounts at cloud providers, at most one row for a group and under its uid.
create table account_associations (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  amazon jsonb,
  google jsonb,
  chainguard jsonb,
  azure jsonb,
  github jsonb,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index account_associations_by_name on account_associations (left(uid, 40), name, uid);
create index account_associations_by_create_time on account_associations (left(uid, 40), create_time, uid);
create index account_associations_by_update_time on account_associations (left(uid, 40), update_time, uid);
create index account_associations_by_parent on account_associations (left(uid, -17), name collate "POSIX", uid);
create index account_associations_in_root on account_associations (uid) where length(uid) = 40;

-- ---- imported records ------------------------------------------------------------------------------------------------

-- Advisories, vulnerability records, the packages of images, libraries. No client writes here.

create extension if not exists pg_trgm;

-- The combinations of values that advisories have in the fields that filters select by and that have few values:
-- artifact's and component's type, architecture, and types, review states, authors and reviewers of events. A filter on
-- any of these finds the few facets that match; each is a range of one index of advisories, in the order of their uids
-- (docs/decisions).
create table advisory_facets (
  id integer generated always as identity primary key,
  digest text collate "C" not null unique,
  artifact_type text not null,
  artifact_architecture text not null,
  component_type text not null,
  latest_event_type text not null,
  event_types text[] not null,
  event_review_states text[] not null,
  event_authors text[] not null,
  event_reviewers text[] not null
);

create table advisories (
  uid text collate "C" primary key,
  advisory_id text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- Withdrawn: kept, and answered to a request by its id.
  delete_time timestamptz(3),
  author text not null,
  artifact_name text collate "C" not null,
  artifact_type text not null,
  artifact_architecture text not null,
  component_name text collate "C" not null,
  component_location text collate "C" not null,
  component_type text not null,
  aliases jsonb not null,
  events jsonb not null,
  legacy_advisory_id text collate "C" not null,
  origin text collate "C" not null,
  namespace text not null,
  facet text collate "C" not null,
  -- The text that `query` searches, in lower case.
  search text collate "C" not null,
  -- Answered by the open operations too.
  public boolean not null,
  feed text collate "C" not null,
  digest text collate "C" not null
);
create index advisories_shown on advisories (uid) where delete_time is null;
create index advisories_in_root on advisories (uid) where length(uid) = 40;
create index advisories_by_parent on advisories (left(uid, -17), uid);
create index advisories_by_advisory_id on advisories (left(uid, 40), advisory_id, uid);
create index advisories_by_legacy_advisory_id on advisories (left(uid, 40), legacy_advisory_id, uid);
create index advisories_by_artifact_name on advisories (left(uid, 40), artifact_name, uid) where delete_time is null;
create index advisories_by_component_name on advisories (left(uid, 40), component_name, uid) where delete_time is null;
create index advisories_by_component_location on advisories (left(uid, 40), component_location, uid) where delete_time is null;
create index advisories_by_facet on advisories (left(uid, 40), facet, uid) where delete_time is null;
create index advisories_by_create_time on advisories (left(uid, 40), create_time, uid) where delete_time is null;
-- Lists of changes contain withdrawals too.
create index advisories_by_update_time on advisories (left(uid, 40), update_time, uid);
create index advisories_by_aliases on advisories using gin (aliases) where delete_time is null;
create index advisories_by_search on advisories using gin (search gin_trgm_ops) where delete_time is null;
create index advisories_published on advisories (origin, uid) where public and delete_time is null;
create index advisories_published_by_id on advisories (advisory_id, uid) where public;
create index advisories_published_by_update_time on advisories (update_time, advisory_id) where public;
create index advisories_by_feed on advisories (feed, uid);

-- Records of vulnerabilities: CVE, OSV, RustSec. `owner` is the group that they were imported for, "" for public ones.
create table vulnerabilities (
  owner text collate "C" not null,
  id text collate "C" not null,
  state text not null,
  summary text not null,
  details text not null,
  links jsonb not null,
  severities jsonb not null,
  aliases jsonb not null,
  publish_time timestamptz(3),
  modify_time timestamptz(3),
  withdraw_time timestamptz(3),
  -- Left out of lists: rejected, withdrawn by its source, or gone from it.
  hidden boolean not null,
  feed text collate "C" not null,
  digest text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  primary key (id, owner)
);
create index vulnerabilities_by_owner on vulnerabilities (owner, hidden, id);
create index vulnerabilities_by_feed on vulnerabilities (feed, owner, id);

-- Which packages are built from which origin package.
create table package_origins (
  name text collate "C" primary key,
  origin text collate "C" not null,
  feed text collate "C" not null
);
create index package_origins_by_origin on package_origins (origin, name);

-- The packages in the images behind a repo's tags, as imported. `owner` as with vulnerabilities.
create table image_packages (
  owner text collate "C" not null,
  repo text collate "C" not null,
  tag text collate "C" not null,
  architecture text collate "C" not null,
  -- "apko" of "public/apko": an image is found by its last name too.
  short_repo text collate "C" not null generated always as (regexp_replace(repo, '^.*/', '')) stored,
  -- {"name": "version"}
  packages jsonb not null,
  feed text collate "C" not null,
  digest text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  primary key (owner, repo, tag, architecture)
);
create index image_packages_by_repo on image_packages (repo, tag);
create index image_packages_by_short_repo on image_packages (short_repo, tag);
create index image_packages_by_feed on image_packages (feed, owner, repo, tag, architecture);

create table library_artifacts (
  uid text collate "C" primary key,
  ecosystem text not null,
  name text collate "C" not null,
  description text not null,
  latest_version text not null,
  version_count integer not null,
  remediated boolean not null,
  cuda_versions jsonb not null,
  search text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  -- The digest of each feed's last record.
  digests jsonb not null
);
create index library_artifacts_by_name on library_artifacts (name, uid) where delete_time is null;
create index library_artifacts_by_version_count on library_artifacts (version_count, uid) where delete_time is null;
create index library_artifacts_by_create_time on library_artifacts (create_time, uid) where delete_time is null;
create index library_artifacts_by_update_time on library_artifacts (update_time, uid) where delete_time is null;
create index library_artifacts_by_ecosystem on library_artifacts (ecosystem) where delete_time is null;
create index library_artifacts_by_search on library_artifacts using gin (search gin_trgm_ops) where delete_time is null;
create index library_artifacts_by_feed on library_artifacts using gin (digests);

create table library_versions (
  artifact_uid text collate "C" not null,
  version text collate "C" not null,
  uid text collate "C" not null,
  -- Sorts by its bytes as the ecosystem sorts versions (base/versions).
  sort_key text collate "C" not null,
  description text not null,
  size_bytes bigint not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  feed text collate "C" not null,
  primary key (artifact_uid, version)
);
create index library_versions_by_version on library_versions (artifact_uid, sort_key, create_time, version) where delete_time is null;
create index library_versions_by_create_time on library_versions (artifact_uid, create_time, version) where delete_time is null;
create index library_versions_by_update_time on library_versions (artifact_uid, update_time, version) where delete_time is null;

-- ---- feeds -----------------------------------------------------------------------------------------------------------

-- What imports remember of their sources, so that a file that is the same is not read again, and records that vanished
-- from a source are withdrawn.

create table feeds (
  id integer generated always as identity primary key,
  kind text not null,
  group_uid text collate "C" not null,
  source text collate "C" not null,
  manner text not null,
  -- Records that vanished from a file have been withdrawn.
  settled boolean not null,
  -- What imports have written of a source and not yet told: counts of records, {"group": {…}, "everybody": {…}}. Added to
  -- in the transaction that writes the records, told and emptied in the one that ends the import (server/feeds).
  unreported jsonb not null default '{}',
  unique (kind, group_uid, source)
);

create table feed_files (
  feed_id integer not null references feeds on delete cascade,
  name text collate "C" not null,
  part integer not null,
  digest text not null,
  records text[] not null,
  primary key (feed_id, name, part)
);

-- Which server repeats an import next, among all servers of this database.
create table feed_schedules (
  schedule text collate "C" primary key,
  next_time timestamptz(3) not null,
  lease_holder text,
  lease_until timestamptz(3),
  failures integer not null,
  last_time timestamptz(3),
  last_outcome text
);

-- ---- events ----------------------------------------------------------------------------------------------------------

-- Every change's event, written in the change's own transaction. Delivery, the list of events and the audit log read it.
create table outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null unique,
  -- Both set when the event is numbered: from then on it has a position in the order of all events. The uid is the
  -- group's and the position; null for events that no group's subscriptions receive.
  uid text collate "C" unique,
  position bigint,
  type text collate "C" not null,
  source text not null,
  subject text collate "C" not null,
  -- Whose subscriptions receive it: a group's uid, "/" above the roots, "" for none.
  group_uid text collate "C" not null,
  -- For this subscription alone; null: for all of the group and above.
  subscription_uid text collate "C",
  audience text not null,
  extensions jsonb not null,
  body_type text not null,
  -- What is sent, byte for byte: {"actor": …, "body": …}.
  data text not null,
  request_id text not null,
  create_time timestamptz(3) not null,
  -- By whom, by which call and right, and from where: {actor, operation, bindings, resources, address, userAgent, code, count}.
  audit_context jsonb not null default '{}'
);
create index outbox_waiting on outbox (id) where position is null;
create index outbox_in_time on outbox (create_time);
-- The order of all events, for readers of them all (outbox: eventOrder). On the column itself the planner also took it for
-- the operator's lists by position, and for each organization read the events of all.
create unique index outbox_in_order on outbox ((position + 0));
-- Events that are not listed have no uid: at first no event has, so that writing one enters it into four indexes less.
create index outbox_by_position on outbox (left(uid, 40), position, uid) where uid is not null;
create index outbox_by_create_time on outbox (left(uid, 40), create_time, uid) where uid is not null;
create index outbox_by_type on outbox (left(uid, 40), type, uid) where uid is not null;
create index outbox_by_parent on outbox (left(uid, -17), position, uid) where uid is not null;
-- What lies in no group. Without, a list of that alone went through everything that the caller may see: 0.4 s among half
-- a million events, and nothing found.
create index outbox_in_root on outbox (uid) where length(uid) = 40;

create table subscriptions (
  uid text collate "C" primary key,
  sink text not null,
  -- Null: all types.
  event_types jsonb,
  -- Who created it, and whose right to do so is checked again before each delivery.
  creator text collate "C" not null default '',
  -- Sealed with the secret key: they sign, so they must be read again.
  secret_sealed text not null default '',
  previous_secret_sealed text,
  previous_secret_expire_time timestamptz(3),
  enabled boolean not null default true,
  failing_since timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index subscriptions_by_create_time on subscriptions (left(uid, 40), create_time, uid);
create index subscriptions_by_update_time on subscriptions (left(uid, 40), update_time, uid);
create index subscriptions_by_parent on subscriptions (left(uid, -17), uid);
create index subscriptions_in_root on subscriptions (uid) where length(uid) = 40;

-- Each event's deliveries, one for each subscription. uid: the subscription's and the event's position. Of the events of one
-- subject only the first is PENDING, the others wait behind it, so that they arrive in their order.
create table deliveries (
  uid text collate "C" primary key,
  subscription_uid text collate "C" not null,
  event_id uuid not null,
  type text collate "C" not null,
  subject text collate "C" not null,
  state text not null,
  attempts integer not null default 0,
  status_class text,
  latency_ms integer,
  next_attempt_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- False: it goes at once, beside the events of its subject, and none of them waits for it (a test).
  in_order boolean not null default true,
  -- Until when a claim holds. No index knows this column, so that a claim leaves the row where it is in all of them (a
  -- heap-only update, for which pages keep room) instead of entering it into each once more.
  lease_time timestamptz(3)
) with (fillfactor = 70);
create index deliveries_pending on deliveries (subscription_uid, next_attempt_time) where state = 'DELIVERY_STATE_PENDING';
-- By a hash of the subject: deep down in a tree two uids and a subject are longer than an entry of an index may be.
create index deliveries_by_subject on deliveries (subscription_uid, hashtextextended(subject, 0), uid)
  where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING');
create index deliveries_at_once on deliveries (subscription_uid) where state = 'DELIVERY_STATE_PENDING' and not in_order;
create index deliveries_by_create_time on deliveries (left(uid, 40), create_time, uid);
create index deliveries_by_update_time on deliveries (left(uid, 40), update_time, uid);
create index deliveries_by_parent on deliveries (left(uid, -17), uid);
create index deliveries_in_root on deliveries (uid) where length(uid) = 40;
create index deliveries_done on deliveries (update_time) where state in ('DELIVERY_STATE_DELIVERED', 'DELIVERY_STATE_DROPPED');
create index deliveries_dead on deliveries (update_time) where state = 'DELIVERY_STATE_DEAD';
-- The dead among a million that were delivered: 2.3 s without.
create index deliveries_by_state on deliveries (left(uid, 40), state, uid);

-- Events that have their position and have yet to become deliveries (server/delivery/fan-out.ts). A row for each organization
-- that has such events, and for each event, or each delivery, that could not be made with the others or goes its own way.
create table fan_outs (
  -- The organization's uid, the event's, or that of the delivery that is to be.
  uid text collate "C" primary key,
  -- For this subscription alone; null: for all that receive the events.
  only_subscription_uid text collate "C",
  -- The last event that every subscription has.
  position bigint not null,
  -- Of the event behind it: the last subscription that has it; empty: none has.
  subscription_uid text collate "C" not null default '',
  -- The last event that there is to do.
  last_position bigint not null,
  -- In a row; and when it is tried again.
  failures integer not null default 0,
  try_time timestamptz(3) not null
);
create index fan_outs_single on fan_outs (try_time) where only_subscription_uid is not null;

-- ---- audit log -------------------------------------------------------------------------------------------------------

-- Every change, refusal and sign-in, chained and sealed behind the writers (server/audit).

-- What the log keeps of an event. Partitioned by months, so that a month can be dropped at once; by the time of sealing,
-- which follows the chains' own order, so that a drop takes the beginning of each chain.
create table audit_entries (
  -- The group that it belongs to, and its number in the organization's chain.
  uid text collate "C" not null,
  sequence bigint not null,
  create_time timestamptz(3) not null,
  seal_time timestamptz(3) not null,
  caller_uid text collate "C" not null,
  act jsonb not null,
  operation text collate "C" not null,
  subject text collate "C" not null,
  type text collate "C" not null,
  code text collate "C" not null,
  count bigint not null,
  binding_uids jsonb not null,
  remote_address text not null,
  user_agent text not null,
  request_id text not null,
  event_id text not null,
  -- Of a batch: the rows that it created or deleted.
  resource_uids jsonb not null default '[]',
  hash text not null,
  primary key (uid, seal_time)
) partition by range (seal_time);
create index audit_entries_by_sequence on audit_entries (left(uid, 40), sequence, uid);
create index audit_entries_by_create_time on audit_entries (left(uid, 40), create_time, uid);
create index audit_entries_by_caller on audit_entries (left(uid, 40), caller_uid, uid);
create index audit_entries_by_operation on audit_entries (left(uid, 40), operation, uid);
create index audit_entries_by_subject on audit_entries (left(uid, 40), subject, uid);
create index audit_entries_by_code on audit_entries (left(uid, 40), code, uid);
create index audit_entries_by_parent on audit_entries (left(uid, -17), uid);
create index audit_entries_in_root on audit_entries (uid) where length(uid) = 40;

-- How far each chain goes, and how much of its beginning has been dropped: sealed with the secret key, so that nobody
-- who has only the database can write a chain anew.
create table audit_chains (
  root text collate "C" primary key,
  sealed text not null
);

-- How far the outbox has been sealed, and what all chains together come to, sealed too; one row.
create table audit_progress (
  one boolean primary key default true check (one),
  position bigint not null,
  sealed text not null,
  -- Positions before it whose events could not be sealed; they are tried again, and kept until then.
  set_aside bigint[] not null default '{}'
);

insert into audit_progress (position, sealed) values (0, '');

-- How many months of the log the database keeps, whatever a server asks for: the owner's word (`gantry admin migrate`).
create table audit_retention (
  one boolean primary key default true check (one),
  months integer not null check (months > 0)
);

insert into audit_retention (months) values (13);

-- The first month that is kept, as "2026-11", by the database's own clock: a server whose clock is ahead drops nothing.
create function first_kept_audit_month() returns text language sql stable as $$
  select to_char(date_trunc('month', now() at time zone 'UTC') - make_interval(months => months - 1), 'YYYY-MM') from audit_retention
$$;

-- ---- the owner's work ------------------------------------------------------------------------------------------------

-- What the server needs and its role may not do, as functions of the owner: each takes one word from a closed set.

-- Makes the partition of this month unless it is there. Made beside and attached: to create it in place would wait for
-- every reader, and every reader for it.
create function create_audit_month(month text) returns void language plpgsql strict security definer as $$
declare
  part text := 'audit_entries_' || replace(month, '-', '_');
begin
  if month !~ '^[0-9]{4}-(0[1-9]|1[0-2])$' then
    raise exception 'not a month: %', month using errcode = 'invalid_parameter_value';
  end if;
  if to_regclass(part) is not null then return; end if;
  execute format('create table %I (like audit_entries including all)', part);
  execute format(
    'alter table audit_entries attach partition %I for values from (%L) to (%L)',
    part, month || '-01T00:00:00Z', to_char((month || '-01')::date + interval '1 month', 'YYYY-MM-DD') || 'T00:00:00Z'
  );
end $$;

-- Drops the entries of a month that is over. It waits for every reader, and every reader for it: rather another hour than
-- a second.
create function drop_audit_month(month text) returns void language plpgsql strict security definer set lock_timeout = '1s' as $$
begin
  if month !~ '^[0-9]{4}-(0[1-9]|1[0-2])$' then
    raise exception 'not a month: %', month using errcode = 'invalid_parameter_value';
  end if;
  if (month collate "C" < first_kept_audit_month() collate "C") is not true then
    raise exception 'the audit log of % is kept', month using errcode = 'object_not_in_prerequisite_state';
  end if;
  execute format('drop table %I', 'audit_entries_' || replace(month, '-', '_'));
end $$;

-- Behind an import: what the table's indexes of lists have put off is put in, and the planner learns of its new rows.
create function refresh_import_statistics(imported text) returns void language plpgsql strict security definer as $$
begin
  if imported not in ('advisories', 'advisory_facets', 'vulnerabilities', 'image_packages', 'library_artifacts', 'library_versions') then
    raise exception 'not a table of imports: %', imported using errcode = 'invalid_parameter_value';
  end if;
  perform gin_clean_pending_list(indexrelid) from pg_index
  join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
  where indrelid = to_regclass(imported) and amname = 'gin';
  execute format('analyze %I', imported);
end $$;

-- In a function of the owner no name may be anybody else's: PostgreSQL's own, then this schema's, and a temporary table's
-- last.
do $$
declare
  name text;
begin
  foreach name in array array['create_audit_month(text)', 'drop_audit_month(text)', 'refresh_import_statistics(text)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', name, current_schema());
    execute format('revoke execute on function %s from public', name);
  end loop;
end $$;
