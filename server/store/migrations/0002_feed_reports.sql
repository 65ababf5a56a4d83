-- compatible
-- What imports have written of a source and not yet told: counts of records, {"group": {…}, "everybody": {…}}. Added to in
-- the transaction that writes the records, told and emptied in the one that ends the import (server/feeds).
alter table feeds add column unreported jsonb not null default '{}';
