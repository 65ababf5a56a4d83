-- Sign-ins that end on another device than the browser's: a terminal's codes (RFC 8628), and tokens encrypted for a
-- client's key (authentication.md: 7).

create table device_codes (
  -- SHA-256 of the code that the terminal holds.
  device_hash text collate "C" primary key,
  -- What a person types. Too short for a hash to hide, and worth nothing without a sign-in and the other code.
  user_code text collate "C" not null,
  -- What the terminal's program calls itself, and what it asks for (signin/device.ts).
  client text collate "C" not null,
  wanted jsonb not null,
  state text collate "C" not null default 'open',
  -- Who approved it; why it was refused.
  signed_in jsonb,
  reason text,
  -- How often the terminal may ask, and when it last did.
  interval_ms integer not null,
  poll_time timestamptz(3),
  create_time timestamptz(3) not null,
  expire_time timestamptz(3) not null
);
create unique index device_codes_by_user_code on device_codes (user_code);
create index device_codes_by_expire_time on device_codes (expire_time);

-- Wrong codes that people typed, counted for all servers together.
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
