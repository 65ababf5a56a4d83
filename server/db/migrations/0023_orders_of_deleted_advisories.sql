-- compatible
-- Advisories that are deleted, in the orders that lists have: what asks for all that changed since a time shows them too, and the
-- indexes of 0001 leave them out. They are few: nothing is kept twice for what is there.

create index advisories_deleted_by_artifact_name on advisories (left(uid, 40), artifact_name, uid) where delete_time is not null;
create index advisories_deleted_by_component_name on advisories (left(uid, 40), component_name, uid) where delete_time is not null;
create index advisories_deleted_by_component_location on advisories (left(uid, 40), component_location, uid) where delete_time is not null;
create index advisories_deleted_by_create_time on advisories (left(uid, 40), create_time, uid) where delete_time is not null;
create index advisories_deleted_by_advisory_id on advisories (left(uid, 40), advisory_id, uid) where delete_time is not null;
create index advisories_deleted_by_legacy_advisory_id on advisories (left(uid, 40), legacy_advisory_id, uid) where delete_time is not null;
