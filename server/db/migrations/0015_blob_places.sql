-- compatible

-- Where this database's blobs lie (docs/decisions/0031-where-blobs-lie.md): one row. The place says the same of itself, so that
-- a server with another disk, or another database's, is told from one that has them.
create table blob_places (
  only_one boolean primary key default true check (only_one),
  store_id text collate "C" not null,
  -- Empty until the first content is kept there.
  place_id text collate "C" not null default '',
  -- When the contents that no row names were last looked for.
  sweep_time timestamptz(3) not null
);
