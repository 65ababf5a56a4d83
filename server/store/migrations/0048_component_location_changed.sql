-- compatible
-- Events of authored advisories that say where a component moved. The version before does not read the column.

alter table authored_advisory_events add column component_location_changed jsonb;
