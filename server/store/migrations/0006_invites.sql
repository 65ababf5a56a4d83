-- Invites, and what is known of the people who came by one or through an identity provider.

create table group_invites (
  uid text collate "C" primary key,
  role_uid text collate "C" not null,
  email text collate "C" not null default '',
  expiration_time timestamptz(3) not null,
  single_use boolean not null default false,
  key_id text collate "C" not null,
  -- SHA-256 of the code; the code itself is nowhere.
  code_hash text collate "C",
  -- Whose rights the promise stands on.
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

-- What a person's issuer says of them, as it was last told.
create table profiles (
  identity_uid text collate "C" primary key,
  name text not null default '',
  given_name text not null default '',
  family_name text not null default '',
  picture text not null default ''
);

-- Who has come through which identity provider: its default role is given once. A row outlives the person's identity,
-- so that nobody gets back what was taken away by deleting themselves and signing in anew.
create table provider_arrivals (
  provider_uid text collate "C" not null,
  identity_uid text collate "C" not null,
  create_time timestamptz(3) not null,
  primary key (provider_uid, identity_uid)
);
