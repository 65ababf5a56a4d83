-- compatible
-- Whose rows they are that anybody may leave without a token: a keyed hash of the client's address (an IPv4 address or an
-- IPv6 /64), so that one address has a bounded number of them. '' is what a server of the version before has made.

alter table device_codes add column address_hash text collate "C" not null default '';
alter table sign_ins add column address_hash text collate "C" not null default '';
alter table headless_sessions add column address_hash text collate "C" not null default '';

create index device_codes_by_address on device_codes (address_hash, expire_time);
create index sign_ins_by_address on sign_ins (address_hash, expire_time);
create index headless_sessions_by_address on headless_sessions (address_hash, expire_time);
