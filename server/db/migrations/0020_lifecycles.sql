-- compatible
-- When the versions of products are released and end, as operators import it for a group and the groups below
-- (docs/decisions/0040-whose-a-lifecycle-is.md).

create table lifecycles (
  -- The group that it is for.
  owner text collate "C" not null,
  -- The source that tells it: what it tells no longer goes.
  feed text collate "C" not null,
  -- "nodejs"
  product text collate "C" not null,
  -- The names that repos and packages of the product have; the product's own first.
  names jsonb not null,
  -- [{"version": "18", "releaseDate": "2022-04-19", "end": "2025-04-30", …}], in the source's order.
  releases jsonb not null,
  grace_months integer not null,
  digest text collate "C" not null,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  primary key (owner, feed, product)
);
create index lifecycles_by_name on lifecycles using gin (names);
create index lifecycles_by_feed on lifecycles (feed, owner, product);
