-- People signing in: what is on its way to a provider, sessions with rights from a provider's groups, refresh tokens.

create table sign_ins (
  -- SHA-256 of the state that the provider sends back, and of what the cookie of the browser that began holds.
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
  -- Of the provider's groups those that a mapping named at sign-in.
  groups text[] not null,
  create_time timestamptz(3) not null,
  expire_time timestamptz(3) not null
);
create index sessions_by_identity on sessions (identity_uid);
create index sessions_by_identity_provider on sessions (identity_provider_uid);
create index sessions_by_expire_time on sessions (expire_time);

-- One row for each family: the tokens that came of one sign-in, of which the latest alone works.
create table refresh_tokens (
  id text primary key,
  -- SHA-256 of the latest token's secret.
  secret_hash text not null,
  identity_uid text collate "C" not null,
  identity_provider_uid text collate "C" not null,
  -- What every access token of the family says and cannot have more of.
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

-- What a session gives changes with the mappings, their roles and the session itself; each counts from the next
-- request on, so each grows the versions of the people concerned (decisions: Access).

create function sessions_ended() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array[left(old.identity_uid, 40)]);
  return null;
end $$;
create trigger sessions_ended after delete on sessions for each row execute function sessions_ended();

create function external_group_role_mappings_changed() returns trigger language plpgsql as $$
begin
  perform grow_access_versions(array(
    select left(identity_uid, 40) from sessions
    where identity_provider_uid in (coalesce(new.identity_provider_uid, ''), coalesce(old.identity_provider_uid, ''))
  ));
  return null;
end $$;
create trigger external_group_role_mappings_changed after insert or update or delete on external_group_role_mappings
  for each row execute function external_group_role_mappings_changed();

-- In the place of the one of 0001: all roots of one change in one statement, so that they are taken in order.
create or replace function roles_changed() returns trigger language plpgsql as $$
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

-- A provider that is gone vouches for nobody any more, and a person's uid can come again: whatever was given out for
-- either ends with it.
create function identity_providers_ended() returns trigger language plpgsql as $$
begin
  delete from sign_ins where identity_provider_uid = old.uid;
  delete from sessions where identity_provider_uid = old.uid;
  delete from refresh_tokens where identity_provider_uid = old.uid;
  return null;
end $$;
create trigger identity_providers_ended after delete on identity_providers for each row execute function identity_providers_ended();

create function identities_ended() returns trigger language plpgsql as $$
begin
  delete from sessions where identity_uid = old.uid;
  delete from refresh_tokens where identity_uid = old.uid;
  return null;
end $$;
create trigger identities_ended after delete on identities for each row execute function identities_ended();
