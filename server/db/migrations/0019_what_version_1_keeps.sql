-- compatible

-- What version 1 of the registry keeps and version 2 does not know (docs/decisions/0039-version-1-of-the-registry.md).

-- With which charts the images of a repo are deployed.
create table repo_deployments (
  repo_uid text collate "C" primary key,
  charts jsonb not null
);

-- What holds for the repos of an organization unless they say otherwise.
create table registry_settings (
  root_uid text collate "C" primary key,
  unique_tags boolean not null,
  eol_grace_period boolean not null
);

-- How many repos are kept the same as another one.
create index repos_by_sync_source on repos ((sync_config ->> 'source'), uid) where sync_config is not null;

-- A tag can be renamed (UpdateTag): then images are matched under both names (0018_tags_over_time.sql).
create or replace function tags_to_match() returns trigger language plpgsql as $$
declare
  uids text[];
  names text[];
begin
  if tg_op = 'UPDATE' then
    select array_agg(uid), array_agg(name) into uids, names from (
      select moved.uid, either.name
      from moved join replaced using (uid) cross join lateral (values (moved.name), (replaced.name)) as either(name)
      where moved.digest <> replaced.digest or moved.name <> replaced.name
    ) as changed;
  else
    select array_agg(uid), array_agg(name) into uids, names from moved;
  end if;
  if uids is not null then
    perform note_tags_to_match(uids, names);
  end if;
  return null;
end $$;
