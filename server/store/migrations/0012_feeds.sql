-- What imports remember of their sources, so that a file that is the same is not read again, and what vanished from a
-- source is withdrawn.

create table feeds (
  id integer generated always as identity primary key,
  kind text not null,
  group_uid text collate "C" not null,
  source text collate "C" not null,
  manner text not null,
  -- Nothing that a file told before is left over.
  settled boolean not null,
  unique (kind, group_uid, source)
);

create table feed_files (
  feed_id integer not null references feeds on delete cascade,
  name text collate "C" not null,
  part integer not null,
  digest text not null,
  records text[] not null,
  primary key (feed_id, name, part)
);
