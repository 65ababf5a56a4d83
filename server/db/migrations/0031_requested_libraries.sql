-- compatible
-- What is asked for by its names: lists over all request groups of an organization read it in their order, or what is asked for
-- of one library alone, and count libraries without a look at their rows. Versions are not in it: one may have a thousand
-- characters of three bytes, which no entry of an index holds. Drafts are in it, too: an item does not know what it is of.

create index request_group_items_by_package on request_group_items (left(uid, 40), package_name, ecosystem, uid)
  where not removed and version <> '' and availability <> 'AVAILABILITY_INVALID_REQUIREMENT';
