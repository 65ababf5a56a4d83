-- compatible
-- Sessions of people (docs/decisions/0066): a row for each interactive sign-in, from its first token until the last one may have
-- expired. Access tokens name it (gantry_grant), and revoked_grants lists the revoked ones.

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

-- Refresh tokens of before. Those of authorization codes name their session already; of the others the access tokens name none.
insert into sign_in_sessions
  (id, uid, identity_uid, identity_provider_uid, refresh_token_id, kind, program, address, create_time, last_use_time, expire_time, end_time)
select session, identity_provider_uid || '/' || left(session, 16), identity_uid, identity_provider_uid, id,
  case when client is null then 'KIND_UNSPECIFIED' else 'KIND_AUTHORIZATION_CODE' end, coalesce(client, ''), '',
  create_time, create_time, expire_time, greatest(expire_time, create_time + interval '90 days 1 hour')
from (select *, case when client is null then left(encode(sha256(id::bytea), 'hex'), 32) else id end as session from refresh_tokens) as families
on conflict do nothing;

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
