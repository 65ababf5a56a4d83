-- Gantry as token issuer, and answers kept for repeated writes.

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Sealed with the secret key; the plain private key never touches the disk.
  private_jwk_sealed text not null,
  create_time timestamptz(3) not null,
  -- From then on it signs nothing; it is published until its last token has expired.
  retire_time timestamptz(3)
);

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
