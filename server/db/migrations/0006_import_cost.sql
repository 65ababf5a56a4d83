-- compatible
-- An import writes a few rows of these tables for each document, in the transaction that writes and locks the document. A check of
-- each reference took 7 % of the database's time. The trigger deletes the rows of a deleted document, as the references did.

create function documents_deleted() returns trigger language plpgsql as $$
begin
  delete from document_records where document_id = any(array(select id from replaced));
  delete from affected_packages where document_id = any(array(select id from replaced));
  return null;
end $$;
create trigger source_documents_deleted after delete on source_documents referencing old table as replaced
for each statement execute function documents_deleted();
alter table document_records drop constraint document_records_document_id_fkey;
alter table affected_packages drop constraint affected_packages_document_id_fkey;

-- No plan depends on statistics of these columns, and sorting long values took most of the time of `analyze`.
alter table advisories alter column events set statistics 0;
alter table advisories alter column digest set statistics 0;
alter table source_documents alter column body set statistics 0;
alter table source_documents alter column digest set statistics 0;
alter table affected_packages alter column entries set statistics 0;
