-- compatible
-- Names of the packages that images of an organization have or had, so that a new advisory is not compared with each package of each
-- image. Triggers write them, also for images that the previous version reads.

create table package_labels (
  root text collate "C" not null,
  name text collate "C" not null,
  primary key (root, name)
);

-- In order, so that concurrent transactions wait for each other in the same order.
create function add_package_labels(label_root text, packages jsonb) returns void language sql as $$
  insert into package_labels (root, name)
  select label_root, name from jsonb_object_keys(packages) as package(name)
  where not exists (select from package_labels as held where held.root = label_root and held.name = package.name) order by name
  on conflict do nothing
$$;

create function packages_imported() returns trigger language plpgsql as $$
begin
  perform add_package_labels(left(new.owner, 40), new.packages);
  return null;
end $$;
create trigger image_packages_labelled after insert or update of packages on image_packages for each row
when (new.owner <> '' and new.packages <> '{}') execute function packages_imported();

create function packages_read() returns trigger language plpgsql as $$
begin
  perform add_package_labels(left(new.uid, 40), new.packages);
  return null;
end $$;
create trigger image_sboms_labelled after insert or update of packages on image_sboms for each row
when (new.packages <> '{}') execute function packages_read();
create trigger image_contents_labelled after insert or update of packages on image_contents for each row
when (new.packages <> '{}') execute function packages_read();

create function package_labels_gone() returns trigger language plpgsql as $$
begin
  delete from package_labels where root in (select uid from gone where length(uid) = 40);
  return null;
end $$;
create trigger groups_package_labels_gone after delete on groups referencing old table as gone for each statement execute function package_labels_gone();

insert into package_labels (root, name)
select root, name from (
  select left(owner, 40) as root, jsonb_object_keys(packages) as name from image_packages where owner <> ''
  union select left(uid, 40), jsonb_object_keys(packages) from image_sboms
  union select left(uid, 40), jsonb_object_keys(packages) from image_contents) as found;
