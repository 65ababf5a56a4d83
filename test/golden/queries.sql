-- What a read asks the database, on the table repos; "…" stands for its columns:
-- uid, name, description, catalog_tier, bundles, aliases, active_tags, sync_config, custom_overlay, create_time, update_time, anonymous_pull

-- a get, with the version of the caller's rights
select (select version
  from access_versions
  where root = $2), t.*
  from (values (1)) as always
  left join (select …
  from repos
  where uid = $1) as t on true;

-- an organization by uid
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(row_count), 0)
  from resource_counts
  where organization = $2
  and resource = 'repos') + (select count(*)
  from repos
  where uid = $3))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where uid >= $4
  and uid < $5
  order by uid limit 201) as walked limit $6) as t;

-- an organization by uid, next page, backwards
select (select version
  from access_versions
  where root = $1), null::bigint, null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where uid >= $2
  and uid < $3
  and uid < $4
  order by uid desc limit 201) as walked limit $5) as t;

-- an organization by name
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(row_count), 0)
  from resource_counts
  where organization = $2
  and resource = 'repos') + (select count(*)
  from repos
  where uid = $3))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where left(uid, 40) = left($4, 40)
  order by name, uid limit 201) as walked limit $5) as t;

-- an organization by creation, next page
select (select version
  from access_versions
  where root = $1), null::bigint, null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where left(uid, 40) = left($2, 40)
  and (uid <> $3) is true
  and (create_time, uid) > ($4, $5)
  order by create_time, uid limit 201) as walked limit $6) as t;

-- a small branch by creation
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(below), 0)
  from place_counts
  where place = $2
  and resource = 'repos') + (select count(*)
  from repos
  where uid = $3))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select t.*
  from (select …
  from repos
  where uid >= $4
  and uid < $5 offset 0) as t
  order by create_time, uid limit $6 offset $7) as t;

-- a large branch by creation
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(below), 0)
  from place_counts
  where place = $2
  and resource = 'repos') + (select count(*)
  from repos
  where uid = $3))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where left(uid, 40) = left($4, 40)
  and (uid >= $4) is true
  and (uid < $5) is true
  order by create_time, uid limit 201) as walked limit $6) as t;

-- a large branch by creation, next page
select (select version
  from access_versions
  where root = $1), null::bigint, null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where left(uid, 40) = left($2, 40)
  and (uid >= $2) is true
  and (uid < $3) is true
  and (create_time, uid) > ($4, $5)
  order by create_time, uid limit 201) as walked limit $6) as t;

-- the children of a place by name
select (select version
  from access_versions
  where root = $1), (select coalesce(sum(children), 0)::bigint
  from place_counts
  where place = $2
  and resource = 'repos'), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where left(uid, -17) = $3
  order by name collate "POSIX" limit 201) as walked limit $4) as t;

-- few children of a place by creation
select (select version
  from access_versions
  where root = $1), (select coalesce(sum(children), 0)::bigint
  from place_counts
  where place = $2
  and resource = 'repos'), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select t.*
  from (select …
  from repos
  where left(uid, -17) between $3
  and $3 offset 0) as t
  order by create_time, uid limit $4 offset $5) as t;

-- many children of a place by creation
select (select version
  from access_versions
  where root = $1), (select coalesce(sum(children), 0)::bigint
  from place_counts
  where place = $2
  and resource = 'repos'), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where left(uid, 40) = left($4, 40)
  and (uid >= $4) is true
  and (uid < $5) is true
  and (octet_length(uid) = $3) is true
  order by create_time, uid limit 201) as walked limit $6) as t;

-- a name in an organization
select (select version
  from access_versions
  where root = $1), (select count(*)
  from repos
  where left(uid, 40) = left($2, 40)
  and (name, uid) >= ($3, $2)
  and (name, uid) < ($3, $4)), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  where left(uid, 40) = left($5, 40)
  and (name, uid) >= ($6, $5)
  and (name, uid) < ($6, $7)
  order by name, uid limit 201) as walked limit $8) as t;

-- several branches by uid
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(below), 0)
  from place_counts
  where place = any($2)
  and resource = 'repos') + (select count(*)
  from repos
  where uid = any($3)))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select t.*
  from unnest($4::text[], $5::text[]) with ordinality as branch(low, high, ordinal)
  cross join lateral (select *
  from (select …
  from repos
  where uid >= branch.low
  and uid < branch.high
  order by uid limit 201) as walked limit $6) as t
  order by branch.ordinal limit $7 offset $8) as t;

-- several small branches by name
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(below), 0)
  from place_counts
  where place = any($2)
  and resource = 'repos') + (select count(*)
  from repos
  where uid = any($3)))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select t.*
  from unnest($4::text[], $5::text[]) with ordinality as branch(low, high, ordinal)
  cross join lateral (select …
  from repos
  where uid >= branch.low
  and uid < branch.high offset 0) as t
  order by name, uid limit $6 offset $7) as t;

-- several large branches by name, next page
select (select version
  from access_versions
  where root = $1), null::bigint, null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select t.*
  from unnest($2::text[], $3::text[]) with ordinality as branch(low, high, ordinal)
  cross join lateral (select *
  from (select …
  from repos
  where left(uid, 40) = left(branch.low, 40)
  and (left(uid, 57) in (select unnest($4::text[]))) is true
  and (name, uid) > ($5, $6)
  order by name, uid limit 201) as walked limit $7) as t
  order by name, uid limit $8 offset $9) as t;

-- several organizations by name
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(row_count), 0)
  from resource_counts
  where organization = any($2)
  and resource = 'repos') + (select count(*)
  from repos
  where uid = any($3)))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select t.*
  from unnest($4::text[], $5::text[]) with ordinality as branch(low, high, ordinal)
  cross join lateral (select *
  from (select …
  from repos
  where left(uid, 40) = left(branch.low, 40)
  and (uid >= branch.low) is true
  and (uid < branch.high) is true
  order by name, uid limit 201) as walked limit $6) as t
  order by name, uid limit $7 offset $8) as t;

-- everything by uid
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(row_count), 0)
  from resource_counts
  where resource = 'repos')
        + (select count(*)
  from repos
  where length(uid) = 40))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select *
  from (select …
  from repos
  order by uid limit 201) as walked limit $2) as t;

-- everything by name
select (select version
  from access_versions
  where root = $1), (select ((select coalesce(sum(row_count), 0)
  from resource_counts
  where resource = 'repos')
        + (select count(*)
  from repos
  where length(uid) = 40))::bigint), null, null, null, null, null, null, null, null, null, null, null, null union all select null, null, t.*
  from (select t.*
  from (select root as low, root || '0' as high
  from access_versions) as branch
  cross join lateral (select *
  from (select …
  from repos
  where left(uid, 40) = left(branch.low, 40)
  and (uid >= branch.low) is true
  and (uid < branch.high) is true
  order by name, uid limit 201) as walked limit $2) as t
  order by name, uid limit $3 offset $4) as t;
