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

create extension if not exists pg_trgm;

-- ---- What every domain shares -------------------------------------------------------------------------------------

-- One row for each root (organization, person): its version grows with every change of rights below it, and
-- cached rights are checked against it by the request's own statement (decisions: Access).
create table access_versions (
  root text collate "C" primary key,
  version bigint not null default (1::bigint << 32) | floor(random() * 4294967296)::bigint
);

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

-- How many months of the log the database keeps, whatever a server asks for: the owner's word (`gantry admin migrate`).
create table audit_retention (
  one boolean primary key default true check (one),
  months integer not null check (months > 0)
);

-- The number is the sum of an organization's slots. A backend writes one slot of them, so that writers of one organization
-- wait for each other only where they share it. Half of each page is left free, for the next version of a row.
create table resource_counts (
  organization text collate "C" not null,
  -- The table's name.
  resource text collate "C" not null,
  slot smallint not null,
  -- Below 0 where more was deleted than made through this slot.
  row_count bigint not null,
  -- How many more may be made through this slot without a look at the others.
  granted bigint not null default 0 check (granted >= 0),
  primary key (organization, resource, slot)
) with (fillfactor = 50);

-- What the operator has set. Without an organization ('') for the whole server; what is not here has its default.
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
  -- The tables of its rows, in the order in which they come back.
  tables jsonb not null
);
create index deletions_by_parent on deletions (left(uid, -17), uid);
create index deletions_in_root on deletions (uid) where length(uid) = 40;
create index deletions_by_resource_type on deletions (left(uid, 40), resource_type, uid);
create index deletions_by_resource_uid on deletions (left(uid, 40), resource_uid, uid);
create index deletions_by_create_time on deletions (left(uid, 40), create_time, uid);
create index deletions_by_update_time on deletions (left(uid, 40), update_time, uid);
-- For maintenance alone: a list that could be ordered by it would take it, and read every organization's rows.
create index deletions_expired on deletions (expire_time, uid);

-- Rows as they were, by the names of their columns: a column that is made later has its default in what comes back.
create table deleted_rows (
  deletion_uid text collate "C" not null,
  table_name text collate "C" not null,
  number bigint generated always as identity,
  content jsonb not null,
  primary key (deletion_uid, table_name, number)
);
-- A content stays while a deleted repo could come back that has it (collection), and counts as its organization's meanwhile.
create index deleted_rows_by_blob on deleted_rows ((content ->> 'sha256'), (left(deletion_uid, 40))) where table_name = 'repo_blobs';

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

-- The first month that is kept, as "2026-11", by the database's own clock: a server whose clock is ahead drops nothing.
create function first_kept_audit_month() returns text language sql stable as $$
  select to_char(date_trunc('month', now() at time zone 'UTC') - make_interval(months => months - 1), 'YYYY-MM') from audit_retention
$$;

-- What is kept no longer is counted no longer, where no repo has it and no other deletion keeps it.
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

-- The UTS #39 skeleton, case-folded, of a name in the alphabet of Group.name ("a" to "z", digits, space, ".", "_", "-"), whose only
-- confusables are these. Spaces at the ends and runs of spaces are not seen either. Another alphabet needs another function:
-- server/iam/resources/group-names.test.ts compares them.
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
-- A verified organization's name is a domain, and there is one organization for each (resources: Groups).
create unique index groups_verified on groups (name) where verified and length(uid) = 40;
-- Organizations by name: the first word of a repository's name.
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
  -- The claims that a token must have literally; empty where a pattern decides. A person's are those of their provider.
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
  update_time timestamptz(3) not null,
  expire_time timestamptz(3),
  -- The mappings that gave the maker what it promises, by a sign-in; '[]' where role bindings did.
  by_mappings jsonb not null default '[]'
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
  said jsonb not null,
  -- When a person last changed what they say about themselves.
  update_time timestamptz(3) not null default now()
);

-- When a person last asked the owners of an organization for access.
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
-- Which organization's provider a token was made for, with every sign-in.
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

create table sign_ins (
  -- SHA-256 of the state that the provider sends back, and of the cookie of the browser that began.
  state_hash text primary key,
  browser_hash text not null,
  identity_provider_uid text collate "C" not null,
  -- Nonce, PKCE verifier, invite and what to do afterwards; sealed for the purpose "sign in".
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
  expire_time timestamptz(3) not null,
  -- The client that a family of refresh tokens was given to; null where no client is known by an id.
  client text collate "C"
);
create index refresh_tokens_by_identity on refresh_tokens (identity_uid);
create index refresh_tokens_by_identity_provider on refresh_tokens (identity_provider_uid);
create index refresh_tokens_by_expire_time on refresh_tokens (expire_time);

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
  expire_time timestamptz(3) not null,
  address_hash text collate "C" not null default ''
);
create unique index device_codes_by_user_code on device_codes (user_code);
create index device_codes_by_expire_time on device_codes (expire_time);
create index device_codes_by_address on device_codes (address_hash, expire_time);

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
  expire_time timestamptz(3) not null,
  address_hash text collate "C" not null default ''
);
create index headless_sessions_by_expire_time on headless_sessions (expire_time);
create index headless_sessions_by_address on headless_sessions (address_hash, expire_time);

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Sealed with the secret key; unsealed the private key never touches the disk.
  private_jwk_sealed text not null,
  create_time timestamptz(3) not null,
  -- From then on it signs nothing; it is published until its last token has expired.
  retire_time timestamptz(3)
);
comment on column signing_keys.private_jwk_sealed is 'sealed to the row';

-- SHA-256 of the signature of each AWS request that was accepted: none is accepted twice, on any replica.
create table aws_requests (
  digest text primary key,
  -- From then on the request is too old by itself.
  expire_time timestamptz(3) not null
);
create index aws_requests_by_expire_time on aws_requests (expire_time);

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

create table memberships (
  organization_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  -- How it came about: invite, provider, founding, operator, acceptance.
  basis text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (identity_uid, organization_uid)
);
create index memberships_by_organization on memberships (organization_uid);

create table authorization_codes (
  code_hash text collate "C" primary key,
  address_hash text collate "C" not null,
  -- What was asked for and who signed in, sealed.
  sealed text not null,
  -- What the code gave: the family of its refresh token, and a claim of its access tokens. Null until it was used.
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
  -- What the provider knows the person by at a sign-in; null until it says so.
  external_id text collate "C",
  -- The person's identity, whether registered or not; null until it is known.
  identity_uid text collate "C",
  active boolean not null,
  -- Names in lower case, by which they are compared.
  user_name text collate "C" not null,
  display_name text collate "C" not null default '',
  emails text[] collate "C" not null default '{}',
  -- The user in RFC 7643's words, as it was sent, without what the server says itself.
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

-- Who was announced and is not any more: nobody comes in by a sign-in whom the provider has removed. Nothing else is kept of them.
create table scim_removals (
  identity_provider_uid text collate "C" not null,
  external_id text collate "C" not null,
  identity_uid text collate "C",
  remove_time timestamptz(3) not null,
  primary key (identity_provider_uid, external_id)
);
create index scim_removals_by_identity on scim_removals (identity_uid, identity_provider_uid) where identity_uid is not null;

-- Who came by which external id through a provider whose people are not known by their subjects (correlation rule): a user that is
-- announced later is that person.
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

create table sign_in_sessions (
  -- What its access tokens name: 32 hexadecimal digits.
  id text collate "C" primary key,
  -- That of the identity provider, and the first 16 digits of the id.
  uid text collate "C" not null,
  identity_uid text collate "C" not null,
  identity_provider_uid text collate "C" not null,
  -- The family of its refresh token; null if it has none.
  refresh_token_id text collate "C",
  kind text collate "C" not null,
  -- What the client calls itself.
  program text collate "C" not null,
  -- Where the person signed in; empty for sessions of before this table.
  address text collate "C" not null,
  create_time timestamptz(3) not null,
  last_use_time timestamptz(3) not null,
  -- When its last token expires, and when the last one expires that it can ever get.
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

-- The versions are kept by triggers, so that no writer can forget them. Roots are locked in order, so that no two writers
-- wait for each other in a circle. Once for each statement: once for each row, a deletion of 27,000 bindings wrote one version
-- 27,000 times, each write behind all the earlier ones (5.1 s; now 0.1 s).
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

create function sessions_ended() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(select distinct left(identity_uid, 40) from gone));
  return null;
end $$;
create trigger sessions_ended after delete on sessions referencing old table as gone
  for each statement execute function sessions_ended();

-- Nothing lies below an organization that is deleted, but what its deletions keep.
create function organizations_gone() returns trigger language plpgsql as $$
begin
  delete from resource_counts where organization in (select uid from gone where length(uid) = 40)
    and not (resource = 'blob_bytes' and exists (
      select from deleted_rows where table_name = 'repo_blobs' and deletion_uid >= organization || '/' and deletion_uid < organization || '0'));
  return null;
end $$;
create trigger groups_organizations_gone after delete on groups referencing old table as gone for each statement execute function organizations_gone();

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

-- Rights are kept in memory until the identity ends: when that moves they are read anew.
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

-- Groups count while SCIM is on.
create function scim_switched() returns trigger language plpgsql as $$
begin
  if new.scim_enabled <> old.scim_enabled then
    perform grow_access_versions(array(select left(identity_uid, 40) from sessions where identity_provider_uid = new.uid));
  end if;
  return null;
end $$;
create trigger scim_switched after update of scim_enabled on identity_providers for each row execute function scim_switched();

-- A user who is removed becomes a removal, one who comes back a user, and an external id another, also where the quota is lower than
-- what is there: what goes leaves a grant of one row to its transaction. Grants of less than 25 count in no other (resources_made), so
-- that no more is made out of it later; and rows and grants are together no more than before.
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

-- Beside resources_gone, which has counted them: by their names, the triggers of an event run one after the other.
create function scim_users_granted() returns trigger language plpgsql as $$
begin
  update resource_counts set granted = greatest(granted, 1)
  where organization in (select left(uid, 40) from gone) and resource = 'scim_users' and slot = pg_backend_pid() % 64;
  return null;
end $$;
create trigger scim_users_granted after delete on scim_users referencing old table as gone
  for each statement execute function scim_users_granted();

-- Of members many go and come in one transaction. As many as it has taken out it puts in again, whatever the quota; this setting has
-- the organization and their number, and ends with the transaction. By groups first: half of the time for a hundred thousand.
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
      -- Its slot is there: they have left it in this transaction.
      update resource_counts set row_count = row_count + again
      where organization = root and resource = 'scim_members' and slot = pg_backend_pid() % 64;
      perform set_config('gantry.released_scim_members', root || ' ' || substr(released, 42)::bigint - again, true);
      made_rows := made_rows - again;
    end if;
    continue when made_rows = 0;
    -- One request adds some 10,000 at most: a transaction that holds its slot shall wait for nobody's lock in count_made.
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

-- As for refresh tokens: a provider that is deleted authenticates nobody any more, and a person's uid can be used again.
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
create trigger role_bindings_pending_made after insert on role_bindings referencing new table as made
  for each statement execute function role_bindings_pending_made();

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

-- A group that is deleted has nothing below it, but perhaps what the same transaction deletes next: only what adds up to nothing goes.
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
comment on column subscriptions.secret_sealed is 'sealed to the row';
comment on column subscriptions.previous_secret_sealed is 'sealed to the row';

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
-- An event that is to be sent still is not deleted: found by the event, among what is on its way alone.
create index deliveries_on_their_way_by_event on deliveries (event_id)
where state in ('DELIVERY_STATE_PENDING', 'DELIVERY_STATE_WAITING');

-- Events that have their position and have yet to become deliveries (server/events/delivery/fan-out.ts). A row for each organization
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

-- ---- audit: the audit log -----------------------------------------------------------------------------------------

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
-- The audit log in the order in which it was sealed, in which it is sent.
create index audit_entries_by_seal_time on audit_entries (seal_time);

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

-- What this database was restored from, each time (server/audit/log/restores.ts). A state that comes from a backup goes back behind what
-- readers have seen: positions of events and numbers of the audit log go on behind `base`, which is later than all that were ever given.
create table restores (
  -- The time of the restore in microseconds since 1970: more than there was ever an event.
  base bigint primary key,
  restore_time timestamptz(3) not null,
  -- What it was restored from, by whom, sealed with the secret key.
  sealed text not null
);

-- How far each of the operator's targets has the audit log. A row stays when its target is taken out of the settings.
create table audit_targets (
  name text collate "C" primary key,
  -- The last entry that arrived there; of those that were sealed at one time the last one by organization and number.
  seal_time timestamptz(3) not null default '-infinity',
  root text collate "C" not null default '',
  sequence bigint not null default 0,
  -- Entries that ever arrived.
  sent bigint not null default 0,
  -- When it may be tried again, how often it has failed in a row, since when, and why.
  next_time timestamptz(3) not null default '-infinity',
  failures integer not null default 0,
  failed_since timestamptz(3),
  problem text not null default '',
  -- The last month that was dropped before it had arrived there.
  missed_month text not null default '',
  -- When a server last had it in its settings.
  seen_time timestamptz(3) not null,
  lease_holder text,
  lease_until timestamptz(3)
);

insert into audit_progress (position, sealed) values (0, '');
insert into audit_retention (months) values (13);

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
  -- When a repo's readme was last changed; null: never.
  readme_update_time timestamptz(3),
  anonymous_pull boolean not null default false
);
create unique index repos_unique on repos (left(uid, -17), name collate "POSIX") include (uid);
create index repos_in_root on repos (uid) where length(uid) = 40;
create index repos_by_name on repos (left(uid, 40), name, uid);
create index repos_by_create_time on repos (left(uid, 40), create_time, uid);
create index repos_by_update_time on repos (left(uid, 40), update_time, uid);
-- How many repos are kept the same as another one.
create index repos_by_sync_source on repos ((sync_config ->> 'source'), uid) where sync_config is not null;

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

-- Where this database's blobs lie (docs/decisions/0031-where-blobs-lie.md): one row. The place says the same of itself, so that
-- a server with another disk, or another database's, is told from one that has them.
create table blob_places (
  only_one boolean primary key default true check (only_one),
  store_id text collate "C" not null,
  -- Empty until the first content is kept there.
  place_id text collate "C" not null default '',
  -- When the contents that no row names were last looked for.
  sweep_time timestamptz(3) not null,
  -- When one of the servers last looked for what others have left, and since when that was never long ago. A database that is an older copy
  -- shows by it that it does not know what was completed meanwhile.
  leftover_time timestamptz(3) not null default '-infinity',
  leftover_since timestamptz(3)
);

-- One row for each content, however many repos have it. A content whose removal has begun is hidden; one that is uploaded
-- again meanwhile gets another key.
create table blobs (
  sha256 text collate "C" primary key,
  sha512 text collate "C" unique,
  size_bytes bigint not null,
  key text collate "C" not null unique,
  create_time timestamptz(3) not null,
  remove_time timestamptz(3)
);

-- Which repo has which blob. One that no manifest needs stays until its lease is over: a manifest may be on its way.
create table repo_blobs (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null references blobs,
  create_time timestamptz(3) not null,
  lease_time timestamptz(3) not null,
  primary key (repo_uid, sha256)
);
create index repo_blobs_by_blob on repo_blobs (sha256, repo_uid);

-- Uploads under way. `state` is the blob place's own note of how far its content is; whoever appends holds the row for a while.
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

-- Contents of the blob place that no row names any more.
create table blob_removals (
  key text collate "C" primary key,
  state jsonb,
  create_time timestamptz(3) not null
);

-- Manifests, with their bytes: JSON, so a text. `algorithm`: of the digest by which it was pushed last, and is told of by tag.
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
  -- When a manifest was last pushed, pulled or named by another, as exactly as limits.manifestUseMs: one that nobody uses and no tag names
  -- may be collected where the operator wants that. Of those that are here it is not known, so they count as used today.
  use_time timestamptz(3) not null default now(),
  primary key (repo_uid, sha256)
);
create unique index repo_manifests_by_sha512 on repo_manifests (repo_uid, sha512);
create index repo_manifests_by_subject on repo_manifests (repo_uid, subject, sha256) where subject <> '';
-- When images end by their referrers.
create index repo_manifests_lifecycle on repo_manifests (repo_uid, subject)
  where artifact_type = 'application/vnd.microsoft.artifact.lifecycle';
create index repo_manifests_charts on repo_manifests (left(repo_uid, 40), repo_uid, create_time desc)
  where artifact_type = 'application/vnd.cncf.helm.config.v1+json';

-- The blobs that a manifest needs, which its repo keeps for it.
create table manifest_blobs (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  blob text collate "C" not null,
  primary key (repo_uid, sha256, blob),
  foreign key (repo_uid, sha256) references repo_manifests on delete cascade deferrable,
  foreign key (repo_uid, blob) references repo_blobs deferrable
);
create index manifest_blobs_by_blob on manifest_blobs (repo_uid, blob);

-- The manifests that an index lists, by the digests that it gives; they need not be here.
create table manifest_children (
  repo_uid text collate "C" not null,
  sha256 text collate "C" not null,
  child text collate "C" not null,
  primary key (repo_uid, sha256, child),
  foreign key (repo_uid, sha256) references repo_manifests on delete cascade deferrable
);
create index manifest_children_by_child on manifest_children (repo_uid, child);

-- The operator's policies: tags whose repo and name fit the pattern are deprecated from that day on.
create table tag_policies (
  -- The organization, or '' for all.
  organization text collate "C" not null,
  pattern text collate "C" not null,
  -- "2026-04-30"
  end_date text collate "C" not null,
  -- Tags up to this one were looked at, since the day came; all of them, where it is applied. Later tags are as they are made.
  seen_uid text collate "C" not null default '',
  applied boolean not null default false,
  primary key (organization, pattern)
);

-- Tags that are deprecated by a policy or by what was pushed about their digest, and not because somebody said so.
create table ended_tags (
  tag_uid text collate "C" primary key,
  -- Whether the reason may have gone.
  recheck boolean not null default false
);
create index ended_tags_to_check on ended_tags (tag_uid) where recheck;

create table tag_history (
  id bigint generated always as identity primary key,
  repo_uid text collate "C" not null,
  name text collate "C" not null,
  digest text collate "C" not null,
  start_time timestamptz(3) not null,
  -- When it was moved or deleted.
  end_time timestamptz(3)
);
create index tag_history_by_name on tag_history (repo_uid, name, id);
create index tag_history_by_digest on tag_history (repo_uid, digest);
create index tag_history_by_end_time on tag_history (end_time) where end_time is not null;

-- With which charts the images of a repo are deployed.
create table repo_deployments (
  repo_uid text collate "C" primary key,
  charts jsonb not null,
  fields_as_published boolean not null default false
);

-- What holds for the repos of an organization unless they say otherwise.
create table registry_settings (
  root_uid text collate "C" primary key,
  unique_tags boolean not null,
  eol_grace_period boolean not null
);

create table lifecycles (
  -- The group that it is for.
  owner text collate "C" not null,
  -- The source that tells it: what it tells no longer goes.
  feed text collate "C" not null,
  -- "nodejs"
  product text collate "C" not null,
  -- The names that repos and packages of the product have; the product's own first.
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
  -- The repository that it has become: requests under way go on there.
  repo_uid text collate "C",
  create_time timestamptz(3) not null,
  -- When something was last pushed to it, or its client last heard that a blob is there.
  update_time timestamptz(3) not null
);
create unique index pending_repos_by_path on pending_repos (path, group_uid) where repo_uid is null;
create index pending_repos_by_group on pending_repos (group_uid);
create index pending_repos_by_update_time on pending_repos (update_time);

-- Keys of the blob place that a long request is writing to and no other row names: what a server that died has left under any other key
-- goes within an hour.
create table blob_writes (
  key text collate "C" primary key,
  lease_time timestamptz(3) not null
);

-- As in 0016_registry.sql, and what is kept of deleted repos counts as what repos have: else whoever deletes and pushes again
-- has as many bytes as they like. What is given back to a repo was counted all the time.
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

-- A tag can be renamed (UpdateTag): then images are matched under both names (0018_tags_over_time.sql).
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

-- What is pending goes with its path. Bytes of blobs are counted by the triggers of repo_blobs.
create function pending_repos_gone() returns trigger language plpgsql as $$
begin
  with ended as (delete from uploads using gone where uploads.repo_uid = gone.uid returning uploads.key, uploads.state)
  insert into blob_removals (key, state, create_time) select key, state, now() from ended on conflict do nothing;
  delete from repo_blobs using gone where repo_blobs.repo_uid = gone.uid;
  return null;
end $$;
create trigger pending_repos_gone after delete on pending_repos referencing old table as gone
  for each statement execute function pending_repos_gone();

-- A new repository gets what is pending for its path, below the group that it was begun in; whoever creates it, and however. The
-- organization's bytes stay the same, so nothing is counted; what the repository has twice goes.
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
  digest text collate "C" not null,
  -- The document that a record's row was written from, and its form; NULL and "" for rows of the version before.
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
-- Lists of changes contain withdrawals too.
create index advisories_by_update_time on advisories (left(uid, 40), update_time, uid);
create index advisories_by_aliases on advisories using gin (aliases) where delete_time is null;
create index advisories_by_search on advisories using gin (search gin_trgm_ops) where delete_time is null;
create index advisories_published on advisories (origin, uid) where public and delete_time is null;
create index advisories_published_by_id on advisories (advisory_id, uid) where public;
create index advisories_published_own on advisories (origin, uid) where public and delete_time is null and form = 'wolfi';
-- Our own advisories by their package.
create index advisories_published_artifact on advisories (artifact_name) where public and delete_time is null and form = 'wolfi';
create index advisories_without_document on advisories (feed, uid collate "POSIX") where document_id is null;
create index advisories_deleted_by_artifact_name on advisories (left(uid, 40), artifact_name, uid) where delete_time is not null;
create index advisories_deleted_by_component_name on advisories (left(uid, 40), component_name, uid) where delete_time is not null;
create index advisories_deleted_by_component_location on advisories (left(uid, 40), component_location, uid) where delete_time is not null;
create index advisories_deleted_by_create_time on advisories (left(uid, 40), create_time, uid) where delete_time is not null;
create index advisories_deleted_by_advisory_id on advisories (left(uid, 40), advisory_id, uid) where delete_time is not null;
create index advisories_deleted_by_legacy_advisory_id on advisories (left(uid, 40), legacy_advisory_id, uid) where delete_time is not null;
-- Only our own advisories are read in the order of their changes (server/advisories/store/advisories.ts): of every other public one the entry was
-- written for nothing.
create index advisories_own_by_update_time on advisories (update_time, advisory_id) where public and form = 'wolfi';

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
  document_id bigint,
  primary key (id, owner)
);
create index vulnerabilities_by_owner on vulnerabilities (owner, hidden, id);
create index vulnerabilities_by_feed on vulnerabilities (feed, owner, id);
-- The open list of vulnerabilities in the order of its times; vulnerabilities_by_owner has that of its numbers.
create index vulnerabilities_by_create_time on vulnerabilities (create_time, id) where owner = '' and not hidden;
create index vulnerabilities_by_update_time on vulnerabilities (update_time, id) where owner = '' and not hidden;
create index vulnerabilities_without_document on vulnerabilities (feed, owner, id) where document_id is null;

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

create table feeds (
  id integer generated always as identity primary key,
  kind text not null,
  group_uid text collate "C" not null,
  source text collate "C" not null,
  manner text not null,
  -- Records that vanished from a file have been withdrawn.
  settled boolean not null,
  -- What imports have written of a source and not yet told: counts of records, {"group": {…}, "everybody": {…}}. Added to
  -- in the transaction that writes the records, told and emptied in the one that ends the import (server/advisories/feeds).
  unreported jsonb not null default '{}',
  -- "" is an unknown licence; the author is the operator's word (--author), "" the format's own.
  license text not null default '',
  author text not null default '',
  -- As gantry.feeds.v1.Feed has it: the group, and a segment that is the row's own.
  uid text collate "C" not null generated always as (group_uid || '/' || lpad(to_hex(id), 16, '0')) stored,
  -- The source without what may be secret in an address.
  source_name text not null default '',
  -- The number of the run that is under way, or was the last; open until it ends. Concurrent imports of one source share it.
  run integer not null default 0,
  run_open boolean not null default false,
  -- The last run that changed records, and when it ended: what `gantry import undo` reverts.
  changed_run integer not null default 0,
  change_time timestamptz(3),
  success_time timestamptz(3),
  -- Records that the source tells.
  record_count integer not null default 0,
  -- NULL before the first run of this version.
  state text,
  detail text not null default '',
  -- Why a run held back, of how many records, since when, and a digest of which ones.
  hold_reason text,
  held_record_count integer not null default 0,
  hold_time timestamptz(3),
  hold_digest text not null default '',
  -- Release files that the source no longer has.
  absent_files jsonb,
  -- How long after its last success the source is stale; 0: as the setting says.
  stale_after_ms bigint not null default 0,
  -- What the source covers may have changed since feed_ecosystems was written.
  coverage_due boolean not null default true,
  -- Archives of published records are prepared as files (docs/decisions/0075). published_version changes in each transaction that
  -- changes something that such an archive holds, so that a request finds out from the few rows of feeds whether a file is
  -- current. Random numbers: a counter of a restored database would repeat. Null: nothing of the source was ever published.
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
  -- Set when the source no longer has this file and the file judged a release: the release is no longer judged.
  absent_time timestamptz(3),
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

-- The open feed's documents, one for each origin package that something was ever published about. Kept by the triggers
-- below, so that no writer of advisories can forget it, and so that a page in the order of any time is a range of an
-- index. Other than the advisories themselves a document is one row however many it has.
create table advisory_documents (
  origin text collate "C" primary key,
  -- How many advisories it has that are published and not withdrawn; 0: it is not listed.
  listed integer not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create index advisory_documents_by_create_time on advisory_documents (create_time, origin) where listed > 0;
create index advisory_documents_by_update_time on advisory_documents (update_time, origin) where listed > 0;
-- A file's name, as CSAF makes it of a number (2.0, 5.1).
create index advisory_documents_by_file_name on advisory_documents (regexp_replace(lower(origin), '[^-+a-z0-9]+', '_', 'g'));

create table source_documents (
  id bigint generated always as identity primary key,
  feed_id integer not null references feeds on delete cascade,
  -- Where in its source it stands (feed_files).
  file text collate "C" not null,
  part integer not null,
  -- The name of its format, and its number there: OSV's id, a CVE's number, a package.
  form text collate "C" not null,
  origin_id text collate "C" not null,
  -- From 0: of documents with the same number in the same place.
  ordinal integer not null,
  digest text not null,
  -- The document's own; "" where it has none, and its source's counts.
  license text not null,
  -- The operator wants it published.
  public boolean not null,
  -- Why OSV cannot say what it says; "" where it can.
  left_out text not null,
  -- False: no file of the source has it any longer.
  told boolean not null,
  -- As its origin says.
  modify_time timestamptz,
  -- When this content came, and when anything last changed of what is published of it.
  import_time timestamptz(3) not null,
  change_time timestamptz(3) not null,
  -- JSON, deflated (RFC 1951).
  body bytea not null,
  -- OSV's ecosystems of a document, without a release: what its archives are named after. NULL: written by the version before.
  ecosystems text[],
  -- affected_packages also lists each record under its ecosystem without a release, by all of its entries. Documents of earlier
  -- imports have version 0; the next import of their source writes them again.
  index_version smallint not null default 0,
  -- Missing: the source was read and did not have it; it counts until the end of the run has decided.
  missing boolean not null default false,
  added_run integer not null default 0,
  -- When the document was withdrawn: its source no longer has it, or its origin says so. NULL while it holds.
  withdraw_time timestamptz(3),
  unique (feed_id, file, part, form, origin_id, ordinal)
);
-- It is compressed already.
alter table source_documents alter column body set storage external;
create index source_documents_by_origin_id on source_documents (origin_id, form);
create index source_documents_by_feed on source_documents (feed_id, id);
create index source_documents_gone on source_documents (feed_id) where not told;
create index source_documents_published on source_documents (origin_id, form) where public;
create index source_documents_changed on source_documents (change_time, origin_id) where public;
create index source_documents_modified on source_documents (modify_time, id) where public and left_out = '';
-- What sources have no longer, in the order in which it goes.
create index source_documents_gone_by_change_time on source_documents (change_time) where not told;
create index source_documents_missing on source_documents (feed_id) where missing;
create index source_documents_withdrawn on source_documents (coalesce(withdraw_time, change_time), id) where public and not told;

create table document_records (
  document_id bigint not null references source_documents on delete cascade,
  record_key text collate "C" not null,
  modify_time timestamptz,
  -- False: the document tells it no longer, and it has not been decided yet who tells it instead.
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
  -- How the feed was read: read in another manner, everything is fetched.
  manner text not null,
  etag text not null,
  last_modified text not null,
  listed text not null,
  primary key (feed_id, address)
);

-- What each source tells, a row for each number; `owner` as with vulnerabilities. Of the rows of one number and owner the
-- one that counts is shown. A row may stand before any record of that number does.
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
  -- As its document is.
  public boolean not null,
  -- As its origin wrote it.
  modified text not null,
  -- The document's entries about the package, as JSON: their ranges and versions.
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
  -- All numbers of the advisory, for the filter.
  advisory_ids jsonb not null default '[]',
  -- {"tag": "time"}: since when a tag has the image no longer, or the image is no longer affected.
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
  -- OpenPGP's fingerprint, in hexadecimal.
  fingerprint text collate "C" primary key,
  -- Armored (RFC 9580, 6).
  public_key text not null,
  -- Sealed with the secret key; unsealed the private key never touches the disk.
  private_key_sealed text not null,
  create_time timestamptz(3) not null,
  -- From then on it signs nothing; it stays published for those who keep what it signed.
  retire_time timestamptz(3)
);
-- Of two servers that need the first one at once, one makes it.
create unique index document_signing_keys_current on document_signing_keys ((true)) where retire_time is null;

create table csaf_documents (
  document_id bigint primary key references source_documents on delete cascade,
  -- Whose it is: the namespace of its publisher, and the folder that is made of it.
  issuer text collate "C" not null,
  folder text collate "C" not null,
  -- The publisher, as JSON.
  publisher text not null,
  file_name text collate "C" not null,
  title text not null,
  -- WHITE or UNLABELED; what may not be shown to everybody has a reason beside.
  label text not null,
  initial_release_time timestamptz(3),
  current_release_time timestamptz(3),
  -- Why no list may have it; "" where one may.
  left_out text not null
);
create index csaf_documents_by_file_name on csaf_documents (folder, file_name, document_id);

-- Under which CVE numbers a record's vulnerability is known, its own and its aliases: facts (known_exploits,
-- exploit_predictions) are told by these, and hold for every record that has one. What the version before writes beside is
-- found by its facts when it next changes.
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
  -- '' for all organizations: what everybody may see.
  root text collate "C" not null default '',
  -- The package of advisories that changed; '' for none.
  name text collate "C" not null default '',
  -- The group and the repo whose images changed; '' for none. Neither a package nor a repo: everything.
  owner text collate "C" not null default '',
  repo text collate "C" not null default '',
  of_tag boolean not null default false
);
create index changes_to_match_of_tags on changes_to_match (id) where of_tag;

create table image_sboms (
  -- Below its repo: always the same for the same image and document.
  uid text collate "C" primary key,
  repo_uid text collate "C" not null,
  -- The image's manifest, by sha256.
  digest text collate "C" not null,
  -- The manifest that carries the document, and the blob that is the document.
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
  -- While it waits: when it is tried (again), and how often it was.
  try_time timestamptz(3) not null,
  tries integer not null default 0,
  -- Whether the images of the organization were matched since.
  matched boolean not null default false,
  -- The manifest that carried it was deleted: the row goes when the images were matched without it.
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
  -- The repo in which it counts, and the image: its manifest, by sha256.
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  -- GRYPE, TRIVY, UNKNOWN; what the tool calls itself, and its version.
  scanner text collate "C" not null,
  tool text collate "C" not null,
  version text collate "C" not null,
  database_time timestamptz(3),
  -- When the scanner made it, or where that is not said, when it came; and when it came last.
  create_time timestamptz(3) not null,
  seen_time timestamptz(3) not null,
  -- Of its bytes, by sha256: the same report is one row.
  document_digest text collate "C" not null,
  finding_count integer not null,
  -- {"CVE-2024-1234": "HIGH"}
  severities jsonb not null,
  -- JSON, deflated (RFC 1951).
  findings bytea not null,
  -- As its scanner wrote it, deflated; and how many bytes that are.
  raw bytea not null,
  raw_bytes integer not null,
  -- The manifest that carried it; '' for what did not come with a push.
  manifest_digest text collate "C" not null,
  -- When a later one of the same tool came.
  replace_time timestamptz(3),
  unique (repo_uid, digest, document_digest)
);
-- They are compressed already.
alter table vuln_reports alter column findings set storage external;
alter table vuln_reports alter column raw set storage external;
create index vuln_reports_by_image on vuln_reports (digest, repo_uid, create_time, id);
create index vuln_reports_by_manifest on vuln_reports (repo_uid, manifest_digest) where manifest_digest <> '';
create index vuln_reports_by_replace_time on vuln_reports (replace_time) where replace_time is not null;
create index vuln_reports_by_repo on vuln_reports (repo_uid, create_time, id);

-- Documents that were pushed about images and may be reports: they are read behind the push, and then their rows go.
create table pushed_reports (
  repo_uid text collate "C" not null,
  -- The manifest that carries the document, the image, and the blob that is the document.
  manifest_digest text collate "C" not null,
  digest text collate "C" not null,
  document_digest text collate "C" not null,
  create_time timestamptz(3) not null,
  -- When it is tried (again), and how often it was.
  try_time timestamptz(3) not null,
  tries integer not null default 0,
  primary key (repo_uid, manifest_digest, digest, document_digest)
);
create index pushed_reports_by_try_time on pushed_reports (try_time);

-- The largest number of records of each day, and how many were withdrawn on it. Rows of 30 days.
create table feed_days (
  feed_id integer not null references feeds on delete cascade,
  day date not null,
  records integer not null,
  withdrawn integer not null,
  primary key (feed_id, day)
);

-- What the last run that changed records replaced: for each source the rows of one run.
create table feed_reversals (
  feed_id integer not null references feeds on delete cascade,
  run integer not null,
  -- "document", "part", "known exploit" or "exploit prediction".
  what text not null,
  key text collate "C" not null,
  -- The row before; null where there was none.
  previous jsonb,
  -- A document's, deflated.
  body bytea,
  primary key (feed_id, run, what, key)
);
alter table feed_reversals alter column body set storage external;

-- What a document says now that has dropped some of its records: the stored one counts until it is decided whether they are withdrawn.
create table pending_documents (
  document_id bigint primary key references source_documents on delete cascade,
  -- JSON, deflated, as source_documents has it.
  body bytea not null
);
alter table pending_documents alter column body set storage external;

-- That a source has a record under a new ID: the row goes when the source has the old ID again, or with the source.
create table record_successors (
  feed_id integer not null references feeds on delete cascade,
  old_id text collate "C" not null,
  new_id text collate "C" not null,
  primary key (feed_id, old_id)
);
create index record_successors_by_old_id on record_successors (old_id);

-- The ecosystems whose packages the records of a source judge, with the release as the source writes it: "Debian:12".
create table feed_ecosystems (
  feed_id integer not null references feeds on delete cascade,
  ecosystem text collate "C" not null,
  -- Every record of it is public.
  public boolean not null,
  -- Since when the source has no file of this release; null while it has one.
  end_time timestamptz(3),
  primary key (feed_id, ecosystem)
);
create index feed_ecosystems_public on feed_ecosystems (ecosystem) where public;

-- The images that tags name and whose packages are known.
create table image_coverage (
  owner text collate "C" not null,
  repo text collate "C" not null,
  tag text collate "C" not null,
  architecture text collate "C" not null,
  -- The name of the repo in its group.
  short_repo text collate "C" not null,
  repo_uid text collate "C" not null,
  -- That of the tag; empty if the group has no such tag.
  digest text collate "C" not null,
  -- The digest, or that of what the image is made of.
  identity text collate "C" not null,
  -- A list of "ecosystem:release".
  ecosystems jsonb not null,
  primary key (owner, repo, tag, architecture)
);
create index image_coverage_by_short_repo on image_coverage (owner, short_repo, tag);
create index image_coverage_by_digest on image_coverage (repo_uid, digest);

-- The ecosystems and releases of each group's images.
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
  -- The upstream token behind the author's: issuer and subject.
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
  -- Of an approved one: fingerprints of the advisories that its reviewer saw, by uid.
  basis jsonb
);
create index authored_advisory_events_by_create_time on authored_advisory_events (left(uid, 40), create_time, uid);
create index authored_advisory_events_by_update_time on authored_advisory_events (left(uid, 40), update_time, uid);
create index authored_advisory_events_by_parent on authored_advisory_events (left(uid, -17), uid);
create index authored_advisory_events_in_root on authored_advisory_events (uid) where length(uid) = 40;

-- What the approved false positive says that is the last decision of an advisory.
create table advisory_suppressions (
  uid text collate "C" primary key,
  suppression jsonb not null
);

-- Kept for good, also of deleted organizations: no number is ever given twice.
create table advisory_numbers (
  root text collate "C" primary key,
  prefix text collate "C" not null unique,
  last bigint not null default 0
);

-- Behind an import: what the table's indexes of lists have put off is put in, and the planner learns of its new rows.
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

-- Adds up differences, in the order of the names: what two writers change of one document at a time is right after both,
-- and neither waits for the other in a circle.
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
      -- What it leaves changes too, at the time of the change.
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

-- By the repos under which packages are known of the tags' images: imported for the tag, or read of SBOMs that the repo has.
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

-- The sources' rows are held by the imports that write their documents, so that this makes none wait.
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

-- Our own advisories are records that are made from their rows.
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

-- They name the severities of their vulnerabilities.
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
-- Libraries of Python by their names as PEP 503 compares them.
create index library_artifacts_by_python_name on library_artifacts (regexp_replace(search, '[-_.]+', '-', 'g'))
  where delete_time is null and ecosystem = 'ECOSYSTEM_PYTHON';

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

-- Request groups: lists of libraries that somebody asks for, and their items. An item lies below its group, and goes with it.
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
  -- Sorts by its bytes as the ecosystem sorts versions (base/versions).
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

-- Counts what was made where the slot has nothing granted, and grants it what it may make next. One at a time for each number:
-- whoever comes here holds its lock until the end of its transaction. Throws GQ001 where the quota leaves nothing.
--
-- Rows and grants of all slots together are never more than the quota: what is made out of a grant changes nothing of their sum,
-- a deletion makes it smaller, and only here it grows, by no more than the quota leaves. What others here have added is seen,
-- for they have committed; what is not seen (rows made out of grants, deletions) can only have made the sum smaller.
-- And what is granted keeps nobody out: before anybody is refused, grants are taken back.
create function count_made(made_in text, made_of text, made_rows bigint) returns void language plpgsql as $$
declare
  -- Without a setting of its own a connection is of a version that knows no quotas, or no server's at all.
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
    -- Waits for whoever is making something out of them.
    update resource_counts set granted = 0 where organization = made_in and resource = made_of and granted > 0;
    select quota - sum(row_count) into spare from resource_counts where organization = made_in and resource = made_of;
  end if;
  if spare < 0 then
    raise exception 'too many % in %', made_of, made_in using errcode = 'GQ001', detail = quota;
  end if;
  -- A share of what is spare, so that grants of idle slots are few; what is too little for one transaction is none.
  if spare / 32 >= 25 then
    update resource_counts set granted = granted + least(spare / 32, 1000)
    where organization = made_in and resource = made_of and slot = pg_backend_pid() % 64;
  end if;
end $$;

-- Kept by triggers, so that no writer can forget it. Organizations are taken in order, so that no two writers wait for each other
-- in a circle.
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

-- What replaces a function takes its search path away (0001_baseline.sql).
do $$
begin
  execute format('alter function refresh_import_statistics(text) set search_path = %I, pg_temp', current_schema());
end $$;
