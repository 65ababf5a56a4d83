-- compatible
-- affected_packages also lists each record under its ecosystem without a release, by all of its entries. Documents of earlier
-- imports have version 0; the next import of their source writes them again.
alter table source_documents add column index_version smallint not null default 0;
