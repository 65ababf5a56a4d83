-- compatible
-- SCIM (docs/decisions/0053): the people whom identity providers have announced. Rows of a provider that are deleted along with
-- it, and no resources of their own: what the provider says of its people is the provider's.

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
