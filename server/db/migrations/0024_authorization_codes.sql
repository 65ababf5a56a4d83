-- compatible
-- The authorization code grant (docs/decisions/0050): codes that wait for their client, or that their client has used, and
-- grants that were taken back before their access tokens ended.

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

-- The client that a family of refresh tokens was given to; null where no client is known by an id.
alter table refresh_tokens add column client text collate "C";
