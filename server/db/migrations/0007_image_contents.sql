-- compatible
-- Packages in the layers of pushed images. The previous version shows images without them.

-- What was read in a layer, by its blob. All images with the layer share it: it follows from the bytes alone.
create table layer_contents (
  digest text collate "C" primary key references blobs on delete cascade,
  reader_version integer not null,
  -- Packed by server/registry/contents/packed-contents.ts.
  contents bytea not null
);
alter table layer_contents alter column contents set storage external;

create table image_contents (
  -- Below its repo; deterministic for a digest.
  uid text collate "C" primary key,
  repo_uid text collate "C" not null,
  digest text collate "C" not null,
  -- "linux/amd64"; '' before it is read.
  platform text collate "C" not null default '',
  state text collate "C" not null,
  -- [{"reason": …, "detail": …, "layer": …, "path": …}]: the first ones.
  problems jsonb not null default '[]',
  problem_count integer not null default 0,
  -- {"id": "debian", "version": "12", "name": …}
  operating_system jsonb,
  package_count integer not null default 0,
  reader_version integer not null default 0,
  create_time timestamptz(3) not null,
  update_time timestamptz(3) not null,
  -- {"name": "version"}, {"name": ["version", "version"]}
  packages jsonb not null default '{}',
  -- Next attempt, also to read it again with a newer reader; null if nothing is to do. And the number of attempts.
  due_time timestamptz(3),
  tries integer not null default 0
);
create unique index image_contents_by_repo on image_contents (repo_uid, digest);
create index image_contents_by_parent on image_contents (left(uid, -17), uid);
create index image_contents_in_root on image_contents (uid) where length(uid) = 40;
create index image_contents_by_digest on image_contents (left(uid, 40), digest, uid);
create index image_contents_by_state on image_contents (left(uid, 40), state, uid);
create index image_contents_by_create_time on image_contents (left(uid, 40), create_time, uid);
create index image_contents_by_update_time on image_contents (left(uid, 40), update_time, uid);
create index image_contents_due on image_contents (left(uid, 40), due_time, uid) where due_time is not null;
create index image_contents_by_reader on image_contents (reader_version) where due_time is null;

alter table image_coverage add column partly_read boolean not null default false;

-- Indexes list images, and referrers such as signatures are about one.
create function note_contents(repo_uids text[], digests text[], times timestamptz[]) returns void language sql as $$
  insert into image_contents (uid, repo_uid, digest, state, create_time, update_time, due_time)
  select repo || '/' || left(encode(sha256(convert_to(digest, 'UTF8')), 'hex'), 16), repo, digest, 'IMAGE_CONTENTS_STATE_PENDING', time, time, time
  from unnest(repo_uids, digests, times) as given(repo, digest, time) on conflict do nothing
$$;

-- A push writes it with its manifest, without a statement of its own.
create function manifests_pushed() returns trigger language plpgsql as $$
begin
  perform note_contents(array_agg(repo_uid), array_agg(sha256), array_agg(create_time)) from made
  where media_type in ('application/vnd.oci.image.manifest.v1+json', 'application/vnd.docker.distribution.manifest.v2+json')
    and (subject = '' or artifact_type in ('application/vnd.oci.image.config.v1+json', 'application/vnd.docker.container.image.v1+json'));
  return null;
end $$;
create trigger repo_manifests_pushed after insert on repo_manifests referencing new table as made for each statement execute function manifests_pushed();

create function manifests_gone() returns trigger language plpgsql as $$
begin
  delete from image_contents using gone where image_contents.repo_uid = gone.repo_uid and image_contents.digest = gone.sha256;
  return null;
end $$;
create trigger repo_manifests_gone after delete on repo_manifests referencing old table as gone for each statement execute function manifests_gone();

-- Queues the repos of images with changed packages.
create function contents_to_match() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    insert into changes_to_match (root, owner, repo, of_tag) select left(uid, 40), left(uid, -17), name, true from repos where uid = new.repo_uid;
    return null;
  end if;
  insert into changes_to_match (root, owner, repo, of_tag) select left(uid, 40), left(uid, -17), name, true from repos
  where uid in (select repo_uid from gone where state in ('IMAGE_CONTENTS_STATE_INDEXED', 'IMAGE_CONTENTS_STATE_PARTIAL'));
  return null;
end $$;
create trigger image_contents_to_match after update of state, packages on image_contents for each row
when (old.state <> new.state or old.packages <> new.packages) execute function contents_to_match();
create trigger image_contents_to_match_gone after delete on image_contents referencing old table as gone
for each statement execute function contents_to_match();

-- Also queues repos with packages that were read from layers.
create or replace function note_tags_to_match(tag_uids text[], tag_names text[]) returns void language sql as $$
  insert into changes_to_match (root, owner, repo, of_tag)
  select left(image.owner, 40), image.owner, image.repo, true from (
    select left(repo.uid, -17) as owner, repo.name as repo
    from (select distinct left(uid, -17) as uid from unnest(tag_uids) as given(uid)) as changed join repos as repo on repo.uid = changed.uid
    where exists (select from image_sboms where image_sboms.repo_uid = repo.uid)
      or exists (
        select from image_contents where image_contents.repo_uid = repo.uid
          and state in ('IMAGE_CONTENTS_STATE_INDEXED', 'IMAGE_CONTENTS_STATE_PARTIAL'))
    union
    select imported.owner, imported.repo
    from unnest(tag_uids, tag_names) as changed(uid, name) join repos as repo on repo.uid = left(changed.uid, -17)
    join image_packages as imported on imported.short_repo = repo.name and imported.tag = changed.name and imported.owner = left(repo.uid, -17)
  ) as image
$$;

-- Images that were pushed before.
select note_contents(array_agg(repo_uid), array_agg(sha256), array_agg(create_time)) from repo_manifests
where media_type in ('application/vnd.oci.image.manifest.v1+json', 'application/vnd.docker.distribution.manifest.v2+json')
  and (subject = '' or artifact_type in ('application/vnd.oci.image.config.v1+json', 'application/vnd.docker.container.image.v1+json'));
