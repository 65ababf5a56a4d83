-- compatible
-- An import ends with statistics of `advisories`. Each index on left(uid, 40) had the same ones of its own, which took most of the
-- time. The planner takes those of any index with the expression: advisories_by_advisory_id keeps them.

alter index advisories_by_legacy_advisory_id alter column 1 set statistics 0;
alter index advisories_by_artifact_name alter column 1 set statistics 0;
alter index advisories_by_component_name alter column 1 set statistics 0;
alter index advisories_by_component_location alter column 1 set statistics 0;
alter index advisories_by_facet alter column 1 set statistics 0;
alter index advisories_by_create_time alter column 1 set statistics 0;
alter index advisories_by_update_time alter column 1 set statistics 0;
alter index advisories_deleted_by_artifact_name alter column 1 set statistics 0;
alter index advisories_deleted_by_component_name alter column 1 set statistics 0;
alter index advisories_deleted_by_component_location alter column 1 set statistics 0;
alter index advisories_deleted_by_create_time alter column 1 set statistics 0;
alter index advisories_deleted_by_advisory_id alter column 1 set statistics 0;
alter index advisories_deleted_by_legacy_advisory_id alter column 1 set statistics 0;
