-- breaking
-- The baseline: every table as of the first release.
--
-- A uid is a resource path. The rows below a group are one range of the primary key, and left(uid, 40) is the
-- organization. Text uses collation "C": strings sort by bytes.
-- Each list has an index per order inside an organization: (left(uid, 40), <field>, uid).
-- left(uid, -17) is the parent. An index on it includes the uid, so that counting children reads no rows. Its next
-- column uses another collation of the same order, so that only statements that name this collation use the index.
-- Otherwise PostgreSQL 18 also picks it for lists of an organization, and skips through the parents of all
-- organizations. Measured with 1,000 parents, counting a thousand branches: 6.3 million buffers instead of 5,000.
-- Rows at the root are rare. They have a small index of their own.
-- Empty lists and unspecified enums are null, because a null costs nothing to transfer.

create extension if not exists pg_trgm;

-- ---- What every domain shares -------------------------------------------------------------------------------------

-- One row per root (organization or user). Each permission change below a root increments its version. Each request's
-- statement checks cached permissions against the version (decision 0003).
create table access_versions (
  root text collate "C" primary key,
  version bigint not null default (1::bigint << 32) | floor(random() * 4294967296)::bigint
);

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

-- Responses stored for retries of idempotent writes.
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

-- One event per change, written in the change's transaction.
create table outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null unique,
  -- Both are null until the event has a position in the order of all events. The uid is the group's uid and the
  -- position; null if no subscription of a group receives the event.
  uid text collate "C" unique,
  position bigint,
  type text collate "C" not null,
  source text not null,
  subject text collate "C" not null,
  -- Group that receives the event: a uid, "/" above the roots, "" for none.
  group_uid text collate "C" not null,
  -- Only this subscription receives the event; null: all subscriptions of the group and its ancestors.
  subscription_uid text collate "C",
  audience text not null,
  extensions jsonb not null,
  body_type text not null,
  -- Exact bytes to send: {"actor": …, "body": …}.
  data text not null,
  request_id text not null,
  create_time timestamptz(3) not null,
  -- Origin of the change: {actor, operation, bindings, resources, address, userAgent, code, count}.
  audit_context jsonb not null default '{}'
);
create index outbox_waiting on outbox (id) where position is null;
create index outbox_in_time on outbox (create_time);
-- Order of all events, for readers of all organizations. An index on the plain column misleads the planner. It would
-- also use it for lists by position, and read the events of all organizations.
create unique index outbox_in_order on outbox ((position + 0));
-- Unlisted events have no uid. New events have none, so an insert updates four fewer indexes.
create index outbox_by_position on outbox (left(uid, 40), position, uid) where uid is not null;
create index outbox_by_create_time on outbox (left(uid, 40), create_time, uid) where uid is not null;
create index outbox_by_type on outbox (left(uid, 40), type, uid) where uid is not null;
create index outbox_by_parent on outbox (left(uid, -17), position, uid) where uid is not null;
-- Events outside of groups. Without this index, listing them took 0.4 s among half a million events, with no match.
create index outbox_in_root on outbox (uid) where length(uid) = 40;

-- Months of audit log to keep, regardless of server settings. The database owner sets it (`gantry admin migrate`).
create table audit_retention (
  one boolean primary key default true check (one),
  months integer not null check (months > 0)
);

-- Row counts of an organization, as the sum of its slots. Each backend writes one slot. Writers wait for each other
-- only if they share a slot. Half of each page stays free for updates.
create table resource_counts (
  organization text collate "C" not null,
  resource text collate "C" not null,
  slot smallint not null,
  -- Negative if this slot has more deletions than inserts.
  row_count bigint not null,
  -- Inserts that this slot may add without a check of the other slots.
  granted bigint not null default 0 check (granted >= 0),
  primary key (organization, resource, slot)
) with (fillfactor = 50);

-- Quotas that the operator set. Organization '' is the whole server; a missing quota has its default.
create table quotas (
  organization text collate "C" not null,
  name text collate "C" not null,
  value bigint not null check (value >= 0),
  primary key (organization, name)
);

create table deletions (
  uid text collate "C" primary key,
  parent_uid text collate "C" not null default '',
  resource_type text collate "C" not null,
  resource_uid text collate "C" not null,
  resource_name text collate "C" not null default '',
  deleter_uid text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  expire_time timestamptz(3) not null,
  kinds jsonb,
  row_count bigint not null,
  -- Tables of the deleted rows, in the order of a restore.
  tables jsonb not null
);
create index deletions_by_parent on deletions (left(uid, -17), uid);
create index deletions_in_root on deletions (uid) where length(uid) = 40;
create index deletions_by_resource_type on deletions (left(uid, 40), resource_type, uid);
create index deletions_by_resource_uid on deletions (left(uid, 40), resource_uid, uid);
create index deletions_by_create_time on deletions (left(uid, 40), create_time, uid);
create index deletions_by_update_time on deletions (left(uid, 40), update_time, uid);
-- For maintenance only. A list ordered by it would read the rows of all organizations.
create index deletions_expired on deletions (expire_time, uid);

-- Deleted rows, keyed by column name. A restore gives columns that were added later their default.
create table deleted_rows (
  deletion_uid text collate "C" not null,
  table_name text collate "C" not null,
  number bigint generated always as identity,
  content jsonb not null,
  primary key (deletion_uid, table_name, number)
);
-- Garbage collection keeps a blob while a deletion refers to it, and counts it toward the organization's bytes.
create index deleted_rows_by_blob on deleted_rows ((content ->> 'sha256'), (left(deletion_uid, 40))) where table_name = 'repo_blobs';

-- Writers always lock the organization's slot in resource_counts first, so these locks add no waits or deadlocks.
create table place_counts (
  -- Uid of the parent, such as an organization or group.
  place text collate "C" not null,
  resource text collate "C" not null,
  slot smallint not null,
  -- Negative if this slot has more deletions than inserts.
  children bigint not null,
  -- All descendants, children included; 0 for organizations.
  below bigint not null,
  primary key (place, resource, slot)
) with (fillfactor = 50);

-- First month to keep, such as "2026-11", by the database clock.
create function first_kept_audit_month() returns text language sql stable as $$
  select to_char(date_trunc('month', now() at time zone 'UTC') - make_interval(months => months - 1), 'YYYY-MM') from audit_retention
$$;

-- Subtracts blobs of purged deletions, unless a repo or another deletion still refers to them.
create function deleted_blobs_gone() returns trigger language plpgsql as $$
declare
  root text;
  gone_bytes bigint;
begin
  for root in select distinct left(deletion_uid, 40) from gone where table_name = 'repo_blobs' order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into gone_bytes from blobs
    where sha256 in (select content ->> 'sha256' from gone where table_name = 'repo_blobs' and left(deletion_uid, 40) = root)
      and not exists (select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root)
      and not exists (
        select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = blobs.sha256 and left(deletion_uid, 40) = root);
    if gone_bytes > 0 then
      insert into resource_counts as held (organization, resource, slot, row_count) values (root, 'blob_bytes', pg_backend_pid() % 64, - gone_bytes)
      on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
    end if;
  end loop;
  return null;
end $$;
create trigger deleted_blobs_gone after delete on deleted_rows referencing old table as gone
  for each statement execute function deleted_blobs_gone();

-- ---- iam: groups, identities, permissions, sign-in, SCIM ----------------------------------------------------------

-- Returns the case-folded UTS #39 skeleton of a Group.name ("a" to "z", digits, space, ".", "_", "-"). These are the
-- only confusables of that alphabet. Spaces are trimmed and collapsed. server/iam/resources/group-names.test.ts
-- compares the two.
create function group_name_skeleton(name text) returns text language sql immutable strict parallel safe as $$
  select replace(translate(regexp_replace(btrim(name, ' '), ' +', ' ', 'g'), '01', 'ol'), 'm', 'rn')
$$;

create table groups (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  resource_limits jsonb,
  verified boolean not null default false,
  kind text,
  status text,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  author_approval boolean not null default false
);
create index groups_by_name on groups (left(uid, 40), name, uid);
create index groups_by_create_time on groups (left(uid, 40), create_time, uid);
create index groups_by_update_time on groups (left(uid, 40), update_time, uid);
create index groups_by_parent on groups (left(uid, -17), name collate "POSIX", uid);
create index groups_in_root on groups (uid) where length(uid) = 40;
-- A verified organization's name is a domain, unique among organizations.
create unique index groups_verified on groups (name) where verified and length(uid) = 40;
-- Organizations by name, the first segment of repository names.
create index groups_organizations_by_name on groups (name, uid) where length(uid) = 40;
create index groups_organizations_by_skeleton on groups (group_name_skeleton(name), uid) where length(uid) = 40;
create index groups_by_skeleton on groups (left(uid, -17), group_name_skeleton(name), uid) where length(uid) > 40;

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
  -- Required claims of tokens; empty if a pattern matches them. A user's claims are the identity provider's.
  issuer text collate "C" not null default '',
  subject text collate "C" not null default '',
  last_seen_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  expire_time timestamptz(3)
);
create index identities_by_name on identities (left(uid, 40), name, uid);
create index identities_by_create_time on identities (left(uid, 40), create_time, uid);
create index identities_by_update_time on identities (left(uid, 40), update_time, uid);
create index identities_by_parent on identities (left(uid, -17), name collate "POSIX", uid);
create index identities_by_relationship_type on identities (left(uid, 40), relationship_type, uid);
create index identities_in_root on identities (uid) where length(uid) = 40;
create index identities_by_issuer on identities (issuer, subject);
-- For the check of issuer patterns at startup.
create index identities_by_issuer_pattern on identities (uid) where claim_match ->> 'issuerPattern' <> '';

create table roles (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
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
  -- The role binding has no effect from this time on; null: it never expires.
  expire_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index role_bindings_unique on role_bindings (left(uid, -17), identity_uid collate "POSIX", role_uid) include (uid);
create index role_bindings_by_identity on role_bindings (identity_uid, uid);
create index role_bindings_by_role on role_bindings (role_uid, uid);
create index role_bindings_by_identity_uid on role_bindings (left(uid, 40), identity_uid, uid);
create index role_bindings_by_role_uid on role_bindings (left(uid, 40), role_uid, uid);
-- Users are found by their role bindings (people.ts).
create index role_bindings_of_humans on role_bindings (uid, identity_uid) where length(identity_uid) = 40;
create index role_bindings_in_root on role_bindings (uid) where length(uid) = 40;
create index role_bindings_by_create_time on role_bindings (left(uid, 40), create_time, uid);
create index role_bindings_by_update_time on role_bindings (left(uid, 40), update_time, uid);
-- Role bindings of a group by role, in the order of identities; for the access report only (holders.ts). With the
-- default collation of role_uid, PostgreSQL also used this index for lists by role. Those lists then read all bindings
-- of the role on the server.
create index role_bindings_by_place_and_role on role_bindings (left(uid, -17), role_uid collate "POSIX", identity_uid) include (uid, expire_time);

create table group_invites (
  uid text collate "C" primary key,
  role_uid text collate "C" not null,
  email text collate "C" not null default '',
  expiration_time timestamptz(3) not null,
  single_use boolean not null default false,
  key_id text collate "C" not null,
  -- SHA-256 of the code; the code is not stored.
  code_hash text collate "C",
  -- Creator. The invite grants only permissions that the creator has.
  invited_by text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  expire_time timestamptz(3),
  -- Mappings that gave the creator the role at sign-in; '[]' if role bindings did.
  by_mappings jsonb not null default '[]'
);
create unique index group_invites_by_code on group_invites (code_hash);
create index group_invites_by_key on group_invites (left(uid, 40), key_id, uid);
create index group_invites_by_create_time on group_invites (left(uid, 40), create_time, uid);
create index group_invites_by_update_time on group_invites (left(uid, 40), update_time, uid);
create index group_invites_by_parent on group_invites (left(uid, -17), uid);
create index group_invites_in_root on group_invites (uid) where length(uid) = 40;
create index group_invites_by_role on group_invites (role_uid);

-- User claims from the issuer at the last sign-in.
create table profiles (
  identity_uid text collate "C" primary key,
  name text not null default '',
  given_name text not null default '',
  family_name text not null default '',
  picture text not null default ''
);

-- Fields of IdentityMetadata that the user set; no row if none is set.
create table identity_metadata (
  uid text collate "C" primary key,
  said jsonb not null,
  update_time timestamptz(3) not null default now()
);

-- Time of the last access request of a user to the owners of an organization.
create table group_access_requests (
  group_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  request_time timestamptz(3) not null,
  primary key (group_uid, identity_uid)
);
create index group_access_requests_by_identity on group_access_requests (identity_uid);

create table identity_providers (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  default_role text collate "C" not null,
  -- As in responses, without the client secret.
  oidc jsonb not null,
  -- Sealed with the secret key, purpose "client secret".
  client_secret_sealed text,
  scim_enabled boolean not null default false,
  -- Incremented on each SCIM change below the provider.
  scim_version bigint not null default 1,
  -- Creation time of the SCIM token; null before the first token.
  scim_token_create_time timestamptz(3),
  scim_token_hash text,
  scim_token_expire_time timestamptz(3),
  -- Previous token, while both are valid.
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
create index identity_providers_by_issuer on identity_providers ((oidc ->> 'issuer'), uid);
create index identity_providers_by_client on identity_providers ((oidc ->> 'issuer'), (oidc ->> 'clientId'));
comment on column identity_providers.client_secret_sealed is 'sealed to the row, its issuer and client id';

create table external_group_role_mappings (
  uid text collate "C" primary key,
  identity_provider_uid text collate "C" not null,
  external_group_id text collate "C" not null,
  role_uid text collate "C" not null,
  scope text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
-- Indexes the hash of the group ID, because an ID may exceed the size limit of index entries. The cast to bytea needs
-- doubled backslashes.
create unique index external_group_role_mappings_unique on external_group_role_mappings
  (identity_provider_uid, sha256(replace(external_group_id, '\', '\\')::bytea), role_uid, scope);
create index external_group_role_mappings_by_parent on external_group_role_mappings (left(uid, -17), uid);
create index external_group_role_mappings_by_identity_provider_uid on external_group_role_mappings (left(uid, 40), identity_provider_uid, uid);
create index external_group_role_mappings_in_root on external_group_role_mappings (uid) where length(uid) = 40;
create index external_group_role_mappings_by_role on external_group_role_mappings (role_uid, uid);
create index external_group_role_mappings_by_create_time on external_group_role_mappings (left(uid, 40), create_time, uid);
create index external_group_role_mappings_by_update_time on external_group_role_mappings (left(uid, 40), update_time, uid);

-- First sign-in of each user per identity provider, so that the default role is assigned only once. A row outlives the
-- identity, so that deleting it does not restore a removed role.
create table provider_arrivals (
  provider_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (provider_uid, identity_uid)
);

create table sign_ins (
  -- SHA-256 of the state that the provider returns, and of the initiating browser's cookie.
  state_hash text primary key,
  browser_hash text not null,
  identity_provider_uid text collate "C" not null,
  -- Nonce, PKCE verifier, invite and follow-up action; sealed, purpose "sign in".
  sealed text not null,
  expire_time timestamptz(3) not null,
  address_hash text collate "C" not null default ''
);
create index sign_ins_by_expire_time on sign_ins (expire_time);
create index sign_ins_by_identity_provider on sign_ins (identity_provider_uid);
create index sign_ins_by_address on sign_ins (address_hash, expire_time);
comment on column sign_ins.sealed is 'sealed to the row and its provider';

create table sessions (
  id text primary key,
  identity_uid text collate "C" not null,
  identity_provider_uid text collate "C" not null,
  -- Groups of the token that had a mapping at sign-in.
  groups text[] not null,
  create_time timestamptz(3) not null,
  expire_time timestamptz(3) not null
);
create index sessions_by_identity on sessions (identity_uid);
create index sessions_by_identity_provider on sessions (identity_provider_uid);
create index sessions_by_expire_time on sessions (expire_time);

-- One row per token family: the refresh tokens of one sign-in. Only the latest token is valid.
create table refresh_tokens (
  id text primary key,
  secret_hash text not null,
  identity_uid text collate "C" not null,
  identity_provider_uid text collate "C" not null,
  -- Claims and limits of each access token of the family.
  audience jsonb not null,
  act jsonb not null,
  email text,
  capabilities jsonb,
  scopes jsonb,
  create_time timestamptz(3) not null,
  expire_time timestamptz(3) not null,
  -- Client ID that received the family; null if the client has no ID.
  client text collate "C"
);
create index refresh_tokens_by_identity on refresh_tokens (identity_uid);
create index refresh_tokens_by_identity_provider on refresh_tokens (identity_provider_uid);
create index refresh_tokens_by_expire_time on refresh_tokens (expire_time);

-- Sign-ins that finish on a different device: device codes (RFC 8628), and tokens encrypted to a client's key
-- (authentication.md, section 7).
create table device_codes (
  -- SHA-256 of the device code.
  device_hash text collate "C" primary key,
  -- In plain text: too short to hash, and useless without a sign-in and the device code.
  user_code text collate "C" not null,
  -- Client name, and the authorization request (signin/device.ts).
  client text collate "C" not null,
  wanted jsonb not null,
  state text collate "C" not null default 'open',
  -- Approving user; reason of a denial.
  signed_in jsonb,
  reason text,
  interval_ms integer not null,
  poll_time timestamptz(3),
  create_time timestamptz(3) not null,
  expire_time timestamptz(3) not null,
  address_hash text collate "C" not null default ''
);
create unique index device_codes_by_user_code on device_codes (user_code);
create index device_codes_by_expire_time on device_codes (expire_time);
create index device_codes_by_address on device_codes (address_hash, expire_time);

-- Wrong user codes per time window, across all servers.
create table user_code_guesses (
  window_time timestamptz(3) primary key,
  wrong integer not null
);

create table headless_sessions (
  code_hash text collate "C" primary key,
  ecdh_public_key text collate "C" not null,
  -- Base64. Only the client can decrypt it.
  encrypted_token text collate "C" not null,
  expire_time timestamptz(3) not null,
  address_hash text collate "C" not null default ''
);
create index headless_sessions_by_expire_time on headless_sessions (expire_time);
create index headless_sessions_by_address on headless_sessions (address_hash, expire_time);

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Sealed with the secret key; the plain private key never reaches the disk.
  private_jwk_sealed text not null,
  create_time timestamptz(3) not null,
  -- Last time of signing. The key stays published until its last token has expired.
  retire_time timestamptz(3)
);
comment on column signing_keys.private_jwk_sealed is 'sealed to the row';

-- SHA-256 of the signature of each accepted AWS request. Prevents replay on any replica.
create table aws_requests (
  digest text primary key,
  expire_time timestamptz(3) not null
);
create index aws_requests_by_expire_time on aws_requests (expire_time);

-- Accounts at cloud providers: at most one row per group, with the group's uid.
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

create table memberships (
  organization_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  -- Origin: invite, provider, founding, operator, acceptance.
  basis text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (identity_uid, organization_uid)
);
create index memberships_by_organization on memberships (organization_uid);

create table authorization_codes (
  code_hash text collate "C" primary key,
  address_hash text collate "C" not null,
  -- Authorization request and signed-in user, sealed.
  sealed text not null,
  -- Refresh token family, and a claim of its access tokens. Null until the code is used.
  grant_id text collate "C",
  expire_time timestamptz(3) not null
);
create index authorization_codes_by_address on authorization_codes (address_hash, expire_time);
create index authorization_codes_by_expire_time on authorization_codes (expire_time);

create table revoked_grants (
  grant_id text collate "C" primary key,
  expire_time timestamptz(3) not null
);
create index revoked_grants_by_expire_time on revoked_grants (expire_time);

create table scim_users (
  uid text collate "C" primary key,
  identity_provider_uid text collate "C" not null,
  -- Provider's ID of the user at sign-in; null if unknown.
  external_id text collate "C",
  -- User's identity, registered or not; null if unknown.
  identity_uid text collate "C",
  active boolean not null,
  -- Lower-case name, for comparison.
  user_name text collate "C" not null,
  display_name text collate "C" not null default '',
  emails text[] collate "C" not null default '{}',
  -- User resource (RFC 7643) as received, without server-generated attributes.
  document text not null,
  version bigint not null default 1,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index scim_users_by_external_id on scim_users (identity_provider_uid, external_id);
create unique index scim_users_by_user_name on scim_users (identity_provider_uid, user_name);
create index scim_users_by_display_name on scim_users (identity_provider_uid, display_name, uid);
create index scim_users_by_update_time on scim_users (identity_provider_uid, update_time, uid);
create index scim_users_by_create_time on scim_users (identity_provider_uid, create_time, uid);
create index scim_users_by_uid on scim_users (identity_provider_uid, uid);
create index scim_users_by_identity on scim_users (identity_uid, identity_provider_uid) where identity_uid is not null;
create index scim_users_by_emails on scim_users using gin (emails);

-- Users that the provider removed. They cannot sign in. No other data of them is kept.
create table scim_removals (
  identity_provider_uid text collate "C" not null,
  external_id text collate "C" not null,
  identity_uid text collate "C",
  remove_time timestamptz(3) not null,
  primary key (identity_provider_uid, external_id)
);
create index scim_removals_by_identity on scim_removals (identity_uid, identity_provider_uid) where identity_uid is not null;

-- Identities by external ID, for providers that do not correlate users by subject. A later SCIM user is linked to the
-- identity.
create table scim_arrivals (
  identity_provider_uid text collate "C" not null,
  external_id text collate "C" not null,
  identity_uid text collate "C" not null,
  primary key (identity_provider_uid, external_id)
);

create table scim_groups (
  uid text collate "C" primary key,
  identity_provider_uid text collate "C" not null,
  external_id text collate "C",
  -- Key that mappings use: the external ID, or the original name if it has none.
  mapped_as text collate "C" not null,
  display_name text collate "C" not null,
  -- Group resource (RFC 7643) as received, without members and server-generated attributes.
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

create table sign_in_sessions (
  -- Session ID in access tokens: 32 hexadecimal digits.
  id text collate "C" primary key,
  -- Uid of the identity provider, and the first 16 digits of the ID.
  uid text collate "C" not null,
  identity_uid text collate "C" not null,
  identity_provider_uid text collate "C" not null,
  -- Refresh token family; null if none.
  refresh_token_id text collate "C",
  kind text collate "C" not null,
  program text collate "C" not null,
  -- Sign-in address; empty if unknown.
  address text collate "C" not null,
  create_time timestamptz(3) not null,
  last_use_time timestamptz(3) not null,
  -- Expiry of the last token, and the latest possible expiry of any token of the session.
  expire_time timestamptz(3) not null,
  end_time timestamptz(3) not null
);
create unique index sign_in_sessions_by_uid on sign_in_sessions (uid);
create index sign_in_sessions_by_identity on sign_in_sessions (identity_uid, create_time, uid);
create index sign_in_sessions_by_identity_provider on sign_in_sessions (identity_provider_uid);
create index sign_in_sessions_by_end_time on sign_in_sessions (end_time);

create table pending_memberships (
  organization_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  -- Creation time of the oldest current role binding in the organization.
  create_time timestamptz(3) not null,
  primary key (identity_uid, organization_uid)
);
create index pending_memberships_by_create_time on pending_memberships (identity_uid, create_time, organization_uid);

create table membership_declines (
  organization_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (identity_uid, organization_uid)
);
create index membership_declines_by_organization on membership_declines (organization_uid);

-- Claims and reservations of group names. The primary key resolves races between servers.
create table group_names (
  -- '' for organizations.
  parent text collate "C" not null,
  skeleton text collate "C" not null,
  name text collate "C" not null,
  -- Group that has the name or, if not held, the organization that the name is reserved for.
  group_uid text collate "C" not null,
  held boolean not null,
  -- An organization had a repository under this name: only the operator can release it.
  used boolean not null default false,
  reserve_time timestamptz(3),
  primary key (parent, skeleton)
);
create index group_names_of_organizations on group_names (group_uid) where parent = '';
create index group_names_reserved on group_names (name) where not held;

-- Triggers update the versions, so that every writer does. Roots are locked in order to prevent deadlocks. Statement
-- triggers are faster: row triggers wrote one version 27,000 times for 27,000 bindings (5.1 s instead of 0.1 s).
create function grow_access_versions(roots text[]) returns void language sql as $$
  insert into access_versions as held (root)
  select distinct root from unnest(roots) as root where root <> '' order by root
  on conflict (root) do update set version = (((held.version >> 32) + 1) << 32) | floor(random() * 4294967296)::bigint
$$;

create function groups_changed() returns trigger language plpgsql as $$
begin
  if length(new.uid) = 40 then
    insert into access_versions (root) values (new.uid) on conflict do nothing;
  end if;
  return null;
end $$;
create trigger groups_changed after insert on groups for each row execute function groups_changed();

-- All groups of an organization inherit its kind and status.
create function groups_inherited() returns trigger language plpgsql as $$
begin
  if length(new.uid) = 40 and (new.kind is distinct from old.kind or new.status is distinct from old.status) then
    update groups set kind = new.kind, status = new.status where uid > new.uid || '/' and uid < new.uid || '0';
  end if;
  -- A suspended organization grants no permissions, which affects all its users (decision 0003).
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

-- The identity type sets these three columns, except for users.
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
-- A trigger with transition tables supports only one kind of statement.
create trigger role_bindings_made after insert on role_bindings referencing new table as made
  for each statement execute function role_bindings_changed();
create trigger role_bindings_changed after update on role_bindings referencing old table as gone new table as made
  for each statement execute function role_bindings_changed();
create trigger role_bindings_gone after delete on role_bindings referencing old table as gone
  for each statement execute function role_bindings_changed();

-- One statement covers all roots of a change, so that they are locked in order.
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

-- Deleted providers authenticate no one, and a user's uid can be reused: sessions and refresh tokens of both end.
create function identity_providers_ended() returns trigger language plpgsql as $$
begin
  delete from sign_ins where identity_provider_uid = old.uid;
  delete from sessions where identity_provider_uid = old.uid;
  delete from refresh_tokens where identity_provider_uid = old.uid;
  return null;
end $$;
create trigger identity_providers_ended after delete on identity_providers for each row execute function identity_providers_ended();

create function sessions_ended() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(select distinct left(identity_uid, 40) from gone));
  return null;
end $$;
create trigger sessions_ended after delete on sessions referencing old table as gone
  for each statement execute function sessions_ended();

-- Deletes the counts of a deleted organization, except for blobs that its deletions keep.
create function organizations_gone() returns trigger language plpgsql as $$
begin
  delete from resource_counts where organization in (select uid from gone where length(uid) = 40)
    and not (resource = 'blob_bytes' and exists (
      select from deleted_rows where table_name = 'repo_blobs' and deletion_uid >= organization || '/' and deletion_uid < organization || '0'));
  return null;
end $$;
create trigger groups_organizations_gone after delete on groups referencing old table as gone for each statement execute function organizations_gone();

-- Memberships load together with permissions, so they increment the user's version (role_bindings_changed).
create function memberships_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(select distinct left(identity_uid, 40) from changed));
  return null;
end $$;
create trigger memberships_made after insert on memberships referencing new table as changed
  for each statement execute function memberships_changed();
create trigger memberships_gone after delete on memberships referencing old table as changed
  for each statement execute function memberships_changed();

-- Permissions are cached until the identity expires. A new expiry reloads them.
create function identities_expire_time_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array[left(new.uid, 40)]);
  return null;
end $$;
create trigger identities_expire_time_changed after update of expire_time on identities
  for each row when (new.expire_time is distinct from old.expire_time) execute function identities_expire_time_changed();

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

-- SCIM groups have an effect only while SCIM is on.
create function scim_switched() returns trigger language plpgsql as $$
begin
  if new.scim_enabled <> old.scim_enabled then
    perform grow_access_versions(array(select left(identity_uid, 40) from sessions where identity_provider_uid = new.uid));
  end if;
  return null;
end $$;
create trigger scim_switched after update of scim_enabled on identity_providers for each row execute function scim_switched();

-- A removed user becomes a removal, and a restored user replaces one, even above the quota. Each deletion leaves its
-- transaction a grant of one row. Other transactions ignore grants below 25 (resources_made), so rows plus grants never
-- increase.
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
create trigger scim_removals_counted_made after insert on scim_removals referencing new table as made
  for each statement execute function scim_removals_counted_made();

create function scim_removals_counted_gone() returns trigger language plpgsql as $$
begin
  insert into resource_counts as held (organization, resource, slot, row_count, granted)
  select left(identity_provider_uid, 40), 'scim_users', pg_backend_pid() % 64, - count(*), 1 from gone group by 1 order by 1
  on conflict (organization, resource, slot) do update
  set row_count = held.row_count + excluded.row_count, granted = greatest(held.granted, excluded.granted);
  return null;
end $$;
create trigger scim_removals_counted_gone after delete on scim_removals referencing old table as gone
  for each statement execute function scim_removals_counted_gone();

-- Runs after resources_gone, which updates the count: PostgreSQL fires triggers of an event in name order.
create function scim_users_granted() returns trigger language plpgsql as $$
begin
  update resource_counts set granted = greatest(granted, 1)
  where organization in (select left(uid, 40) from gone) and resource = 'scim_users' and slot = pg_backend_pid() % 64;
  return null;
end $$;
create trigger scim_users_granted after delete on scim_users referencing old table as gone
  for each statement execute function scim_users_granted();

-- One transaction often replaces many members. It may insert as many as it deleted, regardless of the quota. A
-- transaction-local setting holds organization and number. Grouping first halves the time for a hundred thousand
-- members.
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
create trigger scim_members_counted_gone after delete on scim_members referencing old table as gone
  for each statement execute function scim_members_counted_gone();

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
      -- The slot exists: this transaction deleted the members from it.
      update resource_counts set row_count = row_count + again
      where organization = root and resource = 'scim_members' and slot = pg_backend_pid() % 64;
      perform set_config('gantry.released_scim_members', root || ' ' || substr(released, 42)::bigint - again, true);
      made_rows := made_rows - again;
    end if;
    continue when made_rows = 0;
    -- A request adds at most some 10,000. With its slot locked, it must not wait in count_made.
    update resource_counts set row_count = row_count + made_rows, granted = granted - made_rows
    where organization = root and resource = 'scim_members' and slot = pg_backend_pid() % 64
      and granted >= made_rows and (granted >= 10000 or xmin = pg_current_xact_id()::xid);
    if not found then
      perform count_made(root, 'scim_members', made_rows);
    end if;
  end loop;
  return null;
end $$;
create trigger scim_members_counted_made after insert on scim_members referencing new table as made
  for each statement execute function scim_members_counted_made();

-- Ends sign-in sessions of deleted providers and identities, because a user's uid can be reused.
create function sign_in_sessions_ended() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'identities' then
    delete from sign_in_sessions where identity_uid = old.uid;
  else
    delete from sign_in_sessions where identity_provider_uid = old.uid;
  end if;
  return null;
end $$;
create trigger identities_end_sign_in_sessions after delete on identities for each row execute function sign_in_sessions_ended();
create trigger identity_providers_end_sign_in_sessions after delete on identity_providers for each row execute function sign_in_sessions_ended();

-- Counted like other resources: from the grant of the slot, else by count_made.
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
create trigger pending_memberships_counted_made after insert on pending_memberships referencing new table as made
  for each statement execute function pending_memberships_counted_made();

create function pending_memberships_counted_gone() returns trigger language plpgsql as $$
begin
  insert into resource_counts as held (organization, resource, slot, row_count)
  select organization_uid, 'pending_memberships', pg_backend_pid() % 64, - count(*) from gone group by 1 order by 1
  on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  return null;
end $$;
create trigger pending_memberships_counted_gone after delete on pending_memberships referencing old table as gone
  for each statement execute function pending_memberships_counted_gone();

-- Triggers cover all writers of bindings and memberships: requests, sign-ins, SCIM, undelete.
create function role_bindings_pending_made() returns trigger language plpgsql as $$
begin
  -- Locks an existing row, to serialize with a concurrent deletion of the last other binding.
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
create trigger role_bindings_pending_made after insert on role_bindings referencing new table as made
  for each statement execute function role_bindings_pending_made();

create function role_bindings_pending_gone() returns trigger language plpgsql as $$
begin
  perform from pending_memberships as held
  where (held.identity_uid, held.organization_uid) in (select identity_uid, left(uid, 40) from gone where length(identity_uid) = 40)
  order by held.identity_uid, held.organization_uid for update;
  if found then
    -- A separate statement: its snapshot includes the bindings of the transaction that held the lock.
    delete from pending_memberships as held
    where (held.identity_uid, held.organization_uid) in (select identity_uid, left(uid, 40) from gone where length(identity_uid) = 40)
      and not exists (
        select from role_bindings as other
        where other.identity_uid = held.identity_uid and other.uid > held.organization_uid || '/' and other.uid < held.organization_uid || '0');
  end if;
  return null;
end $$;
create trigger role_bindings_pending_gone after delete on role_bindings referencing old table as gone
  for each statement execute function role_bindings_pending_gone();

-- The identity of a binding changed. A trigger with transition tables cannot have a column list.
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

-- Fails like a unique index if another group has the name, or it is reserved for another organization.
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
      -- The operator has verified the owner of the domain.
      claimed.verified
      -- Never used for images, and no undelete can restore its organization.
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
  -- Older groups may share the name. A used name of a deleted organization stays reserved, because clients still know
  -- images by it.
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

-- The transaction may delete rows of the group afterwards, so only counts that sum to zero are removed.
create function places_gone() returns trigger language plpgsql as $$
begin
  delete from place_counts where place in (select uid from gone) and (place, resource) in (
    select place, resource from place_counts where place in (select uid from gone)
    group by place, resource having sum(children) = 0 and sum(below) = 0);
  return null;
end $$;
create trigger groups_places_gone after delete on groups referencing old table as gone for each statement execute function places_gone();

-- ---- events: subscriptions and deliveries -------------------------------------------------------------------------

create table subscriptions (
  uid text collate "C" primary key,
  sink text not null,
  event_types jsonb,
  -- Creator. The creator's permission is checked before each delivery.
  creator text collate "C" not null default '',
  -- Sealed with the secret key, not hashed, because they sign requests.
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
comment on column subscriptions.secret_sealed is 'sealed to the row';
comment on column subscriptions.previous_secret_sealed is 'sealed to the row';

-- Deliveries of each event, one per subscription. The uid is the subscription's uid and the event's position. Only the
-- first event of a subject is PENDING and the others wait, which preserves their order.
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
  -- False: sent immediately, independent of the order of its subject (test events).
  in_order boolean not null default true,
  -- Expiry of the lease. No index has this column, so that a lease is a heap-only update; pages keep room for it.
  lease_time timestamptz(3)
) with (fillfactor = 70);
create index deliveries_pending on deliveries (subscription_uid, next_attempt_time) where state = 'DELIVERY_STATE_PENDING';
-- Hashes the subject: in deep trees, two uids and a subject exceed the size limit of index entries.
create index deliveries_by_subject on deliveries (subscription_uid, hashtextextended(subject, 0), uid)
  where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING');
create index deliveries_at_once on deliveries (subscription_uid) where state = 'DELIVERY_STATE_PENDING' and not in_order;
create index deliveries_by_create_time on deliveries (left(uid, 40), create_time, uid);
create index deliveries_by_update_time on deliveries (left(uid, 40), update_time, uid);
create index deliveries_by_parent on deliveries (left(uid, -17), uid);
create index deliveries_in_root on deliveries (uid) where length(uid) = 40;
create index deliveries_done on deliveries (update_time) where state in ('DELIVERY_STATE_DELIVERED', 'DELIVERY_STATE_DROPPED');
create index deliveries_dead on deliveries (update_time) where state = 'DELIVERY_STATE_DEAD';
-- Finding dead deliveries among a million delivered ones took 2.3 s without this index.
create index deliveries_by_state on deliveries (left(uid, 40), state, uid);
-- Events with unfinished deliveries are not deleted. This index finds them by event.
create index deliveries_on_their_way_by_event on deliveries (event_id)
where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING');

-- Events with a position that still need deliveries (server/events/delivery/fan-out.ts). One row per organization with
-- such events, and one per event or delivery that failed or runs separately.
create table fan_outs (
  -- Uid of the organization, the event or the future delivery.
  uid text collate "C" primary key,
  -- Only this subscription; null: all that receive the events.
  only_subscription_uid text collate "C",
  position bigint not null,
  -- Last subscription that has the next event; empty: none.
  subscription_uid text collate "C" not null default '',
  last_position bigint not null,
  -- Consecutive failures, and time of the next attempt.
  failures integer not null default 0,
  try_time timestamptz(3) not null
);
create index fan_outs_single on fan_outs (try_time) where only_subscription_uid is not null;

-- ---- audit: the audit log -----------------------------------------------------------------------------------------

-- Audit log entries, in partitions by month so that a month can be dropped as a whole. Seal time follows the order of
-- the chains, so a drop removes the beginning of each chain.
create table audit_entries (
  -- Group of the entry, and its number in the organization's chain.
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
  -- Rows that a batch created or deleted.
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
-- Order in which entries are sealed and exported.
create index audit_entries_by_seal_time on audit_entries (seal_time);

-- End of each chain and length of its dropped beginning, sealed with the secret key. Database access alone is not
-- enough to rewrite a chain.
create table audit_chains (
  root text collate "C" primary key,
  sealed text not null
);

-- Position up to which the outbox is sealed, and the seal over all chains; one row.
create table audit_progress (
  one boolean primary key default true check (one),
  position bigint not null,
  sealed text not null,
  -- Earlier positions with events that could not be sealed. They are kept and retried.
  set_aside bigint[] not null default '{}'
);

-- Restores of this database (server/audit/log/restores.ts). Readers may have seen newer data than the backup has. Event
-- positions and audit log numbers therefore continue after `base`, which exceeds all earlier ones.
create table restores (
  -- Restore time in microseconds since 1970: greater than the number of events ever written.
  base bigint primary key,
  restore_time timestamptz(3) not null,
  -- Backup and operator of the restore, sealed with the secret key.
  sealed text not null
);

-- Export progress of each audit log target. Rows outlive the settings.
create table audit_targets (
  name text collate "C" primary key,
  -- Last exported entry; entries with equal seal times are ordered by organization and number.
  seal_time timestamptz(3) not null default '-infinity',
  root text collate "C" not null default '',
  sequence bigint not null default 0,
  sent bigint not null default 0,
  -- Next attempt, consecutive failures, time of the first of them, and error.
  next_time timestamptz(3) not null default '-infinity',
  failures integer not null default 0,
  failed_since timestamptz(3),
  problem text not null default '',
  -- Last month that was dropped before its export.
  missed_month text not null default '',
  -- Last time that a server had the target in its settings.
  seen_time timestamptz(3) not null,
  lease_holder text,
  lease_until timestamptz(3)
);

insert into audit_progress (position, sealed) values (0, '');
insert into audit_retention (months) values (13);

-- Creates the partition of a month if it does not exist. It is attached afterwards: creating it in place would wait for
-- all readers, and block them.
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

-- Drops the entries of a past month. A drop waits for readers and blocks them, so it fails after 1 s and is retried
-- later.
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

-- ---- registry: repos, tags, manifests, blobs ----------------------------------------------------------------------

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
  update_time timestamptz(3) not null,
  readme_update_time timestamptz(3),
  anonymous_pull boolean not null default false
);
create unique index repos_unique on repos (left(uid, -17), name collate "POSIX") include (uid);
create index repos_in_root on repos (uid) where length(uid) = 40;
create index repos_by_name on repos (left(uid, 40), name, uid);
create index repos_by_create_time on repos (left(uid, 40), create_time, uid);
create index repos_by_update_time on repos (left(uid, 40), update_time, uid);
create index repos_by_sync_source on repos ((sync_config ->> 'source'), uid) where sync_config is not null;

create table tags (
  uid text collate "C" primary key,
  name text collate "C" not null,
  digest text collate "C" not null,
  deprecated boolean not null default false,
  bundles jsonb,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- Kinds of tags that lists omit by default.
  is_referrer boolean not null generated always as (name like 'sha256-%') stored,
  is_date boolean not null generated always as (name ~ '-20[0-9]{6}$') stored,
  is_epoch boolean not null generated always as (name ~ '-r[0-9]+$') stored
);
create unique index tags_unique on tags (left(uid, -17), name collate "POSIX") include (uid);
create index tags_in_root on tags (uid) where length(uid) = 40;
-- Rows of default lists, often the smaller part. All referrers are adjacent by name.
create index tags_plain on tags (uid) where not is_referrer and not is_date and not is_epoch;
create index tags_plain_by_parent on tags (left(uid, -17), name collate "POSIX", uid) where not is_referrer and not is_date and not is_epoch;
create index tags_plain_by_name on tags (left(uid, 40), name, uid) where not is_referrer and not is_date and not is_epoch;
create index tags_by_name on tags (left(uid, 40), name, uid);
create index tags_by_digest on tags (left(uid, 40), digest, uid);
create index tags_by_create_time on tags (left(uid, 40), create_time, uid);
create index tags_by_update_time on tags (left(uid, 40), update_time, uid);

-- Platform manifests of a tag's digest, as imported.
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

-- Location of this database's blobs (decision 0031); one row. The blob storage has the same IDs. This detects a server
-- with a wrong disk.
create table blob_places (
  only_one boolean primary key default true check (only_one),
  store_id text collate "C" not null,
  place_id text collate "C" not null default '',
  sweep_time timestamptz(3) not null,
  -- Last sweep for leftovers of other servers, and start of the unbroken series of such sweeps. An old copy of the
  -- database shows by it that it lacks recent uploads.
  leftover_time timestamptz(3) not null default '-infinity',
  leftover_since timestamptz(3)
);

-- One row per blob, shared by all repos. A blob is hidden once its removal starts. A concurrent upload of the same blob
-- gets a new key.
create table blobs (
  sha256 text collate "C" primary key,
  sha512 text collate "C" unique,
  size_bytes bigint not null,
  key text collate "C" not null unique,
  create_time timestamptz(3) not null,
  remove_time timestamptz(3)
);

-- Blobs of each repo. An unused blob stays until its lease expires: a manifest may follow.
create table repo_blobs (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null references blobs,
  create_time timestamptz(3) not null,
  lease_time timestamptz(3) not null,
  primary key (repo_uid, sha256)
);
create index repo_blobs_by_blob on repo_blobs (sha256, repo_uid);

-- Uploads in progress. `state` is the blob storage's progress record. An appending request leases the row.
create table uploads (
  id text collate "C" primary key,
  repo_uid text collate "C" not null,
  key text collate "C" not null unique,
  size_bytes bigint not null,
  state jsonb not null,
  algorithm text not null,
  holder text not null default '',
  hold_time timestamptz(3) not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index uploads_by_repo on uploads (repo_uid, id);
create index uploads_by_update_time on uploads (update_time);

create table blob_removals (
  key text collate "C" primary key,
  state jsonb,
  create_time timestamptz(3) not null
);

-- Manifests with their bytes, as JSON text. `algorithm` is that of the last pushed digest, shown for tags.
create table repo_manifests (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  sha512 text collate "C" not null,
  algorithm text not null,
  media_type text collate "C" not null,
  content text not null,
  size_bytes integer not null,
  artifact_type text collate "C" not null,
  subject text collate "C" not null,
  annotations jsonb,
  create_time timestamptz(3) not null,
  -- Last push, pull or reference, with a resolution of limits.manifestUseMs. Garbage collection may remove unused
  -- manifests without tags if the operator enables it.
  use_time timestamptz(3) not null default now(),
  primary key (repo_uid, sha256)
);
create unique index repo_manifests_by_sha512 on repo_manifests (repo_uid, sha512);
create index repo_manifests_by_subject on repo_manifests (repo_uid, subject, sha256) where subject <> '';
-- End-of-life referrers of images.
create index repo_manifests_lifecycle on repo_manifests (repo_uid, subject)
  where artifact_type = 'application/vnd.microsoft.artifact.lifecycle';
create index repo_manifests_charts on repo_manifests (left(repo_uid, 40), repo_uid, create_time desc)
  where artifact_type = 'application/vnd.cncf.helm.config.v1+json';

-- Blobs that a manifest needs. Its repo keeps them.
create table manifest_blobs (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  blob text collate "C" not null,
  primary key (repo_uid, sha256, blob),
  foreign key (repo_uid, sha256) references repo_manifests on delete cascade deferrable,
  foreign key (repo_uid, blob) references repo_blobs deferrable
);
create index manifest_blobs_by_blob on manifest_blobs (repo_uid, blob);

-- Manifests that an index lists, by digest; they may be absent.
create table manifest_children (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  child text collate "C" not null,
  primary key (repo_uid, sha256, child),
  foreign key (repo_uid, sha256) references repo_manifests on delete cascade deferrable
);
create index manifest_children_by_child on manifest_children (repo_uid, child);

-- Operator's tag policies: a tag with a matching repo and name is deprecated from `end_date` on.
create table tag_policies (
  -- Organization, or '' for all.
  organization text collate "C" not null,
  pattern text collate "C" not null,
  -- "2026-04-30"
  end_date text collate "C" not null,
  -- Last tag checked since the date; all of them once applied. New tags are checked on creation.
  seen_uid text collate "C" not null default '',
  applied boolean not null default false,
  primary key (organization, pattern)
);

-- Tags deprecated by a policy or a pushed referrer, not by a user.
create table ended_tags (
  tag_uid text collate "C" primary key,
  -- The reason may no longer apply.
  recheck boolean not null default false
);
create index ended_tags_to_check on ended_tags (tag_uid) where recheck;

create table tag_history (
  id bigint generated always as identity primary key,
  repo_uid text collate "C" not null,
  name text collate "C" not null,
  digest text collate "C" not null,
  start_time timestamptz(3) not null,
  end_time timestamptz(3)
);
create index tag_history_by_name on tag_history (repo_uid, name, id);
create index tag_history_by_digest on tag_history (repo_uid, digest);
create index tag_history_by_end_time on tag_history (end_time) where end_time is not null;

create table repo_deployments (
  repo_uid text collate "C" primary key,
  charts jsonb not null,
  fields_as_published boolean not null default false
);

create table registry_settings (
  root_uid text collate "C" primary key,
  unique_tags boolean not null,
  eol_grace_period boolean not null
);

create table lifecycles (
  owner text collate "C" not null,
  -- Source of the lifecycle. A lifecycle that its source drops is deleted.
  feed text collate "C" not null,
  -- "nodejs"
  product text collate "C" not null,
  -- Names of the product's repos and packages, the product's own name first.
  names jsonb not null,
  -- [{"version": "18", "releaseDate": "2022-04-19", "end": "2025-04-30", …}], in the source's order.
  releases jsonb not null,
  grace_months integer not null,
  digest text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  primary key (owner, feed, product)
);
create index lifecycles_by_name on lifecycles using gin (names);
create index lifecycles_by_feed on lifecycles (feed, owner, product);

create table overlays (
  uid text collate "C" primary key,
  name text collate "C" not null,
  config jsonb not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index overlays_by_parent on overlays (left(uid, -17), name collate "POSIX", uid);
create index overlays_by_name on overlays (left(uid, 40), name, uid);
create index overlays_by_create_time on overlays (left(uid, 40), create_time, uid);
create index overlays_by_update_time on overlays (left(uid, 40), update_time, uid);
create index overlays_in_root on overlays (uid) where length(uid) = 40;

create table overlay_bindings (
  uid text collate "C" primary key,
  repo text collate "C" not null,
  overlay_uid text collate "C" not null,
  tags jsonb not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index overlay_bindings_by_parent on overlay_bindings (left(uid, -17), uid);
create index overlay_bindings_by_create_time on overlay_bindings (left(uid, 40), create_time, uid);
create index overlay_bindings_by_update_time on overlay_bindings (left(uid, 40), update_time, uid);
create index overlay_bindings_in_root on overlay_bindings (uid) where length(uid) = 40;
create index overlay_bindings_by_overlay_uid on overlay_bindings (overlay_uid, uid);

create table pending_repos (
  uid text collate "C" primary key,
  group_uid text collate "C" not null,
  path text collate "C" not null,
  -- Repository created from it. Requests in progress continue there.
  repo_uid text collate "C",
  create_time timestamptz(3) not null,
  -- Last push, or last check by a client that a blob exists.
  update_time timestamptz(3) not null
);
create unique index pending_repos_by_path on pending_repos (path, group_uid) where repo_uid is null;
create index pending_repos_by_group on pending_repos (group_uid);
create index pending_repos_by_update_time on pending_repos (update_time);

-- Keys that a long request is writing and no other row refers to. Other keys that a crashed server left are removed
-- within an hour.
create table blob_writes (
  key text collate "C" primary key,
  lease_time timestamptz(3) not null
);

-- Counts each blob once per organization. Blobs of deleted repos count too: otherwise deleting and pushing again evades
-- the quota. Restored blobs were counted all along.
create function blobs_given() returns trigger language plpgsql as $$
declare
  root text;
  given_bytes bigint;
begin
  for root in select distinct left(repo_uid, 40) from made order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into given_bytes from blobs
    where sha256 in (select sha256 from made where left(repo_uid, 40) = root) and not exists (
      select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root
        and not exists (select from made where made.repo_uid = other.repo_uid and made.sha256 = other.sha256))
      and not exists (
        select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = blobs.sha256 and left(deletion_uid, 40) = root);
    if given_bytes > 0 then
      perform count_made(root, 'blob_bytes', given_bytes);
    end if;
  end loop;
  return null;
end $$;
create trigger repo_blobs_given after insert on repo_blobs referencing new table as made for each statement execute function blobs_given();

create function blobs_taken() returns trigger language plpgsql as $$
declare
  root text;
  taken_bytes bigint;
begin
  for root in select distinct left(repo_uid, 40) from gone order by 1 loop
    perform pg_advisory_xact_lock(730141292, hashtext(root));
    select coalesce(sum(size_bytes), 0) into taken_bytes from blobs
    where sha256 in (select sha256 from gone where left(repo_uid, 40) = root)
      and not exists (select from repo_blobs as other where other.sha256 = blobs.sha256 and left(other.repo_uid, 40) = root)
      and not exists (
        select from deleted_rows where table_name = 'repo_blobs' and content ->> 'sha256' = blobs.sha256 and left(deletion_uid, 40) = root);
    insert into resource_counts as held (organization, resource, slot, row_count) values (root, 'blob_bytes', pg_backend_pid() % 64, - taken_bytes)
    on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  end loop;
  return null;
end $$;
create trigger repo_blobs_taken after delete on repo_blobs referencing old table as gone for each statement execute function blobs_taken();

-- Queues changed tags for matching. A renamed tag (UpdateTag) is matched under both names.
create function tags_to_match() returns trigger language plpgsql as $$
declare
  uids text[];
  names text[];
begin
  if tg_op = 'UPDATE' then
    select array_agg(uid), array_agg(name) into uids, names from (
      select moved.uid, either.name
      from moved join replaced using (uid) cross join lateral (values (moved.name), (replaced.name)) as either(name)
      where moved.digest <> replaced.digest or moved.name <> replaced.name
    ) as changed;
  else
    select array_agg(uid), array_agg(name) into uids, names from moved;
  end if;
  if uids is not null then
    perform note_tags_to_match(uids, names);
  end if;
  return null;
end $$;
create trigger tags_to_match_made after insert on tags referencing new table as moved for each statement execute function tags_to_match();
create trigger tags_to_match_changed after update on tags referencing old table as replaced new table as moved
for each statement execute function tags_to_match();
create trigger tags_to_match_gone after delete on tags referencing old table as moved for each statement execute function tags_to_match();

create function repos_use_names() returns trigger language plpgsql as $$
begin
  update group_names set used = true
  where parent = '' and group_uid in (select left(uid, 40) from made) and held and not used;
  return null;
end $$;
create trigger repos_use_names after insert on repos referencing new table as made for each statement execute function repos_use_names();

-- Deletes uploads and blobs of a deleted pending repo. Triggers of repo_blobs count the bytes.
create function pending_repos_gone() returns trigger language plpgsql as $$
begin
  with ended as (delete from uploads using gone where uploads.repo_uid = gone.uid returning uploads.key, uploads.state)
  insert into blob_removals (key, state, create_time) select key, state, now() from ended on conflict do nothing;
  delete from repo_blobs using gone where repo_blobs.repo_uid = gone.uid;
  return null;
end $$;
create trigger pending_repos_gone after delete on pending_repos referencing old table as gone
  for each statement execute function pending_repos_gone();

-- A new repository adopts pending uploads and blobs of its path, below the group where the push began. The
-- organization's bytes stay the same, so nothing is counted. Duplicates are deleted.
create function pending_repos_adopted() returns trigger language plpgsql as $$
declare
  found record;
begin
  for found in
    select pending.uid, made.uid as repo from pending_repos as pending
    join made on starts_with(made.uid, pending.group_uid || '/')
    where pending.repo_uid is null
      and pending.path = (
        select string_agg(groups.name, '/' order by length(groups.uid))
        from generate_series(40, length(made.uid) - 17, 17) as prefix(long) join groups on groups.uid = left(made.uid, prefix.long)
      ) || '/' || made.name
    order by pending.uid for update of pending
  loop
    update pending_repos set repo_uid = found.repo where uid = found.uid;
    update uploads set repo_uid = found.repo where repo_uid = found.uid;
    update repo_blobs as held set repo_uid = found.repo
    where repo_uid = found.uid and not exists (select from repo_blobs as other where other.repo_uid = found.repo and other.sha256 = held.sha256);
    delete from repo_blobs where repo_uid = found.uid;
  end loop;
  return null;
end $$;
create trigger pending_repos_adopted after insert on repos referencing new table as made
  for each statement execute function pending_repos_adopted();

-- ---- advisories: sources, records, matches, reports ---------------------------------------------------------------

-- Combinations of the low-cardinality fields that advisory filters select by: artifact and component type,
-- architecture, and the types, review states, authors and reviewers of events. A filter finds its few matching facets.
-- Each facet is a range of one advisories index, in uid order (decision 0011).
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
  -- Withdrawn: kept, and returned only by ID.
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
  -- Lower-case text that `query` searches.
  search text collate "C" not null,
  -- Also returned by unauthenticated operations.
  public boolean not null,
  feed text collate "C" not null,
  digest text collate "C" not null,
  -- Source document of the row, and its format; null and "" if unknown.
  document_id bigint,
  form text collate "C" not null default ''
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
create index advisories_by_update_time on advisories (left(uid, 40), update_time, uid);
create index advisories_by_aliases on advisories using gin (aliases) where delete_time is null;
create index advisories_by_search on advisories using gin (search gin_trgm_ops) where delete_time is null;
create index advisories_published on advisories (origin, uid) where public and delete_time is null;
create index advisories_published_by_id on advisories (advisory_id, uid) where public;
create index advisories_published_own on advisories (origin, uid) where public and delete_time is null and form = 'wolfi';
create index advisories_published_artifact on advisories (artifact_name) where public and delete_time is null and form = 'wolfi';
create index advisories_without_document on advisories (feed, uid collate "POSIX") where document_id is null;
create index advisories_deleted_by_artifact_name on advisories (left(uid, 40), artifact_name, uid) where delete_time is not null;
create index advisories_deleted_by_component_name on advisories (left(uid, 40), component_name, uid) where delete_time is not null;
create index advisories_deleted_by_component_location on advisories (left(uid, 40), component_location, uid) where delete_time is not null;
create index advisories_deleted_by_create_time on advisories (left(uid, 40), create_time, uid) where delete_time is not null;
create index advisories_deleted_by_advisory_id on advisories (left(uid, 40), advisory_id, uid) where delete_time is not null;
create index advisories_deleted_by_legacy_advisory_id on advisories (left(uid, 40), legacy_advisory_id, uid) where delete_time is not null;
-- Only own advisories are read in change order (server/advisories/store/advisories.ts).
create index advisories_own_by_update_time on advisories (update_time, advisory_id) where public and form = 'wolfi';

-- Vulnerability records: CVE, OSV, RustSec. `owner` is the group of the import, "" for public records.
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
  -- Omitted from lists: rejected, withdrawn by its source, or missing in it.
  hidden boolean not null,
  feed text collate "C" not null,
  digest text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  document_id bigint,
  primary key (id, owner)
);
create index vulnerabilities_by_owner on vulnerabilities (owner, hidden, id);
create index vulnerabilities_by_feed on vulnerabilities (feed, owner, id);
-- Public vulnerability list by time; vulnerabilities_by_owner covers the order by ID.
create index vulnerabilities_by_create_time on vulnerabilities (create_time, id) where owner = '' and not hidden;
create index vulnerabilities_by_update_time on vulnerabilities (update_time, id) where owner = '' and not hidden;
create index vulnerabilities_without_document on vulnerabilities (feed, owner, id) where document_id is null;

-- Origin package of each package.
create table package_origins (
  name text collate "C" primary key,
  origin text collate "C" not null,
  feed text collate "C" not null
);
create index package_origins_by_origin on package_origins (origin, name);

-- Packages in the images of a repo's tags, as imported. `owner` as in vulnerabilities.
create table image_packages (
  owner text collate "C" not null,
  repo text collate "C" not null,
  tag text collate "C" not null,
  architecture text collate "C" not null,
  -- "apko" of "public/apko": lookups may use only the last segment.
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

create table feeds (
  id integer generated always as identity primary key,
  kind text not null,
  group_uid text collate "C" not null,
  source text collate "C" not null,
  manner text not null,
  -- Records that disappeared from a file are withdrawn.
  settled boolean not null,
  -- Record counts that imports wrote but not yet reported: {"group": {…}, "everybody": {…}}. The writing transaction
  -- adds to it. The transaction that ends the import reports and clears it (server/advisories/feeds).
  unreported jsonb not null default '{}',
  -- License "" is unknown. The author is the value of --author, or "" for the default of the format.
  license text not null default '',
  author text not null default '',
  -- Uid of gantry.feeds.v1.Feed: the group and the row's segment.
  uid text collate "C" not null generated always as (group_uid || '/' || lpad(to_hex(id), 16, '0')) stored,
  -- Source without secrets of its URL.
  source_name text not null default '',
  -- Number of the current or last run; open until it ends. Concurrent imports of a source share the run.
  run integer not null default 0,
  run_open boolean not null default false,
  -- Last run that changed records, and its end: `gantry import undo` reverts it.
  changed_run integer not null default 0,
  change_time timestamptz(3),
  success_time timestamptz(3),
  record_count integer not null default 0,
  state text,
  detail text not null default '',
  -- Held run: reason, number of records, start, and a digest of the records.
  hold_reason text,
  held_record_count integer not null default 0,
  hold_time timestamptz(3),
  hold_digest text not null default '',
  absent_files jsonb,
  -- Staleness threshold after the last success; 0: the setting.
  stale_after_ms bigint not null default 0,
  -- Coverage may have changed since feed_ecosystems was written.
  coverage_due boolean not null default true,
  -- Version of the published records; null: never published. Changes with each archived record, so that requests can
  -- detect outdated archive files (decision 0025). It is random, because a counter would repeat after a restore.
  published_version uuid,
  unique (kind, group_uid, source)
);
create unique index feeds_by_uid on feeds (uid);
create index feeds_by_parent on feeds (left(uid, -17), uid);
create index feeds_in_root on feeds (uid) where length(uid) = 40;

create table feed_files (
  feed_id integer not null references feeds on delete cascade,
  name text collate "C" not null,
  part integer not null,
  digest text not null,
  records text[] not null,
  -- Time when the source dropped the file. Its release is no longer evaluated.
  absent_time timestamptz(3),
  primary key (feed_id, name, part)
);

-- Import schedules, shared by all servers of this database.
create table feed_schedules (
  schedule text collate "C" primary key,
  next_time timestamptz(3) not null,
  lease_holder text,
  lease_until timestamptz(3),
  failures integer not null,
  last_time timestamptz(3),
  last_outcome text
);

-- Documents of the public feed, one per origin package with a published advisory. The triggers below update them for
-- all writers. A page in any time order is one index range.
create table advisory_documents (
  origin text collate "C" primary key,
  -- Number of published, not withdrawn advisories; 0: not listed.
  listed integer not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index advisory_documents_by_create_time on advisory_documents (create_time, origin) where listed > 0;
create index advisory_documents_by_update_time on advisory_documents (update_time, origin) where listed > 0;
-- File name that CSAF derives from an ID (2.0, section 5.1).
create index advisory_documents_by_file_name on advisory_documents (regexp_replace(lower(origin), '[^-+a-z0-9]+', '_', 'g'));

create table source_documents (
  id bigint generated always as identity primary key,
  feed_id integer not null references feeds on delete cascade,
  -- Location in its source (feed_files).
  file text collate "C" not null,
  part integer not null,
  -- Format, and its ID there: OSV ID, CVE ID or package.
  form text collate "C" not null,
  origin_id text collate "C" not null,
  -- Ordinal from 0 among documents with the same ID and location.
  ordinal integer not null,
  digest text not null,
  -- License of the document; "": the license of its source applies.
  license text not null,
  public boolean not null,
  -- Reason why OSV cannot represent the document; "" if it can.
  left_out text not null,
  -- False: no file of the source has it any longer.
  told boolean not null,
  modify_time timestamptz,
  -- Import of this content, and last change of its published form.
  import_time timestamptz(3) not null,
  change_time timestamptz(3) not null,
  -- JSON, deflated (RFC 1951).
  body bytea not null,
  -- OSV ecosystems of the document without releases, which name its archives. Null: unknown.
  ecosystems text[],
  -- Version 1 also lists each record in affected_packages under its ecosystem without a release. The next import of the
  -- source rewrites documents of version 0.
  index_version smallint not null default 0,
  -- Absent from the source when last read; effective until the run ends.
  missing boolean not null default false,
  added_run integer not null default 0,
  -- Withdrawal by its origin or by absence from its source. Null while it is effective.
  withdraw_time timestamptz(3),
  unique (feed_id, file, part, form, origin_id, ordinal)
);
-- Already compressed.
alter table source_documents alter column body set storage external;
create index source_documents_by_origin_id on source_documents (origin_id, form);
create index source_documents_by_feed on source_documents (feed_id, id);
create index source_documents_gone on source_documents (feed_id) where not told;
create index source_documents_published on source_documents (origin_id, form) where public;
create index source_documents_changed on source_documents (change_time, origin_id) where public;
create index source_documents_modified on source_documents (modify_time, id) where public and left_out = '';
-- Documents that sources dropped, in purge order.
create index source_documents_gone_by_change_time on source_documents (change_time) where not told;
create index source_documents_missing on source_documents (feed_id) where missing;
create index source_documents_withdrawn on source_documents (coalesce(withdraw_time, change_time), id) where public and not told;

create table document_records (
  document_id bigint not null references source_documents on delete cascade,
  record_key text collate "C" not null,
  modify_time timestamptz,
  -- False: the document dropped the record, and its new source is undecided.
  told boolean not null,
  missing boolean not null default false,
  primary key (document_id, record_key)
);
create index document_records_by_key on document_records (record_key);
create index document_records_gone on document_records (document_id) where not told;
create index document_records_missing on document_records (document_id) where missing;

create table feed_validators (
  feed_id integer not null references feeds on delete cascade,
  address text collate "C" not null,
  -- Manner of reading the feed. A change fetches everything again.
  manner text not null,
  etag text not null,
  last_modified text not null,
  listed text not null,
  primary key (feed_id, address)
);

-- Known exploits by source, one row per ID; `owner` as in vulnerabilities. The effective row of an ID is shown. A row
-- may precede its vulnerability record.
create table known_exploits (
  feed_id integer not null references feeds on delete cascade,
  id text collate "C" not null,
  owner text collate "C" not null,
  shown boolean not null,
  date_added text collate "C" not null,
  due_date text not null,
  ransomware boolean not null,
  required_action text not null,
  digest text not null,
  primary key (feed_id, id)
);
create index known_exploits_by_id on known_exploits (id, owner);
create unique index known_exploits_shown on known_exploits (id, owner) where shown;
create index known_exploits_by_date on known_exploits (owner, date_added, id) where shown;

create table exploit_predictions (
  feed_id integer not null references feeds on delete cascade,
  id text collate "C" not null,
  owner text collate "C" not null,
  shown boolean not null,
  score double precision not null,
  percentile double precision not null,
  score_date text collate "C" not null,
  digest text not null,
  primary key (feed_id, id)
);
create index exploit_predictions_by_id on exploit_predictions (id, owner);
create unique index exploit_predictions_shown on exploit_predictions (id, owner) where shown;
create index exploit_predictions_by_score on exploit_predictions (owner, score, id) where shown;

create table affected_packages (
  ecosystem text collate "C" not null,
  name text collate "C" not null,
  origin_id text collate "C" not null,
  document_id bigint not null references source_documents on delete cascade,
  public boolean not null,
  modified text not null,
  -- The document's ranges and versions for the package, as JSON.
  entries text not null,
  primary key (document_id, ecosystem, name)
);
create index affected_packages_published on affected_packages (name, ecosystem, origin_id, document_id) where public;

create table affected_images (
  uid text collate "C" primary key,
  repo text collate "C" not null default '',
  repo_uid text collate "C" not null default '',
  tags jsonb,
  digest text collate "C" not null default '',
  architectures jsonb,
  package_name text collate "C" not null default '',
  installed_version text not null default '',
  fixed_version text not null default '',
  advisory_id text collate "C" not null default '',
  aliases jsonb,
  advisory_uid text collate "C" not null default '',
  state text collate "C" not null,
  start_time timestamptz(3),
  end_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- All IDs of the advisory, for filters.
  advisory_ids jsonb not null default '[]',
  -- {"tag": "time"}: time when the tag moved off the image, or the image was no longer affected.
  left_tags jsonb not null default '{}',
  suppression jsonb
);
create index affected_images_by_repo on affected_images (left(uid, 40), repo, uid);
create index affected_images_by_digest on affected_images (left(uid, 40), digest, uid);
create index affected_images_by_package_name on affected_images (left(uid, 40), package_name, uid);
create index affected_images_by_advisory_id on affected_images (left(uid, 40), advisory_id, uid);
create index affected_images_by_state on affected_images (left(uid, 40), state, uid);
create index affected_images_by_create_time on affected_images (left(uid, 40), create_time, uid);
create index affected_images_by_update_time on affected_images (left(uid, 40), update_time, uid);
create index affected_images_by_parent on affected_images (left(uid, -17), uid);
create index affected_images_in_root on affected_images (uid) where length(uid) = 40;
create index affected_images_by_advisory_ids on affected_images using gin (advisory_ids);
create index affected_images_by_end_time on affected_images (end_time) where end_time is not null;

create table document_signing_keys (
  -- OpenPGP fingerprint, in hexadecimal.
  fingerprint text collate "C" primary key,
  -- Armored (RFC 9580, section 6).
  public_key text not null,
  -- Sealed with the secret key; the plain private key never reaches the disk.
  private_key_sealed text not null,
  create_time timestamptz(3) not null,
  -- Last time of signing. The key stays published to verify earlier signatures.
  retire_time timestamptz(3)
);
-- If two servers need the first key at once, only one creates it.
create unique index document_signing_keys_current on document_signing_keys ((true)) where retire_time is null;

create table csaf_documents (
  document_id bigint primary key references source_documents on delete cascade,
  -- Publisher's namespace, and the directory name derived from it.
  issuer text collate "C" not null,
  folder text collate "C" not null,
  publisher text not null,
  file_name text collate "C" not null,
  title text not null,
  -- WHITE or UNLABELED; restricted documents also have a reason.
  label text not null,
  initial_release_time timestamptz(3),
  current_release_time timestamptz(3),
  -- Reason for omission from lists; "" if listed.
  left_out text not null
);
create index csaf_documents_by_file_name on csaf_documents (folder, file_name, document_id);

-- CVE IDs of a vulnerability record, its own and its aliases. Facts (known_exploits, exploit_predictions) are keyed by
-- CVE ID and apply to all its records.
create table vulnerability_cves (
  owner text collate "C" not null,
  cve text collate "C" not null,
  id text collate "C" not null,
  primary key (owner, cve, id),
  foreign key (id, owner) references vulnerabilities (id, owner) on delete cascade
);
create index vulnerability_cves_by_id on vulnerability_cves (owner, id);

create table changes_to_match (
  id bigint generated always as identity primary key,
  -- '' for all organizations: public data.
  root text collate "C" not null default '',
  -- Package of the changed advisories; '' for none.
  name text collate "C" not null default '',
  -- Group and repo of the changed images; '' for none. Without package and repo: everything.
  owner text collate "C" not null default '',
  repo text collate "C" not null default '',
  of_tag boolean not null default false
);
create index changes_to_match_of_tags on changes_to_match (id) where of_tag;

create table image_sboms (
  -- Below its repo; deterministic for an image and document.
  uid text collate "C" primary key,
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  -- Manifest with the document, and the document blob.
  manifest_digest text collate "C" not null,
  document_digest text collate "C" not null,
  state text collate "C" not null,
  format text not null default '',
  problem text not null default '',
  package_count integer not null default 0,
  unnamed_count integer not null default 0,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- {"name": "version"}, {"name": ["version", "version"]}
  packages jsonb not null default '{}',
  -- While pending: next attempt, and number of attempts.
  try_time timestamptz(3) not null,
  tries integer not null default 0,
  -- The organization's images were matched since.
  matched boolean not null default false,
  -- Its manifest was deleted; the row follows after the next match.
  gone boolean not null default false
);
create index image_sboms_by_create_time on image_sboms (left(uid, 40), create_time, uid);
create index image_sboms_by_update_time on image_sboms (left(uid, 40), update_time, uid);
create index image_sboms_by_digest on image_sboms (left(uid, 40), digest, uid);
create index image_sboms_in_root on image_sboms (uid) where length(uid) = 40;
create index image_sboms_by_parent on image_sboms (left(uid, -17), uid);
create index image_sboms_by_repo on image_sboms (repo_uid, manifest_digest);
create index image_sboms_waiting on image_sboms (try_time) where state = 'IMAGE_SBOM_STATE_WAITING';
create index image_sboms_unmatched on image_sboms (left(uid, 40)) where not matched and state <> 'IMAGE_SBOM_STATE_WAITING';

create table vuln_reports (
  id bigint generated always as identity primary key,
  -- Repo of the report, and SHA-256 of the image manifest.
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  -- GRYPE, TRIVY or UNKNOWN; the tool's name and version.
  scanner text collate "C" not null,
  tool text collate "C" not null,
  version text collate "C" not null,
  database_time timestamptz(3),
  -- Time of the scan, or of the first upload if unknown; time of the last upload.
  create_time timestamptz(3) not null,
  seen_time timestamptz(3) not null,
  -- SHA-256 of the report: identical reports share one row.
  document_digest text collate "C" not null,
  finding_count integer not null,
  -- {"CVE-2024-1234": "HIGH"}
  severities jsonb not null,
  -- JSON, deflated (RFC 1951).
  findings bytea not null,
  -- Original report, deflated; and its uncompressed size.
  raw bytea not null,
  raw_bytes integer not null,
  -- Manifest of the report; '' if it was not pushed.
  manifest_digest text collate "C" not null,
  -- Arrival of a later report from the same tool.
  replace_time timestamptz(3),
  unique (repo_uid, digest, document_digest)
);
-- Already compressed.
alter table vuln_reports alter column findings set storage external;
alter table vuln_reports alter column raw set storage external;
create index vuln_reports_by_image on vuln_reports (digest, repo_uid, create_time, id);
create index vuln_reports_by_manifest on vuln_reports (repo_uid, manifest_digest) where manifest_digest <> '';
create index vuln_reports_by_replace_time on vuln_reports (replace_time) where replace_time is not null;
create index vuln_reports_by_repo on vuln_reports (repo_uid, create_time, id);

-- Pushed referrers that may be reports, to read after the push.
create table pushed_reports (
  repo_uid text collate "C" not null,
  -- Manifest with the document, the image, and the document blob.
  manifest_digest text collate "C" not null,
  digest text collate "C" not null,
  document_digest text collate "C" not null,
  create_time timestamptz(3) not null,
  -- Next attempt, and number of attempts.
  try_time timestamptz(3) not null,
  tries integer not null default 0,
  primary key (repo_uid, manifest_digest, digest, document_digest)
);
create index pushed_reports_by_try_time on pushed_reports (try_time);

-- Maximum record count and withdrawals per day, for 30 days.
create table feed_days (
  feed_id integer not null references feeds on delete cascade,
  day date not null,
  records integer not null,
  withdrawn integer not null,
  primary key (feed_id, day)
);

-- Rows that the last changing run of each source replaced.
create table feed_reversals (
  feed_id integer not null references feeds on delete cascade,
  run integer not null,
  -- "document", "part", "known exploit" or "exploit prediction".
  what text not null,
  key text collate "C" not null,
  -- Previous row; null if there was none.
  previous jsonb,
  body bytea,
  primary key (feed_id, run, what, key)
);
alter table feed_reversals alter column body set storage external;

-- New content of documents that dropped records, effective once the withdrawal is decided.
create table pending_documents (
  document_id bigint primary key references source_documents on delete cascade,
  -- JSON, deflated, as in source_documents.
  body bytea not null
);
alter table pending_documents alter column body set storage external;

-- New IDs of renamed records. A row is deleted if the source restores the old ID.
create table record_successors (
  feed_id integer not null references feeds on delete cascade,
  old_id text collate "C" not null,
  new_id text collate "C" not null,
  primary key (feed_id, old_id)
);
create index record_successors_by_old_id on record_successors (old_id);

-- Ecosystems that a source covers, with the release as the source writes it: "Debian:12".
create table feed_ecosystems (
  feed_id integer not null references feeds on delete cascade,
  ecosystem text collate "C" not null,
  public boolean not null,
  end_time timestamptz(3),
  primary key (feed_id, ecosystem)
);
create index feed_ecosystems_public on feed_ecosystems (ecosystem) where public;

create table image_coverage (
  owner text collate "C" not null,
  repo text collate "C" not null,
  tag text collate "C" not null,
  architecture text collate "C" not null,
  short_repo text collate "C" not null,
  repo_uid text collate "C" not null,
  -- Digest of the tag; empty if the group has no such tag.
  digest text collate "C" not null,
  -- The digest or, if empty, that of the imported or read packages.
  identity text collate "C" not null,
  -- List of "ecosystem:release".
  ecosystems jsonb not null,
  primary key (owner, repo, tag, architecture)
);
create index image_coverage_by_short_repo on image_coverage (owner, short_repo, tag);
create index image_coverage_by_digest on image_coverage (repo_uid, digest);

-- Ecosystems and releases of each group's images.
create table advisory_coverage (
  uid text collate "C" primary key,
  ecosystem text collate "C" not null,
  release text collate "C" not null,
  image_count integer not null
);
create index advisory_coverage_by_ecosystem on advisory_coverage (left(uid, 40), ecosystem, uid);
create index advisory_coverage_by_parent on advisory_coverage (left(uid, -17), uid);
create index advisory_coverage_in_root on advisory_coverage (uid) where length(uid) = 40;

create table authored_advisories (
  uid text collate "C" primary key,
  advisory_id text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  delete_time timestamptz(3),
  author text not null default '',
  artifact_name text collate "C" not null default '',
  artifact_type text not null default '',
  artifact_architecture text not null default '',
  component_name text not null default '',
  component_location text not null default '',
  component_type text not null default '',
  aliases jsonb,
  legacy_advisory_id text not null default '',
  distribution text not null default '',
  -- Issuer and subject of the upstream token.
  author_act text not null default ''
);
create index authored_advisories_by_advisory_id on authored_advisories (left(uid, 40), advisory_id, uid);
create index authored_advisories_by_artifact_name on authored_advisories (left(uid, 40), artifact_name, uid);
create index authored_advisories_by_create_time on authored_advisories (left(uid, 40), create_time, uid);
create index authored_advisories_by_update_time on authored_advisories (left(uid, 40), update_time, uid);
create index authored_advisories_by_parent on authored_advisories (left(uid, -17), uid);
create index authored_advisories_in_root on authored_advisories (uid) where length(uid) = 40;

create table authored_advisory_events (
  uid text collate "C" primary key,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  findings text not null default '',
  author text not null default '',
  reviewer text not null default '',
  review_state text,
  issue text not null default '',
  detection jsonb,
  fixed jsonb,
  false_positive_determination jsonb,
  analysis_not_planned jsonb,
  fix_not_planned jsonb,
  pending_upstream_fix jsonb,
  true_positive_determination jsonb,
  patched jsonb,
  review_time timestamptz(3),
  author_act text not null default '',
  -- If approved: fingerprints of the advisories that the reviewer saw, by uid.
  basis jsonb,
  -- Where the component moved: {"previousLocation", "newLocation", "note"}.
  component_location_changed jsonb
);
create index authored_advisory_events_by_create_time on authored_advisory_events (left(uid, 40), create_time, uid);
create index authored_advisory_events_by_update_time on authored_advisory_events (left(uid, 40), update_time, uid);
create index authored_advisory_events_by_parent on authored_advisory_events (left(uid, -17), uid);
create index authored_advisory_events_in_root on authored_advisory_events (uid) where length(uid) = 40;

-- Approved false positive that is the last decision of an advisory.
create table advisory_suppressions (
  uid text collate "C" primary key,
  suppression jsonb not null
);

-- Kept permanently, even for deleted organizations, so that IDs are never reused.
create table advisory_numbers (
  root text collate "C" primary key,
  prefix text collate "C" not null unique,
  last bigint not null default 0
);

-- After an import: flushes pending entries of GIN indexes and updates planner statistics.
create function refresh_import_statistics(imported text) returns void language plpgsql strict security definer as $$
begin
  if imported not in ('advisories', 'advisory_facets', 'exploit_predictions', 'image_packages', 'known_exploits', 'library_artifacts', 'library_versions',
    'vulnerabilities') then
    raise exception 'not a table of imports: %', imported using errcode = 'invalid_parameter_value';
  end if;
  perform gin_clean_pending_list(indexrelid) from pg_index
  join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
  where indrelid = to_regclass(imported) and amname = 'gin';
  execute format('analyze %I', imported);
end $$;

-- Adds differences in name order. Concurrent changes of a document sum up correctly, without deadlocks.
create function documents_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into advisory_documents as held (origin, listed, create_time, update_time)
    select origin, count(*) filter (where delete_time is null), min(create_time), max(update_time)
    from written where public group by origin order by origin
    on conflict (origin) do update set listed = held.listed + excluded.listed,
      create_time = least(held.create_time, excluded.create_time), update_time = greatest(held.update_time, excluded.update_time);
  elsif tg_op = 'DELETE' then
    insert into advisory_documents as held (origin, listed, create_time, update_time)
    select origin, - count(*) filter (where delete_time is null), min(create_time), greatest(max(update_time) + interval '1 ms', now())
    from replaced where public group by origin order by origin
    on conflict (origin) do update set listed = held.listed + excluded.listed, update_time = greatest(held.update_time, excluded.update_time);
  else
    insert into advisory_documents as held (origin, listed, create_time, update_time)
    select origin, sum(listed), min(create_time), max(update_time) from (
      select origin, (delete_time is null)::integer as listed, create_time, update_time from written where public
      union all
      -- The previous document changes too, at the time of the change.
      select replaced.origin, - (replaced.delete_time is null)::integer, replaced.create_time, written.update_time
      from replaced join written using (uid) where replaced.public
    ) as difference group by origin order by origin
    on conflict (origin) do update set listed = held.listed + excluded.listed,
      create_time = least(held.create_time, excluded.create_time), update_time = greatest(held.update_time, excluded.update_time);
  end if;
  return null;
end $$;
create trigger advisories_documents_made after insert on advisories referencing new table as written
for each statement execute function documents_changed();
create trigger advisories_documents_changed after update on advisories referencing old table as replaced new table as written
for each statement execute function documents_changed();
create trigger advisories_documents_gone after delete on advisories referencing old table as replaced
for each statement execute function documents_changed();

create function advisories_to_match() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into changes_to_match (root, name) select distinct case when public then '' else left(uid, 40) end, artifact_name from replaced;
  end if;
  if tg_op <> 'DELETE' then
    insert into changes_to_match (root, name) select distinct case when public then '' else left(uid, 40) end, artifact_name from written;
  end if;
  return null;
end $$;
create trigger advisories_to_match_made after insert on advisories referencing new table as written
for each statement execute function advisories_to_match();
create trigger advisories_to_match_changed after update on advisories referencing old table as replaced new table as written
for each statement execute function advisories_to_match();
create trigger advisories_to_match_gone after delete on advisories referencing old table as replaced
for each statement execute function advisories_to_match();

create function images_to_match() returns trigger language plpgsql as $$
begin
  insert into changes_to_match (root, owner, repo) select distinct left(owner, 40), owner, repo from written where owner <> '';
  return null;
end $$;
create trigger images_to_match_made after insert on image_packages referencing new table as written
for each statement execute function images_to_match();
create trigger images_to_match_changed after update on image_packages referencing new table as written
for each statement execute function images_to_match();

create function origins_to_match() returns trigger language plpgsql as $$
begin
  insert into changes_to_match (name) select distinct name from written;
  return null;
end $$;
create trigger origins_to_match_made after insert on package_origins referencing new table as written
for each statement execute function origins_to_match();
create trigger origins_to_match_changed after update on package_origins referencing new table as written
for each statement execute function origins_to_match();

-- Queues the repos with known packages of the tags' images: imported for the tag, or from the repo's SBOMs.
create function note_tags_to_match(tag_uids text[], tag_names text[]) returns void language sql as $$
  insert into changes_to_match (root, owner, repo, of_tag)
  select left(image.owner, 40), image.owner, image.repo, true from (
    select left(repo.uid, -17) as owner, repo.name as repo
    from (select distinct left(uid, -17) as uid from unnest(tag_uids) as given(uid)) as changed join repos as repo on repo.uid = changed.uid
    where exists (select from image_sboms where image_sboms.repo_uid = repo.uid)
    union
    select imported.owner, imported.repo
    from unnest(tag_uids, tag_names) as changed(uid, name) join repos as repo on repo.uid = left(changed.uid, -17)
    join image_packages as imported on imported.short_repo = repo.name and imported.tag = changed.name and imported.owner = left(repo.uid, -17)
  ) as image
$$;

-- Imports already lock the feed rows that they write documents for, so this adds no waits.
create function documents_published() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    update feeds set published_version = gen_random_uuid() where id in (select feed_id from written where public);
  end if;
  if tg_op <> 'INSERT' then
    update feeds set published_version = gen_random_uuid() where id in (select feed_id from replaced where public);
  end if;
  return null;
end $$;
create trigger source_documents_published_made after insert on source_documents referencing new table as written
for each statement execute function documents_published();
create trigger source_documents_published_changed after update on source_documents referencing old table as replaced new table as written
for each statement execute function documents_published();
create trigger source_documents_published_gone after delete on source_documents referencing old table as replaced
for each statement execute function documents_published();

-- Own advisories are published from their rows, without a document.
create function own_advisories_published() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'advisories' and (source, group_uid) in (select feed, left(uid, -17) from written where public and form = 'wolfi');
  end if;
  if tg_op <> 'INSERT' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'advisories' and (source, group_uid) in (select feed, left(uid, -17) from replaced where public and form = 'wolfi');
  end if;
  return null;
end $$;
create trigger advisories_published_made after insert on advisories referencing new table as written
for each statement execute function own_advisories_published();
create trigger advisories_published_changed after update on advisories referencing old table as replaced new table as written
for each statement execute function own_advisories_published();
create trigger advisories_published_gone after delete on advisories referencing old table as replaced
for each statement execute function own_advisories_published();

-- Archives contain the severities of vulnerabilities.
create function severities_published() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'vulnerabilities' and source in (select feed from written);
  end if;
  if tg_op <> 'INSERT' then
    update feeds set published_version = gen_random_uuid()
    where kind = 'vulnerabilities' and source in (select feed from replaced);
  end if;
  return null;
end $$;
create trigger vulnerabilities_published_made after insert on vulnerabilities referencing new table as written
for each statement execute function severities_published();
create trigger vulnerabilities_published_changed after update on vulnerabilities referencing old table as replaced new table as written
for each statement execute function severities_published();
create trigger vulnerabilities_published_gone after delete on vulnerabilities referencing old table as replaced
for each statement execute function severities_published();

-- ---- libraries: artifacts and requests for them -------------------------------------------------------------------

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
  digests jsonb not null
);
create index library_artifacts_by_name on library_artifacts (name, uid) where delete_time is null;
create index library_artifacts_by_version_count on library_artifacts (version_count, uid) where delete_time is null;
create index library_artifacts_by_create_time on library_artifacts (create_time, uid) where delete_time is null;
create index library_artifacts_by_update_time on library_artifacts (update_time, uid) where delete_time is null;
create index library_artifacts_by_ecosystem on library_artifacts (ecosystem) where delete_time is null;
create index library_artifacts_by_search on library_artifacts using gin (search gin_trgm_ops) where delete_time is null;
create index library_artifacts_by_feed on library_artifacts using gin (digests);
-- Python libraries by normalized name (PEP 503).
create index library_artifacts_by_python_name on library_artifacts (regexp_replace(search, '[-_.]+', '-', 'g'))
  where delete_time is null and ecosystem = 'ECOSYSTEM_PYTHON';

create table library_versions (
  artifact_uid text collate "C" not null,
  version text collate "C" not null,
  uid text collate "C" not null,
  -- Byte order equals the version order of the ecosystem (base/versions).
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

-- Request groups: lists of requested libraries, and their items. An item is deleted with its group.
create table request_groups (
  uid text collate "C" primary key,
  parent_id text collate "C" not null,
  name text collate "C" not null default '',
  status text not null,
  ecosystem text not null,
  source text not null,
  for_cve_remediation boolean not null,
  submit_time timestamptz(3),
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  items_update_time timestamptz(3) not null,
  created_by text collate "C" not null,
  submitted_by text collate "C" not null default '',
  input jsonb not null,
  availability_summary jsonb not null,
  cve_remediation_summary jsonb,
  org_upstream_enabled boolean not null
);
create index request_groups_by_parent on request_groups (left(uid, -17), name collate "POSIX", uid);
create index request_groups_by_name on request_groups (left(uid, 40), name, uid);
create index request_groups_by_create_time on request_groups (left(uid, 40), create_time, uid);
create index request_groups_by_update_time on request_groups (left(uid, 40), update_time, uid);
create index request_groups_in_root on request_groups (uid) where length(uid) = 40;

create table request_group_items (
  uid text collate "C" primary key,
  requirement text collate "C" not null,
  package_name text collate "C" not null,
  version text collate "C" not null,
  ecosystem text not null,
  -- Byte order equals the version order of the ecosystem (base/versions).
  sort_key text collate "C" not null,
  availability text not null,
  availability_reason text not null,
  closest_version text collate "C" not null,
  latest_version text collate "C" not null,
  removed boolean not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index request_group_items_by_package on request_group_items (left(uid, 40), package_name, ecosystem, uid)
  where not removed and version <> '' and availability <> 'AVAILABILITY_INVALID_REQUIREMENT';

-- ---- Triggers of tables of several domains ----------------------------------------------------------------------

-- Counts inserts for a slot without a grant, and gives the slot a grant for later inserts. Callers of one count wait
-- for each other's transactions. Throws GQ001 if the quota is exhausted.
--
-- Rows plus grants of all slots never exceed the quota. An insert from a grant keeps the sum; a deletion reduces it.
-- Only this function increases it, by at most the remaining quota. It sees all earlier additions, which have committed.
-- Invisible changes can only reduce the sum. Grants never cause a refusal: they are revoked first.
create function count_made(made_in text, made_of text, made_rows bigint) returns void language plpgsql as $$
declare
  -- A connection without the setting is not from a server that has quotas.
  quota bigint := coalesce(
    (select value from quotas where organization = made_in and name = replace(made_of, '_', '-')),
    (select value from quotas where organization = '' and name = replace(made_of, '_', '-')),
    nullif(current_setting('gantry.quota_' || made_of, true), '')::bigint
  );
  spare bigint;
  grants bigint;
begin
  if quota is not null then
    perform pg_advisory_xact_lock(730141291, hashtext(made_of || made_in));
  end if;
  insert into resource_counts as held (organization, resource, slot, row_count) values (made_in, made_of, pg_backend_pid() % 64, made_rows)
  on conflict (organization, resource, slot) do update set row_count = held.row_count + excluded.row_count;
  if quota is null then return; end if;
  select quota - sum(row_count + granted), sum(granted) into spare, grants from resource_counts where organization = made_in and resource = made_of;
  if spare < 0 and grants > 0 then
    -- Waits for transactions that are using the grants.
    update resource_counts set granted = 0 where organization = made_in and resource = made_of and granted > 0;
    select quota - sum(row_count) into spare from resource_counts where organization = made_in and resource = made_of;
  end if;
  if spare < 0 then
    raise exception 'too many % in %', made_of, made_in using errcode = 'GQ001', detail = quota;
  end if;
  -- Grants a share of the remaining quota, to limit grants of idle slots. Too small shares are skipped.
  if spare / 32 >= 25 then
    update resource_counts set granted = granted + least(spare / 32, 1000)
    where organization = made_in and resource = made_of and slot = pg_backend_pid() % 64;
  end if;
end $$;

-- Counts the rows of all writers. Organizations are locked in order to prevent deadlocks.
create function resources_made() returns trigger language plpgsql as $$
declare
  first_uid text;
  root text;
  last_root text;
  made_rows bigint;
begin
  select min(uid), left(max(uid), 40), count(*) into first_uid, last_root, made_rows from made where length(uid) > 40;
  root := left(first_uid, 40);
  if root = last_root then
    -- 25 rows of a transaction need no check. With its slot locked, it must not wait in count_made.
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
  -- Fast path: one row in an organization or a direct child group has a single parent count.
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
create trigger groups_counted_made after insert on groups referencing new table as made for each statement execute function resources_made();
create trigger identities_counted_made after insert on identities referencing new table as made for each statement execute function resources_made();
create trigger repos_counted_made after insert on repos referencing new table as made for each statement execute function resources_made();
create trigger role_bindings_counted_made after insert on role_bindings referencing new table as made for each statement execute function resources_made();
create trigger subscriptions_counted_made after insert on subscriptions referencing new table as made for each statement execute function resources_made();
create trigger overlays_counted_made after insert on overlays referencing new table as made for each statement execute function resources_made();
create trigger overlay_bindings_counted_made after insert on overlay_bindings referencing new table as made
  for each statement execute function resources_made();
create trigger request_groups_counted_made after insert on request_groups referencing new table as made
  for each statement execute function resources_made();
create trigger scim_users_counted_made after insert on scim_users referencing new table as made for each statement execute function resources_made();
create trigger scim_groups_counted_made after insert on scim_groups referencing new table as made for each statement execute function resources_made();

create function resources_gone() returns trigger language plpgsql as $$
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
  -- Cheaper than an insert with a conflict.
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
create trigger groups_counted_gone after delete on groups referencing old table as gone for each statement execute function resources_gone();
create trigger identities_counted_gone after delete on identities referencing old table as gone for each statement execute function resources_gone();
create trigger repos_counted_gone after delete on repos referencing old table as gone for each statement execute function resources_gone();
create trigger role_bindings_counted_gone after delete on role_bindings referencing old table as gone for each statement execute function resources_gone();
create trigger subscriptions_counted_gone after delete on subscriptions referencing old table as gone for each statement execute function resources_gone();
create trigger overlays_counted_gone after delete on overlays referencing old table as gone for each statement execute function resources_gone();
create trigger overlay_bindings_counted_gone after delete on overlay_bindings referencing old table as gone
  for each statement execute function resources_gone();
create trigger request_groups_counted_gone after delete on request_groups referencing old table as gone
  for each statement execute function resources_gone();
create trigger scim_users_counted_gone after delete on scim_users referencing old table as gone for each statement execute function resources_gone();
create trigger scim_groups_counted_gone after delete on scim_groups referencing old table as gone for each statement execute function resources_gone();

-- Pins the search path of functions that run as the owner: PostgreSQL's schema, this schema, temporary tables last.
do $$
declare
  name text;
begin
  foreach name in array array['create_audit_month(text)', 'drop_audit_month(text)', 'refresh_import_statistics(text)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', name, current_schema());
    execute format('revoke execute on function %s from public', name);
  end loop;
end $$;

-- Repeats the search path of refresh_import_statistics, because replacing a function resets it.
do $$
begin
  execute format('alter function refresh_import_statistics(text) set search_path = %I, pg_temp', current_schema());
end $$;
