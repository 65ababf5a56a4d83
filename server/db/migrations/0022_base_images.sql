-- compatible
-- Layers of pushed images, and the layer that brought each package. The previous version reads images without writing them; this version
-- reads those images again.

create table image_layers (
  -- As in image_contents.
  uid text collate "C" primary key references image_contents on delete cascade deferrable,
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  platform text collate "C" not null,
  -- Digests, the lowest first.
  layers text[] not null,
  -- Of each layer, a hash of the digests up to it; and that of all layers.
  chains text[] not null,
  chain text collate "C" not null,
  -- {"name": {"version": [lowest position, highest position]}}
  packages jsonb not null,
  -- All layers were read.
  complete boolean not null,
  -- Annotations of the manifest; not verified.
  claimed_name text not null,
  claimed_digest text not null,
  create_time timestamptz(3) not null
);
create unique index image_layers_by_repo on image_layers (repo_uid, digest);
create index image_layers_by_chain on image_layers (left(uid, 40), chain, create_time, uid) where chain <> '';

alter table image_contents add column layers_written boolean not null default false;
create index image_contents_without_layers on image_contents (uid) where due_time is null and not layers_written;
