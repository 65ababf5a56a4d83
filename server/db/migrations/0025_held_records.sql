-- compatible
-- Records that the last run of each source held back. The previous version leaves them as they are.

create table held_records (
  -- Uid of the source, and a hash of kind and record.
  uid text collate "C" primary key,
  record_id text collate "C" not null,
  package_name text not null,
  kind text collate "C" not null,
  modify_time timestamptz(3),
  source_modify_time timestamptz(3),
  hold_time timestamptz(3) not null
);
create index held_records_by_parent on held_records (left(uid, -17), uid);
create index held_records_in_root on held_records (uid) where length(uid) = 40;
create index held_records_by_record_id on held_records (left(uid, 40), record_id, uid);
create index held_records_by_kind on held_records (left(uid, 40), kind, uid);
