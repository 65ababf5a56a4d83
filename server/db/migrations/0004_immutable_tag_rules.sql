-- compatible
-- Rules of a repo or group that make tags immutable. The previous version does not enforce them.

create table immutable_tag_rules (
  -- Below its repo or group.
  uid text collate "C" primary key,
  pattern text collate "C" not null,
  description text collate "C" not null default '',
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null
);
create unique index immutable_tag_rules_unique on immutable_tag_rules (left(uid, -17), pattern collate "POSIX") include (uid);
create index immutable_tag_rules_by_create_time on immutable_tag_rules (left(uid, 40), create_time, uid);
create index immutable_tag_rules_by_update_time on immutable_tag_rules (left(uid, 40), update_time, uid);
create index immutable_tag_rules_in_root on immutable_tag_rules (uid) where length(uid) = 40;
