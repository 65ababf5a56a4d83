-- The audit log: every change, refusal and sign-in, chained and sealed behind the writers (server/audit).

-- By whom, by which call and right, and from where: {actor, operation, bindings, address, userAgent, code, count}.
alter table outbox add column audit_context jsonb not null default '{}';
-- Of what happened before there was a log it is known who did it, and nothing more.
update outbox set audit_context = jsonb_build_object('actor', data::jsonb -> 'actor') where data like '{"actor":%' and position('\u0000' in data) = 0;

-- What the log keeps of an event. In months, so that a month can be dropped at once; of the time of sealing, which
-- follows the chains' own order, so that what is dropped is the beginning of each.
create table audit_entries (
  -- The place that it is told at, and its number in the organization's chain.
  uid text collate "C" not null,
  sequence bigint not null,
  create_time timestamptz(3) not null,
  seal_time timestamptz(3) not null,
  caller_uid text collate "C" not null,
  act jsonb not null,
  operation text collate "C" not null,
  subject text collate "C" not null,
  type text collate "C" not null,
  code text collate "C" not null,
  count bigint not null,
  binding_uids jsonb not null,
  remote_address text not null,
  user_agent text not null,
  request_id text not null,
  event_id text not null,
  hash text not null,
  primary key (uid, seal_time)
) partition by range (seal_time);
create index audit_entries_by_sequence on audit_entries (left(uid, 40), sequence, uid);
create index audit_entries_by_create_time on audit_entries (left(uid, 40), create_time, uid);
create index audit_entries_by_caller on audit_entries (left(uid, 40), caller_uid, uid);
create index audit_entries_by_operation on audit_entries (left(uid, 40), operation, uid);
create index audit_entries_by_subject on audit_entries (left(uid, 40), subject, uid);
create index audit_entries_by_code on audit_entries (left(uid, 40), code, uid);
create index audit_entries_by_parent on audit_entries (left(uid, -17), uid);

-- How far each chain goes, and how much of its beginning has been dropped: sealed with the secret key, so that nobody
-- who has only the database can write a chain anew.
create table audit_chains (
  root text collate "C" primary key,
  sealed text not null
);

-- How far the outbox has been sealed, and what all chains together come to, sealed too; one row.
create table audit_progress (
  one boolean primary key default true check (one),
  position bigint not null,
  sealed text not null
);
insert into audit_progress (position, sealed) values (0, '');
