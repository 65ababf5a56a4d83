-- Identity providers with the state of their SCIM tokens, and what their groups give.

create table identity_providers (
  uid text collate "C" primary key,
  name text collate "C" not null,
  description text collate "C" not null default '',
  default_role text collate "C" not null,
  -- As it is shown: without the client secret.
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
create index identity_providers_by_parent on identity_providers (left(uid, -17), name, uid);
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
