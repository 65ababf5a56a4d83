-- compatible
-- Holds the number of a migration from another branch. Delete this file when that one lands.
select 1;
