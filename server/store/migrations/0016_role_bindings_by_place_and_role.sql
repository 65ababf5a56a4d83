-- Made for who-can alone (server/store/holders.ts). With role_uid as it is PostgreSQL took this index for lists by role
-- as well, jumping over the places: for each organization it read the whole server's bindings of the role. In another
-- collation, of the same order, it serves whoever asks in that one.
drop index role_bindings_by_place_and_role;
create index role_bindings_by_place_and_role on role_bindings (left(uid, -17), role_uid collate "POSIX", identity_uid) include (uid, expire_time);
