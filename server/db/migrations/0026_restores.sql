-- compatible

-- What this database was restored from, each time (server/audit/restores.ts). A state that comes from a backup goes back behind what
-- readers have seen: positions of events and numbers of the audit log go on behind `base`, which is later than all that were ever given.
create table restores (
  -- The time of the restore in microseconds since 1970: more than there was ever an event.
  base bigint primary key,
  restore_time timestamptz(3) not null,
  -- What it was restored from, by whom, sealed with the secret key.
  sealed text not null
);
