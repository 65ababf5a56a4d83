-- Whose turn it is to repeat an import, among all servers of this database.
create table feed_schedules (
  schedule text collate "C" primary key,
  next_time timestamptz(3) not null,
  lease_holder text,
  lease_until timestamptz(3),
  failures integer not null,
  last_time timestamptz(3),
  last_outcome text
);
