-- A claim is written into a column that no index knows: the row stays where it is in all of them (a heap-only update, for
-- which pages keep room), instead of being entered into each once more.
alter table deliveries add column lease_time timestamptz(3);
alter table deliveries set (fillfactor = 70);
