-- compatible
-- Search by a part of a name. The organization comes first, so that the names of others cost nothing.

create extension if not exists btree_gin;

create index repos_by_part_of_name on repos using gin (left(uid, 40), lower(name) gin_trgm_ops);
create index groups_by_part_of_name on groups using gin (left(uid, 40), lower(name) gin_trgm_ops);
create index identities_by_part_of_name on identities using gin (left(uid, 40), lower(name) gin_trgm_ops);
