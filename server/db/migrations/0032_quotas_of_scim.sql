-- compatible
-- Users and groups of SCIM are counted as what 0003_quotas.sql counts: the organization of a provider's rows is that of the provider.

create trigger scim_users_counted_made after insert on scim_users referencing new table as made for each statement execute function resources_made();
create trigger scim_users_counted_gone after delete on scim_users referencing old table as gone for each statement execute function resources_gone();
create trigger scim_groups_counted_made after insert on scim_groups referencing new table as made for each statement execute function resources_made();
create trigger scim_groups_counted_gone after delete on scim_groups referencing old table as gone for each statement execute function resources_gone();

-- What is there already. To make a trigger locks its table against writers until this transaction ends, so nothing is missed.
insert into resource_counts (organization, resource, slot, row_count)
select left(uid, 40), 'scim_users', 0, count(*) from scim_users group by left(uid, 40)
union all
select left(uid, 40), 'scim_groups', 0, count(*) from scim_groups group by left(uid, 40);
