-- Every change's event, written in the change's own transaction. Delivery reads from here.

create table outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null unique,
  type text not null,
  source text not null,
  subject text collate "C" not null,
  -- Whose subscriptions hear it: a group's uid, "/" above the roots, "" for none.
  group_uid text collate "C" not null,
  audience text not null,
  extensions jsonb not null,
  actor jsonb,
  body_type text not null,
  body jsonb not null,
  request_id text not null,
  create_time timestamptz(3) not null
);
create index outbox_by_group on outbox (group_uid, id);
